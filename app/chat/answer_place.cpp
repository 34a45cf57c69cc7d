#include "answer_place.h"

#include <utility>

#include "engine/error.h"

namespace bitnet {

void note_outcome(StoredTurn& turn, const std::string& reason, const JobStats& stats,
                  uint32_t thought_tokens) {
  turn.finish = reason;
  turn.reused_tokens = stats.reused_tokens;
  turn.answer_tokens = stats.answer_tokens;
  turn.thought_tokens = thought_tokens;
  turn.prefill_seconds = stats.prefill_seconds;
  turn.decode_seconds = stats.decode_seconds;
}

void grow(BranchMessage& answer, AnswerPieces& pieces, std::string_view text, const SampledToken& token) {
  if (token.id >= 0) answer.tokens.push_back(token.id);
  answer.stored.text += text;
  const uint32_t before = pieces.thought_tokens();
  pieces.add(text, token.id, token.logprob);
  answer.stored.thought_tokens += pieces.thought_tokens() - before;
}

AnswerAside::AnswerAside(Store& store, int64_t conversation, OpenAnswer answer)
    : store_(store), conversation_(conversation), answer_(std::move(answer)) {
  answer_.pieces.show_to(nullptr);
}

void AnswerAside::grow_answer(std::string_view text, const SampledToken& token) {
  grow(answer_.message, answer_.pieces, text, token);
}

void AnswerAside::store_answer(std::string_view text, const std::vector<StoredToken>& tokens) {
  if (!problem_.empty()) return;
  try {
    store_.append(answer_.turn, text, tokens);
  } catch (const Error& error) {
    problem_ = error.what();
  }
}

void AnswerAside::finish_answer(const std::string& reason, const JobStats& stats) {
  note_outcome(answer_.turn, reason, stats, answer_.pieces.thought_tokens());
  try {
    if (!problem_.empty()) {  // the database may be there again: as much as it has is an answer
      answer_.turn.finish = name_of(Finish::interrupted);
      answer_.turn.answer_tokens = static_cast<uint32_t>(store_.tokens(answer_.turn.id).size());
    }
    store_.finish_turn(answer_.turn);
  } catch (const Error& error) {
    if (problem_.empty()) problem_ = error.what();
    store_.give_up(answer_.turn.message);
  }
}

void AnswerAside::leave_answer(uint32_t tokens) noexcept {
  JobStats stats;
  stats.answer_tokens = tokens;
  finish_answer(name_of(Finish::interrupted), stats);
}

}  // namespace bitnet
