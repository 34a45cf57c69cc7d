// The answer that is being made: its prompt and sampler, its tokens as they come, stop texts, its end.
//
// Tokens come from the worker, are decoded, shown and stored in batches. Text that may be the beginning of a
// stop text is held back until it is clear that it is none.
//
// Thread rule: it lives on the loop's thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/model/worker.h"
#include "conversation.h"
#include "model_state.h"
#include "reporter.h"
#include "settings.h"

namespace bitnet {

// What becomes of a turn that is not answered after all.
struct Unanswered {
  bool taken_back = true;  // into the input line
  bool redone = false;     // Conversation::redo() brings back what the person stepped back from for it
};

class Answer {
 public:
  // All of these must live as long as it does.
  Answer(Conversation& conversation, const SettingsInUse& settings, ModelState& model, Worker& worker,
         Reporter& reporter);
  Answer(const Answer&) = delete;
  Answer& operator=(const Answer&) = delete;

  bool busy() const { return running_.has_value() || waits_; }
  bool waits() const { return waits_; }  // for the model, or for an answer out of sight
  bool is(uint64_t job) const { return running_ && running_->job == job; }
  bool is_shown() const { return running_ && !aside_; }  // it is made here and now
  bool is_shown(uint64_t job) const { return is(job) && !aside_; }
  void describe(Status& status) const;

  // Answers the last message of the branch; a last answer is continued. What cannot be answered is told.
  // Requires a model, and that nothing runs.
  void begin();
  // The same as soon as the model is there and does nothing else; false where it waits for that.
  bool begin_or_wait(Unanswered unanswered = {});
  // The model is there: begins what waits, else says what the branch takes of the context.
  void begin_waiting();
  // What waits is not answered, and goes back to the input.
  void stop_waiting();
  // It stays stored, without an answer.
  void forget_waiting() { waits_ = false; }

  void take(const Token& token);
  void finish(const Finished& finished);

  void interrupt();  // what was made so far is kept
  // interrupt() once this answer, or else the next one, has so many tokens.
  void interrupt_after(uint32_t tokens);
  void leave();  // at the end of the program: what was made so far is stored as interrupted

  // The answer goes on out of sight, because another conversation is opened next. Requires is_shown(), and
  // that the conversation is stored in the database.
  void put_aside();
  // Another conversation is open: if it is that of the answer out of sight, this goes on where it is shown.
  void take_in();
  // The conversation of the answer out of sight; 0 = there is none.
  int64_t elsewhere() const { return aside_ ? aside_->conversation() : 0; }
  // Whether an answer could not be begun, or broke off, since the last call: what waits behind it is not
  // sent.
  bool take_trouble() { return std::exchange(trouble_, false); }

  // Of the last answer of the open conversation; all 0 where none was made.
  const JobStats& stats() const { return stats_; }
  uint64_t seed() const { return seed_; }
  void forget_figures();  // because another conversation is open

 private:
  AnswerPlace& place() { return aside_ ? static_cast<AnswerPlace&>(*aside_) : conversation_; }

  struct Running {
    uint64_t job = 0;
    StreamDecoder decoder;
    std::string held;        // text that may be the beginning of a stop text
    std::string batch_text;  // shown but not stored yet
    std::vector<StoredToken> batch;
    std::chrono::steady_clock::time_point last_flush;
    uint32_t tokens = 0;
    double first_token = 0;  // seconds after decoding began
    std::string reason;      // why we stopped it ourselves; empty: as the worker says
    uint32_t prompt_tokens = 0;
    uint64_t seed = 0;
    std::vector<std::string> stops;  // as its turn is stored: what is set meanwhile is for the next one
  };

  std::vector<int32_t> said_so_far(const std::vector<int32_t>& prompt) const;
  std::vector<int32_t> prompt(bool continues) const;
  std::string refusal(bool continues, std::vector<int32_t>& prompt) const;
  std::string refusal_of(size_t tokens, bool continues) const;
  uint64_t next_seed(bool continues);
  StoredTurn describe(const std::vector<int32_t>& prompt, uint64_t seed) const;
  void begin_stored(const StoredTurn& turn, const std::vector<int32_t>& prompt, bool continues);
  void submit(std::vector<int32_t> prompt, bool continues);
  void leave_unanswered();
  bool may_compact() const;
  std::string ways_on() const;
  void show(std::string_view text, const SampledToken& token);
  void flush(bool now);
  void show_rest(const Finished& finished);
  void finish_aside(const std::string& reason, const std::string& message);
  void tell_figures();
  void tell_differing_pass(uint32_t tokens);
  void tell_reason(const std::string& reason, const std::string& message);

  Conversation& conversation_;
  const SettingsInUse& settings_;
  ModelState& model_;
  Worker& worker_;
  Reporter& reporter_;
  std::optional<Running> running_;
  std::optional<AnswerAside> aside_;  // where it goes while it is not shown
  bool trouble_ = false;
  Unanswered unanswered_;  // the turn that is begun, or waits
  bool waits_ = false;     // the branch ends in what is answered when the model is there
  uint32_t interrupt_after_ = 0;
  JobStats stats_;
  uint64_t seed_ = 0;
};

}  // namespace bitnet
