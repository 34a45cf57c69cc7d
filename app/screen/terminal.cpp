#include "terminal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cwchar>
#include <utility>

#include "app/base/event_loop.h"
#include "app/text/text_width.h"
#include "engine/error.h"

// This comes last, because curses.h defines macros with short names.
#include <curses.h>

namespace bitnet {
namespace {

// What another program may have left otherwise: ASCII, overwriting, automatic margins, no mouse.
constexpr char kPlain[] = "\x0f\x1b(B\x1b[4l\x1b[?7h\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l";
// Likewise for what moves the cursor: addresses from the edge of the screen, all of which scrolls.
constexpr char kWholeScreen[] = "\x1b[?6l\x1b[r";
// Bracketed pastes, and the wheel as arrow keys (1007), whose former state is kept and put back.
constexpr char kKeepModes[] = "\x1b[?1007s";
constexpr char kModesOn[] = "\x1b[?2004h\x1b[?1007h";
constexpr char kMouseOn[] = "\x1b[?1000h\x1b[?1006h";  // buttons and wheel, as decimal numbers
// Between these a terminal that knows synchronised output shows what was there before; others ignore them.
constexpr char kFrameBegins[] = "\x1b[?2026h";
#define BITNET_FRAME_ENDS "\x1b[?2026l"
constexpr char kFrameEnds[] = BITNET_FRAME_ENDS;
#define BITNET_MODES_OFF BITNET_FRAME_ENDS "\x1b[?1006l\x1b[?1000l\x1b[?2004l\x1b[?1007r"
constexpr char kModesOff[] = BITNET_MODES_OFF;
constexpr size_t kMostMarks = CCHARW_MAX - 1;  // combining marks of one cell

attr_t attributes_of(const Look& look, Face face) {
  attr_t attributes = A_NORMAL;
  if (look.bold || face.bold) attributes |= A_BOLD;
  if (look.dim) attributes |= A_DIM;
  if (look.underline || face.underline) attributes |= A_UNDERLINE;
  if (look.reverse) attributes |= A_REVERSE;
  if (face.italic) attributes |= A_ITALIC;
  return attributes;
}

short pair_of(Tone tone) { return static_cast<short>(static_cast<int>(tone) + 1); }

void write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) {
      fd_set set;
      FD_ZERO(&set);
      FD_SET(fd, &set);
      select(fd + 1, nullptr, &set, nullptr, nullptr);
      continue;
    }
    if (n <= 0) return;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
}

// With these the handler of a fatal signal gives the terminal back.
termios former_terminal;
int terminal_fd = -1;  // the terminal, whatever file descriptor 1 is by then
int nowhere_fd = -1;
std::atomic<bool> terminal_taken = false;
std::atomic<bool> dying = false;
static_assert(std::atomic<bool>::is_always_lock_free);

// The signal may have hit another thread than the one that draws, and that one goes on until the process has
// ended: from here on we send what it draws to /dev/null. A write that has already begun comes before ours,
// because a terminal takes one write at a time.
extern "C" void give_back_and_die(int signal) {
  if (dying.exchange(true)) {
    while (true) pause();  // several threads may read one lost page; the first of them ends the process
  }
  if (terminal_taken) {
    constexpr char kReset[] = BITNET_MODES_OFF "\x1b[0m\x1b[?25h\x1b[?1049l\r\n";
    dup2(nowhere_fd, STDOUT_FILENO);
    [[maybe_unused]] const ssize_t n = write(terminal_fd, kReset, sizeof kReset - 1);
    tcsetattr(STDIN_FILENO, TCSANOW, &former_terminal);
  }
  std::signal(signal, SIG_DFL);
  raise(signal);
}

// Of what is written to the terminal: odd while something is.
std::atomic<unsigned> writes = 0;
// The terminal has taken nothing for so long that we write to /dev/null instead.
std::atomic<bool> given_up = false;
static_assert(std::atomic<unsigned>::is_always_lock_free);

class Writing {
 public:
  Writing() { ++writes; }
  ~Writing() { ++writes; }
  Writing(const Writing&) = delete;
  Writing& operator=(const Writing&) = delete;
};

