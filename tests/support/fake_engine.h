// An engine without a device, for the tests of the chat: it answers with tokens that a test chose.
//
// Its vocabulary is one token a byte, then <bos>, <eot> and <usr>, so that a prompt can be read as text.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "app/chat/front_end.h"
#include "app/model/worker.h"

namespace bitnet::fake {

constexpr int32_t kBos = 256;
constexpr int32_t kEot = 257;

constexpr uint32_t kTrainedFor = 8192;

// After token t, the tokens t + 1 and t + 2 have these logits and all others have 0, whatever the answer is.
constexpr float kNextLogit = 7.0F;
constexpr float kSecondLogit = 6.0F;

// The script that all sessions of a test share. It is thread-safe.
class Script {
 public:
  // Sets the next answer: the text, then an end-of-turn token. After hold() it produces no token before
  // release().
  void answer(std::string text);
  void hold();
  void hold_after(int tokens);  // holds every answer after so many tokens
  void release();               // and holds none any more, even where none has come so far yet
  void wait_until_held();       // the worker stands before a token that is held back
  void lose_device_after(int tokens);
  void numeric_after(int tokens);
  void differ_in_passes_of(uint32_t tokens);
  void wrong_device(bool wrong);        // opening fails from now on
  void no_room_on(std::string device);  // opening there fails
  // These are of the model that is opened next. They must not be changed while it opens.
  std::string fingerprint = "00112233445566778899aabbccddeeff";
  std::string arithmetic = "exact";
  uint32_t trained_for = kTrainedFor;  // tokens
  Placement placement;
  void hold_loading(bool hold);
  void read_experts(const ExpertReads& reads);  // each answer does from now on
  void wish(ModelSettings wishes);              // the model's file has these from the next opening on

  std::vector<std::vector<int32_t>> prompts();  // one for every sync
  size_t learned();       // tokens of other texts in which the guesses of the last answer were looked for
  std::string guessed();  // what the last answer was expected to begin with
  int opened();
  std::string device();  // the last opening asked for it

 private:
  friend class FakeEngine;
  friend class FakeSession;
  friend OpenModel opener(Script& script, uint32_t n_ctx, std::string chat_template, bool add_bos);
  std::string next_answer();
  bool pass_gate(int made, const std::function<bool()>& cancelled);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> answers_;
  size_t next_ = 0;
  bool held_ = false;
  bool waiting_ = false;
  bool loading_held_ = false;
  ModelSettings wishes_;
  bool wrong_device_ = false;
  std::string no_room_on_ = "nowhere at all";
  int hold_after_ = -1;
  int lose_after_ = -1;
  int numeric_after_ = -1;
  uint32_t differing_pass_ = 0;
  int opened_ = 0;
  std::string device_;
  std::vector<std::vector<int32_t>> prompts_;
  size_t learned_ = 0;
  std::string guessed_;
  ExpertReads of_an_answer_, of_all_;
};

// "<bos>" once, then "<usr>text<eot>" and "answer<eot>" in turn.
extern const char* const kTemplate;

OpenModel opener(Script& script, uint32_t n_ctx = 512, std::string chat_template = kTemplate,
                 bool add_bos = true);
std::shared_ptr<ModelText> model_text(const std::string& chat_template = kTemplate, bool add_bos = true);
std::string text_of(const std::vector<int32_t>& ids);  // with special tokens

// Keeps what a front end is told, as lines.
class FrontEndLog : public FrontEnd {
 public:
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
  bool copy(std::string_view text) override;
  bool choose(Choices choices) override;

  std::string log;  // everything, a line each
  std::vector<ShownMessage> shown;
  std::vector<std::string> errors;
  std::vector<std::string> returned;
  std::string last_output;
  std::string thought;  // of the last answer
  Status last_status;
  Usage last_usage;
  uint32_t tokens = 0;    // of the last answer
  bool has_hands = true;  // a clipboard, and a list to pick from
  std::vector<std::string> copied;
  Choices choices;  // the last ones to pick from
};

}  // namespace bitnet::fake
