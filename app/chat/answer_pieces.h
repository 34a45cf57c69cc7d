// Tells a front end of an answer that comes in pieces: what the model thinks, and what it answers.
//
// Thread rule: it lives on the loop's thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "app/chat/front_end.h"
#include "app/text/thinking.h"

namespace bitnet {

class AnswerPieces {
 public:
  // The answer goes on after `so_far`, of which the front end has been told. `front_end` must outlive this.
  explicit AnswerPieces(FrontEnd& front_end, std::string_view so_far = {});

  void show_to(FrontEnd* front_end) { front_end_ = front_end; }  // null: nobody is told

  // The token, unless it is -1, is told of once, with the text that came with it, which may be empty.
  void add(std::string_view text, int32_t token_id, float logprob);
  void finish();  // tells what was held back

  bool thinks() const { return splitter_.thinks(); }
  uint32_t thought_tokens() const { return thought_tokens_; }  // of those that were added

 private:
  void tell(const AnswerSplitter::Step& step, int32_t token_id, float logprob);

  FrontEnd* front_end_;
  AnswerSplitter splitter_;
  uint32_t undecided_ = 0;  // tokens that may be the beginning of a thought
  uint32_t thought_tokens_ = 0;
};

}  // namespace bitnet
