#include "typed_lines.h"

// readline's headers need FILE to be declared.
#include <readline/history.h>
#include <readline/readline.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "app/text/text_safe.h"

namespace bitnet {

// readline calls these without a context, so they find it in `lines`.
struct TypedLines::Readline {
  static inline TypedLines* lines = nullptr;
  static inline int word = 0;  // where the completed word begins
  static inline std::optional<int> key;  // was read already

  static int next_key(FILE* file) { return key ? *std::exchange(key, std::nullopt) : rl_getc(file); }

  static void take_line(char* text) {
    const std::unique_ptr<char, decltype(&std::free)> line(text, std::free);
    lines->guard_.end_line();
    lines->stop_editing();
    if (line == nullptr) {
      rl_crlf();  // the shell's prompt comes next
      lines->input_ended_ = true;
      return;
    }
    if (*line != '\0') add_history(line.get());
    lines->calls_.take(line.get());
  }

  static char* next_match(const char*, int state) {
    static std::vector<std::string> matches;
    static size_t at = 0;
    if (state == 0) {
      matches = lines->calls_.complete(std::string_view(rl_line_buffer, static_cast<size_t>(rl_end)));
      // readline writes them as they are, and a file's name may be anything.
      std::erase_if(matches, [](const std::string& match) { return make_safe(match) != match; });
      // readline replaces only the last word.
      for (std::string& match : matches) match.erase(0, static_cast<size_t>(word));
      at = 0;
    }
    return at < matches.size() ? strdup(matches[at++].c_str()) : nullptr;
  }

  static char** complete(const char* text, int start, int) {
    rl_attempted_completion_over = 1;
    word = start;
    return rl_completion_matches(text, next_match);
  }
};

TypedLines::TypedLines(TypedLineCalls calls) : calls_(std::move(calls)) {
  Readline::lines = this;
  rl_catch_signals = 0;
  rl_readline_name = "bitnet-chat";
  rl_getc_function = Readline::next_key;
  rl_outstream = isatty(STDOUT_FILENO) == 1 ? stdout : stderr;
  rl_attempted_completion_function = Readline::complete;
}

TypedLines::~TypedLines() {
  stop_editing();
  Readline::lines = nullptr;
}

void TypedLines::start_editing() {
  if (editing_) return;
  rl_callback_handler_install(calls_.prompt().c_str(), Readline::take_line);
  editing_ = true;
}

void TypedLines::stop_editing() {
  if (!editing_) return;
  rl_callback_handler_remove();
  editing_ = false;
}

void TypedLines::read_key() {
  if (!Readline::key) Readline::key = rl_getc(rl_instream);
  guard_.read_key(*Readline::key);
}

void TypedLines::insert(const std::string& text) {
  if (text.empty()) return;
  rl_insert_text(
      make_safe(text).c_str());  // which readline writes as it is, and a person sends as they see it
  rl_redisplay();
}

bool TypedLines::clear() {
  if (!editing_) return false;
  const bool typed = rl_end > 0 || RL_ISSTATE(RL_STATE_ISEARCH | RL_STATE_NSEARCH);
  rl_callback_sigcleanup();  // leaves a search
  rl_crlf();
  if (!typed) return false;
  rl_replace_line("", 1);  // frees the undo list
  guard_.end_line();
  stop_editing();
  start_editing();
  return true;
}

void TypedLines::stop_process() {
  if (editing_) rl_cleanup_after_signal();
  struct sigaction by_default = {};
  struct sigaction former = {};
  by_default.sa_handler = SIG_DFL;
  sigaction(SIGTSTP, &by_default, &former);
  raise(SIGTSTP);
  sigaction(SIGTSTP, &former, nullptr);
  if (!editing_) return;
  rl_reset_after_signal();
  rl_forced_update_display();
}

}  // namespace bitnet
