// Lines that a person types, edited with readline.
//
// Thread rule: lives on the loop's thread; readline is global, so there is at most one TypedLines in a
// process.
//
// readline has the terminal from start_editing() to stop_editing() or the end of a line. Otherwise the
// terminal is as it was before.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "app/readline/line_guard.h"

namespace bitnet {

struct TypedLineCalls {
  std::function<std::string()> prompt;
  std::function<void(const std::string& line)> take;                        // may throw
  std::function<std::vector<std::string>(std::string_view line)> complete;  // whole lines
};

class TypedLines {
 public:
  explicit TypedLines(TypedLineCalls calls);
  ~TypedLines();
  TypedLines(const TypedLines&) = delete;
  TypedLines& operator=(const TypedLines&) = delete;

  void start_editing();  // shows the prompt; no effect while a line is being edited
  void stop_editing();   // what has been typed is lost
  void read_key();       // requires start_editing(), and that standard input can be read
  void insert(const std::string& text);
  // Takes back what has been typed, and leaves the row of the prompt. Returns false where nothing was typed.
  bool clear();
  // Stops the process, as ^Z does. Whoever has the terminal meanwhile gets it as readline found it.
  void stop_process();
  bool input_ended() const { return input_ended_; }

 private:
  struct Readline;  // what readline calls

  TypedLineCalls calls_;
  LineGuard guard_;
  bool editing_ = false;
  bool input_ended_ = false;
};

}  // namespace bitnet
