// Recordings of a terminal: asciicast v3 (https://docs.asciinema.org/manual/asciicast/v3/).
//
// Thread rule: belongs to one thread.
//
// A header line, then one [interval, code, data] a line, the interval in seconds since the line before:
// "o" what the terminal was sent, "i" what was typed (where that is asked for: it may be a password that no
// screen showed), "r" its new size, "x" the exit code. Every line is written at once, so what was recorded
// before a crash can be played.
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
  // Begins a file. Throws Error(runtime) that names it.
  CastRecorder(const std::string& file, const WriteRules& rules, int columns, int rows, bool with_input);

  // What a terminal gets as it is; what is no UTF-8 becomes U+FFFD. Nothing where `bytes` is empty.
  void output(std::string_view bytes);
  void lines(std::string_view text);  // of plain text: made safe, its newlines with a return
  void input(std::string_view bytes);
  void resize(int columns, int rows);  // no effect where that is the size already
  void finish(int exit_code);

  bool failed() const { return out_->failed(); }  // it could not be written; nothing more is

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

// A screen that is drawn whole, as the bytes that change one frame into the next.
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
