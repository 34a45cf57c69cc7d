// Where the answer that is being made goes: into the conversation that is shown, or, once the person has gone
// on to another one, into its own out of sight.
//
// Thread rule: it lives on the loop's thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "answer_pieces.h"
#include "app/model/worker.h"
#include "app/store/store.h"

namespace bitnet {

struct BranchMessage {
  StoredMessage stored;
  std::vector<int32_t> tokens;  // of an answer
  int64_t number = 0;           // ShownMessage says what these three are
  uint32_t sibling = 1;
  uint32_t siblings = 1;
};

// An answer that is being written.
struct OpenAnswer {
  StoredTurn turn;
  BranchMessage message;
  AnswerPieces pieces;
};

class AnswerPlace {
 public:
  virtual void grow_answer(std::string_view text, const SampledToken& token) = 0;
  virtual void store_answer(std::string_view text, const std::vector<StoredToken>& tokens) = 0;  // appended
  virtual void finish_answer(const std::string& reason, const JobStats& stats) = 0;              // stored
  virtual void leave_answer(uint32_t tokens) noexcept = 0;  // at the end of the program: as interrupted

 protected:
  ~AnswerPlace() = default;
};

// The place of an answer that is not shown. Where the database fails, what was stored before is kept, and
// problem() says why there is no more.
class AnswerAside final : public AnswerPlace {
 public:
  AnswerAside(Store& store, int64_t conversation, OpenAnswer answer);

  int64_t conversation() const { return conversation_; }
  const std::string& problem() const { return problem_; }
  int64_t message() const { return answer_.turn.message; }
  OpenAnswer take() { return std::move(answer_); }

  void grow_answer(std::string_view text, const SampledToken& token) override;
  void store_answer(std::string_view text, const std::vector<StoredToken>& tokens) override;
  void finish_answer(const std::string& reason, const JobStats& stats) override;
  void leave_answer(uint32_t tokens) noexcept override;

 private:
  Store& store_;
  int64_t conversation_;
  OpenAnswer answer_;
  std::string problem_;
};

// What a finished turn has of these.
void note_outcome(StoredTurn& turn, const std::string& reason, const JobStats& stats,
                  uint32_t thought_tokens);
// Adds to an answer's text and tokens.
void grow(BranchMessage& answer, AnswerPieces& pieces, std::string_view text, const SampledToken& token);

}  // namespace bitnet
