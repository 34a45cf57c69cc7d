// The front end of --output jsonl: each event is one JSON object on a line of its own, flushed at once.
//
// Thread rule: lives on the loop's thread.
//
//   {"type":"session","conversation":1,"model":"...","device":"...","context":4096,"saved":true}
//       conversation null: a new one, stored with its first turn, or nothing is stored; sent again whenever
//       there is another conversation: after the first turn of a new one too
//   {"type":"user","id":1,"number":1,"text":"...","sibling":1,"siblings":1}  ids are the store's, numbers
//   /goto's
//   {"type":"token","message":2,"id":9906,"text":"Hi","logprob":-0.01}      id null: text held back until now
//   {"type":"thought", ...}                                                the same for what the model thinks
//       before it answers
//   {"type":"usage","conversation":1,"message":2,"number":2,"text":"...","finish":"stop","sibling":2,"siblings":3,
//    "prompt_tokens":9,"reused_tokens":0,"answer_tokens":4,"prefill_seconds":0.1,"decode_seconds":0.2}
//       if the model thought: "thought":"...","thought_tokens":3 too; answer_tokens counts these as well
//   {"type":"command","command":"set","text":"..."}                         also "notice", "transcript" and
//   "input"
//       input: a turn that was not taken, or one to rewrite, as whoever types is to send it
//   {"type":"command","command":"pending","files":[{"name":"a.txt","bytes":9,"tokens":3}]}  what /read has
//   put
//       into the next turn, whenever that changes; tokens null: the model loads
//   {"type":"error","text":"...","code":4}                                  code: where it ends the program
//   {"type":"exit","code":0}
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
