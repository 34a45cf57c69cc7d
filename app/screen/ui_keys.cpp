// What each key does on the screen.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include "app/base/blank.h"
#include "app/chat/chat.h"
#include "app/view/find_bar.h"
#include "app/view/help.h"
#include "engine/error.h"
#include "external_editor.h"
#include "ui_screen.h"

namespace bitnet {
namespace {

constexpr std::chrono::milliseconds kEscapeDelay{25};
constexpr std::chrono::milliseconds kPasteDelay{2000};  // a slow line may halt in the middle of a paste
constexpr size_t kReadBytes = 1 << 16;
constexpr int kWheelLines = 3;  // to scroll by where the terminal tells of each notch of the wheel

}  // namespace

void ScreenFrontEnd::read_keys() {
  static char bytes[kReadBytes];
  const ssize_t n = read(STDIN_FILENO, bytes, sizeof bytes);
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (n <= 0) {  // the terminal is gone
    exit_code_ = n == 0 ? 0 : 128 + SIGHUP;
    return;
  }
  const int wheel = wheel_lines({bytes, static_cast<size_t>(n)});
  if (recording_) recording_->file.input({bytes, static_cast<size_t>(n)});
  const bool may_scroll = !overlays_.is_open() && !menu_.is_open() && !input_.searching();
  if (wheel != 0 && !keys_.waiting() && may_scroll) {
    if (arrow_timer_ != 0) loop_.cancel_timer(arrow_timer_);
    arrow_timer_ = 0;
    pace_.press_key(Clock::now());
    transcript_.scroll_by(wheel + wheel_.turn(Clock::now()));
    return;
  }
  keys_.feed({bytes, static_cast<size_t>(n)});
  decode_keys();
}

void ScreenFrontEnd::decode_keys() {
  if (escape_timer_ != 0) loop_.cancel_timer(escape_timer_);
  escape_timer_ = 0;
  while (const auto key = keys_.next()) take_from_terminal(*key);
  if (!keys_.waiting()) return;
  escape_timer_ = loop_.call_after(keys_.in_paste() ? kPasteDelay : kEscapeDelay, [this] {
    escape_timer_ = 0;
    while (const auto key = keys_.give_up_waiting()) take_from_terminal(*key);
  });
}

// Arrow keys may be a wheel's, where they would turn the history or move the cursor.
void ScreenFrontEnd::take_from_terminal(const KeyPress& key) {
  const int direction = arrow_direction(key.bytes);
  const bool scrolls = key.key == Key::up || key.key == Key::down;
  if (direction == 0 || !scrolls || overlays_.is_open() || menu_.is_open() || input_.searching()) {
    stop_guessing();
    return press(key);
  }
  if (arrow_timer_ != 0) loop_.cancel_timer(arrow_timer_);
  arrow_timer_ = 0;
  const WheelGuess::Verdict verdict = wheel_.take(direction, Clock::now());
  if (verdict.key_before != 0) press_arrow(verdict.key_before);
  if (verdict.is_key) return press_arrow(direction);
  if (verdict.lines == 0) {
    arrow_timer_ = loop_.call_after(WheelGuess::kTogether, [this] {
      arrow_timer_ = 0;
      stop_guessing();
    });
    return;
  }
  pace_.press_key(Clock::now());
  transcript_.scroll_by(verdict.lines);
}

void ScreenFrontEnd::press_arrow(int direction) {
  press(direction < 0 ? KeyPress{Key::up, "\x1b[A"} : KeyPress{Key::down, "\x1b[B"});
}

// The arrow that was held back is a key.
void ScreenFrontEnd::stop_guessing() {
  if (arrow_timer_ != 0) loop_.cancel_timer(arrow_timer_);
  arrow_timer_ = 0;
  if (const int direction = wheel_.give_up(Clock::now()); direction != 0) press_arrow(direction);
}

void ScreenFrontEnd::press(const KeyPress& key) {
  if (key.key == Key::mouse) return;
  pace_.press_key(Clock::now());
  candidates_.clear();
  const bool was_armed = quit_armed_;
  hint("");
  quit_armed_ = false;
  if (key.key == Key::redraw) {
    terminal_.read_size();
  } else if (key.key == Key::suspend) {
    terminal_.suspend();
  } else if (key.key == Key::wheel_up || key.key == Key::wheel_down) {
    turn_wheel(key.key == Key::wheel_up ? -1 : 1);
  } else if (const auto rest = press_in_overlays(key); rest && !press_to_scroll(rest->key)) {
    press_in_input(*rest, was_armed);
    input_.put_back();
    if (chat_ != nullptr) chat_->typing(input_.whole_text());
  }
}

void ScreenFrontEnd::turn_wheel(int direction) {
  const KeyPress line{direction < 0 ? Key::line_up : Key::line_down, ""};
  if (press_in_overlays(line)) transcript_.scroll_by(direction * kWheelLines);
}

// A click on a code block copies it. The view stays where it is, so the status line may have to say so.
void ScreenFrontEnd::click(const KeyPress& where) {
  const size_t code = transcript_.empty() ? 0 : transcript_.code_at(where.row);
  if (code == 0 || chat_ == nullptr) return;
  send_to_chat(fmt::format("/copy {}", code));
  if (!transcript_.at_end()) hint(fmt::format("copied code block {}", code));
}

std::optional<KeyPress> ScreenFrontEnd::press_in_overlays(const KeyPress& key) {
  try {
    return overlays_.press(key, columns(), transcript_.height());
  } catch (const Error& e) {
    error(e.what());
    return std::nullopt;
  }
}

// Shows or folds what the model thought; false where something is typed, for there these keys are the line
// editor's.
bool ScreenFrontEnd::unfold_thoughts() {
  if (!input_.empty() || input_.searching() || !transcript_.has_thoughts()) return false;
  transcript_.unfold_thoughts(!transcript_.thoughts_unfolded());
  return true;
}

// Backspace with nothing in front of it takes the last file out of the next turn; false where the key is the
// line editor's. A Backspace that is held down, or pressed once too often to empty the line, takes out none.
bool ScreenFrontEnd::take_out_file() {
  constexpr std::chrono::milliseconds kAfterErasing{400}, kAfterFile{100};
  const Clock::time_point now = Clock::now();
  const bool may = input_.at_start() && now >= files_stay_until_ && chat_ != nullptr;
  files_stay_until_ = now + kAfterErasing;
  if (!may) return false;
  const std::string typed = input_.whole_text();
  const auto rest = chat_->without_last_file(typed);
  if (!rest) return false;
  files_stay_until_ = now + kAfterFile;
  if (*rest == typed) return true;
  input_.replace(*rest);
  input_.move_to_start();
  return true;
}

// Keys of the line editor, several if they came at once. Tab and Backspace are found among them, unless they
// belong to an escape sequence.
void ScreenFrontEnd::type(std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t special =
        bytes.starts_with('\x1b') ? std::string_view::npos : bytes.find_first_of("\t\x7f\x08");
    const std::string_view keys = bytes.substr(0, special == 0 ? 1 : special);
    const bool is_backspace = special == 0 && keys != "\t";
    if (!is_backspace) files_stay_until_ = {};
    const bool used = special == 0 && (is_backspace ? take_out_file() : unfold_thoughts());
    if (!used) input_.type(keys);
    bytes.remove_prefix(keys.size());
  }
}

