// Tests what a model file must hold beyond being a GGUF: each fault is named before a device is opened.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

#include "engine/engine.h"
#include "engine/fingerprint.h"
#include "engine/layouts/i2s.h"
#include "tests/engine/gguf_fixture.h"

namespace bitnet {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string bytes_of_model() {
  std::ifstream in(BITNET_TEST_MODEL, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// A copy of the test model with one fault. It is on disk as long as this object lives.
class BadModel {
 public:
  explicit BadModel(const std::string& bytes)
      : path_(testing::TempDir() + "bad_" + testing::UnitTest::GetInstance()->current_test_info()->name() +
              ".gguf") {
    std::ofstream(path_, std::ios::binary) << bytes;
  }
  ~BadModel() { std::filesystem::remove(path_); }

  // The message of the error that reading it gives; empty if it is accepted.
  std::string fault() const {
    try {
      read_model_info(Checkpoint(path_));
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::model);
      EXPECT_THAT(e.what(), HasSubstr(path_));
      return e.what();
    }
    return {};
  }

  ModelInfo info() const { return read_model_info(Checkpoint(path_)); }

 private:
  std::string path_;
};

std::string replaced(std::string bytes, const std::string& from, const std::string& to) {
  EXPECT_EQ(from.size(), to.size());
  const size_t at = bytes.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return bytes.replace(at, from.size(), to);
}

// A u32 or f32 value of the metadata, after its key and 4 bytes of type.
template <typename T>
std::string with_value(std::string bytes, const std::string& key, T value) {
  const size_t at = bytes.find(key);
  EXPECT_NE(at, std::string::npos) << key;
  std::memcpy(bytes.data() + at + key.size() + 4, &value, sizeof value);
  return bytes;
}

// `entry` is a key of the metadata with its value; another key behind it keeps the weights aligned.
std::string with_key(std::string bytes, const std::string& entry) {
  constexpr size_t kCount = 16, kFirst = 24, kAlignment = 32;
  const std::string padding =
      key_u32(std::string(kAlignment - (entry.size() + key_u32("", 0).size()) % kAlignment, 'p'), 0);
  uint64_t n_keys = 0;
  std::memcpy(&n_keys, bytes.data() + kCount, sizeof n_keys);
  n_keys += 2;
  std::memcpy(bytes.data() + kCount, &n_keys, sizeof n_keys);
  return bytes.insert(kFirst, entry + padding);
}

TEST(Model, TheTestModelIsFine) { EXPECT_EQ(BadModel(bytes_of_model()).fault(), ""); }

TEST(Model, AMissingKeyIsNamed) {
  const std::string bytes = bytes_of_model();
  for (const char* key : {"block_count", "embedding_length", "feed_forward_length", "attention.head_count",
                          "attention.layer_norm_rms_epsilon", "context_length"}) {
    std::string other = key;
    other.back() = '_';
    EXPECT_THAT(
        BadModel(replaced(bytes, std::string("bitnet-b1.58.") + key, "bitnet-b1.58." + other)).fault(),
        HasSubstr(std::string("bitnet-b1.58.") + key));
  }
}

TEST(Model, AMissingTensorIsNamed) {
  const std::string bytes = bytes_of_model();
  for (const std::string name : {"blk.1.ffn_sub_norm.weight", "output_norm.weight", "token_embd.weight",
                                 "blk.2.attn_k.weight", "blk.0.attn_sub_norm.weight"}) {
    std::string other = name;
    other.back() = '_';
    EXPECT_THAT(BadModel(replaced(bytes, name, other)).fault(), AllOf(HasSubstr(name), HasSubstr("missing")));
  }
}

TEST(Model, SizesThatDoNotFitAreNamed) {
  const std::string bytes = bytes_of_model();
  const auto fault = [&](const char* key, uint32_t value) {
    return BadModel(with_value(bytes, std::string("bitnet-b1.58.") + key, value)).fault();
  };
  EXPECT_THAT(fault("attention.head_count", 0), HasSubstr("attention.head_count"));
  EXPECT_THAT(fault("attention.head_count_kv", 3), HasSubstr("attention.head_count_kv"));
  EXPECT_THAT(fault("block_count", 1U << 31), HasSubstr("block_count"));
  EXPECT_THAT(fault("block_count", 4), HasSubstr("blk.3."));
  EXPECT_THAT(fault("embedding_length", 320), HasSubstr("embedding_length"));
  EXPECT_THAT(fault("embedding_length", 384), HasSubstr("token_embd.weight"));
  EXPECT_THAT(fault("feed_forward_length", 256), HasSubstr("ffn_"));
  EXPECT_THAT(fault("feed_forward_length", 200), HasSubstr("feed_forward_length"));
  EXPECT_THAT(fault("rope.dimension_count", 63), HasSubstr("rope.dimension_count"));
  EXPECT_THAT(fault("rope.dimension_count", 66), HasSubstr("rope.dimension_count"));
  EXPECT_THAT(fault("context_length", 0), HasSubstr("context_length"));
  EXPECT_THAT(fault("vocab_size", 699), AllOf(HasSubstr("vocab_size"), HasSubstr("700")));
}

TEST(Model, AFactorAloneStretchesTheContextLinearly) {
  const auto real = [](const char* name, float value) {
    return key_value(std::string("bitnet-b1.58.rope.") + name, GgufType::f32, value);
  };
  const auto rope = [](const std::string& entry) {
    return BadModel(with_key(bytes_of_model(), entry)).info().rope;
  };
  const std::string plain = BadModel(bytes_of_model()).info().rope;
  EXPECT_EQ(rope(real("scaling.factor", 4)), plain + ", linear scaling by 4");
  EXPECT_EQ(rope(real("scale_linear", 4)), plain + ", linear scaling by 4");
  EXPECT_EQ(rope(key_string("bitnet-b1.58.rope.scaling.type", "linear")), plain + ", linear scaling by 1");
  EXPECT_EQ(rope(real("scaling.factor", 0)), plain + ", linear scaling by 1");

  const std::string scaled = with_key(bytes_of_model(), real("scaling.factor", 4));
  EXPECT_EQ(BadModel(with_key(scaled, key_string("bitnet-b1.58.rope.scaling.type", "none"))).info().rope,
            plain);
  EXPECT_EQ(rope(key_string("bitnet-b1.58.rope.scaling.type", "yarn")),
            plain + ", YaRN by 1 over 256 tokens");
}

TEST(Model, AContextLongerThanASessionCanHaveIsNoFault) {
  const auto trained_for = [](uint32_t n) {
    return with_value(bytes_of_model(), "bitnet-b1.58.context_length", n);
  };
  EXPECT_EQ(BadModel(trained_for(1U << 20)).info().n_ctx_train, 1U << 20);
  EXPECT_EQ(BadModel(trained_for(2000000)).info().n_ctx_train, 1U << 20);
  EXPECT_EQ(BadModel(trained_for(1U << 24)).info().n_ctx_train, 1U << 20);
  for (const uint32_t n : {0U, (1U << 24) + 1, 1U << 31, UINT32_MAX})
    EXPECT_THAT(BadModel(trained_for(n)).fault(), HasSubstr("context_length"));
  // What YaRN stretches is what the file says.
  const std::string yarn = key_string("bitnet-b1.58.rope.scaling.type", "yarn");
  EXPECT_THAT(BadModel(with_key(trained_for(2000000), yarn)).info().rope, HasSubstr("over 2000000 tokens"));
}

TEST(Model, NumbersThatAreNoneAreNamed) {
  const std::string bytes = bytes_of_model();
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              infinity = std::numeric_limits<float>::infinity();
  EXPECT_THAT(BadModel(with_value(bytes, "bitnet-b1.58.rope.freq_base", nan)).fault(),
              HasSubstr("rope.freq_base"));
  EXPECT_THAT(BadModel(with_value(bytes, "bitnet-b1.58.attention.layer_norm_rms_epsilon", infinity)).fault(),
              HasSubstr("layer_norm_rms_epsilon"));

  const Checkpoint file(BITNET_TEST_MODEL);
  for (const char* name : {"blk.1.ffn_norm.weight", "blk.2.ffn_down.weight"}) {
    const GgufTensor* tensor = file.find_tensor(name);
    ASSERT_NE(tensor, nullptr);
    const bool ternary = tensor->type == TensorType::i2_s;
    std::string bad = bytes;
    std::memcpy(bad.data() + tensor->offset + (ternary ? tensor->data.size() - kI2sTail : 8), &nan,
                sizeof nan);
    EXPECT_THAT(BadModel(bad).fault(), AllOf(HasSubstr(name), HasSubstr("nan")));
  }
}

TEST(Model, AnotherArchitectureIsRefusedWithTheOnesThatRun) {
  EXPECT_THAT(BadModel(replaced(bytes_of_model(), "bitnet-b1.58", "llama-b1.588")).fault(),
              AllOf(HasSubstr("llama-b1.588"), HasSubstr("bitnet-b1.58")));
}

// A folder with the cache and with a copy of the model that a test may change.
struct Fingerprinted {
  Fingerprinted() {
    std::string name = testing::TempDir() + "fingerprint-XXXXXX";
    folder = mkdtemp(name.data());
    write(bytes_of_model());
  }
  ~Fingerprinted() { std::filesystem::remove_all(folder); }
  void write(const std::string& bytes) const { std::ofstream(model(), std::ios::binary) << bytes; }
  std::string model() const { return folder + "/model.gguf"; }
  std::string cache() const { return folder + "/cache"; }
  std::string fingerprint(I2sLayout layout = I2sLayout::block128) const {
    EngineOptions options;
    options.layout = layout;
    return fingerprint_of(Checkpoint(model()), options);
  }
  // Waits until the file is old enough for its hash to be kept: a tenth of a second, or three seconds if file
  // times are coarse.
  void let_it_settle() const {
    const auto now = [] { return std::chrono::system_clock::now().time_since_epoch(); };
    const FileState s = file_state(model());
    while (now() <=
               std::chrono::nanoseconds(std::max(s.modified, s.changed)) + std::chrono::milliseconds(3100) &&
           !FileHash(Checkpoint(model()), cache()).was_known())
      FileHash(Checkpoint(model()), cache()).wait();
  }
  std::string folder;
};

TEST(Model, TheFingerprintFollowsEveryByteOfTheFile) {
  const Fingerprinted f;
  const std::string bytes = bytes_of_model(), same = f.fingerprint();
  EXPECT_EQ(same.size(), 32U);
  EXPECT_EQ(f.fingerprint(), same);
  f.write(with_value(bytes, "bitnet-b1.58.rope.freq_base", 9999.0F));
  EXPECT_NE(f.fingerprint(), same);
  const Checkpoint file(BITNET_TEST_MODEL);
  for (const GgufTensor& tensor : file.tensors()) {
    std::string changed = bytes;
    changed[tensor.offset + tensor.data.size() / 2] ^= 1;
    f.write(changed);
    EXPECT_NE(f.fingerprint(), same) << tensor.name;
  }
  f.write(bytes + std::string(1, '\0'));
  EXPECT_NE(f.fingerprint(), same);
  f.write(bytes);
  EXPECT_EQ(f.fingerprint(), same);
}

TEST(Model, TheFingerprintFollowsTheLayoutThatTheWeightsAreReadIn) {
  const Fingerprinted f;
  EXPECT_NE(f.fingerprint(I2sLayout::block64), f.fingerprint());
}

TEST(Model, AFileIsHashedOnceAndAgainAfterAnyChange) {
  const Fingerprinted f;
  f.let_it_settle();
  const std::string cached = f.cache() + "/fingerprints";
  const auto file = std::make_unique<Checkpoint>(f.model());
  FileHash known(*file, f.cache());
  EXPECT_TRUE(known.was_known());
  const std::string hash = known.wait();
  EXPECT_EQ(FileHash(*file, "").wait(), hash);
  EXPECT_EQ(std::filesystem::status(cached).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);

  // The new content has the same size, and the time of the last write is set back to what it was.
  const auto time = std::filesystem::last_write_time(f.model());
  std::string bytes = bytes_of_model();
  bytes[bytes.size() / 2] ^= 1;
  f.write(bytes);
  std::filesystem::last_write_time(f.model(), time);
  const Checkpoint changed(f.model());
  FileHash other(changed, f.cache());
  EXPECT_FALSE(other.was_known());
  EXPECT_NE(other.wait(), hash);
  // Now another file stands at the same path.
  f.write(bytes_of_model());
  f.let_it_settle();
  std::filesystem::rename(f.model(), f.model() + ".old");
  f.write(bytes);
  EXPECT_FALSE(FileHash(Checkpoint(f.model()), f.cache()).was_known());
}

TEST(Model, ACacheThatCannotBeReadOrWrittenCostsOnlyAnotherReading) {
  const Fingerprinted f;
  const std::string same = FileHash(Checkpoint(f.model()), "").wait();
  f.let_it_settle();
  const std::string cached = f.cache() + "/fingerprints";
  std::string line;
  std::getline(std::ifstream(cached), line);
  for (const std::string& text :
       {std::string(), std::string("\n\n"), line.substr(0, line.size() - 1), line + "0",
        std::string(100000, '1'), line.substr(0, line.size() - 32) + std::string(32, 'x')}) {
    std::ofstream(cached, std::ios::binary) << text;
    EXPECT_EQ(FileHash(Checkpoint(f.model()), f.cache()).wait(), same) << text.substr(0, 200);
  }
  std::filesystem::remove(cached);
  ASSERT_EQ(mkfifo(cached.c_str(), 0600), 0);
  EXPECT_EQ(FileHash(Checkpoint(f.model()), f.cache()).wait(), same);
  EXPECT_EQ(FileHash(Checkpoint(f.model()), "/dev/null/nowhere").wait(), same);
  const Checkpoint stopped_at_once(f.model());
  FileHash(stopped_at_once, "");
}

// The turns of earlier versions name their model by this fingerprint. Commit 9fa7732 made the value below,
// with `bitnet-chat info build/release/tests/test_model.gguf`.
TEST(Model, TheOldFingerprintIsWhatItWas) {
  const ModelInfo info = read_model_info(Checkpoint(BITNET_TEST_MODEL));
  EXPECT_EQ(info.old_fingerprint, "b8607e97219f9ccac436f41125b6897f");
  EXPECT_EQ(info.fingerprint, "");
}

}  // namespace
}  // namespace bitnet
