#include "input_line.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <utility>

// readline's headers need FILE to be declared.
#include <readline/history.h>
#include <readline/readline.h>

#include "app/text/text_safe.h"
#include "app/text/text_units.h"
#include "readline_units.h"

namespace bitnet {
namespace {

constexpr size_t kFoldedLines = 8;
constexpr size_t kFoldedBytes = 2000;
constexpr size_t kFoldedReturned = 1 << 14;    // bytes of a text that is given back
constexpr size_t kRememberedBytes = 64 << 10;  // of one entry of the history
constexpr int kHistoryEntries = 1000;
constexpr off_t kHistoryBytes = 16 << 20;
constexpr char kPrompt[] = "";

// A stream that drops what readline would print, such as bells and messages.
FILE* nowhere() {
  static FILE* file = std::fopen("/dev/null", "r+");
  return file;
}

std::string common_prefix(const std::vector<std::string>& lines) {
  std::string prefix = lines.front();
  for (const std::string& line : lines) {
    const auto differ = std::mismatch(prefix.begin(), prefix.end(), line.begin(), line.end());
    prefix.erase(differ.first, prefix.end());
  }
  while (!prefix.empty() && (prefix.back() & 0xC0) == 0x80) prefix.pop_back();
  return prefix;
}

// Returns pasted bytes as well-formed UTF-8 with \n as line ends and without NUL, which would end readline's
// strings.
std::string cleaned(std::string_view bytes) {
  std::string text;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] == '\r') {
      if (i + 1 == bytes.size() || bytes[i + 1] != '\n') text += '\n';
    } else if (bytes[i] != '\0') {
      text += bytes[i];
    }
  }
  return make_safe(text);
}

size_t lines_of(std::string_view text) {
  return static_cast<size_t>(std::count(text.begin(), text.end(), '\n')) +
         (text.empty() || text.back() == '\n' ? 0 : 1);
}

}  // namespace

namespace {

// Makes the history file if there is none. Returns why the file cannot be read and written, or nothing. We
// check this first because readline would wait on a pipe and would read a file of any size.
std::string history_problem(const std::string& file) {
  const int fd = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);
  struct stat about {};
  std::string problem;
  if (fd < 0 || fstat(fd, &about) != 0) {
    problem = std::strerror(errno);
  } else if (!S_ISREG(about.st_mode)) {
    problem = "is no regular file";
  } else if (about.st_size > kHistoryBytes) {
    problem = fmt::format("is longer than {} MiB; move it away to begin a new one", kHistoryBytes >> 20);
  } else {
    fchmod(fd, 0600);
  }
  if (fd >= 0) close(fd);
  return problem;
}

// A line that stands before each entry: readline takes any that begins with # and a digit for one, and so
// would lose entries that do.
bool is_time_stamp(std::string_view line) {
  constexpr size_t kLeastDigits = 9;
  return line.size() > kLeastDigits && line[0] == '#' &&
         line.find_first_not_of("0123456789", 1) == std::string_view::npos;
}

// Reads the entries that append_history() has written, of one line or several. Before the first time stamp
// each line is an entry.
void read_entries(const std::string& file) {
  std::ifstream in(file);
  std::string line, entry, stamp;
  const auto add = [&] {
    if (entry.empty()) return;
    entry.pop_back();  // its last newline
    if (entry.find_first_not_of(" \t\n") != std::string::npos) {
      add_history(entry.c_str());
      if (!stamp.empty()) add_history_time(stamp.c_str());
    }
    entry.clear();
  };
  while (std::getline(in, line)) {
    const bool is_stamp = is_time_stamp(line);
    if (is_stamp || stamp.empty()) add();
    if (is_stamp)
      stamp = line;
    else
      entry += line + "\n";
  }
  add();
}

// Returns whether this is the sequence of a key that nobody has bound, or a terminal's reply: readline would
// take its beginning for a key and insert the rest.
bool is_unbound_sequence(std::string_view bytes) {
  if (bytes.size() < 3 || (!bytes.starts_with("\x1b[") && !bytes.starts_with("\x1bO"))) return false;
  return rl_function_of_keyseq_len(bytes.data(), bytes.size(), rl_get_keymap(), nullptr) == nullptr;
}

}  // namespace

InputLine* InputLine::instance_ = nullptr;

