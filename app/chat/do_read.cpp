// /read: a file's text waits here and goes before the next turn.
#include <fmt/format.h>

#include <utility>

#include "app/base/counted.h"
#include "app/text/text_file.h"
#include "chat_core.h"

namespace bitnet {
namespace {

constexpr size_t kMostFileBytes = 4 << 20;
// More than this many bytes a token there are not in any text worth reading, so longer files need not be
// encoded.
constexpr size_t kMostBytesPerToken = 32;

[[noreturn]] void refuse(const std::string& why) { throw Error(ErrorKind::usage, why); }

}  // namespace

void ChatCore::read_file(const std::string& path) {
  const std::string text = read_text_file(path, kMostFileBytes);
  if (text.empty()) refuse(fmt::format("{}: is empty", printable(path)));
  ReadFile file{path.substr(path.rfind('/') + 1), text, 0};
  std::string size = counted(text.size(), "byte");
  if (model_) {
    const uint32_t limit = model_->n_ctx;
    size_t used = status_.context_used;
    for (const ReadFile& other : read_files_) used += other.tokens;
    if (text.size() > limit * kMostBytesPerToken) {
      refuse(fmt::format("{}: has {} bytes, far more than a context of {} tokens holds; nothing was read in",
                         printable(path), text.size(), limit));
    }
    file.tokens = model_->text->tokenizer.encode(text, false).size();
    size = counted(file.tokens, "token");
    if (file.tokens >= limit) {
      refuse(fmt::format("{}: has {} tokens, more than the context of {} holds; nothing was read in",
                         printable(path), file.tokens, limit));
    }
    if (used + file.tokens >= limit) {
      refuse(fmt::format(
          "{}: has {} tokens, and {} of {} are used already; nothing was read in. /compact, /undo and "
          "/new make room",
          printable(path), file.tokens, used, limit));
    }
  }
  read_files_.push_back(std::move(file));
  tell_read_files();
  front_.command_output(
      "read", fmt::format("{} ({}) goes into your next turn; /read none takes it out again.", path, size));
}

std::string ChatCore::read_text() const {
  if (read_files_.empty()) return "/read FILE puts a file's text into your next turn; there is none now.";
  std::string text = "In your next turn:\n";
  for (const ReadFile& file : read_files_)
    text += fmt::format("  {} ({})\n", file.name, counted(file.text.size(), "byte"));
  return text + "/read none takes them out.";
}

void ChatCore::forget_files() {
  read_files_.clear();
  tell_read_files();
  front_.command_output("read", "Your next turn has no file in it.");
}

// What was read in one conversation must not turn up in another: not from a private one in one that is
// stored.
void ChatCore::drop_read_files() {
  if (read_files_.empty()) return;
  std::string names;
  for (const ReadFile& file : std::exchange(read_files_, {}))
    names += (names.empty() ? "" : ", ") + file.name;
  tell_read_files();
  front_.notice(fmt::format("Not in your next turn any more: {}. /read puts a file in again.", names));
}

void ChatCore::count_read_files() {
  for (ReadFile& file : read_files_) file.tokens = model_->text->tokenizer.encode(file.text, false).size();
  tell_read_files();
}

void ChatCore::tell_read_files() {
  status_.pending.clear();
  for (const ReadFile& file : read_files_)
    status_.pending.push_back({file.name, file.text.size(), file.tokens});
  send_status();
}

std::string ChatCore::with_read_files(std::string_view typed) {
  std::string text;
  for (const ReadFile& file : std::exchange(read_files_, {}))
    text += fmt::format("{}:\n\n{}\n\n", file.name, file.text);
  tell_read_files();
  return text + std::string(typed);
}

}  // namespace bitnet
