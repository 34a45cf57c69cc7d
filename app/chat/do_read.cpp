// /read: a file's text waits here and goes before the next turn.
#include <fmt/format.h>

#include <string>

#include "app/base/counted.h"
#include "app/text/text_file.h"
#include "arguments.h"
#include "do.h"
#include "refuse.h"

namespace bitnet {
namespace {

constexpr size_t kMostFileBytes = 4 << 20;
// No text worth reading has more bytes a token than this, so longer files need not be encoded.
constexpr size_t kMostBytesPerToken = 32;

// The tokens of a file's text. Throws Error(usage) where it does not fit the context.
size_t fitting_tokens(const ChatParts& chat, const std::string& path, const std::string& text) {
  const uint32_t limit = chat.model->n_ctx;
  if (text.size() > limit * kMostBytesPerToken) {
    refuse(fmt::format("{}: has {} bytes, far more than a context of {} tokens holds; nothing was read in",
                       printable(path), text.size(), limit));
  }
  const size_t tokens = chat.model->text->tokenizer.encode(text, false).size();
  if (tokens >= limit) {
    refuse(fmt::format("{}: has {} tokens, more than the context of {} holds; nothing was read in",
                       printable(path), tokens, limit));
  }
  const size_t used = chat.reporter.status().context_used + chat.read_files.tokens();
  if (used + tokens >= limit) {
    refuse(fmt::format(
        "{}: has {} tokens, and {} of {} are used already; nothing was read in. /compact, /undo and "
        "/new make room",
        printable(path), tokens, used, limit));
  }
  return tokens;
}

void read_file(ChatParts& chat, const std::string& path) {
  std::string text = read_text_file(path, kMostFileBytes);
  if (text.empty()) refuse(fmt::format("{}: is empty", printable(path)));
  const size_t tokens = chat.model ? fitting_tokens(chat, path, text) : 0;
  const std::string size = chat.model ? counted(tokens, "token") : counted(text.size(), "byte");
  chat.read_files.add(path.substr(path.rfind('/') + 1), std::move(text), tokens);
  chat.front_end().command_output(
      "read", fmt::format("{} ({}) goes into your next turn; /read none takes it out again.", path, size));
}

}  // namespace

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
