// The loop of a chat without a screen, for plain lines and for JSON.
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
  std::function<bool()> output_closed;  // true: nobody reads any more, and the loop ends quietly
  // Of the last answer, or 1 if an error came after it; nothing if there was neither.
  std::function<std::optional<int>()> exit_code;
  std::function<std::string()> take_returned;   // text that the next line starts with; the hook may be empty
  std::function<std::string()> prompt;          // shown before the typed line; an empty hook: "> "
  std::function<void(std::string_view)> typed;  // told each typed line; may be empty
};

// Waits for the model, asks one question and waits for its answer. An empty question only waits for the
// model. Every function here returns the exit code.
int run_question(Chat& chat, EventLoop& loop, const std::string& question, const LineLoopHooks& hooks);

int run_script(Chat& chat, EventLoop& loop, ScriptDriver& script, ScriptTarget& target,
               const LineLoopHooks& hooks);

// Takes what another program writes to standard input, until its end or /quit. Each line is a turn or a
// command and is taken once the one before it has been answered. A line of three quotes opens and closes a
// turn of several lines. Returns the exit code of the last answer, or 1 where a line failed after it; without
// an answer, whether one failed.
int run_piped_lines(Chat& chat, EventLoop& loop, const LineLoopHooks& hooks);

// Takes what a person types, line by line with readline, until the end of input or /quit.
int run_typed_lines(Chat& chat, EventLoop& loop, const LineLoopHooks& hooks);

}  // namespace bitnet
