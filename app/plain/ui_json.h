// The front end of --output jsonl: each event is one JSON object on a line of its own, flushed at once.
//
// Thread rule: lives on the loop's thread.
//
// app/cli/json_table.cpp has the keys of each object, of which the man page is made.
// Bytes that are not UTF-8 become U+FFFD. On a terminal, control characters are shown as text_safe.h says.
#pragma once

#include <optional>
#include <string>

#include "app/base/output.h"
#include "app/chat/front_end.h"
#include "app/script/script.h"

namespace bitnet {

class Chat;

class JsonFrontEnd : public FrontEnd, public ScriptTarget {
 public:
  explicit JsonFrontEnd(Output& output) : output_(output) {}
  void drive(Chat& chat) { chat_ = &chat; }

  bool output_closed() const { return output_.closed(); }
  // Of the last answer, or 1 if an error came after it; nothing if there was neither.
  std::optional<int> exit_code() const { return exit_code_; }
  void fatal(std::string_view text, int code);  // the error that ends the program
  void exit(int code);

  void transcript(const std::vector<ShownMessage>& messages) override;
  void message(const ShownMessage& message) override;
  void answer_text(std::string_view text, int32_t token_id, float logprob) override;
  void thought_text(std::string_view text, int32_t token_id, float logprob) override;
  void answer_end(const ShownMessage& answer, const Usage& usage) override;
  void command_output(std::string_view command, std::string_view text) override;
  void notice(std::string_view text) override;
  void error(std::string_view text) override;
  void status(const Status& status) override;
  void return_input(std::string_view text) override;

  void type_line(std::string_view text) override;
  void press_key(std::string_view name) override;
  void resize(int, int) override {}
  std::string visible_text() override { return visible_; }
  std::string screenshot() override { return visible_; }

 private:
  void send_token(const char* type, std::string_view text, int32_t token_id, float logprob);

  Output& output_;
  Chat* chat_ = nullptr;
  std::string visible_;  // everything so far, for @expect
  int64_t answer_ = 0;
  bool session_sent_ = false;  // the object of that type
  int64_t conversation_ = 0;   // the stored one; 0: none
  std::vector<PendingFile> pending_;
  std::optional<int> exit_code_;
};

}  // namespace bitnet
