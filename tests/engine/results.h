// What a session gives out, for tests that compare one way to compute with another.
#pragma once

#include <vector>

#include "engine/engine.h"
#include "tests/engine/session.h"

namespace bitnet {

// All that a session gives out.
struct Results {
  std::vector<float> logits, hidden;
  std::vector<int32_t> greedy, sampled;
  std::vector<std::byte> kv;
  bool operator==(const Results&) const = default;
};

inline Results results_of(Engine& model, uint32_t n_ctx, uint32_t tokens) {
  std::vector<int32_t> prompt(tokens / 2 + 8);
  for (size_t i = 0; i < prompt.size(); ++i)
    prompt[i] = static_cast<int32_t>((i * 7919 + 5) % model.model().n_vocab);
  Results r;
  const auto session = Session::create(model, n_ctx);
  SyncOptions options;
  const Observation last = residual_stream(r.hidden, static_cast<uint32_t>(prompt.size() - 1));
  options.observe = &last;
  options.on_logits = [&](uint32_t, std::span<const float> row) {
    r.logits.insert(r.logits.end(), row.begin(), row.end());
  };
  session->sync(prompt, options);
  r.greedy = decoded(*session, tokens);
  r.sampled = decoded(*session, tokens, {.temperature = 0.9F, .top_k = 40, .top_p = 0.95F, .seed = 3});
  r.kv = session->save();
  return r;
}

}  // namespace bitnet
