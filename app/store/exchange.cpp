#include "exchange.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/text/text_file.h"
#include "engine/error.h"

namespace bitnet {
namespace {

constexpr size_t kTitleBytes = 60;
constexpr size_t kMostImported = size_t{1} << 30;  // a file may hold many conversations

// Makes each message follow the one before it.
void chain(WholeConversation& whole) {
  int64_t number = 0;
  for (WholeMessage& message : whole.messages) {
    message.stored.parent = number == 0 ? std::nullopt : std::optional(number);
    message.stored.id = ++number;
  }
  whole.row.leaf = number == 0 ? std::nullopt : std::optional(number);
}

}  // namespace

ChatFormat chat_format(std::string_view name) {
  if (name == "md") return ChatFormat::markdown;
  if (name == "json") return ChatFormat::json;
  if (name == "openai") return ChatFormat::openai;
  throw Error(ErrorKind::usage,
              fmt::format("wanted md, json or openai, found {}",
                          name.empty() ? "nothing" : fmt::format("'{}'", printable(name, 40))));
}

std::vector<const WholeMessage*> shown_branch(const WholeConversation& whole) {
  std::vector<const WholeMessage*> branch;
  for (auto at = whole.row.leaf; at; at = branch.back()->stored.parent) {
    branch.push_back(&whole.messages.at(static_cast<size_t>(*at - 1)));
  }
  std::reverse(branch.begin(), branch.end());
  return branch;
}

std::string title_from(std::string_view text) {
  text = text.substr(0, text.find('\n'));
  if (text.size() <= kTitleBytes) return std::string(text);
  size_t end = kTitleBytes;
  while (end > 0 && (static_cast<uint8_t>(text[end]) & 0xC0) == 0x80) --end;
  return std::string(text.substr(0, end)) + "…";
}

std::string title_of(const WholeConversation& whole) {
  for (const WholeMessage& message : whole.messages) {
    if (message.stored.role == Role::user) return title_from(message.stored.text);
  }
  return {};
}

std::vector<WholeConversation> read_chats(std::string_view text, const std::string& name) {
  try {
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    const size_t begin = text.find_first_not_of(" \t\r\n");
    if (begin == std::string_view::npos) {
      throw Error(ErrorKind::runtime, "wanted a conversation, found nothing");
    }
    std::vector<WholeConversation> all;
    if (text[begin] == '{' || text[begin] == '[') {
      all = read_json_chats(text.substr(begin));
    } else {
      all.push_back(read_markdown(text));
    }
    for (WholeConversation& whole : all) {
      if (!whole.messages.empty() && whole.messages[0].stored.id == 0) chain(whole);
    }
    return all;
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("{}: {}", printable(name), error.what()));
  }
}

std::vector<int64_t> import_file(Store& store, const std::string& file, Pipes pipes) {
  const std::string text =
      file == "-" ? read_standard_input(kMostImported) : read_file(file, kMostImported, pipes);
  std::vector<WholeConversation> all = read_chats(text, file);
  for (WholeConversation& whole : all) {
    for (WholeMessage& message : whole.messages) {
      for (WholeTurn& turn : message.turns) turn.stored.imported = true;
    }
  }
  return store.add_wholes(all);
}

}  // namespace bitnet
