// Shows a stored conversation once more, token by token, when each is due.
//
// Thread rule: lives on the loop's thread; waits for nothing itself.
//
// An answer begins when its prompt had been read, and its tokens come as they came then, all of it divided by
// the speed. Their text is what the tokenizer makes of them; without one, or with one of another model, the
// answer's text is dealt out evenly.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <vector>

#include "app/chat/front_end.h"
#include "app/store/store.h"
#include "tokenizer/tokenizer.h"

namespace bitnet {

class ReplayPlayer {
 public:
  using Clock = std::chrono::steady_clock;

  struct Answer {
    ShownMessage message;  // of the user too, which then has no turns
    std::vector<WholeTurn> turns;
  };
  // `speed` 0: all at once. `front_end` is shown an empty transcript first; `tokenizer` may be null and is
  // used by this call only.
  ReplayPlayer(std::vector<Answer> branch, double speed, const Tokenizer* tokenizer, FrontEnd& front_end);

  // Shows what is due and says when the next piece is; nothing once all was shown.
  std::optional<Clock::time_point> advance(Clock::time_point now);

 private:
  struct Step {
    double at;  // seconds since the beginning
    std::function<void()> show;
  };
  void add(Answer&& answer, const Tokenizer* tokenizer);

  FrontEnd& front_;
  double speed_;
  double time_ = 0;
  std::vector<Step> steps_;
  size_t next_ = 0;
  std::optional<Clock::time_point> begun_;
};

// Messages of the store as the player wants them.
std::vector<ReplayPlayer::Answer> replay_branch(Store& store, std::vector<ShownMessage> messages);

}  // namespace bitnet
