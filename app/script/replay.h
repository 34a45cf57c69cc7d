// Shows a stored conversation once more, token by token as it was, or computes it anew and compares.
//
// Thread rule: free functions on the loop's thread; verify_replay runs the model on it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "app/base/event_loop.h"
#include "app/chat/front_end.h"
#include "app/store/store.h"

namespace bitnet {

class Tokenizer;
struct LoadedModel;

// Shows the conversation's branch through `front_end`, at the tokens' own times divided by `speed` (0: at
// once), until `closed()`. replay_player.h says how, and what `tokenizer`, which may be null, is for. Returns
// 0, or the sum of 128 and the signal that ended it. Throws Error(runtime) where there is no such
// conversation.
int replay(
    Store& store, int64_t conversation, double speed, const Tokenizer* tokenizer, EventLoop& loop,
    FrontEnd& front_end, const std::function<bool()>& closed = [] { return false; });

// Computes every answer of the branch again that this model made, with its stored prompt, settings and seed.
// Returns a line for people, which counts what another model made too. Throws Error(mismatch) that names the
// first divergence: turn, position, both ids, gap of their log probabilities as the model has them now; the
// same that names the first turn of another model where this one made none; Error(runtime) where there is
// nothing to compare.
std::string verify_replay(Store& store, int64_t conversation, LoadedModel& model);

}  // namespace bitnet
