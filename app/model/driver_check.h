// Whether a driver computes a model right, as far as a device by itself can tell: kernels for different
// numbers of tokens have to give the same bits.
//
// A driver can compile a kernel wrongly, for one model of many, and say nothing (bench/speed/decode.md,
// "Integers that a driver adds up wrongly").
//
// Thread rule: as the session, or the engine.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace bitnet {

// Ids of some tokens, for any model.
std::vector<int32_t> tokens_to_validate(uint32_t n_vocab);

// Leaves another token than `first` in the timeline, so that no key of the pass before is used again.
void start_over(Session& session, int32_t first);

// How the logits behind the last token differ where tokens are computed in batches of so many (0: all
// together) and not one by one. No bit of them may, since an answer must not depend on how it came about
// (engine/README.md).
struct BatchDifference {
  uint32_t batch = 0;
  bool same = true;  // also where neither is a number, which is the model's own
  double largest_difference = 0, largest_value = 0;
};

// For batches of these sizes. Nothing is observed, so that the kernels are those of answers: a chain of all
// stages is another program for a driver than one of some.
std::vector<BatchDifference> batch_differences(Session& session, const std::vector<int32_t>& tokens,
                                               const std::vector<uint32_t>& batches);

// "passes of 2 tokens: the logits of one by one, bit for bit", or by how much they differ and where to look
std::string describe(const BatchDifference& difference);

// What to tell the user of a GPU that computes tokens one by one otherwise than together, or an empty text.
// They are computed the first time that a model meets a driver and a version of this program, by a session of
// their own; `cache_folder` keeps that they agreed. Not on a CPU, in front of Vulkan or not, not without the
// folder, where weights lie in host memory or in the file, since each token would read them again, or where
// memory is short. Passes of a few tokens are left to `bench validate`, and those over guesses to the session
// that makes the first (SessionStats::differing_pass): their kernels take a driver seconds to compile and may
// not be needed.
std::string driver_warning(const Engine& engine,
                           const std::function<std::unique_ptr<Session>(uint32_t n_ctx)>& create_session,
                           const std::string& cache_folder);

// What to tell the user where SessionStats::differing_pass is `tokens`, which are at least two.
std::string differing_pass_warning(const DeviceInfo& device, uint32_t tokens);

}  // namespace bitnet
