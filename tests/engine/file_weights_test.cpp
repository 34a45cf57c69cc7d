// Tests that weights which stay in the model's file give the same bits as those in memory, on Vulkan and on
// the CPU, and what happens when the file cannot be read.
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <filesystem>
#include <fstream>
#include <thread>

#include "engine/kernel_options.h"
#include "tests/engine/results.h"
#include "tests/engine/session.h"
#include "tests/support/file_faults.h"

namespace bitnet {
namespace {

using testing::HasSubstr;

constexpr uint32_t kContext = 128, kTokens = 24;

class FileWeights : public testing::Test {
 protected:
  FileWeights() { options_.n_ctx = kContext; }
  ~FileWeights() override { file_faults::set({}); }

  void use_vulkan() {
    if (devices().front() == "cpu") GTEST_SKIP() << "no Vulkan device here";
    options_.device = "0";
  }

  // The least of host memory that Engine::open takes with these options.
  uint64_t least_ram(const Checkpoint& file) {
    uint64_t least = 0, most = uint64_t{1} << 40;
    const MemoryPlan plan = plan_memory(file, kContext);
    const DeviceInfo device = find_device(options_);
    EngineOptions options = options_;
    while (least < most) {
      options.ram = (least + most) / 2;
      try {
        place_model(plan, device, options);
        most = options.ram;
      } catch (const Error&) {
        least = options.ram + 1;
      }
    }
    return least;
  }

  // With as little of both memories as there can be.
  std::unique_ptr<Engine> open_least(const Checkpoint& file) {
    options_.ram = least_ram(file);
    auto model = Engine::open(file, options_);
    EXPECT_GT(model->placement().in_file, 0U);
    EXPECT_EQ(model->file_reads().waited, 0.0);
    return model;
  }

  Results resident(const Checkpoint& file) const {
    EngineOptions options = options_;
    options.vram = {};
    options.ram = kNoLimit;
    return results_of(*Engine::open(file, options), kContext, kTokens);
  }