// The functions that readline calls. readline is C, so no exception may leave them.
struct ReadlineHooks {
  static int read_byte(FILE*) {
    std::deque<char>& pending = InputLine::instance_->pending_;
    if (pending.empty()) return EOF;
    const auto byte = static_cast<unsigned char>(pending.front());
    pending.pop_front();
    return byte;
  }
  static int input_available() { return InputLine::instance_->pending_.empty() ? 0 : 1; }
  static void redisplay() { InputLine::instance_->guard_.mend_after_command(); }
  static void prepare_terminal(int) {}
  static void restore_terminal() {}
  static void line(char* text) {
    InputLine::instance_->guard_.end_line();
    if (text == nullptr) return;
    InputLine::instance_->accepted_.emplace_back(text);
    std::free(text);
  }
  static int accept(int, int key) { return InputLine::instance_->accept_here(key); }
  static int newline(int, int) { return rl_insert_text("\n") > 0 ? 0 : 1; }
  static int edit(int, int) {
    InputLine::instance_->editor_wanted_ = true;
    return 0;
  }
  static int complete(int, int) { return InputLine::instance_->complete_here(); }
};

InputLine::InputLine(const std::string& history_file, InputCalls calls)
    : calls_(std::move(calls)), history_file_(history_file) {
  assert(instance_ == nullptr);
  instance_ = this;
  rl_readline_name = "bitnet-chat";
  rl_catch_signals = 0;
  rl_catch_sigwinch = 0;
  rl_change_environment = 0;
  rl_instream = nowhere();
  rl_outstream = nowhere();
  rl_getc_function = ReadlineHooks::read_byte;
  rl_input_available_hook = ReadlineHooks::input_available;
  rl_redisplay_function = ReadlineHooks::redisplay;
  rl_prep_term_function = ReadlineHooks::prepare_terminal;
  rl_deprep_term_function = ReadlineHooks::restore_terminal;
  rl_initialize();
  // Characters come in UTF-8, and none of their bytes is Meta.
  rl_variable_bind("convert-meta", "off");
  rl_variable_bind("input-meta", "on");
  rl_variable_bind("output-meta", "on");
  rl_variable_bind("bell-style", "none");
  for (Keymap map : {emacs_standard_keymap, vi_insertion_keymap, vi_movement_keymap}) {
    rl_bind_key_in_map('\r', ReadlineHooks::accept, map);
    rl_bind_key_in_map('\n', ReadlineHooks::newline, map);
  }
  rl_bind_key_in_map('\t', ReadlineHooks::complete, emacs_standard_keymap);
  rl_bind_key_in_map('\t', ReadlineHooks::complete, vi_insertion_keymap);

  rl_bind_keyseq_in_map("\\C-x\\C-e", ReadlineHooks::edit, emacs_standard_keymap);
  rl_bind_keyseq_in_map("\\C-x\\C-e", ReadlineHooks::edit, vi_insertion_keymap);
  rl_bind_key_in_map('v', ReadlineHooks::edit, vi_movement_keymap);

  use_unit_commands();

  using_history();
  stifle_history(kHistoryEntries);
  history_comment_char = '#';
  history_write_timestamps = 1;  // with timestamps an entry may hold several lines
  if (!history_file_.empty()) {
    if (const std::string problem = history_problem(history_file_); !problem.empty()) {
      history_error_ = fmt::format("history is not kept: {}: {}", history_file_, problem);
      history_file_.clear();
    } else {
      read_entries(history_file_);
    }
  }
  rl_callback_handler_install(kPrompt, ReadlineHooks::line);
}

InputLine::~InputLine() {
  rl_callback_handler_remove();
  clear_history();
  instance_ = nullptr;
}

// readline takes the longer for each character of a search the longer what is searched for is already, and
// the whole of it stands in the prompt.
bool InputLine::search_is_full() const {
  constexpr size_t kMostSearchPrompt = 300;
  return searching() && prompt().size() > kMostSearchPrompt;
}

void InputLine::drop_character() {
  do {
    pending_.pop_front();
  } while (!pending_.empty() && (pending_.front() & 0xC0) == 0x80);
}

