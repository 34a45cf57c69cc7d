#include "line_loop.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>

#include "app/chat/chat.h"
#include "piped_lines.h"
#include "typed_lines.h"

namespace bitnet {
namespace {

using std::chrono::milliseconds;

// Runs the event loop, handles the signals that end a program, and knows the exit code.
class Watch {
 public:
  Watch(Chat& chat, EventLoop& loop, const LineLoopHooks& hooks) : chat_(chat), loop_(loop), hooks_(hooks) {
    loop_.watch(chat_.wake_fd(), [this] { chat_.handle_events(); });
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
      loop_.on_signal(signal, [this, signal] { stop(signal); });
    }
  }
  ~Watch() {
    loop_.unwatch(chat_.wake_fd());
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) loop_.default_signal(signal);
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // Runs one round. Returns false when the loop has to end.
  bool round(milliseconds at_most = milliseconds(-1)) {
    loop_.run_once(at_most);
    if (hooks_.output_closed() && !ended_) {
      ended_ = true;
      chat_.interrupt_at_end();
      loop_.run_once(milliseconds(0));  // it may be closed because a signal has come
    }
    return !ended_ && !chat_.quit_requested();
  }

  // Waits until an answer that was cut short has been stored. Returns the exit code.
  int end(int code) {
    while (chat_.busy() && !chat_.loading()) loop_.run_once();
    return signal_ != 0 ? 128 + signal_ : code;
  }

  std::function<bool()> on_interrupt;  // returns whether it has dealt with ^C

 private:
  void stop(int signal) {
    if (signal == SIGINT && on_interrupt && on_interrupt()) return;
    signal_ = signal;
    ended_ = true;
    loop_.note_end();
    chat_.interrupt_at_end();
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

// Handles ^Z while lines are typed.
class StopSignal {
 public:
  StopSignal(EventLoop& loop, TypedLines& lines) : loop_(loop) {
    loop_.on_signal(SIGTSTP, [&lines] { lines.stop_process(); });
  }
  ~StopSignal() { loop_.default_signal(SIGTSTP); }
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

 private:
  EventLoop& loop_;
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
  return watch.end(hooks.exit_code().value_or(1));
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
  const auto end = [&] { return watch.end(hooks.exit_code().value_or(asked ? 1 : 0)); };
  while (true) {
    if (chat.failure()) throw *chat.failure();
    if (chat.quit_requested()) return end();
    if (chat.busy() || chat.loading()) {
      loop.unwatch(STDIN_FILENO);
    } else if (const auto line = lines.next()) {
      asked = asked || !chat.is_command(*line);
      chat.submit(*line);
      continue;
    } else if (lines.ended()) {
      return end();
    } else {
      loop.watch(STDIN_FILENO, [&] { lines.read_some(); });
    }
    if (!watch.round() && !chat.quit_requested()) return watch.end(0);
  }
}

int run_typed_lines(Chat& chat, EventLoop& loop, const LineLoopHooks& hooks) {
  TypedLines lines({[&] { return hooks.prompt ? hooks.prompt() : "> "; },
                    [&](const std::string& line) {
                      if (hooks.typed) hooks.typed(line);
                      chat.submit(line);
                    },
                    [&](std::string_view line) { return chat.complete(line); }});
  Watch watch(chat, loop, hooks);
  const StopSignal stop_signal(loop, lines);
  watch.on_interrupt = [&] {
    if (!chat.busy()) return lines.clear();
    chat.interrupt();
    return true;
  };
  while (!lines.input_ended() && !chat.failure()) {
    // While an answer runs, readline gives the terminal back, so that ^C and typing ahead work.
    if (chat.busy()) {
      lines.stop_editing();
      loop.unwatch(STDIN_FILENO);
    } else {
      lines.start_editing();
      if (hooks.take_returned) lines.insert(hooks.take_returned());
      loop.watch(STDIN_FILENO, [&] { lines.read_key(); });
    }
    if (!watch.round()) break;
  }
  loop.unwatch(STDIN_FILENO);
  lines.stop_editing();
  if (chat.busy()) chat.interrupt_at_end();
  const int code = watch.end(0);
  if (code == 0 && chat.failure()) throw *chat.failure();
  return code;
}

}  // namespace bitnet
