#include "front_end.h"

namespace bitnet {

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
