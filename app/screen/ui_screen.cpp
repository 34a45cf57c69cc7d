#include "ui_screen.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <utility>

#include "app/base/clipboard.h"
#include "app/chat/chat.h"
#include "app/text/text_safe.h"
#include "app/text/text_width.h"
#include "app/view/help.h"
#include "app/view/input.h"
#include "app/view/picker.h"
#include "engine/error.h"

namespace bitnet {
namespace {

using std::chrono::milliseconds;

constexpr char kPrompt[] = "› ";
constexpr int kMostInputRows = 10;
constexpr int kRowsForPending = 4;  // on fewer rows what waits to be sent is not shown
constexpr int kMostQueuedRows = 3;
constexpr int kMostMenuRows = 10;

std::string file_in(const ScreenOptions& options, const char* name, bool wanted) {
  if (options.state_folder.empty() || !wanted) return {};
  std::error_code ignored;  // a folder that cannot be made is noticed when the file is opened
  std::filesystem::create_directories(options.state_folder, ignored);
  chmod(options.state_folder.c_str(), 0700);
  return options.state_folder + "/" + name;
}

}  // namespace

ScreenFrontEnd::Signals::Signals(ScreenFrontEnd& front_end) : loop(front_end.loop_) {
  loop.on_signal(SIGWINCH, [&front_end] {
    front_end.forced_size_.reset();
    front_end.terminal_.read_size();
    front_end.pace_.change();
  });
  loop.on_signal(SIGCONT, [&front_end] {
    front_end.terminal_.come_back();
    front_end.pace_.change();
  });
  loop.on_signal(SIGTSTP, [&front_end] {
    front_end.terminal_.suspend();
    front_end.pace_.change();
  });
  loop.on_signal(SIGINT, [&front_end] {
    if (front_end.stoppable()) {
      front_end.chat_->interrupt();
    } else {
      front_end.exit_code_ = 128 + SIGINT;
    }
  });
  for (const int signal : {SIGTERM, SIGHUP}) {
    loop.on_signal(signal, [&front_end, signal] { front_end.exit_code_ = 128 + signal; });
  }
}

ScreenFrontEnd::Signals::~Signals() {
  for (const int signal : {SIGWINCH, SIGCONT, SIGTSTP, SIGINT, SIGTERM, SIGHUP}) loop.default_signal(signal);
}

ScreenFrontEnd::ScreenFrontEnd(EventLoop& loop, const ScreenOptions& options)
    : loop_(loop),
      signals_(*this),
      terminal_(find_theme(options.theme), file_in(options, "log", true), options.mouse),
      input_(file_in(options, "history", options.keep_history),
             {[this](std::string_view text) { return may_submit(text); },
              [this](const std::string& text) { submit(text); },
              [this](std::string_view line) {
                return chat_ == nullptr ? std::vector<std::string>() : chat_->complete(line);
              }}),
      keys_(options.keymap),
      theme_(find_theme(options.theme)),
      record_input_(options.record_input) {
  tell_history_error();
  draw_now();
}

ScreenFrontEnd::~ScreenFrontEnd() {
  loop_.unwatch(STDIN_FILENO);
  if (hint_timer_ != 0) loop_.cancel_timer(hint_timer_);
  if (escape_timer_ != 0) loop_.cancel_timer(escape_timer_);
  if (arrow_timer_ != 0) loop_.cancel_timer(arrow_timer_);
}

int ScreenFrontEnd::run(Chat& chat, ScriptDriver* script, const std::function<void()>& shown) {
  chat_ = &chat;
  loop_.watch(STDIN_FILENO, [this] { read_keys(); });
  loop_.watch(chat.wake_fd(), [this] { chat_->handle_events(); });
  chat.show_all();
  for (const EarlyWord& word : std::exchange(early_, {})) transcript_.add(word.kind, word.text, word.label);
  draw_now();
  shown();
  while (!exit_code_ && !chat.quit_requested()) {
    milliseconds wait = milliseconds(-1);
    if (script != nullptr) {
      script->advance(chat, *this);
      if (script->done()) break;
      if (chat.quit_requested()) break;
      if (script->deadline()) {
        wait = std::max(std::chrono::ceil<milliseconds>(*script->deadline() - Clock::now()), milliseconds(0));
      }
    }
    if (pace_.frame_due(Clock::now())) draw_now();
    if (const auto frame = pace_.time_to_frame(Clock::now())) {
      wait = wait.count() < 0 ? *frame : std::min(wait, *frame);
    }
    loop_.run_once(wait);
  }
  loop_.unwatch(STDIN_FILENO);
  loop_.unwatch(chat.wake_fd());
  overlays_.close_all();
  chat_ = nullptr;
  if (exit_code_) input_.remember_unsent();
  return exit_code_.value_or(0);
}

// ---- what the chat tells

void ScreenFrontEnd::transcript(const std::vector<ShownMessage>& messages) {
  transcript_.clear();
  if (chat_ == nullptr) return;  // run() will have the chat show it again
  for (const ShownMessage& m : messages) message(m);
  if (!stoppable()) transcript_.end_answer("");  // a running answer goes on
  pace_.change();
}

void ScreenFrontEnd::message(const ShownMessage& m) {
  pace_.change();
  switch (m.role) {
    case Role::system:
      transcript_.add(TranscriptView::Kind::notice, "system prompt: " + m.text);
      return;
    case Role::user:
      transcript_.add(TranscriptView::Kind::user, m.text, sibling_mark(m));
      return;
    case Role::assistant:
      break;
  }
  transcript_.begin_answer();
  if (!m.thought.empty()) transcript_.append_thought(m.thought);
  transcript_.count_thought(m.thought_tokens);
  transcript_.append_answer(m.text);
  if (!m.finish.empty()) transcript_.end_answer(m.finish, sibling_mark(m));
}

void ScreenFrontEnd::answer_text(std::string_view text, int32_t, float) {
  transcript_.append_answer(text);
  pace_.change();
}

void ScreenFrontEnd::thought_text(std::string_view text, int32_t, float) {
  transcript_.append_thought(text);
  pace_.change();
}

void ScreenFrontEnd::answer_end(const ShownMessage& answer, const Usage&) {
  transcript_.count_thought(answer.thought_tokens);
  transcript_.end_answer(answer.finish, sibling_mark(answer));
  pace_.change();
}

void ScreenFrontEnd::say(TranscriptView::Kind kind, std::string_view text, std::string_view label) {
  transcript_.add(kind, text, label);
  if (chat_ == nullptr) early_.push_back({kind, std::string(text), std::string(label)});
  pace_.change();
}

void ScreenFrontEnd::command_output(std::string_view command, std::string_view text) {
  say(TranscriptView::Kind::command, text, fmt::format("/{}", command));
  transcript_.show_last_from_its_start();
}

void ScreenFrontEnd::marked_output(std::string_view command, std::string_view text) {
  say(TranscriptView::Kind::marked, text, fmt::format("/{}", command));
  transcript_.show_last_from_its_start();
}

void ScreenFrontEnd::return_input(std::string_view text) {
  pace_.change();
  if (!input_.give_back(text)) notice("A text waits here and comes into the input line once that is empty.");
}

bool ScreenFrontEnd::copy(std::string_view text) {
  const std::string safe = without_controls(text);
  give_to_clipboard_tool(safe);
  terminal_.send(clipboard_sequence(safe));
  return true;
}

bool ScreenFrontEnd::choose(Choices choices) {
  overlays_.open(std::make_unique<Picker>(std::move(choices)));
  pace_.change();
  return true;
}

void ScreenFrontEnd::notice(std::string_view text) { say(TranscriptView::Kind::notice, text); }

void ScreenFrontEnd::error(std::string_view text) { say(TranscriptView::Kind::error, text); }

void ScreenFrontEnd::status(const Status& status) {
  status_ = status;
  if (status.state == ChatState::answering) transcript_.count_thought(status.thought_tokens);
  if (stopping_ && status.state != ChatState::prefill && status.state != ChatState::answering) {
    stopping_ = false;
    hint("");
  }
  input_.keep_history(status.keeps_history);
  pace_.change();
}

std::pair<int, int> ScreenFrontEnd::size() const {
  return forced_size_.value_or(std::pair(terminal_.columns(), terminal_.rows()));
}

void ScreenFrontEnd::record(const std::string& file, const WriteRules& rules) {
  if (file.empty()) return recording_.reset();
  const auto [columns, rows] = size();
  recording_ = std::make_unique<Recording>(
      Recording{CastRecorder(file, rules, columns, rows, record_input_), FrameWriter(theme_)});
  draw_now();
}

void ScreenFrontEnd::end_recording(int exit_code) {
  if (recording_) recording_->file.finish(exit_code);
  recording_.reset();
}

// ---- the frame

InputRows ScreenFrontEnd::compose_input(int columns, int most_rows) {
  InputRows input;
  if (auto row = overlays_.input_row(columns, input.cursor_column)) {
    input.rows.push_back(std::move(*row));
    return input;
  }
  const std::string prompt = input_.prompt();
  const InputLine::Shown shown = input_.shown();
  input = input_rows(prompt.empty() ? kPrompt : prompt, shown.text, shown.point, columns, most_rows);
  if (shown.text.empty() && prompt.empty() && status_.state == ChatState::loading) {
    const char* hint = "the model is loading; you can write meanwhile";
    input.rows[0].add(prefix_of_columns(hint, columns - columns_of(kPrompt) - 1), {Tone::quiet});
  }
  return input;
}

ScreenFrontEnd::Frame ScreenFrontEnd::compose() {
  const auto [columns, rows] = size();
  Frame frame;
  const InputRows input = compose_input(columns, std::clamp(rows / 3, 1, kMostInputRows));
  const int status_rows = rows >= 2 ? 1 : 0;
  std::vector<Row> pending;
  if (rows >= kRowsForPending) {
    pending = queued_rows(status_.queued, columns, std::min(rows / 4, kMostQueuedRows));
    for (Row& row : pending_rows(status_.pending, columns)) pending.push_back(std::move(row));
  }
  int above = std::max(rows - static_cast<int>(input.rows.size() + pending.size()) - status_rows, 0);
  const int list_rows = std::min(above, std::max(rows / 3, 1));
  const std::vector<Row> list = menu_.is_open() ? menu_.rows(columns, std::min(list_rows, kMostMenuRows))
                                                : candidate_rows(candidates_, columns, list_rows);
  above -= static_cast<int>(list.size());

  transcript_.set_size(columns, above);
  auto overlay = overlays_.rows(columns, above);
  const bool covered = overlay.has_value();
  if (covered) {
    frame.rows = std::move(*overlay);
  } else if (transcript_.empty()) {
    frame.rows = welcome_rows(columns, above);
  } else {
    frame.rows = transcript_.visible();
  }
  frame.rows.resize(static_cast<size_t>(above));
  frame.rows.insert(frame.rows.end(), list.begin(), list.end());
  if (status_rows > 0) {
    frame.rows.push_back(status_row(
        status_, {hint_, covered ? 0 : transcript_.new_rows(), covered ? 0 : transcript_.rows_below()},
        columns));
  }
  frame.rows.insert(frame.rows.end(), pending.begin(), pending.end());
  frame.cursor_row = static_cast<int>(frame.rows.size()) + input.cursor_row;
  frame.cursor_column = input.cursor_column;
  frame.rows.insert(frame.rows.end(), input.rows.begin(), input.rows.end());
  return frame;
}

void ScreenFrontEnd::draw_now() {
  const Frame frame = compose();
  terminal_.draw(frame.rows, frame.cursor_row, frame.cursor_column);
  if (recording_) {
    const auto [columns, rows] = size();
    recording_->file.resize(columns, rows);
    recording_->file.output(
        recording_->frames.bytes(frame.rows, columns, rows, frame.cursor_row, frame.cursor_column));
  }
  pace_.frame_drawn(Clock::now());
}

void ScreenFrontEnd::hint(std::string text, milliseconds shown_for) {
  if (hint_timer_ != 0) loop_.cancel_timer(hint_timer_);
  hint_timer_ = 0;
  hint_ = std::move(text);
  pace_.change();
  if (hint_.empty()) return;
  hint_timer_ = loop_.call_after(shown_for, [this] {
    hint_timer_ = 0;
    hint_.clear();
    quit_armed_ = false;
    pace_.change();
  });
}

// ---- what a script does

void ScreenFrontEnd::type_line(std::string_view text) {
  overlays_.close_for_line();
  menu_.close();
  input_.clear();
  input_.insert(text);
  press({Key::enter, "\r"});
  draw_now();
}

void ScreenFrontEnd::press_key(std::string_view name) {
  const std::string bytes = bytes_of_key(name);
  if (bytes.empty()) throw Error(ErrorKind::usage, fmt::format("there is no key \"{}\"", printable(name)));
  keys_.feed(bytes);
  if (recording_) recording_->file.input(bytes);
  while (const auto key = keys_.next()) press(*key);
  while (const auto key = keys_.give_up_waiting()) press(*key);
  draw_now();
}

void ScreenFrontEnd::resize(int columns, int rows) {
  forced_size_ = {std::max(columns, 1), std::max(rows, 1)};
  terminal_.forget();
  draw_now();
}

std::string ScreenFrontEnd::visible_text() {
  std::string text;
  for (const Row& row : compose().rows) {
    std::string line = row.text();
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace bitnet
