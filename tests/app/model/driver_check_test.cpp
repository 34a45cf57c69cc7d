// Tests that a device is found out whose answers depend on how many tokens it computes together, and that one
// which agrees is asked once.
#include "app/model/driver_check.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "engine/error.h"

namespace bitnet {
namespace {

namespace fs = std::filesystem;

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

const std::vector<uint32_t> kBatches{2, 3, 4, 8, 0};

std::vector<uint32_t> wrong_batches(uint32_t wrong_in, float error) {
  WrongSession device(wrong_in, error);
  std::vector<uint32_t> wrong;
  for (const BatchDifference& d : batch_differences(device, tokens_to_validate(100), kBatches))
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
  WrongSession device(4, 2.5F);
  const BatchDifference d = batch_differences(device, {1, 2, 3, 4, 5, 6, 7, 8}, kBatches)[2];
  EXPECT_EQ(describe(d),
            "passes of 4 tokens: logits differ by up to 2.50e+00 of 3.60e+01 from those of one by one; "
            "look at what computes a token, and a few together");
}

class Gpu : public Engine {
 public:
  Gpu() {
    model_.fingerprint = "0123";
    model_.n_vocab = 100;
    device_.name = "A GPU";
    device_.driver = "driver 1";
  }
  const ModelInfo& model() const override { return model_; }
  const DeviceInfo& device() const override { return device_; }
  Placement placement() const override { return placement_; }

  ModelInfo model_;
  DeviceInfo device_;
  Placement placement_;
};

// Of a model whose logits are no numbers.
class NoNumbers : public WrongSession {
 public:
  NoNumbers() : WrongSession(77, 0) {}
  std::span<const float> logits() override { return logits_; }

 private:
  const std::vector<float> logits_{1, NAN};
};

class DriverWarning : public testing::Test {
 protected:
  DriverWarning() { fs::remove_all(folder); }  // of a run that was killed
  ~DriverWarning() override { fs::remove_all(folder); }

  std::string warning() {
    return driver_warning(
        gpu,
        [this](uint32_t n_ctx) -> std::unique_ptr<Session> {
          ++sessions;
          if (no_memory) throw Error(ErrorKind::device, "no memory");
          std::unique_ptr<Session> session;
          if (no_numbers)
            session = std::make_unique<NoNumbers>();
          else
            session = std::make_unique<WrongSession>(wrong_in, error);
          EXPECT_LE(n_ctx, session->n_ctx());
          return session;
        },
        folder);
  }

  Gpu gpu;
  const fs::path folder = fs::path(testing::TempDir()) / "driver_check";
  uint32_t wrong_in = 77;
  float error = 1000;
  bool no_memory = false, no_numbers = false;
  int sessions = 0;
};

TEST_F(DriverWarning, ADeviceThatAgreesIsAskedOnce) {
  EXPECT_EQ(warning(), "");
  EXPECT_EQ(warning(), "");
  EXPECT_EQ(sessions, 1);
  gpu.model_.fingerprint = "4567";
  EXPECT_EQ(warning(), "");
  gpu.device_.driver = "driver 2";
  EXPECT_EQ(warning(), "");
  EXPECT_EQ(sessions, 3);
  gpu.model_.fingerprint = "0123";
  gpu.device_.driver = "driver 1";
  EXPECT_EQ(warning(), "");
  EXPECT_EQ(sessions, 3);
}

TEST_F(DriverWarning, NamesADeviceThatIsWrongEachTime) {
  for (const uint32_t batch : {0U, 1U}) {
    wrong_in = batch;
    for (const float e : {1000.0F, NAN}) {
      error = e;
      EXPECT_THAT(warning(),
                  testing::StartsWith(
                      "A GPU (driver 1) computes this model's tokens one by one otherwise than together"));
    }
  }
  EXPECT_EQ(sessions, 4);
}

TEST_F(DriverWarning, AModelThatGivesNoNumbersIsNotTheDriversFault) {
  no_numbers = true;
  EXPECT_EQ(warning(), "");
}

TEST_F(DriverWarning, NothingIsComputedWhereItWouldTellLittleOrTakeLong) {
  gpu.device_.cpu = true;
  EXPECT_EQ(warning(), "");
  gpu.device_.cpu = false;
  gpu.device_.software = true;
  EXPECT_EQ(warning(), "");
  gpu.device_.software = false;
  gpu.placement_.in_host = 1;
  EXPECT_EQ(warning(), "");
  gpu.placement_ = {};
  gpu.placement_.in_file = 1;
  EXPECT_EQ(warning(), "");
  EXPECT_EQ(sessions, 0);
}

TEST_F(DriverWarning, WithoutMemoryItIsTriedAgain) {
  no_memory = true;
  EXPECT_EQ(warning(), "");
  no_memory = false;
  wrong_in = 1;
  EXPECT_NE(warning(), "");
}

TEST_F(DriverWarning, WhereNothingCanBeKeptItIsAskedAgain) {
  std::ofstream(folder) << "a file in the folder's place";
  EXPECT_EQ(warning(), "");
  EXPECT_EQ(warning(), "");
  EXPECT_EQ(sessions, 2);
}

}  // namespace
}  // namespace bitnet