  EngineOptions options_;
};

TEST_F(FileWeights, OnTheCpuAnyRamGivesTheSameBits) {
  options_.device = "cpu";
  const MemoryPlan plan = plan_memory(model_file(), kContext);
  const uint64_t least = least_ram(model_file()), all = plan.total() + plan.head_copy;
  const Results wanted = resident(model_file());
  uint64_t in_file = all;
  for (int i = 0; i < 3; ++i) {
    options_.ram = least + (all - least) * i / 3;
    options_.kernels = share({.poison_slots = true});
    const auto model = Engine::open(model_file(), options_);
    const Placement p = model->placement();
    EXPECT_GT(p.in_file, 0U);
    EXPECT_LE(p.in_file, in_file);
    EXPECT_LE(p.on_device + p.in_host + p.for_reading, options_.ram);
    in_file = p.in_file;
    EXPECT_TRUE(results_of(*model, kContext, kTokens) == wanted) << "budget " << i;
    EXPECT_GT(model->file_reads().bytes, p.in_file / 2 * kTokens);
  }
}

// Dense blocks are packed anew whenever they come from the file.
TEST_F(FileWeights, OtherTypesGiveTheSameBits) {
  const Checkpoint file(BITNET_GEMMA_16);
  for (const std::string& device : devices()) {
    options_.device = device;
    options_.vram = {};
    const Results wanted = resident(file);
    if (device != "cpu") options_.vram = {VramBudget::Kind::bytes, plan_memory(file, kContext).fixed()};
    EXPECT_TRUE(results_of(*open_least(file), kContext, kTokens) == wanted) << device;
  }
}

// The CPU has rows of blocks sixteen by sixteen, and so those of q, k and v each with some behind their last.
TEST_F(FileWeights, RowsThatDoNotFillTheirSixteenHaveRoomInAPlace) {
  options_.device = "cpu";
  const Checkpoint file(BITNET_ODD_HEADS);
  const Results wanted = resident(file);
  EXPECT_TRUE(results_of(*open_least(file), kContext, kTokens) == wanted);
}

// Of a mapped file, what this process has of it in memory.
uint64_t resident_bytes(const std::string& path) {
  std::ifstream maps("/proc/self/smaps");
  uint64_t kib = 0;
  bool is_of_file = false;
  for (std::string line; std::getline(maps, line);) {
    if (line.find(" kB") == std::string::npos)
      is_of_file = line.ends_with(path);  // the range, and what it is
    if (is_of_file && line.starts_with("Rss:")) kib += std::stoull(line.substr(4));
  }
  return kib << 10;
}

TEST_F(FileWeights, WhatIsPackedIsNotResidentTwice) {
  options_.device = "cpu";
  options_.cache_folder = fmt::format("{}bitnet-resident-{}", testing::TempDir(), getpid());
  for (const auto& [path, least] : {std::pair(BITNET_WIDE_GATES, false), std::pair(BITNET_ODD_HEADS, false),
                                    std::pair(BITNET_ODD_HEADS, true)}) {
    SCOPED_TRACE(fmt::format("{} {}", path, least));
    fingerprint_of(Checkpoint(path), options_);  // the hash, which reads all of the file, is kept
    const Checkpoint file(path);
    const auto model = least ? open_least(file) : Engine::open(file, options_);
    EXPECT_LT(resident_bytes(path), file.size() / 3);
  }
  std::filesystem::remove_all(options_.cache_folder);
}

// Read where they lie, or copied through slots; with places that are overwritten behind each use.
TEST_F(FileWeights, OnVulkanEachWayGivesTheSameBits) {
  use_vulkan();
  const MemoryPlan plan = plan_memory(model_file(), kContext);
  const uint64_t all = place(plan.fixed(), plan.pieces, {}).on_device;
  const Results wanted = resident(model_file());
  struct Case {
    HostWeights how;
    double vram;  // of what could be left out
  };
  for (const auto& [how, part] : {Case{HostWeights::read, 0}, Case{HostWeights::fast, 0.75},
                                  Case{HostWeights::copied, 0.75}, Case{HostWeights::fives, 0.75}}) {
    SCOPED_TRACE(static_cast<int>(how));
    options_.kernels = share({.host_weights = how, .poison_slots = true});
    options_.vram = {VramBudget::Kind::bytes,
                     plan.fixed() + static_cast<uint64_t>(part * static_cast<double>(all - plan.fixed()))};
    options_.ram = kNoLimit;
    const Placement in_memory = place_model(plan, find_device(options_), options_);
    EXPECT_EQ(in_memory.slots != 0, part != 0);
    options_.ram = in_memory.in_host - 1;
    const auto model = Engine::open(model_file(), options_);
    EXPECT_GT(model->placement().in_file, 0U);
    EXPECT_EQ(model->placement().slots != 0, part != 0);
    EXPECT_TRUE(results_of(*model, kContext, kTokens) == wanted);
  }
  options_.vram = {};  // where the device's memory is the host's, --ram counts for all
  options_.kernels = nullptr;
  if (!find_device(options_).unified) return;
  EXPECT_TRUE(results_of(*open_least(model_file()), kContext, kTokens) == wanted);
}

// Weights that the CPU reads where the file is mapped.
TEST_F(FileWeights, AFileThatChangesUnderTheCpuGivesNoWrongToken) {
  const std::string path = fmt::format("{}bitnet-mapped-{}.gguf", testing::TempDir(), getpid());
  std::filesystem::copy_file(BITNET_TEST_MODEL, path, std::filesystem::copy_options::overwrite_existing);
  // So that a change shows whatever the clock of the file system counts in.
  std::filesystem::last_write_time(path, std::filesystem::last_write_time(path) - std::chrono::hours(1));
  options_.device = "cpu";
  const Checkpoint file(path);
  const auto model = Engine::open(file, options_);
  const auto session = Session::create(*model, kContext);
  const std::vector<int32_t> prompt = {1, 2, 3, 4};
  session->sync(prompt);
  Sampler sampler({});
  uint32_t tokens = 0;
  const auto change = [&](const SampledToken&) {
    if (++tokens == 3) {
      std::fstream out(path, std::ios::in | std::ios::out | std::ios::binary);
      out.seekp(static_cast<std::streamoff>(file.find_tensor("blk.1.ffn_down.weight")->offset));
      out.write("", 1);
    }
    return true;
  };
  EXPECT_THROW(session->decode(sampler, {.max_tokens = 9}, change), Error);
  EXPECT_EQ(tokens, 3U);
  EXPECT_THROW(session->sync(prompt), Error);
  std::filesystem::remove(path);
}

// A copy of the model that a test may spoil.
class SpoiledFile : public FileWeights, public testing::WithParamInterface<std::string> {
 protected:
  SpoiledFile() {
    std::filesystem::copy_file(BITNET_TEST_MODEL, path_, std::filesystem::copy_options::overwrite_existing);
    options_.device = GetParam();
    file_ = std::make_unique<Checkpoint>(path_);
    if (GetParam() != "cpu") options_.vram = {VramBudget::Kind::bytes, plan_memory(*file_, kContext).fixed()};
    model_ = open_least(*file_);
    session_ = Session::create(*model_, kContext);
  }
  ~SpoiledFile() override {
    session_.reset();
    model_.reset();
    std::filesystem::remove(path_);
  }

