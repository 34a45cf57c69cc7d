// Shows a stored conversation once more, token by token, when each is due.
//
// Thread rule: a player lives on the loop's thread; it waits for nothing itself.
//
// An answer begins after the time that its prompt took, and its tokens come as far apart as they came then,
// all divided by the speed. Their text is what the tokenizer makes of them; without a tokenizer, or with one
// of another model, the answer's text is dealt out evenly.
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

  struct Message {
    ShownMessage shown;            // its text as it is stored, with what the model thought
    std::vector<WholeTurn> turns;  // of an answer
  };
  // With `speed` 0 all comes at once. `front_end` is shown an empty transcript first; `tokenizer` may be
  // null, and only this call uses it.
  ReplayPlayer(std::vector<Message> branch, double speed, const Tokenizer* tokenizer, FrontEnd& front_end);

  // Shows what is due and says when the next piece is; nothing once all was shown.
  std::optional<Clock::time_point> advance(Clock::time_point now);

 private:
  struct Step {
    double at;  // seconds since the beginning
    std::function<void()> show;
  };
  void add(Message&& message, const Tokenizer* tokenizer);

  FrontEnd& front_;
  double speed_;
  double time_ = 0;
  std::vector<Step> steps_;
  size_t next_ = 0;
  std::optional<Clock::time_point> begun_;
};

// Reads the turns of these messages from the store, for the player.
std::vector<ReplayPlayer::Message> replay_branch(Store& store, std::vector<ShownMessage> messages);

}  // namespace bitnet