// A terminal that is frozen or at the end of a dead line takes no output and lets a write wait without an
// end, in which no signal reaches the loop. Once one has come that ends the program, we look each second
// whether it is still the same write that waits.
extern "C" void watch_writes(int) {
  constexpr int kMostSeconds = 3;
  static unsigned seen = 0;
  static int seconds = 0;
  const unsigned now = writes;
  seconds = now % 2 == 0 ? 0 : now == seen ? seconds + 1 : 1;
  seen = now;
  if (seconds >= kMostSeconds) {
    given_up = true;
    dup2(nowhere_fd, STDOUT_FILENO);  // the write that this signal has interrupted goes on there
  }
  alarm(1);
}

void watch_writes_after(int signal) {
  if (signal == SIGTERM || signal == SIGHUP) alarm(1);
}

void end_by(int signal) {
  struct sigaction action = {};
  action.sa_handler = give_back_and_die;
  action.sa_flags = SA_ONSTACK;
  sigaction(signal, &action, nullptr);
}

// Opens the log, or /dev/null if the log is not a regular file, which could block the program.
int open_log(const std::string& file) {
  const int fd = file.empty() ? -1
                              : open(file.c_str(),
                                     O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);
  struct stat about = {};
  if (fd >= 0 && fstat(fd, &about) == 0 && S_ISREG(about.st_mode)) return fd;
  if (fd >= 0) close(fd);
  return open("/dev/null", O_WRONLY | O_CLOEXEC);
}

std::vector<wchar_t> code_points(std::string_view text) {
  std::vector<wchar_t> out;
  std::mbstate_t state{};
  while (!text.empty()) {
    wchar_t c = L'?';
    size_t n = std::mbrtowc(&c, text.data(), text.size(), &state);
    if (n == 0 || n > text.size()) {
      state = {};
      n = 1;
      c = L'\uFFFD';
    }
    out.push_back(c);
    text.remove_prefix(n);
  }
  return out;
}

// Returns a cluster as cells of ncurses, each a spacing character with its marks; none if ncurses or a
// terminal would count other columns than we do.
std::vector<std::vector<wchar_t>> cells_of(const std::vector<wchar_t>& cluster, int columns) {
  std::vector<std::vector<wchar_t>> cells;
  int sum = 0;
  for (const wchar_t c : cluster) {
    const int width = wcwidth(c);
    if (width < 0 || (width == 0 && cells.empty())) return {};
    if (width > 0) {
      cells.push_back({c});
      sum += width;
    } else if (cells.back().size() <= kMostMarks) {
      cells.back().push_back(c);
    }
  }
  if (sum != columns) cells.clear();
  return cells;
}

struct Pen {
  attr_t attributes;
  short pair;
};

void put_cell(const std::vector<wchar_t>& characters, const Pen& pen) {
  wchar_t text[CCHARW_MAX + 1] = {};
  std::copy_n(characters.begin(), std::min<size_t>(characters.size(), CCHARW_MAX), text);
  cchar_t cell;
  setcchar(&cell, text, pen.attributes, pen.pair, nullptr);
  add_wch(&cell);
}

// Puts cells for a cluster that ncurses cannot hold: they take the same columns, and the cluster is later
// written over them. `first` is the first character of the cluster.
void put_stand_in(wchar_t first, int columns, const Pen& pen) {
  const int width = std::max(wcwidth(first), 0);
  const bool fits = width > 0 && width <= columns;
  put_cell({fits ? first : L'?'}, pen);
  for (int i = fits ? width : 1; i < columns; ++i) put_cell({L' '}, pen);
}

// Returns whether a terminal that counts the characters of the cluster at column `x` one by one would go past
// the edge.
bool may_wrap(const std::vector<wchar_t>& cluster, int x, int columns, int screen_columns) {
  int counted = 0;
  for (const wchar_t c : cluster) counted += std::max(wcwidth(c), 0);
  return x + std::max(counted, columns) > screen_columns;
}

}  // namespace

