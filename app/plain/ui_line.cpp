#include "ui_line.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "app/base/clipboard.h"
#include "app/base/exit_code.h"
#include "app/chat/chat.h"
#include "app/text/key_decoder.h"
#include "app/text/text_safe.h"
#include "app/text/text_width.h"
#include "engine/error.h"

namespace bitnet {
namespace {

std::string as_quotation(std::string_view text) {
  std::string out = "> ";
  for (const char c : text) {
    out += c;
    if (c == '\n') out += "> ";
  }
  return out + "\n";
}

// The line under an answer, "[interrupted, 2/3]"; empty if the answer ended by itself and has no siblings.
std::string mark_of(const ShownMessage& answer) {
  std::string mark = answer.finish == "stop" ? std::string() : answer.finish;
  const std::string sibling = sibling_mark(answer);
  if (!mark.empty() && !sibling.empty()) mark += ", ";
  mark += sibling;
  return mark.empty() ? mark : fmt::format("[{}]\n", mark);
}

// Returns 0 if the width is not known.
int terminal_columns() {
  winsize window{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 ? window.ws_col : 0;
}

}  // namespace

LineFrontEnd::LineFrontEnd(LineOptions options, Output& output, Output& errors)
    : options_(options), output_(output), errors_(errors) {}

void LineFrontEnd::send(Output& to, std::string_view text) {
  if (recording_ && &to != &nowhere_) recording_->lines(text);
  to.write(to.is_terminal() ? make_safe(text) : std::string(text));
}

void LineFrontEnd::put(Output& to, std::string_view text) {
  if (text.empty()) return;
  end_thought();
  if (wrap_.holds()) send(output_, wrap_.finish(terminal_columns()));
  wrap_.new_row();  // a good guess: what is put between the words of an answer usually ends its row
  visible_ += text;
  at_line_start_ = text.back() == '\n';
  send(to, text);
}

void LineFrontEnd::put_answer(Output& to, std::string_view text) {
  if (!to.is_terminal()) return put(to, text);
  if (text.empty()) return;
  end_thought();
  visible_ += text;
  at_line_start_ = text.back() == '\n';
  send(to, wrap_.add(text, terminal_columns()));
}

void LineFrontEnd::end_row(Output& to) {
  if (!at_line_start_) put(to, "\n");
}

void LineFrontEnd::show_answer(Output& to, const ShownMessage& message) {
  wrap_ = WordWrap();
  put_answer(to, message.text);
  end_row(to);
  if (const std::string mark = mark_of(message); !mark.empty()) put(to, mark);
}

// Returns whether it is the one that was shown before, as far as the chat knows: one that is not stored has
// no number.
bool LineFrontEnd::note_conversation() {
  const int64_t before = std::exchange(conversation_, chat_ == nullptr ? 0 : chat_->conversation());
  return before != 0 && conversation_ == before;
}

void LineFrontEnd::transcript(const std::vector<ShownMessage>& messages) {
  visible_.clear();
  size_t known = 0;
  while (known < std::min(messages.size(), shown_.size()) && messages[known].id == shown_[known]) ++known;
  const bool fewer = known < shown_.size();
  shown_.clear();
  for (const ShownMessage& message : messages) shown_.push_back(message.id);
  const bool same = note_conversation();
  if (options_.question) return;
  // Messages that have been printed are not printed again, but a script sees them all the same.
  if (messages.empty()) {
    if (fewer) put(output_, same ? "--- back to the start ---\n" : "--- new conversation ---\n");
  } else if (known == 0) {
    put(output_, "--- conversation ---\n");
  } else if (fewer) {
    put(output_, fmt::format("--- back to message {} ---\n", messages[known - 1].number));
  }
  for (size_t i = 0; i < messages.size(); ++i) {
    Output& to = i < known ? nowhere_ : output_;
    // These were not typed just now, so they are printed whatever echo_user says.
    if (messages[i].role == Role::user) {
      put(to, as_quotation(messages[i].text));
    } else {
      show_answer(to, messages[i]);
    }
  }
}

void LineFrontEnd::message(const ShownMessage& message) {
  shown_.push_back(message.id);
  note_conversation();
  if (options_.question) return;
  if (message.role == Role::assistant) {
    // An answer that has a beginning goes on after it.
    if (message.finish.empty()) {
      wrap_ = WordWrap();
      put_answer(output_, message.text);
    } else {
      show_answer(output_, message);
    }
  } else if (options_.echo_user) {
    put(output_, as_quotation(message.text));
  } else {
    visible_ += as_quotation(message.text);
  }
}

void LineFrontEnd::answer_text(std::string_view text, int32_t, float) { put_answer(output_, text); }

void LineFrontEnd::thought_text(std::string_view text, int32_t, float) {
  if (!errors_.is_terminal() || text.empty()) return;
  const std::string safe = make_safe(text);
  const std::string shown = options_.dim ? fmt::format("\x1b[2m{}\x1b[22m", safe)
                                         : fmt::format("{}{}", thinks_ ? "" : "[thinking] ", safe);
  thinks_ = true;
  if (recording_ && options_.dim) {
    recording_->output("\x1b[2m");
    recording_->lines(safe);
    recording_->output("\x1b[22m");
  } else if (recording_) {
    recording_->lines(shown);
  }
  errors_.write(shown);
}

void LineFrontEnd::end_thought() {
  if (!std::exchange(thinks_, false)) return;
  if (recording_) recording_->lines("\n\n");
  errors_.write("\n\n");
}

void LineFrontEnd::answer_end(const ShownMessage& answer, const Usage&) {
  exit_code_ = exit_code_of(answer.finish);
  if (!at_line_start_ || answer.text.empty()) put(output_, "\n");
  if (!output_.closed()) put(options_.question ? errors_ : output_, mark_of(answer));
}

void LineFrontEnd::return_input(std::string_view text) { typed_ = text; }

void LineFrontEnd::command_output(std::string_view, std::string_view text) {
  Output& to = options_.question ? errors_ : output_;
  end_row(to);
  put(to, text);
  end_row(to);
}

void LineFrontEnd::notice(std::string_view text) {
  if (!options_.quiet) warning(text);
}

void LineFrontEnd::warning(std::string_view text) {
  put(errors_, fmt::format("{}* {}\n", at_line_start_ ? "" : "\n", text));
}

void LineFrontEnd::error(std::string_view text) {
  exit_code_ = 1;
  // An unusable model ends the program, which prints this error as its last line.
  if (chat_ != nullptr && chat_->failure()) return;
  put(errors_, fmt::format("{}bitnet-chat: {}\n", at_line_start_ ? "" : "\n", text));
}

void LineFrontEnd::status(const Status& status) { pending_ = status.pending; }

std::string LineFrontEnd::prompt() const {
  std::string prompt;
  for (const PendingFile& file : pending_) prompt += fmt::format("[{}] ", one_line(text_of(file)));
  return prompt + "> ";
}

// Off a terminal there is no clipboard, and the caller shows the text itself.
bool LineFrontEnd::copy(std::string_view text) {
  if (!output_.is_terminal()) return false;
  const std::string safe = without_controls(text);
  const bool is_there = !give_to_clipboard_tool(safe).empty();
  if (!options_.obeys) return is_there;
  output_.write(clipboard_sequence(safe));
  return true;
}

void LineFrontEnd::type_line(std::string_view text) {
  typed_.clear();
  if (chat_->is_command(text)) put(output_, as_quotation(text));
  chat_->submit(text);
}

void LineFrontEnd::press_key(std::string_view name) {
  const std::string bytes = bytes_of_key(name);
  if (recording_) recording_->input(bytes);
  if (name == "Esc" || name == "C-c") {
    typed_.clear();
    chat_->interrupt();
  } else if (name == "Enter") {
    const std::string line = std::exchange(typed_, {});
    if (!line.empty()) type_line(line);
  } else if (name == "C-j" || name == "M-Enter") {
    typed_ += '\n';
  } else if (name == "C-d") {
    if (typed_.empty()) chat_->submit("/quit");
  } else if (name == "C-u") {
    typed_.clear();
  } else if (name == "Backspace") {
    size_t last = 0;
    for (size_t at = 0; at < typed_.size(); at += first_cluster(std::string_view(typed_).substr(at)).bytes)
      last = at;
    typed_.resize(last);
  } else if (name == "Tab") {
    const std::vector<std::string> lines = chat_->complete(typed_);
    if (lines.size() == 1) typed_ = lines[0];
  } else if (bytes.empty()) {
    throw Error(ErrorKind::usage, fmt::format("there is no key \"{}\"", printable(name)));
  } else if (static_cast<uint8_t>(bytes[0]) >= 0x20 && bytes != "\x7f") {
    typed_ += bytes;
  }
  // The other keys move around on a screen, and there is none here.
}

void LineFrontEnd::resize(int columns, int rows) {
  size_ = {columns, rows};
  if (recording_) recording_->resize(columns, rows);
}

// Returns everything that was shown; after a resize, only what a terminal of that size would still show.
std::string LineFrontEnd::screenshot() {
  if (!size_) return visible_;
  std::vector<std::string> rows;
  const std::string safe = make_safe(visible_);
  std::string_view rest = safe;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    do {
      // A row takes at least one character, however narrow the terminal is.
      const std::string_view row = prefix_of_columns(line, size_->first);
      const size_t taken = !row.empty() || line.empty() ? row.size() : first_cluster(line).bytes;
      rows.emplace_back(line.substr(0, taken));
      line.remove_prefix(taken);
    } while (!line.empty());
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  std::string text;
  const size_t shown = std::min(rows.size(), static_cast<size_t>(size_->second));
  for (size_t i = rows.size() - shown; i < rows.size(); ++i) text += rows[i] + "\n";
  return text;
}

void LineFrontEnd::record(const std::string& file, const WriteRules& rules) {
  if (file.empty()) return recording_.reset();
  winsize window{};
  const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0 && window.ws_row > 0;
  const auto [columns, rows] = size_   ? *size_
                               : known ? std::pair<int, int>(window.ws_col, window.ws_row)
                                       : std::pair(80, 24);
  recording_ = std::make_unique<CastRecorder>(file, rules, columns, rows, options_.record_input);
}

void LineFrontEnd::end_recording(int exit_code) {
  if (recording_) recording_->finish(exit_code);
  recording_.reset();
}

std::string LineFrontEnd::keys_text() const {
  return "Enter     send\n"
         "^C        stop the answer, or clear the line\n"
         "^D        quit, where the line is empty\n"
         "Tab       complete a command\n"
         "Up, Down  earlier and later inputs\n"
         "^R        search earlier inputs\n"
         "The other keys are those of readline, as your inputrc has them.";
}

void LineFrontEnd::note_typed(std::string_view line) {
  if (!recording_) return;
  recording_->input(std::string(line) + "\r");
  recording_->lines(as_quotation(line));
}

}  // namespace bitnet
