// The loop of a chat without a screen, for plain lines and for JSON alike.
//
// Thread rule: lives on the loop's thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "app/base/event_loop.h"
#include "app/script/script.h"

namespace bitnet {

class Chat;

struct LineLoopHooks {
  std::function<bool()> output_closed;          // nobody reads any more: end quietly
  std::function<int()> exit_code;               // of a question: what its answer came to
  std::function<std::string()> take_returned;   // text for the line that is typed next; may be empty
  std::function<std::string()> prompt;          // before the line that is typed; empty: "> "
  std::function<void(std::string_view)> typed;  // a line that the person's terminal has shown; may be empty
};

// One question: waits for the model, asks, waits for the answer. An empty question only waits for the model.
int run_question(Chat& chat, EventLoop& loop, const std::string& question, const LineLoopHooks& hooks);

int run_script(Chat& chat, EventLoop& loop, ScriptDriver& script, ScriptTarget& target,
               const LineLoopHooks& hooks);

// What another program writes to standard input: each line is a turn or a command, taken once the one before
// it has been answered, until the end of input or /quit; a line of three quotes opens and closes a turn of
// several lines. The exit code is that of the last answer.
int run_piped_lines(Chat& chat, EventLoop& loop, const LineLoopHooks& hooks);

// What a person types, line by line with readline, until the end of input or /quit.
int run_typed_lines(Chat& chat, EventLoop& loop, const LineLoopHooks& hooks);

}  // namespace bitnet
