// The front end of plain lines: for an answer on a pipe, a script's transcript, or a terminal that cannot
// show a screen.
//
// Thread rule: lives on the loop's thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/base/output.h"
#include "app/chat/front_end.h"
#include "app/script/cast.h"
#include "app/script/script.h"
#include "app/text/word_wrap.h"

namespace bitnet {

class Chat;

// With `question`, the answer alone goes to the output and everything else to the errors. Otherwise the
// output is a transcript (what was typed after "> ", answers, what commands say), and notices and errors go
// to the errors. What the model thinks before it answers is for a person who looks on: it goes to the errors,
// and only if they are a terminal.
struct LineOptions {
  bool question = false;
  bool echo_user = true;      // false if the person's terminal has already shown what was typed
  bool quiet = false;         // no notices
  bool record_input = false;  // recordings contain what was typed, too
  bool dim = true;            // the terminal may be told to write faintly
  bool obeys = true;          // it obeys escape sequences
};

class LineFrontEnd : public FrontEnd, public ScriptTarget {
 public:
  LineFrontEnd(LineOptions options, Output& output, Output& errors);
  void drive(Chat& chat) { chat_ = &chat; }  // gets a script's lines and keys

  bool output_closed() const { return output_.closed(); }
  int exit_code() const { return exit_code_; }  // of the last answer; 1 if there was none

  void transcript(const std::vector<ShownMessage>& messages) override;
  void message(const ShownMessage& message) override;
  void answer_text(std::string_view text, int32_t token_id, float logprob) override;
  void thought_text(std::string_view text, int32_t token_id, float logprob) override;
  void answer_end(const ShownMessage& answer, const Usage& usage) override;
  void command_output(std::string_view command, std::string_view text) override;
  void notice(std::string_view text) override;
  void warning(std::string_view text) override;
  void error(std::string_view text) override;
  void status(const Status& status) override;
  bool copy(std::string_view text) override;
  void return_input(std::string_view text) override;
  void record(const std::string& file, const WriteRules& rules) override;
  bool recording() const override { return recording_ != nullptr; }
  void end_recording(int exit_code) override;
  std::string keys_text() const override;
  void note_typed(std::string_view line);  // records a line that the terminal has shown already

  // What stands before the typed line: the files of the next turn, and "> ".
  std::string prompt() const;
  // Returns, once, the text that return_input() has left for the person to change.
  std::string take_returned() { return std::exchange(typed_, {}); }

  void type_line(std::string_view text) override;
  void press_key(std::string_view name) override;
  void resize(int columns, int rows) override;
  std::string visible_text() override { return visible_; }
  std::string screenshot() override;

 private:
  bool note_conversation();
  void put(Output& to, std::string_view text);
  void put_answer(Output& to, std::string_view text);  // broken between words if `to` is a terminal
  void end_row(Output& to);
  void end_thought();
  void send(Output& to, std::string_view text);
  void show_answer(Output& to, const ShownMessage& message);

  LineOptions options_;
  Output nowhere_{-1};
  Output& output_;
  Output& errors_;
  Chat* chat_ = nullptr;
  std::string visible_;  // everything shown since the last transcript()
  std::string typed_;    // by @key or return_input(), and not sent yet
  std::vector<PendingFile> pending_;
  std::optional<std::pair<int, int>> size_;  // columns and rows that a script has set
  std::unique_ptr<CastRecorder> recording_;
  std::vector<int64_t> shown_;  // ids of the messages shown so far
  int64_t conversation_ = 0;    // theirs, where it is stored
  WordWrap wrap_;
  bool at_line_start_ = true;
  bool thinks_ = false;  // a thought is being written
  int exit_code_ = 1;
};

}  // namespace bitnet
