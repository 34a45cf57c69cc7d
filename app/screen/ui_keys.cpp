// What each key does on the screen.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include "app/chat/chat.h"
#include "app/view/find_bar.h"
#include "app/view/help.h"
#include "engine/error.h"
#include "external_editor.h"
#include "ui_screen.h"

namespace bitnet {
namespace {

constexpr std::chrono::milliseconds kEscapeDelay{25};
constexpr size_t kReadBytes = 1 << 16;

bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\n") == std::string_view::npos; }

// The wheel comes as arrow keys, several at once, in a terminal whose selection is left to it: lines to
// scroll by, 0 where these are keys. Nobody presses a key three times within one read.
int wheel_lines(std::string_view bytes) {
  constexpr size_t kSequence = 3;
  constexpr size_t kLeast = 3;
  const size_t count = bytes.size() / kSequence;
  if (count < kLeast || bytes.size() % kSequence != 0) return 0;
  const std::string_view first = bytes.substr(0, kSequence);
  const bool is_arrow =
      first[0] == '\x1b' && (first[1] == '[' || first[1] == 'O') && (first[2] == 'A' || first[2] == 'B');
  if (!is_arrow) return 0;
  for (size_t at = kSequence; at < bytes.size(); at += kSequence) {
    if (bytes.substr(at, kSequence) != first) return 0;
  }
  return first[2] == 'A' ? -static_cast<int>(count) : static_cast<int>(count);
}

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
  if (wheel != 0 && !keys_.waiting() && !overlays_.is_open()) {
    pace_.press_key(Clock::now());
    transcript_.scroll_by(wheel);
    return;
  }
  keys_.feed({bytes, static_cast<size_t>(n)});
  if (recording_) recording_->file.input({bytes, static_cast<size_t>(n)});
  decode_keys();
}

void ScreenFrontEnd::decode_keys() {
  if (escape_timer_ != 0) loop_.cancel_timer(escape_timer_);
  escape_timer_ = 0;
  while (const auto key = keys_.next()) press(*key);
  if (!keys_.waiting()) return;
  escape_timer_ = loop_.call_after(kEscapeDelay, [this] {
    escape_timer_ = 0;
    while (const auto key = keys_.give_up_waiting()) press(*key);
  });
}

void ScreenFrontEnd::press(const KeyPress& key) {
  pace_.press_key(Clock::now());
  candidates_.clear();
  const bool was_armed = quit_armed_;
  hint("");
  quit_armed_ = false;
  if (key.key == Key::redraw) {
    terminal_.read_size();
  } else if (key.key == Key::suspend) {
    terminal_.suspend();
  } else if (const auto rest = press_in_overlays(key); rest && !press_to_scroll(rest->key)) {
    press_in_input(*rest, was_armed);
    input_.put_back();
    if (chat_ != nullptr) chat_->typing(input_.whole_text());
  }
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

// Keys of the line editor, several if they came at once. Tab is found among them, unless it belongs to an
// escape sequence.
void ScreenFrontEnd::type(std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t tab = bytes.starts_with('\x1b') ? std::string_view::npos : bytes.find('\t');
    const size_t end = std::min(tab == 0 ? 1 : tab, bytes.size());
    if (tab != 0 || !unfold_thoughts()) input_.type(bytes.substr(0, end));
    bytes.remove_prefix(end);
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
      try {
        if (chat_ != nullptr) chat_->submit(key.key == Key::open ? "/open" : "/copy pick");
      } catch (const Error& e) {
        error(e.what());
      }
      break;
    case Key::paste:
      input_.paste(key.bytes);
      break;
    default:
      break;
  }
}

void ScreenFrontEnd::press_escape() {
  if (input_.searching()) {
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
    terminal_.lend([&] { input_.replace(edit_externally(*text)); });
  } catch (const Error& e) {
    error(e.what());
  }
}

void ScreenFrontEnd::press_interrupt() {
  if (input_.searching()) {
    input_.type("\x07");  // ^G leaves the search
  } else if (!input_.empty()) {
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
  } else {
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
  try {
    chat_->submit(text);
  } catch (const Error& e) {
    error(e.what());
  }
}

}  // namespace bitnet
