// Probes a model with many stimuli: the values inside it for each, and whether it goes on as expected.
//
// Thread rule: belongs to main's thread.
//
// One pass a stimulus: prompts are computed in the order of their tokens, so that each begins with what the
// one before has in its cache; rows are written in the order of the file. What is done lies in OUT.part and
// OUT.part.jsonl, from which the same command goes on after it was stopped. Other files of these names are
// refused, unless job.overwrite.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/model/model_open.h"
#include "engine/engine.h"
#include "prompt_text.h"

namespace bitnet {

struct ProbeJob {
  std::string stimuli;  // file
  std::vector<std::string> templates;
  std::vector<ProbePosition> positions;
  Stage what = Stage::residual;
  uint32_t first_layer = 0, end_layer = UINT32_MAX;
  uint32_t generate = 16;  // tokens
  uint32_t limit = 0;      // stimuli; 0: all
  bool special = false, reuse = true, hash_model = false, overwrite = false;
  // DIR/NAME.npy; with several templates or positions DIR/NAME_TEMPLATE_POSITION_activations.npy
  std::string out;
};

// A model as the tools of this room use it.
struct ProbedModel {
  const Checkpoint& file;
  const Tokenizer& tokenizer;
  Engine& engine;
  const ModelOptions& options;
};

// Writes float32 [stimuli, layers, width] for each template and position, and beside it _metadata.json and
// _correctness.json with ember's keys. `tell` gets a line of progress from time to time, without a line end,
// and at last what was done. Throws Error(usage) for what the stimuli do not have, before anything is
// computed.
void run_probe(const ProbedModel& model, const ProbeJob& job,
               const std::function<void(const std::string& line, bool last)>& tell);

// The layers and the width that the job's arrays have. Throws Error(usage) where there are none such, and
// where these layers differ in width.
struct ProbeShape {
  uint32_t first_layer = 0, n_layers = 0;
};
ProbeShape shape_of(const ModelInfo& model, uint32_t first_layer, uint32_t end_layer);

// Collects rows [token][width] of each layer while a session reads a prompt, and averages some of them.
class RowKeeper {
 public:
  RowKeeper(Stage what, const ProbeShape& shape);
  const Observation& observation() const { return observation_; }
  // Brings the session to these tokens with the rows of all of them kept. Returns how many it reused.
  uint32_t read(Session& session, const std::vector<int32_t>& ids, bool reuse);
  uint64_t width() const { return width_; }
  // [layers][width] over these tokens, in double and then f32. Requires: read.
  std::vector<float> mean_of(const std::vector<size_t>& tokens) const;

 private:
  const ProbeShape shape_;
  uint64_t width_ = 0;
  std::vector<std::vector<float>> rows_;  // of each layer
  std::vector<int32_t> known_;            // the tokens whose rows these are
  Observation observation_;
};

}  // namespace bitnet
