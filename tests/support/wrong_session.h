// A session of a device whose logits depend on how many tokens it computes together.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "engine/engine.h"

namespace bitnet {

// Its logits are the sum of the tokens, and wrong in passes of so many.
class WrongSession : public Session {
 public:
  WrongSession(uint32_t wrong_in, float error) : wrong_in_(wrong_in), error_(error) {}
  uint32_t n_ctx() const override { return 16; }
  std::span<const int32_t> tokens() const override { return tokens_; }
  SyncResult sync(std::span<const int32_t> wanted, const SyncOptions& options) override {
    const auto differ = std::ranges::mismatch(tokens_, wanted);
    const auto reused = static_cast<uint32_t>(differ.in1 - tokens_.begin());
    tokens_.assign(wanted.begin(), wanted.end());
    logits_ = {0, static_cast<float>(std::accumulate(wanted.begin(), wanted.end(), 0))};
    if (options.batch == wrong_in_ && wanted.size() > 1) logits_[0] += error_;
    return {reused, static_cast<uint32_t>(wanted.size()) - reused, false};
  }
  std::span<const float> logits() override { return logits_; }
  Finish decode(Sampler&, const DecodeOptions&, const std::function<bool(const SampledToken&)>&) override {
    return Finish::stop;
  }
  void cancel() noexcept override {}
  uint64_t save_bytes() const override { return 0; }
  std::vector<std::byte> save() override { return {}; }
  void load(std::span<const std::byte>) override {}
  SessionStats stats() const override { return {}; }

 private:
  const uint32_t wrong_in_;
  const float error_;
  std::vector<int32_t> tokens_;
  std::vector<float> logits_;
};

}  // namespace bitnet
