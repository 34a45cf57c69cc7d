// Turns the tokens of an answer into its text: thoughts apart, and cut where a stop text begins.
//
// Thread rule: belongs to one thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "answering.h"
#include "app/text/thinking.h"
#include "requests.h"

namespace bitnet {

class AnswerText {
 public:
  struct Piece {
    std::string thought;
    std::string text;
    std::vector<MadeToken> tokens;  // those that this text came of
  };

  // Both must outlive it.
  AnswerText(const ServedModel& model, const AnswerRequest& request);

  // What this token adds. After a stop text, nothing is added any more.
  Piece add(MadeToken token);
  Piece finish();  // what was held back, where no stop text came of it

  bool stopped() const { return stopped_; }
  uint32_t tokens() const { return tokens_; }  // that were added

 private:
  Piece split(std::string text, std::vector<MadeToken> tokens);

  const AnswerRequest& request_;
  StreamDecoder decoder_;
  std::optional<AnswerSplitter> splitter_;                 // of a chat
  std::string held_;                                       // may become a stop text
  std::vector<std::pair<size_t, MadeToken>> held_tokens_;  // and where in `held_` they begin
  size_t given_ = 0;                                       // characters of the text before `held_`
  bool stopped_ = false;
  uint32_t tokens_ = 0;
};

}  // namespace bitnet