bool ScreenFrontEnd::press_in_menu(const KeyPress& key) {
  if (!menu_.is_open()) return false;
  const MenuEntry* chosen = menu_.chosen();
  const bool is_tab = key.key == Key::text && key.bytes == "\t";
  if (key.key == Key::up || key.key == Key::down) {
    menu_.move(key.key == Key::up ? -1 : 1);
    return true;
  }
  if (key.key == Key::escape) {
    menu_.close();
    return !input_.wants_escape();
  }
  if (chosen != nullptr && (is_tab || key.key == Key::enter)) {
    const bool sends = chosen->is_whole && !is_tab;
    input_.complete_to(chosen->line);
    refill_menu();
    if (sends) input_.type("\r");
    if (sends) menu_.close();
    return true;
  }
  if (key.key != Key::text) menu_.close();
  return false;
}

void ScreenFrontEnd::refill_menu() {
  const auto line = input_.begun();
  menu_.show(chat_ == nullptr || !line || line->empty() ? std::vector<MenuEntry>() : chat_->menu(*line));
}

void ScreenFrontEnd::press_in_input(const KeyPress& key, bool quit_was_armed) {
  if (key.key != Key::text) files_stay_until_ = {};
  if (press_in_menu(key)) return;
  switch (key.key) {
    case Key::text:
      type(key.bytes);
      candidates_ = input_.take_candidates();
      open_editor();
      refill_menu();
      break;
    case Key::thoughts:
      if (!unfold_thoughts()) input_.type(key.bytes);
      break;
    case Key::enter:
      input_.type("\r");
      break;
    case Key::newline:
      input_.type("\n");
      break;
    case Key::escape:
      press_escape();
      break;
    case Key::interrupt:
      quit_armed_ = quit_was_armed;
      press_interrupt();
      break;
    case Key::eof:
      press_eof();
      break;
    case Key::up:
      if (!input_.searching() && input_.empty() && take_back()) break;
      if (input_.searching() || !input_.move_up()) input_.type("\x1b[A");
      break;
    case Key::down:
      if (input_.searching() || !input_.move_down()) input_.type("\x1b[B");
      break;
    case Key::help:
      overlays_.open(std::make_unique<HelpOverlay>(keys_.keymap()));
      break;
    case Key::find:
      overlays_.open(std::make_unique<FindBar>(transcript_));
      break;
    case Key::open:
    case Key::copy:
      send_to_chat(key.key == Key::open ? "/open" : "/copy pick");
      break;
    case Key::paste:
      input_.paste(key.bytes);
      break;
    case Key::click:
      click(key);
      break;
    default:
      break;
  }
}

