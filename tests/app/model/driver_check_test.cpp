// Tests that a device which computes a model wrongly is told of, and that one that does not is asked once.
#include "app/model/driver_check.h"

#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "engine/error.h"
#include "tests/support/wrong_session.h"

namespace bitnet {
namespace {

namespace fs = std::filesystem;

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
                  testing::StartsWith("A GPU (driver 1) computes tokens of this model one by one otherwise"));
    }
  }
  EXPECT_EQ(sessions, 4);
}

TEST_F(DriverWarning, OtherRoundingIsNotWrong) {
  wrong_in = 0;
  error = 1;
  EXPECT_EQ(warning(), "");
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

TEST_F(DriverWarning, WhatWasKeptMayBeAnything) {
  fs::create_directories(folder);
  std::ofstream(folder / "agreed") << std::string(100'000, '\n') << "x";
  EXPECT_EQ(warning(), "");
  EXPECT_EQ(warning(), "");
  EXPECT_EQ(sessions, 1);
  EXPECT_LT(fs::file_size(folder / "agreed"), 10'000U);
  std::ofstream(folder / "agreed") << std::string(100'000, 'x');
  EXPECT_EQ(warning(), "");
  EXPECT_EQ(warning(), "");
  EXPECT_EQ(sessions, 2);
}

}  // namespace
}  // namespace bitnet
