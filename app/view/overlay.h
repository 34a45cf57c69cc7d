// What lies over the transcript or the input line for a while and has the keys first: help, the find bar, a
// list to pick from. Several lie in a stack.
//
// Thread rule: lives on the loop's thread; it knows no terminal.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/text/key_decoder.h"
#include "app/text/styled_text.h"

namespace bitnet {

class Overlay {
 public:
  virtual ~Overlay() = default;

  struct Outcome {
    bool closes = false;                // the overlay is over
    std::optional<KeyPress> passed_on;  // what lies below it gets this; nothing: the key has been used
  };
  // `columns` and `rows` are those of the transcript's place. An Error closes the overlay.
  virtual Outcome press(const KeyPress& key, int columns, int rows) = 0;
  // A line that is typed as a whole, by a script, goes past the overlay; this tells whether it closes it.
  virtual bool closes_for_line() const { return false; }

  // What is shown in place of the transcript, at most `rows` rows; nothing: the transcript stays.
  virtual std::optional<std::vector<Row>> rows(int columns, int rows);
  // What is shown in place of the input line, and the column of its cursor; nothing: the input line stays.
  virtual std::optional<Row> input_row(int columns, int& cursor_column);
};

class OverlayStack {
 public:
  void open(std::unique_ptr<Overlay> overlay) { overlays_.push_back(std::move(overlay)); }
  bool is_open() const { return !overlays_.empty(); }
  void close_all() { overlays_.clear(); }
  void close_for_line();

  // The topmost overlay gets the key, and each one below it gets what the one above has passed on. Returns
  // what all of them have passed on.
  std::optional<KeyPress> press(const KeyPress& key, int columns, int rows);

  // Of the topmost overlay that has something there.
  std::optional<std::vector<Row>> rows(int columns, int rows);
  std::optional<Row> input_row(int columns, int& cursor_column);

 private:
  std::vector<std::unique_ptr<Overlay>> overlays_;  // the topmost is the last
};

// The line that an overlay lets the person type. A key's bytes change it: text is added up to the end of its
// first line, Backspace, ^U and ^W take away. The line takes no more than 1,000 bytes, because whoever pastes
// more into it has not meant to, and it is laid out and searched for with each key. Returns whether they did.
bool edit_short_line(std::string& line, std::string_view bytes);

}  // namespace bitnet
