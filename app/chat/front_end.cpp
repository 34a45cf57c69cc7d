#include "front_end.h"

#include "app/text/thinking.h"

namespace bitnet {

void split_thought(ShownMessage& answer) {
  const SplitAnswer split = split_answer(answer.text);
  if (!split.thinks) return;
  answer.thought = split.thought;
  answer.thinks = split.open;
  answer.text = std::string(split.answer);
}

const char* name_of(ChatState state) {
  switch (state) {
    case ChatState::loading:
      return "loading";
    case ChatState::idle:
      return "idle";
    case ChatState::prefill:
      return "reading";
    case ChatState::answering:
      return "answering";
    case ChatState::failed:
      return "failed";
  }
  return "?";
}

}  // namespace bitnet
