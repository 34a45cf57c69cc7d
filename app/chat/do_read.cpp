// /read and @path: a file's text waits and goes before the next turn.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "app/base/counted.h"
#include "app/text/text_file.h"
#include "arguments.h"
#include "do.h"
#include "mentions.h"
#include "refuse.h"

namespace bitnet {
namespace {

// No text worth reading has more bytes a token than this, so longer files need not be encoded.
constexpr size_t kMostBytesPerToken = 32;
constexpr size_t kUsualBytesPerToken = 4;

// The tokens of a file's text. Throws Error(usage) where it does not fit the context.
size_t fitting_tokens(const ChatParts& chat, const std::string& path, const std::string& text,
                      size_t others) {
  const uint32_t limit = chat.model->n_ctx;
  const size_t used = chat.reporter.status().context_used + others;
  const size_t room = limit - std::min<size_t>(used + 1, limit);
  if (text.size() > limit * kMostBytesPerToken) {
    refuse(fmt::format(
        "{}: has {} bytes, far more than a context of {} tokens holds; nothing was read in. Of such "
        "text some {} bytes fit",
        printable(path), text.size(), limit, room * kUsualBytesPerToken));
  }
  const size_t tokens = chat.model->text->tokenizer.encode(text, false).size();
  const size_t bytes_that_fit = room * text.size() / std::max<size_t>(tokens, 1);
  if (tokens >= limit && room != 0) {
    refuse(fmt::format(
        "{}: has {} tokens, more than the context of {} holds; nothing was read in. Some {} bytes "
        "of it fit",
        printable(path), tokens, limit, bytes_that_fit));
  }
  if (used + tokens >= limit) {
    const std::string fit = room == 0 ? "none" : fmt::format("some {} bytes", bytes_that_fit);
    refuse(fmt::format(
        "{}: has {} tokens, and {} of {} are used already, so that {} of it fit; nothing was read "
        "in. /compact, /undo and /new make room",
        printable(path), tokens, used, limit, fit));
  }
  return tokens;
}

// `others`: tokens of the files that go along with it.
AttachedFile attached(const ChatParts& chat, const std::string& path, size_t others) {
  AttachedFile file;
  file.text = read_text_file(path, kMostFileBytes);
  if (file.text.empty()) refuse(fmt::format("{}: is empty", printable(path)));
  file.tokens = chat.model ? fitting_tokens(chat, path, file.text, others) : 0;
  file.name = file_name_of(path);
  file.path = path;
  return file;
}

void read_file(ChatParts& chat, const std::string& path) {
  const bool again = chat.read_files.has(path);
  AttachedFile file = attached(chat, path, chat.read_files.tokens(path));
  const std::string size = chat.model ? counted(file.tokens, "token") : counted(file.text.size(), "byte");
  chat.read_files.add(std::move(file));
  chat.front_end().command_output(
      "read",
      fmt::format("{} ({}) {}; /read none takes it out again.", path, size,
                  again ? "was read anew, and is in your next turn once" : "goes into your next turn"));
}

void tell_without_file(const ChatParts& chat, std::vector<std::string> words, const char* why) {
  constexpr size_t kMostNamed = 3;
  const std::string more =
      words.size() > kMostNamed ? fmt::format(" and {} more", words.size() - kMostNamed) : "";
  words.resize(std::min(words.size(), kMostNamed));
  chat.front_end().notice(fmt::format("No file goes along for {}{}: {}. /edit takes the turn back.",
                                      printable(fmt::format("{}", fmt::join(words, ", ")), 200), more, why));
}

}  // namespace

void name_files(ChatParts& chat, std::string_view text, bool all) {
  if (!chat.settings.now.asks) return;
  std::vector<AttachedFile> files;
  size_t others = chat.read_files.tokens();
  for (const AttachedFile& file : chat.read_files.named()) others -= file.tokens;
  for (const Mention& mention : mentions_in(text)) {
    const std::string& path = mention.path;
    const auto is_path = [&](const AttachedFile& file) { return file.path == path; };
    if (chat.read_files.has(path) || std::any_of(files.begin(), files.end(), is_path)) continue;
    if (has_file(text, file_name_of(path))) continue;  // a turn that came back with its files
    const std::vector<AttachedFile>& named = chat.read_files.named();
    const auto known = std::find_if(named.begin(), named.end(), is_path);
    try {
      // What is sent is read anew; with each key that would take too long.
      files.push_back(known != named.end() && !all ? *known : attached(chat, path, others));
      files.back().named = true;
      others += files.back().tokens;
    } catch (const Error&) {
      if (all) throw;  // while it is typed nobody wants to hear it
    }
  }
  chat.read_files.set_named(std::move(files));
}

void tell_without_file(ChatParts& chat, const std::vector<WithoutFile>& words) {
  using Why = WithoutFile::Why;
  if (!chat.settings.now.asks) return;
  for (const auto& [why, one, many] :
       {std::tuple(Why::missing, "there is none of that name", "there is none of that name"),
        std::tuple(Why::folder, "it is a folder", "they are folders"),
        std::tuple(Why::no_regular_file, "it is no regular file", "they are no regular files")}) {
    std::vector<std::string> named;
    for (const WithoutFile& word : words) {
      if (word.why == why) named.push_back(word.word);
    }
    const char* what = named.size() == 1 ? one : many;
    if (!named.empty()) tell_without_file(chat, std::move(named), what);
  }
}

std::optional<std::string> without_last_file(ChatParts& chat, std::string_view typed) {
  if (chat.read_files.empty()) return std::nullopt;
  const std::string path = chat.read_files.take_out_last();
  std::string rest(typed);
  const std::vector<Mention> mentions = mentions_in(typed);
  for (auto mention = mentions.rbegin(); mention != mentions.rend(); ++mention) {
    if (mention->path != path) continue;
    const bool with_space = mention->end < rest.size() && rest[mention->end] == ' ';
    rest.erase(mention->begin, mention->end - mention->begin + (with_space ? 1 : 0));
  }
  return rest;
}

void do_read(ChatParts& chat, std::string_view arguments) {
  if (arguments == "none") {
    chat.read_files.clear();
    chat.front_end().command_output("read", "Your next turn has no file in it.");
  } else if (!arguments.empty()) {
    read_file(chat, unquoted(arguments));
  } else if (chat.read_files.empty()) {
    chat.front_end().command_output("read",
                                    "/read FILE puts a file's text into your next turn; there is none now.");
  } else {
    chat.front_end().command_output(
        "read", "In your next turn:\n" + chat.read_files.list() + "/read none takes them out.");
  }
}

}  // namespace bitnet
