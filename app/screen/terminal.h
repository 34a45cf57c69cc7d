// The terminal while the screen is up: ncurses, the settings around it, and the way back.
//
// Thread rule: lives on the loop's thread; at most one Terminal in a process.
//
// While a Terminal lives, the terminal is raw, the alternate screen is shown, pastes come bracketed, and
// file descriptor 2 goes to the log, because drivers write there. All of it is put back by the destructor, by
// suspend() and, as far as that is possible, by a signal that ends the process.
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

// True where a Terminal can work: a terminal on both ends that can move its cursor, and UTF-8. Sets the
// locale.
bool screen_usable();

class Terminal {
 public:
  // `log_file` empty: what is written to file descriptor 2 is dropped. Throws Error(runtime).
  Terminal(const Theme& theme, const std::string& log_file);
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  int columns() const { return columns_; }
  int rows() const { return rows_; }
  void read_size();  // after SIGWINCH

  // Shows exactly these rows; writes only what differs from what is there. Rows and columns past the
  // terminal's are cut. The cursor goes to (row, column), or is hidden where row is negative.
  void draw(const std::vector<Row>& rows, int cursor_row, int cursor_column);
  void forget();  // the next draw writes everything

  // Gives the terminal back, stops the process, and takes the terminal again when it continues.
  void suspend();
  // Gives the terminal back while `use` has it.
  void lend(const std::function<void()>& use);
  void send(std::string_view bytes);  // to the terminal, past the screen: a sequence that moves nothing

 private:
  struct PlacedText {
    int column;
    int end;  // the column after it
    std::string text;
    Face face;
    bool contested;  // terminals disagree about its columns
  };
  void enter();
  void leave();
  void draw_row(int y, const Row& row);
  static void add_to(std::vector<PlacedText>& rewrites, PlacedText placed);
  std::string rewritten() const;

  int color_of(const Look& look) const;  // -1: none

  const Theme& theme_;
  const SignalStack signal_stack_;
  int log_fd_ = -1;
  int former_stderr_ = -1;
  int columns_ = 0;
  int rows_ = 0;
  std::vector<Row> shown_;
  // Rows with clusters that ncurses cannot place, as what follows the first of them; see rewritten().
  std::map<int, std::vector<PlacedText>> rewrites_;
};

}  // namespace bitnet