void ScreenFrontEnd::press_escape() {
  if (input_.searching() || input_.inserts_in_vi_mode()) {
    input_.type("\x1b");
  } else if (take_back()) {
    return;
  } else if (stoppable()) {
    stop();
  } else if (input_.wants_escape()) {
    input_.type("\x1b");
  }
}

bool ScreenFrontEnd::press_to_scroll(Key key) {
  switch (key) {
    case Key::page_up:
      page(-1);
      return true;
    case Key::page_down:
      page(1);
      return true;
    case Key::to_start:
      transcript_.scroll_to_start();
      return true;
    case Key::to_end:
      transcript_.scroll_to_end();
      return true;
    case Key::line_up:
      transcript_.scroll_by(-1);
      return true;
    case Key::line_down:
      transcript_.scroll_by(1);
      return true;
    default:
      return false;
  }
}

void ScreenFrontEnd::open_editor() {
  const auto text = input_.take_editor_request();
  if (!text) return;
  try {
    EditedText edited;
    terminal_.lend([&] { edited = edit_externally(*text); });
    input_.replace(edited.text);
    if (!edited.problem.empty()) error(edited.problem);
  } catch (const Error& e) {
    error(e.what());
  }
}

void ScreenFrontEnd::press_interrupt() {
  if (input_.searching()) return input_.type("\x07");  // ^G leaves the search
  input_.forget_keys();
  if (!input_.empty()) {
    input_.clear();
    quit_armed_ = false;
  } else if (stoppable()) {
    stop();
    quit_armed_ = false;
  } else if (quit_armed_) {
    chat_->submit("/quit");  // it says what is not saved
  } else {
    quit_armed_ = true;
    hint("press ^C again to quit");
  }
}

// The model stops only at the end of its current step: the next token, or the next part of a prompt.
void ScreenFrontEnd::stop() {
  hint("stopping", std::chrono::seconds(60));
  stopping_ = true;
  chat_->interrupt();
}

void ScreenFrontEnd::press_eof() {
  if (input_.empty() && !input_.searching()) {
    chat_->submit("/quit");
  } else if (!input_.eof_sends()) {
    input_.type("\x04");
  }
}

void ScreenFrontEnd::page(int direction) {
  transcript_.scroll_by(direction * std::max(transcript_.height() - 1, 1));
}

bool ScreenFrontEnd::stoppable() const { return chat_ != nullptr && chat_->stoppable(); }
bool ScreenFrontEnd::take_back() { return chat_ != nullptr && chat_->take_back(); }

bool ScreenFrontEnd::may_submit(std::string_view text) {
  if (is_blank(text)) {
    transcript_.scroll_to_end();
    return false;
  }
  return chat_ != nullptr;
}

void ScreenFrontEnd::tell_history_error() {
  if (const std::string problem = input_.take_history_error(); !problem.empty()) notice(problem);
}

void ScreenFrontEnd::submit(const std::string& text) {
  tell_history_error();
  transcript_.scroll_to_end();
  send_to_chat(text);
}

// The view stays where it is.
void ScreenFrontEnd::send_to_chat(std::string_view line) {
  try {
    if (chat_ != nullptr) chat_->submit(line);
  } catch (const Error& e) {
    error(e.what());
  }
}

}  // namespace bitnet
