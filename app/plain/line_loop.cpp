#include "line_loop.h"

// readline's headers need FILE.
#include <readline/history.h>
#include <readline/readline.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "app/chat/chat.h"
#include "app/text/text_file.h"
#include "engine/error.h"

namespace bitnet {
namespace {

using std::chrono::milliseconds;

// Runs the loop with the signals that end a program; knows what the exit code then is.
class Watch {
 public:
  Watch(Chat& chat, EventLoop& loop, const LineLoopHooks& hooks) : chat_(chat), loop_(loop), hooks_(hooks) {
    loop_.watch(chat_.wake_fd(), [this] { chat_.handle_events(); });
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
      loop_.on_signal(signal, [this, signal] { stop(signal); });
    }
    chat_.show_all();
  }
  ~Watch() {
    loop_.unwatch(chat_.wake_fd());
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) loop_.default_signal(signal);
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // One round; false when the loop has to end.
  bool round(milliseconds at_most = milliseconds(-1)) {
    loop_.run_once(at_most);
    if (hooks_.output_closed() && !ended_) {
      ended_ = true;
      chat_.interrupt();
    }
    return !ended_ && !chat_.quit_requested();
  }

  // The answer that was cut short is stored before the program ends.
  int end(int code) {
    while (chat_.busy() && !chat_.loading()) loop_.run_once();
    return signal_ != 0 ? 128 + signal_ : code;
  }

  std::function<bool()> on_interrupt;  // ^C: true where it was dealt with

 private:
  void stop(int signal) {
    if (signal == SIGINT && on_interrupt && on_interrupt()) return;
    signal_ = signal;
    ended_ = true;
    chat_.interrupt();
  }

  Chat& chat_;
  EventLoop& loop_;
  const LineLoopHooks& hooks_;
  int signal_ = 0;
  bool ended_ = false;
};

milliseconds until(const std::optional<ScriptDriver::Clock::time_point>& deadline) {
  if (!deadline) return milliseconds(-1);
  const auto left = std::chrono::ceil<milliseconds>(*deadline - ScriptDriver::Clock::now());
  return std::max(left, milliseconds(0));
}

// readline calls back without a context.
struct TypedLines* typing = nullptr;

struct TypedLines {
  Chat& chat;
  const LineLoopHooks& hooks;
  bool handler_installed = false;
  bool ended = false;

  TypedLines(Chat& chat_in, const LineLoopHooks& hooks_in) : chat(chat_in), hooks(hooks_in) {
    typing = this;
    rl_catch_signals = 0;
    rl_readline_name = "bitnet-chat";
    rl_outstream = isatty(STDOUT_FILENO) == 1 ? stdout : stderr;
    rl_attempted_completion_function = complete;
  }
  ~TypedLines() {
    remove_handler();
    typing = nullptr;
  }
  TypedLines(const TypedLines&) = delete;
  TypedLines& operator=(const TypedLines&) = delete;

  void install_handler() {
    if (handler_installed) return;
    rl_callback_handler_install(hooks.prompt ? hooks.prompt().c_str() : "> ", take_line);
    handler_installed = true;
  }
  void insert(const std::string& text) {
    if (text.empty()) return;
    rl_insert_text(text.c_str());
    rl_redisplay();
  }
  // Leaves the row of the prompt. False where nothing was typed.
  bool clear() {
    if (!handler_installed) return false;
    const bool typed = rl_end > 0 || RL_ISSTATE(RL_STATE_ISEARCH | RL_STATE_NSEARCH);
    rl_callback_sigcleanup();  // out of a search
    rl_crlf();
    if (!typed) return false;
    rl_replace_line("", 1);
    rl_on_new_line();
    rl_redisplay();
    return true;
  }
  void remove_handler() {
    if (!handler_installed) return;
    rl_callback_handler_remove();
    handler_installed = false;
  }

  static void take_line(char* line) {
    typing->remove_handler();
    if (line == nullptr) {
      rl_crlf();  // what comes next is not ours
      typing->ended = true;
      return;
    }
    if (*line != '\0') add_history(line);
    if (typing->hooks.typed) typing->hooks.typed(line);
    typing->chat.submit(line);
    std::free(line);
  }

  static char* next_match(const char*, int state) {
    static std::vector<std::string> matches;
    static size_t at = 0;
    if (state == 0) {
      matches = typing->chat.complete(std::string_view(rl_line_buffer, static_cast<size_t>(rl_end)));
      // readline replaces the last word only.
      for (std::string& match : matches) match.erase(0, static_cast<size_t>(last_word));
      at = 0;
    }
    return at < matches.size() ? strdup(matches[at++].c_str()) : nullptr;
  }

  static char** complete(const char* text, int start, int) {
    rl_attempted_completion_over = 1;
    last_word = start;
    return rl_completion_matches(text, next_match);
  }
  static inline int last_word = 0;
};

// ^Z: whoever has the terminal while this process is stopped gets it as it was before readline set it.
class StopSignal {
 public:
  StopSignal(EventLoop& loop, const TypedLines& lines) : loop_(loop) {
    loop_.on_signal(SIGTSTP, [&lines] { stop(lines.handler_installed); });
  }
  ~StopSignal() { loop_.default_signal(SIGTSTP); }
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

