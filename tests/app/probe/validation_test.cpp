// Tests that a device is found out whose answers depend on how many tokens it computes together.
#include "app/probe/validation.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace bitnet {
namespace {

// Its logits are the sum of the tokens, and wrong in passes of so many.
class Device : public Session {
 public:
  explicit Device(uint32_t wrong_in, float error) : wrong_in_(wrong_in), error_(error) {}
  uint32_t n_ctx() const override { return 16; }
  std::span<const int32_t> tokens() const override { return tokens_; }
  SyncResult sync(std::span<const int32_t> wanted, const SyncOptions& options) override {
    const auto differ = std::ranges::mismatch(tokens_, wanted);
    const auto reused = static_cast<uint32_t>(differ.in1 - tokens_.begin());
    tokens_.assign(wanted.begin(), wanted.end());
    logits_ = {0, static_cast<float>(std::accumulate(wanted.begin(), wanted.end(), 0))};
    if (options.batch == wrong_in_ && wanted.size() > 1) logits_[1] += error_;
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

std::vector<uint32_t> wrong_batches(uint32_t wrong_in, float error) {
  Device device(wrong_in, error);
  std::vector<uint32_t> wrong;
  for (const BatchDifference& d : batch_differences(device, tokens_to_validate(100)))
    if (!d.same) wrong.push_back(d.batch);
  return wrong;
}

TEST(BatchDifferences, NameThePassesThatAreWrong) {
  EXPECT_THAT(wrong_batches(77, 1), testing::IsEmpty());
  EXPECT_THAT(wrong_batches(3, 1), testing::ElementsAre(3));
  EXPECT_THAT(wrong_batches(0, NAN), testing::ElementsAre(0));
  EXPECT_THAT(wrong_batches(1, 1),
              testing::ElementsAre(2, 3, 4, 8, 0));  // what is compared with is wrong itself
}

TEST(BatchDifferences, SayHowLargeTheyAre) {
  Device device(4, 2.5F);
  const BatchDifference d = batch_differences(device, {1, 2, 3, 4, 5, 6, 7, 8})[2];
  EXPECT_EQ(describe(d),
            "passes of 4 tokens: logits differ by up to 2.50e+00 of 3.60e+01 from those of one by one; "
            "look at what computes a token, and a few together");
}

}  // namespace
}  // namespace bitnet