void InputLine::type(std::string_view bytes) {
  if (is_unbound_sequence(bytes)) return;
  pending_.insert(pending_.end(), bytes.begin(), bytes.end());
  const bool is_text = !bytes.starts_with('\x1b');
  while (!pending_.empty()) {
    const auto first = static_cast<unsigned char>(pending_.front());
    if (is_text && first >= 0x20 && first != 0x7F && search_is_full()) {
      drop_character();
      continue;
    }
    guard_.read_key(first);
    keep_cursor_on_unit();
    while (!accepted_.empty()) {
      const std::string line = std::move(accepted_.front());
      accepted_.erase(accepted_.begin());
      if (!discards_) accept(line);
    }
  }
}

void InputLine::insert(std::string_view text) { rl_insert_text(std::string(text).c_str()); }

void InputLine::paste(std::string_view bytes) {
  std::string text = cleaned(bytes);
  if (searching()) return type(one_line(text.substr(0, text.find('\n'))));
  if (lines_of(text) >= kFoldedLines || text.size() >= kFoldedBytes || has_mark(text)) {
    insert_folded(std::move(text));
  } else {
    insert(text);
  }
}

void InputLine::insert_folded(std::string text) {
  if (pastes_.size() == kMarks) return insert(text);
  const size_t lines = lines_of(text);
  const size_t number = pastes_.size();
  const std::string placeholder = lines >= kFoldedLines
                                      ? fmt::format("[paste {}: {} lines]", number + 1, lines)
                                      : fmt::format("[paste {}: {} bytes]", number + 1, text.size());
  pastes_.push_back({placeholder, std::move(text)});
  insert(mark(number));
}

bool InputLine::give_back(std::string_view text) {
  returned_.emplace_back(text);
  const bool now = empty() && !searching() && returned_.size() == 1;
  put_back();
  return now;
}

void InputLine::put_back() {
  if (returned_.empty() || !empty() || searching()) return;
  std::string text = std::move(returned_.front());
  returned_.pop_front();
  // readline's buffer ends at a NUL, and each mark in it must be one of ours.
  const bool fits = text.size() <= kFoldedReturned && text.find('\0') == std::string::npos && !has_mark(text);
  if (fits) {
    insert(text);
  } else {
    insert_folded(std::move(text));
  }
}

void InputLine::forget_keys() {
  rl_callback_sigcleanup();
  rl_discard_argument();
  if (rl_editing_mode == 0) rl_vi_insertion_mode(1, 0);
}

// readline ends the line, and nobody takes it: so the next one begins as any does.
void InputLine::clear() {
  forget_keys();
  discards_ = true;
  type("\r");
  discards_ = false;
}

void InputLine::replace(std::string_view text) {
  rl_begin_undo_group();
  rl_delete_text(0, rl_end);
  rl_point = 0;
  const std::string edited = cleaned(text);
  if (has_mark(edited)) {
    insert_folded(edited);
  } else {
    insert(edited);
  }
  rl_end_undo_group();
}

void InputLine::move_to_start() { rl_point = 0; }

std::optional<std::string> InputLine::take_editor_request() {
  if (!std::exchange(editor_wanted_, false)) return std::nullopt;
  return expanded(text());
}

bool InputLine::move_up() {
  const std::string_view all = text();
  const size_t line = all.rfind('\n', point() == 0 ? 0 : point() - 1);
  if (point() == 0 || line == std::string_view::npos) return false;
  const size_t column = point() - line - 1;
  const size_t above_end = line;
  const size_t before = line == 0 ? std::string_view::npos : all.rfind('\n', line - 1);
  const size_t above = before == std::string_view::npos ? 0 : before + 1;
  size_t target = std::min(above + column, above_end);
  if (target < all.size()) target = unit_begin(all, target);
  rl_point = static_cast<int>(target);
  return true;
}

bool InputLine::move_down() {
  const std::string_view all = text();
  const size_t end = all.find('\n', point());
  if (end == std::string_view::npos) return false;
  const size_t before = point() == 0 ? std::string_view::npos : all.rfind('\n', point() - 1);
  const size_t column = point() - (before == std::string_view::npos ? 0 : before + 1);
  const size_t below = end + 1;
  size_t target = std::min(below + column, std::min(all.find('\n', below), all.size()));
  if (target < all.size()) target = unit_begin(all, target);
  rl_point = static_cast<int>(target);
  return true;
}

std::string_view InputLine::text() const { return {rl_line_buffer, static_cast<size_t>(rl_end)}; }
size_t InputLine::point() const { return static_cast<size_t>(rl_point); }
bool InputLine::empty() const { return rl_end == 0; }
bool InputLine::at_start() const { return rl_point == 0 && !searching(); }

