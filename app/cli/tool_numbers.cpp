// Tools that print what the model computes: logits and probe.
#include <fmt/format.h>

#include <span>

#include "app/model/model_open.h"
#include "engine/engine.h"
#include "engine/error.h"
#include "engine/open_model.h"
#include "npy.h"
#include "running_model.h"
#include "tools.h"

namespace bitnet {
namespace {

// A model with room for the tokens of the command line. They are checked before the model is loaded.
RunningModel open_for_tokens(const Options& options) {
  const ModelInfo info = read_model_info(*open_model(find_model(options.model)), options.activation);
  for (const int32_t id : options.tokens) {
    if (static_cast<uint32_t>(id) >= info.n_vocab) {
      throw Error(ErrorKind::usage,
                  fmt::format("--tokens: {} is past the vocabulary of {} tokens", id, info.n_vocab));
    }
  }
  if (options.tokens.size() > info.n_ctx_train) {
    throw Error(ErrorKind::usage, fmt::format("--tokens: {} tokens, the model's context holds {}",
                                              options.tokens.size(), info.n_ctx_train));
  }
  return open_running_model(options, static_cast<uint32_t>(options.tokens.size()));
}

}  // namespace

void tool_logits(const Options& options) {
  const RunningModel model = open_for_tokens(options);
  NpyFile out(options.out, {.overwrite = options.force}, options.tokens.size(),
              model.engine->model().n_vocab);
  SyncOptions sync;
  sync.batch = options.prefill;
  sync.on_logits = [&](uint32_t, std::span<const float> logits) { out.write(logits); };
  model.session->sync(options.tokens, sync);
  out.finish();
}

void tool_probe(const Options& options) {
  const RunningModel model = open_for_tokens(options);
  const ModelInfo& info = model.engine->model();
  std::vector<float> hidden;
  SyncOptions sync;
  sync.hidden = &hidden;
  model.session->sync(options.tokens, sync);
  NpyFile out(options.out, {.overwrite = options.force}, info.n_layer, info.n_embd);
  out.write(hidden);
  out.finish();
}

}  // namespace bitnet
