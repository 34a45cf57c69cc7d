// The terminal while the screen is up: ncurses, the settings around it, and the way back.
//
// Thread rule: lives on the loop's thread; at most one Terminal in a process.
//
// While a Terminal lives, the terminal is raw, it shows the alternate screen, it brackets pastes, and file
// descriptor 2 goes to the log, because drivers write there. The destructor and suspend() put all of this
// back, and so does a signal that ends the process, as far as a signal handler can. Once SIGTERM or SIGHUP
// has come, a terminal that takes no output for three seconds gets no more of it, so that the program can
// end.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "app/base/signal_stack.h"
#include "app/text/styled_text.h"
#include "app/text/theme.h"

namespace bitnet {

// Returns whether a Terminal can work here: standard input and output are a terminal that can move its
// cursor, and the locale, which this call sets (utf8_locale.h), uses UTF-8.
bool screen_usable();

class Terminal {
 public:
  // With an empty `log_file`, what is written to file descriptor 2 is dropped. With `mouse`, the terminal
  // reports the buttons and the wheel instead of selecting text. Throws Error(runtime).
  Terminal(const Theme& theme, const std::string& log_file, bool mouse);
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  int columns() const { return columns_; }
  int rows() const { return rows_; }
  void read_size();  // after SIGWINCH

  // Shows exactly these rows and writes only what has changed. Rows and columns past the terminal's edges are
  // cut. The cursor goes to (row, column); a negative row hides it.
  void draw(const std::vector<Row>& rows, int cursor_row, int cursor_column);
  void forget();  // the next draw() writes everything

  // Gives the terminal back, stops the process, and takes the terminal again when it continues.
  void suspend();
  // Gives the terminal back while `use` runs. The modes that it leaves set are ours again.
  void lend(const std::function<void()>& use);
  // After SIGCONT: whoever had the terminal while the process was stopped without suspend() may have changed
  // its settings and modes. In the background the terminal stays as it is.
  void come_back();
  void send(std::string_view bytes);  // straight to the terminal; the bytes must not move its cursor

 private:
  struct PlacedText {
    int column;
    int end;  // the column after it
    std::string text;
    Face face;
    bool contested;  // terminals disagree about its columns
  };
  void enter();
  void enter_again();
  void leave();
  void set_modes();
  void draw_row(int y, const Row& row);
  static void add_to(std::vector<PlacedText>& rewrites, PlacedText placed);
  std::string rewritten() const;

  int color_of(const Look& look) const;  // -1: none

  const Theme& theme_;
  const bool mouse_;
  const SignalStack signal_stack_;
  int log_fd_ = -1;
  int former_stderr_ = -1;
  int columns_ = 0;
  int rows_ = 0;
  std::vector<Row> shown_;
  // By row, what has to be written once more because ncurses cannot place it; see rewritten().
  std::map<int, std::vector<PlacedText>> rewrites_;
};

}  // namespace bitnet