InputLine::Shown InputLine::shown() const {
  Shown shown;
  const std::string_view all = text();
  size_t copied = 0;
  const auto copy_to = [&](size_t end) {
    if (point() >= copied && point() <= end) shown.point = shown.text.size() + (point() - copied);
    shown.text += all.substr(copied, end - copied);
    copied = end;
  };
  for (size_t at = 0; (at = all.find(mark(0)[0], at)) != std::string_view::npos; ++at) {
    const auto number = mark_at(all.substr(at));
    if (!number || *number >= pastes_.size()) continue;
    copy_to(at);
    shown.text += pastes_[*number].placeholder;
    copied = at + kMarkBytes;
  }
  copy_to(all.size());
  return shown;
}

bool InputLine::searching() const { return RL_ISSTATE(RL_STATE_ISEARCH | RL_STATE_NSEARCH); }
bool InputLine::inserts_in_vi_mode() const {
  return rl_editing_mode == 0 && !empty() && rl_get_keymap() == vi_insertion_keymap;
}

bool InputLine::wants_escape() const { return rl_editing_mode == 0 || searching(); }

bool InputLine::eof_sends() const {
  if (searching()) return false;
  return rl_function_of_keyseq_len("\x04", 1, rl_get_keymap(), nullptr) == rl_vi_eof_maybe;
}

std::string InputLine::prompt() const {
  return searching() && rl_display_prompt != nullptr ? rl_display_prompt : "";
}

std::vector<std::string> InputLine::take_candidates() { return std::exchange(candidates_, {}); }

std::string InputLine::take_history_error() { return std::exchange(history_error_, {}); }

int InputLine::accept_here(int key) {
  try {
    if (!discards_ && !calls_.may_submit(expanded(text()))) return 0;
  } catch (...) {
    return 0;
  }
  return rl_newline(1, key);
}

int InputLine::complete_here() {
  try {
    const std::string line(text().substr(0, point()));
    const std::vector<std::string> lines = calls_.complete(line);
    if (lines.empty()) return 0;
    const std::string prefix = common_prefix(lines);
    if (prefix.size() > line.size()) {
      complete_to(prefix);
    } else if (lines.size() > 1) {
      candidates_ = lines;
    }
  } catch (...) {
    candidates_.clear();
  }
  return 0;
}

std::optional<std::string> InputLine::begun() const {
  if (searching() || point() != text().size() || has_mark(text())) return std::nullopt;
  return std::string(text());
}

void InputLine::complete_to(std::string_view line) {
  rl_begin_undo_group();
  rl_delete_text(0, rl_point);
  rl_point = 0;
  insert(line);
  rl_end_undo_group();
}

std::string InputLine::expanded(std::string_view line) const {
  std::string out;
  size_t copied = 0;
  for (size_t at = 0; (at = line.find(mark(0)[0], at)) != std::string_view::npos; ++at) {
    const auto number = mark_at(line.substr(at));
    if (!number || *number >= pastes_.size()) continue;
    out += line.substr(copied, at - copied);
    out += pastes_[*number].text;
    copied = at + kMarkBytes;
  }
  out += line.substr(copied);
  return out;
}

void InputLine::accept(std::string line) {
  line = expanded(line);
  remember(line);
  calls_.submit(line);
}

void InputLine::remember_unsent() { remember(whole_text()); }

void InputLine::remember(const std::string& line) {
  if (line.find_first_not_of(" \t\n") == std::string::npos) return;
  HIST_ENTRY* last = history_length > 0 ? history_get(history_base + history_length - 1) : nullptr;
  using_history();  // Up starts at the newest entry again
  const bool fits = line.size() <= kRememberedBytes && line.find('\0') == std::string::npos;
  if ((last != nullptr && line == last->line) || !fits) return;
  add_history(line.c_str());
  add_history_time(fmt::format("#{}", std::time(nullptr)).c_str());
  using_history();
  if (history_file_.empty() || !keeps_history_) return;
  if (const int failed = append_history(1, history_file_.c_str()); failed != 0) {
    history_error_ = fmt::format("history is not kept: {}: {}", history_file_, std::strerror(failed));
    history_file_.clear();
  }
}

}  // namespace bitnet
