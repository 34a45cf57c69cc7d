// Compares what an engine has inside with a reference, stage by stage, so that a wrong kernel names itself.
//
// Thread rule: belongs to main's thread.
//
// The values are those of the last of a few tokens, in the first, a middle and the last layer. Stages come in
// the order of the pass, so the first that fails is nearest to the mistake: what comes after it is wrong too.
// A layer with a DeltaNet in place of attention has fewer of them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"

namespace bitnet {

struct StageValues {
  std::vector<int32_t> tokens;
  std::map<std::pair<uint32_t, Stage>, std::vector<float>> rows;  // by layer; the last token's values
};

// The golden values of a model, which bench/make_stages.py computed in float64, or nullopt where the file
// `path` has none of it or is missing. They are known by the SHA-256 of the model.
std::optional<StageValues> golden_values(const Checkpoint& model, uint32_t n_layer, const std::string& path);

// What a session has. batch: tokens of a submission, 0 for the engine's choice and 1 for one by one, as
// answers are computed.
StageValues observed_values(Session& session, const std::vector<int32_t>& tokens, uint32_t n_layer,
                            uint32_t batch);

struct StageDifference {
  std::string pass;  // "prefill" or "decode"
  uint32_t layer = 0;
  Stage stage = Stage::input;
  double cosine = 0;  // of reference and found; 0 where a value found is none
  double bar = 0;     // the least cosine that is good
  double largest_difference = 0, largest_value = 0;
  bool good() const { return cosine >= bar; }
};

// One for each row of the reference, in the order of the pass.
std::vector<StageDifference> differences(const StageValues& reference, const StageValues& found,
                                         const std::string& pass);

// "decode, layer 0, heads: cosine 0.91 (bar 0.9997); look at attention itself, or keys and values"
std::string describe(const StageDifference& difference);

}  // namespace bitnet