Terminal::Terminal(const Theme& theme, const std::string& log_file, bool mouse)
    : theme_(theme), mouse_(mouse) {
  tcgetattr(STDIN_FILENO, &former_terminal);
  log_fd_ = open_log(log_file);
  former_stderr_ = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
  if (newterm(nullptr, stdout, stdin) == nullptr) {
    close(log_fd_);
    close(former_stderr_);
    throw Error(ErrorKind::runtime, "the terminal cannot be used as a screen; set TERM, or use a pipe");
  }
  set_escdelay(25);
  if (has_colors()) {
    start_color();
    use_default_colors();
    for (int i = 0; i < kToneCount; ++i) {
      init_pair(pair_of(static_cast<Tone>(i)), static_cast<short>(color_of(theme_.looks[i])), -1);
    }
  }
  raw();
  noecho();
  nonl();
  intrflush(stdscr, FALSE);
  scrollok(stdscr, FALSE);
  terminal_fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  nowhere_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
  end_by(SIGABRT);
#ifndef BITNET_SANITIZED  // sanitizers report these themselves
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) end_by(signal);
#endif
  struct sigaction watch = {};
  watch.sa_handler = watch_writes;
  sigaction(SIGALRM, &watch, nullptr);
  EventLoop::at_arrival(watch_writes_after);
  const Writing writing;
  enter();
  read_size();
}

Terminal::~Terminal() {
  leave();
  EventLoop::at_arrival(nullptr);
  alarm(0);
  std::signal(SIGALRM, SIG_DFL);
  close(log_fd_);
  close(former_stderr_);
  close(std::exchange(terminal_fd, -1));
  close(std::exchange(nowhere_fd, -1));
}

int Terminal::color_of(const Look& look) const {
  if (!has_colors()) return -1;
  const int color = COLORS >= 256 ? look.color : look.fallback;
  return color < COLORS ? color : -1;
}

void Terminal::enter() {
  dup2(log_fd_, STDERR_FILENO);
  terminal_taken = true;
  write_all(STDOUT_FILENO, kKeepModes);
  set_modes();
}

void Terminal::set_modes() {
  write_all(STDOUT_FILENO, kPlain);
  write_all(STDOUT_FILENO, kModesOn);
  if (mouse_) write_all(STDOUT_FILENO, kMouseOn);
}

// In the background the first line stops us once more, before anything is written on the screen of a shell.
void Terminal::enter_again() {
  reset_prog_mode();
  const Writing writing;
  enter();
  refresh();  // shows the alternate screen
  write_all(STDOUT_FILENO, kWholeScreen);
  read_size();
}

void Terminal::come_back() {
  const pid_t owner = tcgetpgrp(STDIN_FILENO);  // -1: no terminal that has jobs
  if (owner == -1 || owner == getpgrp()) {
    const Writing writing;
    reset_prog_mode();
    set_modes();
    write_all(STDOUT_FILENO, kWholeScreen);
  }
  read_size();
}

void Terminal::leave() {
  const Writing writing;
  write_all(STDOUT_FILENO, kModesOff);
  curs_set(1);
  endwin();
  while (tcsetattr(STDIN_FILENO, given_up ? TCSANOW : TCSADRAIN, &former_terminal) != 0 && errno == EINTR) {
  }
  terminal_taken = false;
  if (!given_up) dup2(former_stderr_, STDERR_FILENO);
}

void Terminal::read_size() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0) {
    if (size.ws_row != LINES || size.ws_col != COLS) resizeterm(size.ws_row, size.ws_col);
  }
  rows_ = LINES;
  columns_ = COLS;
  forget();
}

void Terminal::forget() {
  shown_.clear();
  rewrites_.clear();
  clearok(curscr, TRUE);
}

void Terminal::suspend() {
  leave();
  struct sigaction stop = {};
  struct sigaction former = {};
  stop.sa_handler = SIG_DFL;
  sigaction(SIGTSTP, &stop, &former);
  kill(0, SIGTSTP);  // the whole job, as the terminal itself would
  sigaction(SIGTSTP, &former, nullptr);
  enter_again();
}

void Terminal::lend(const std::function<void()>& use) {
  leave();
  try {
    use();
  } catch (...) {
    enter_again();
    throw;
  }
  enter_again();
}

void Terminal::send(std::string_view bytes) {
  const Writing writing;
  write_all(STDOUT_FILENO, bytes);
}

