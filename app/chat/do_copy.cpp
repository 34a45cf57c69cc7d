// /copy, and the list that /open shows: what leaves the chat for the person's hands.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <sstream>

#include "app/base/clock.h"
#include "app/base/counted.h"
#include "app/text/markdown_lines.h"
#include "chat_core.h"

namespace bitnet {
namespace {

constexpr int64_t kListed = 1000;
constexpr size_t kWordsWorthSearching = 3;  // bytes of a filter from which on the messages are searched too
constexpr size_t kMostWorthSearching = 60;  // and up to which: what is longer was pasted by mistake

[[noreturn]] void refuse(const std::string& why) { throw Error(ErrorKind::usage, why); }

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); });
  return out;
}

bool has_all_words(const std::string& text, const std::string& words) {
  std::istringstream list(words);
  std::string word;
  while (list >> word) {
    if (text.find(word) == std::string::npos) return false;
  }
  return true;
}

}  // namespace

void ChatCore::copy(std::string_view which) {
  std::vector<CodeBlock> blocks;
  const std::string* answer = nullptr;
  for (const BranchMessage& message : branch_) {
    if (message.stored.role != Role::assistant) continue;
    answer = &message.stored.text;
    for (CodeBlock& block : code_blocks(*answer)) blocks.push_back(std::move(block));
  }
  if (answer == nullptr) refuse("there is no answer to copy yet");
  if (which == "answer" || (which.empty() && blocks.empty())) {
    if (front_.copy(*answer)) {
      front_.notice(fmt::format("Copied the last answer, {}.", counted(answer->size(), "byte")));
    } else {
      front_.command_output("copy", *answer);
    }
    return;
  }
  size_t number = blocks.size();
  if (!which.empty()) {
    const auto [end, problem] = std::from_chars(which.data(), which.data() + which.size(), number);
    if (problem != std::errc() || end != which.data() + which.size() || number < 1 ||
        number > blocks.size()) {
      refuse(fmt::format(
          "/copy wants the number of a code block{}, or 'answer'; found '{}'",
          blocks.empty() ? ", of which there are none here" : fmt::format(", 1 to {}", blocks.size()),
          printable(which, 40)));
    }
  }
  const CodeBlock& block = blocks[number - 1];
  if (!front_.copy(block.text)) {
    front_.command_output(fmt::format("copy {}", number), block.text);
    return;
  }
  const auto lines = static_cast<size_t>(std::count(block.text.begin(), block.text.end(), '\n'));
  front_.notice(fmt::format("Copied code block {}{}, {}.", number,
                            block.language.empty() ? "" : fmt::format(" ({})", block.language),
                            counted(lines, "line")));
}

void ChatCore::choose_conversation() {
  Choices choices;
  choices.title = "Open a conversation";
  choices.find = [this](std::string_view filter) {
    const std::string words = lower(filter);
    std::vector<Choice> found;
    const auto add = [&](const StoredConversation& row) {
      found.push_back({row.id, row.title.empty() ? "(no title)" : row.title,
                       fmt::format("{}  {}", local_time(row.updated),
                                   counted(static_cast<size_t>(row.messages), "message"))});
    };
    for (const StoredConversation& row : database().conversations(kListed)) {
      if (has_all_words(lower(row.title), words)) add(row);
    }
    if (filter.size() < kWordsWorthSearching || filter.size() > kMostWorthSearching) return found;
    for (const SearchHit& hit : database().search(filter, 50)) {
      const auto known = [&](const Choice& choice) { return choice.id == hit.conversation; };
      if (std::any_of(found.begin(), found.end(), known)) continue;
      if (const auto row = database().conversation(hit.conversation)) add(*row);
    }
    return found;
  };
  choices.chosen = [this](int64_t id) {
    try {
      open_conversation(id);
    } catch (const Error& error) {
      tell_error(error.what());
    }
  };
  if (database().conversations(1).empty()) refuse("nothing is stored yet");
  if (front_.choose(std::move(choices))) return;
  front_.command_output("open", list_text(false) + "\n/open ID goes on with one of them.");
}

}  // namespace bitnet
