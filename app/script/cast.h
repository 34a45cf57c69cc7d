// Writes recordings of a terminal: asciicast v3 (https://docs.asciinema.org/manual/asciicast/v3/).
//
// Thread rule: belongs to one thread.
//
// A header comes first, then a line for each event: [interval, code, data], with the seconds since the line
// before. The codes are "o" for what the terminal was sent, "i" for what was typed (only where that is asked
// for, since it may be a password that no screen showed), "r" for its new size and "x" for the exit code.
// Every line is written at once, so that what was recorded before a crash can be played.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "app/base/output_file.h"
#include "app/text/styled_text.h"
#include "app/text/theme.h"

namespace bitnet {

class CastRecorder {
 public:
  // Begins a file. Throws Error(runtime) that names it, and leaves none behind then.
  CastRecorder(const std::string& file, const WriteRules& rules, int columns, int rows, bool with_input);

  // Records what a terminal gets, as it is; what is no UTF-8 becomes U+FFFD. No bytes are no event.
  void output(std::string_view bytes);
  void lines(std::string_view text);  // plain text: it is made safe, and its newlines get a return
  void input(std::string_view bytes);
  void resize(int columns, int rows);  // no effect where that is the size already
  void finish(int exit_code);

  bool failed() const { return out_->failed(); }  // a write failed, and nothing more is written

 private:
  void event(const char* code, std::string_view data);

  using Clock = std::chrono::steady_clock;
  std::unique_ptr<OutputFile> out_;
  bool with_input_;
  int columns_;
  int rows_;
  int64_t milliseconds_ = 0;  // since the beginning, as written so far
  Clock::time_point begun_ = Clock::now();
};

// Turns a screen that is drawn whole into the bytes that change one frame into the next.
class FrameWriter {
 public:
  explicit FrameWriter(const Theme& theme) : theme_(theme) {}
  // Only rows that differ are written. The cursor goes to (row, column), or is hidden where row is negative.
  std::string bytes(const std::vector<Row>& rows, int columns, int screen_rows, int cursor_row,
                    int cursor_column);

 private:
  const Theme& theme_;
  std::vector<Row> shown_;
  int columns_ = 0;
  int screen_rows_ = 0;
};

}  // namespace bitnet
