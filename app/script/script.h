// A script is what a person would type, with verbs that wait, expect and press keys.
//
// Thread rule: a driver lives on the loop's thread.
//
// A line is typed and sent as it stands. A line of three quotes opens and closes a block of several lines;
// '#' begins a comment, '@' begins a verb (and "@@" a line that begins with '@'):
//   @wait idle|/re/ [seconds]   until nothing runs, or until what is visible matches; 60 s unless told
//   @expect /re/                fails the script unless what is visible matches now or once nothing runs
//   @expect-not /re/            fails it if what is visible matches once nothing runs
//   @key NAME                   Enter, Esc, Tab, Up, PgUp, F1, C-c, M-Enter, a single character, ...
//   @resize COLSxROWS           resizes the screen; of plain lines, which have none, what a screenshot shows
//   @interrupt after=N          stops the running or else the next answer after N tokens
//   @screenshot FILE            writes what is visible, as text; of plain lines all of them, until a @resize
//   @allow-errors [off]         from here on, a command or a turn that fails does not end the script
// A typed line waits for the answer before it, and so does the script's end; verbs other than @wait, @expect
// and @expect-not act at once. Patterns are PCRE2 with UTF-8, multi-line; "\/" is a slash.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/base/output_file.h"

namespace bitnet {

class Chat;

struct ScriptStep {
  enum class Verb {
    type,
    wait_idle,
    wait_text,
    expect,
    expect_not,
    key,
    resize,
    interrupt,
    screenshot,
    allow_errors,
    finish
  };
  Verb verb = Verb::type;
  std::string text;      // what to type, the pattern, the key's name or the file
  uint32_t number = 0;   // @interrupt: tokens; @resize: columns; @allow-errors: 0 = off
  uint32_t number2 = 0;  // @resize: rows
  std::chrono::milliseconds limit{0};
  int line = 0;  // in the script, from 1
};

// `name` is used in messages. Throws Error(usage) "name:line: ..." for what is not a script.
std::vector<ScriptStep> parse_script(std::string_view text, const std::string& name);

// What a script can do to a front end. All calls come on the loop's thread.
class ScriptTarget {
 public:
  virtual ~ScriptTarget() = default;
  virtual void type_line(std::string_view text) = 0;  // types and sends it; it may hold line breaks
  virtual void press_key(std::string_view name) = 0;  // throws Error(usage) for a key it does not have
  virtual void resize(int columns, int rows) = 0;     // no effect where there is no screen
  virtual std::string visible_text() = 0;             // what a person can see now
  virtual std::string screenshot() = 0;               // what @screenshot writes
};

class ScriptDriver {
 public:
  using Clock = std::chrono::steady_clock;

  ScriptDriver(std::vector<ScriptStep> steps, std::string name, WriteRules rules = {});

  // Does every step that can be done now. Call it in every round of the loop, after events were handled.
  // Throws Error(mismatch), with what was visible, where an expectation or a command fails or a wait takes
  // too long.
  void advance(Chat& chat, ScriptTarget& target);

  bool done() const { return at_ == steps_.size(); }
  std::optional<Clock::time_point> deadline() const { return deadline_; }  // of the running wait

 private:
  bool step(const ScriptStep& step, Chat& chat, ScriptTarget& target);
  void check_for_errors(Chat& chat, ScriptTarget& target) const;
  void take_screenshot(const ScriptStep& step, ScriptTarget& target) const;
  [[noreturn]] void fail(const ScriptStep& step, const std::string& what, ScriptTarget& target) const;

  std::vector<ScriptStep> steps_;
  std::string name_;
  WriteRules rules_;
  size_t at_ = 0;
  size_t typed_ = 0;  // the last step that typed something
  bool allow_errors_ = false;
  std::optional<Clock::time_point> deadline_;
};

}  // namespace bitnet