  // The tokens that come, and what is said if not all do.
  std::vector<int32_t> answer(std::string* said = nullptr) {
    std::vector<int32_t> ids;
    try {
      session_->sync(std::vector<int32_t>{1, 2, 3, 4, 5, 6});
      Sampler sampler({});
      session_->decode(sampler, {.max_tokens = 12}, [&](const SampledToken& t) {
        ids.push_back(t.id);
        return true;
      });
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::model) << error.what();
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
      if (said == nullptr) throw;
      *said = error.what();
    }
    return ids;
  }
  static bool begins(const std::vector<int32_t>& some, const std::vector<int32_t>& all) {
    return some.size() <= all.size() && std::equal(some.begin(), some.end(), all.begin());
  }

  const std::string path_ = fmt::format("{}bitnet-spoiled-{}.gguf", testing::TempDir(), getpid());
  std::unique_ptr<Checkpoint> file_;
  std::unique_ptr<Engine> model_;
  std::unique_ptr<Session> session_;
};
INSTANTIATE_TEST_SUITE_P(Devices, SpoiledFile, testing::ValuesIn(devices()),
                         [](const auto& info) { return info.param == "cpu" ? "Cpu" : "Vulkan"; });

TEST_P(SpoiledFile, AReadThatFailsAnywhereLosesNoTokenAndTheSessionGoesOn) {
  file_faults::set({});
  const std::vector<int32_t> whole = answer();
  const int reads = file_faults::reads();
  ASSERT_EQ(whole.size(), 12U);
  ASSERT_GT(reads, 50);
  for (int at = 1; at <= reads; at += 1 + reads / 12) {
    file_faults::set({.error_at = at});
    std::string said;
    const std::vector<int32_t> some = answer(&said);
    EXPECT_TRUE(begins(some, whole)) << at;
    if (some.size() < whole.size()) {
      EXPECT_THAT(said, HasSubstr("Input/output error")) << at;
    }
    file_faults::set({});
    EXPECT_EQ(answer(), whole) << at;
  }
}

TEST_P(SpoiledFile, LateAndShortReadsGiveTheSameTokens) {
  const std::vector<int32_t> whole = answer();
  file_faults::set({.short_reads = true});
  EXPECT_EQ(answer(), whole);
  file_faults::set({.late_ms = 2});
  EXPECT_EQ(answer(), whole);
}

TEST_P(SpoiledFile, AFileThatChangesGivesNoWrongToken) {
  const std::vector<int32_t> whole = answer();
  const GgufTensor& tensor = *file_->find_tensor("blk.1.ffn_down.weight");
  std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(tensor.offset + 100));
  const char was = static_cast<char>(tensor.data[100]), other = was == 0 ? 0x15 : 0;
  file.write(&other, 1).flush();
  std::string said;
  std::vector<int32_t> some = answer(&said);  // what had been read may serve the first ones
  EXPECT_TRUE(begins(some, whole));
  EXPECT_LT(some.size(), whole.size());
  EXPECT_THAT(said, HasSubstr("has changed since it was opened"));
  file.seekp(static_cast<std::streamoff>(tensor.offset + 100));
  file.write(&was, 1).flush();
  // The CPU reads other weights where the file is mapped, of which it knows no more than that it was changed.
  if (GetParam() != "cpu") {
    EXPECT_EQ(answer(), whole);
  }
}

TEST_P(SpoiledFile, AStopComesWhileTheFileIsRead) {
  const std::vector<int32_t> whole = answer();
  Sampler sampler({});
  file_faults::set({.late_ms = 50});
  session_->sync(std::vector<int32_t>{1, 2, 3, 4, 5, 6});
  const int of_token = file_faults::reads();  // a token reads as much as a batch of several
  ASSERT_GT(of_token, 3 * static_cast<int>(kWeightPlaces));
  std::atomic<int> at_token = INT_MAX;
  int at_stop = 0;
  std::thread other([&] {
    // More reads than what is read ahead of the second token: it is being computed.
    while (file_faults::reads() - static_cast<int>(kWeightPlaces) <= at_token) std::this_thread::yield();
    session_->cancel();
    at_stop = file_faults::reads();
  });
  const Finish finish = session_->decode(sampler, {.max_tokens = 12}, [&](const SampledToken&) {
    if (at_token == INT_MAX) at_token = file_faults::reads();
    return true;
  });
  const int at_end = file_faults::reads();
  at_token = INT_MIN;
  other.join();
  EXPECT_EQ(finish, Finish::interrupted);
  EXPECT_LT(at_end - at_stop, of_token / 2);
  EXPECT_LT(session_->tokens().size(), 6 + whole.size());
  file_faults::set({});
  EXPECT_EQ(answer(), whole);
}

}  // namespace
}  // namespace bitnet