 private:
  static void stop(bool editing) {
    if (editing) rl_cleanup_after_signal();
    struct sigaction by_default = {};
    struct sigaction former = {};
    by_default.sa_handler = SIG_DFL;
    sigaction(SIGTSTP, &by_default, &former);
    raise(SIGTSTP);
    sigaction(SIGTSTP, &former, nullptr);
    if (!editing) return;
    rl_reset_after_signal();
    rl_forced_update_display();
  }

  EventLoop& loop_;
};

// Lines as they come; three quotes make one of several.
class PipedLines {
 public:
  bool ended() const { return ended_; }

  void read_some() {
    char bytes[1 << 16];
    const ssize_t n = read(STDIN_FILENO, bytes, sizeof bytes);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
    ended_ = n <= 0;
    if (n > 0) bytes_.append(bytes, static_cast<size_t>(n));
  }

  std::optional<std::string> next() {
    while (const auto line = next_line()) {
      if (*line == kQuotes) {
        if (block_) return std::exchange(block_, std::nullopt);
        block_.emplace();
        first_of_block_ = true;
      } else if (block_) {
        *block_ += (first_of_block_ ? "" : "\n") + *line;
        first_of_block_ = false;
        check_length(block_->size());
      } else {
        return line;
      }
    }
    if (ended_ && block_) throw Error(ErrorKind::usage, "standard input: the block has no closing \"\"\"");
    return std::nullopt;
  }

 private:
  static constexpr const char* kQuotes = "\"\"\"";

  static void check_length(size_t bytes) {
    if (bytes > kMostNamedBytes)
      throw Error(ErrorKind::usage,
                  "standard input: a turn is longer than 16 MiB, the most that is read here");
  }

  std::optional<std::string> next_line() {
    size_t end = bytes_.find('\n', scanned_);
    if (end == std::string::npos) {
      scanned_ = bytes_.size();
      check_length(scanned_ + (block_ ? block_->size() : 0));
      if (!ended_ || bytes_.empty()) return std::nullopt;
      end = bytes_.size();
    }
    std::string line = bytes_.substr(0, end);
    bytes_.erase(0, std::min(end + 1, bytes_.size()));
    scanned_ = 0;
    if (line.ends_with('\r')) line.pop_back();
    return line;
  }

  std::string bytes_;
  size_t scanned_ = 0;  // of bytes_, without a line end
  std::optional<std::string> block_;
  bool first_of_block_ = false;
  bool ended_ = false;
};

}  // namespace

int run_question(Chat& chat, EventLoop& loop, const std::string& question, const LineLoopHooks& hooks) {
  Watch watch(chat, loop, hooks);
  while (chat.loading()) {
    if (!watch.round()) return watch.end(0);
  }
  if (chat.failure()) throw *chat.failure();
  if (question.find_first_not_of(" \t\r\n") == std::string::npos) return 0;
  chat.submit(question);
  while (chat.busy()) {
    if (!watch.round()) return watch.end(0);
  }
  return watch.end(hooks.exit_code());
}

int run_script(Chat& chat, EventLoop& loop, ScriptDriver& script, ScriptTarget& target,
               const LineLoopHooks& hooks) {
  Watch watch(chat, loop, hooks);
  while (true) {
    script.advance(chat, target);
    if (script.done() || chat.quit_requested()) return watch.end(0);
    if (!watch.round(until(script.deadline()))) return watch.end(0);
  }
}

int run_piped_lines(Chat& chat, EventLoop& loop, const LineLoopHooks& hooks) {
  Watch watch(chat, loop, hooks);
  PipedLines lines;
  bool asked = false;
  while (true) {
    if (chat.failure()) throw *chat.failure();
    if (chat.quit_requested()) return watch.end(0);
    if (chat.busy() || chat.loading()) {
      loop.unwatch(STDIN_FILENO);
    } else if (const auto line = lines.next()) {
      asked = asked || !chat.is_command(*line);
      chat.submit(*line);
      continue;
    } else if (lines.ended()) {
      return watch.end(asked ? hooks.exit_code() : 0);
    } else {
      loop.watch(STDIN_FILENO, [&] { lines.read_some(); });
    }
    if (!watch.round()) return watch.end(0);
  }
}

int run_typed_lines(Chat& chat, EventLoop& loop, const LineLoopHooks& hooks) {
  TypedLines lines(chat, hooks);
  Watch watch(chat, loop, hooks);
  const StopSignal stop_signal(loop, lines);
  watch.on_interrupt = [&] {
    if (!chat.busy()) return lines.clear();
    chat.interrupt();
    return true;
  };
  loop.watch(STDIN_FILENO, [&] {
    if (lines.handler_installed) rl_callback_read_char();
  });
  while (!lines.ended && !chat.failure()) {
    // While an answer is made the terminal is as it was, so that ^C and typing ahead work.
    if (chat.busy()) {
      lines.remove_handler();
      loop.unwatch(STDIN_FILENO);
    } else {
      lines.install_handler();
      if (hooks.take_returned) lines.insert(hooks.take_returned());
      loop.watch(STDIN_FILENO, [&] { rl_callback_read_char(); });
    }
    if (!watch.round()) break;
  }
  loop.unwatch(STDIN_FILENO);
  lines.remove_handler();
  if (chat.busy()) chat.interrupt();
  const int code = watch.end(0);
  if (code == 0 && chat.failure()) throw *chat.failure();
  return code;
}

}  // namespace bitnet
