#include "answer_pieces.h"

namespace bitnet {

AnswerPieces::AnswerPieces(FrontEnd& front_end, std::string_view so_far) : front_end_(&front_end) {
  splitter_.push(so_far);
}

void AnswerPieces::add(std::string_view text, int32_t token_id, float logprob) {
  const AnswerSplitter::Step step = splitter_.push(text);
  if (token_id >= 0) ++undecided_;
  if (!splitter_.undecided()) {
    if (thinks() || !step.thought.empty()) thought_tokens_ += undecided_;
    undecided_ = 0;
  }
  tell(step, token_id, logprob);
}

void AnswerPieces::finish() { tell(splitter_.finish(), -1, 0); }

void AnswerPieces::tell(const AnswerSplitter::Step& step, int32_t token_id, float logprob) {
  if (front_end_ == nullptr) return;
  if (thinks() || !step.thought.empty()) {
    if (token_id >= 0 || !step.thought.empty()) front_end_->thought_text(step.thought, token_id, logprob);
    if (!step.answer.empty()) front_end_->answer_text(step.answer, -1, 0);
  } else if (token_id >= 0 || !step.answer.empty()) {
    front_end_->answer_text(step.answer, token_id, logprob);
  }
}

}  // namespace bitnet