void Terminal::draw_row(int y, const Row& row) {
  std::vector<PlacedText> rewrites;
  int x = 0;
  move(y, 0);
  for (const Span& span : row.spans) {
    const Look& look = theme_.of(span.face.tone);
    const Pen pen{attributes_of(look, span.face), color_of(look) >= 0 ? pair_of(span.face.tone) : short{0}};
    std::string_view text = span.text;
    while (!text.empty()) {
      const Cluster cluster = first_cluster(text);
      const std::string_view bytes = shown_part(text.substr(0, cluster.bytes));
      text.remove_prefix(cluster.bytes);
      if (cluster.columns == 0) continue;
      if (x + cluster.columns > columns_) break;
      const std::vector<wchar_t> characters = code_points(bytes);
      const auto cells = cells_of(characters, cluster.columns);
      for (const auto& cell : cells) put_cell(cell, pen);
      const auto placed = [&] {
        return PlacedText{x, x + cluster.columns, std::string(bytes), span.face, cells.empty()};
      };
      if (cells.empty()) {
        put_stand_in(characters.front(), cluster.columns, pen);
        if (!may_wrap(characters, x, cluster.columns, columns_)) rewrites.push_back(placed());
      } else if (!rewrites.empty() || span.face.strike) {
        add_to(rewrites, placed());
      }
      x += cluster.columns;
    }
  }
  if (x < columns_) clrtoeol();
  rewrites_.erase(y);
  if (!rewrites.empty()) rewrites_[y] = std::move(rewrites);
}

void Terminal::add_to(std::vector<PlacedText>& rewrites, PlacedText placed) {
  if (!rewrites.empty()) {
    PlacedText& last = rewrites.back();
    if (!last.contested && last.face == placed.face && last.end == placed.column) {
      last.text += placed.text;
      last.end = placed.end;
      return;
    }
  }
  rewrites.push_back(std::move(placed));
}

// Terminals disagree about the columns of emoji sequences, and ncurses cannot hold some of them in a cell. We
// therefore write everything in a row from the first such cluster on once more, each piece at its own column.
// Then the text after the cluster stands where it belongs even if the terminal counts otherwise than we do.
// Struck-through text is written here too, because ncurses has no such attribute.
std::string Terminal::rewritten() const {
  std::string out;
  for (const auto& [y, pieces] : rewrites_) {
    if (y >= rows_) continue;
    for (const PlacedText& piece : pieces) {
      const Look& look = theme_.of(piece.face.tone);
      out += fmt::format("\x1b[{};{}H\x1b[0", y + 1, piece.column + 1);
      if (piece.face.bold || look.bold) out += ";1";
      if (look.dim) out += ";2";
      if (piece.face.italic) out += ";3";
      if (piece.face.underline || look.underline) out += ";4";
      if (look.reverse) out += ";7";
      if (piece.face.strike) out += ";9";
      if (const int color = color_of(look); color >= 8) {
        out += fmt::format(";38;5;{}", color);
      } else if (color >= 0) {
        out += fmt::format(";{}", 30 + color);
      }
      out += "m" + piece.text;
    }
  }
  return out.empty() ? out
                     : "\x1b"
                       "7" +
                           out +
                           "\x1b"
                           "8";
}

void Terminal::draw(const std::vector<Row>& rows, int cursor_row, int cursor_column) {
  const Writing writing;
  shown_.resize(static_cast<size_t>(rows_), Row{{{"\x01", {}}}, 0});
  static const Row kEmpty;
  bool changed = false;
  for (int y = 0; y < rows_; ++y) {
    const auto i = static_cast<size_t>(y);
    const Row& row = i < rows.size() ? rows[i] : kEmpty;
    if (shown_[i].spans == row.spans) continue;
    // A terminal that gave a rewritten cluster other columns than ncurses knows of keeps what is left of it
    // until ncurses writes the whole row.
    if (rewrites_.contains(y)) wredrawln(stdscr, y, 1);
    draw_row(y, row);
    shown_[i] = row;
    changed = true;
  }
  curs_set(cursor_row < 0 ? 0 : 1);
  move(std::clamp(cursor_row, 0, rows_ - 1), std::clamp(cursor_column, 0, columns_ - 1));
  const std::string rewrites = rewritten();
  const bool is_frame = changed || !rewrites.empty();
  if (is_frame) write_all(STDOUT_FILENO, kFrameBegins);
  refresh();
  write_all(STDOUT_FILENO, rewrites);
  if (is_frame) write_all(STDOUT_FILENO, kFrameEnds);
}

}  // namespace bitnet
