// What a model file must hold beyond being a GGUF: each fault is named and costs no device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

#include "engine/engine.h"
#include "engine/i2s.h"

namespace bitnet {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string bytes_of_model() {
  std::ifstream in(BITNET_TEST_MODEL, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// A copy of the test model with one fault, on disk while it lives.
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
      read_model_info(GgufFile(path_));
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::model);
      EXPECT_THAT(e.what(), HasSubstr(path_));
      return e.what();
    }
    return {};
  }

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

TEST(Model, TheTestModelIsFine) { EXPECT_EQ(BadModel(bytes_of_model()).fault(), ""); }

TEST(Model, AMissingKeyIsNamed) {
  const std::string bytes = bytes_of_model();
  for (const char* key : {"block_count", "embedding_length", "feed_forward_length", "attention.head_count_kv",
                          "attention.layer_norm_rms_epsilon", "rope.freq_base", "context_length"}) {
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

TEST(Model, NumbersThatAreNoneAreNamed) {
  const std::string bytes = bytes_of_model();
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              infinity = std::numeric_limits<float>::infinity();
  EXPECT_THAT(BadModel(with_value(bytes, "bitnet-b1.58.rope.freq_base", nan)).fault(),
              HasSubstr("rope.freq_base"));
  EXPECT_THAT(BadModel(with_value(bytes, "bitnet-b1.58.attention.layer_norm_rms_epsilon", infinity)).fault(),
              HasSubstr("layer_norm_rms_epsilon"));

  const GgufFile file(BITNET_TEST_MODEL);
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

TEST(Model, TheFingerprintFollowsTheFile) {
  const GgufFile file(BITNET_TEST_MODEL);
  const std::string fingerprint = read_model_info(file).fingerprint;
  EXPECT_EQ(fingerprint.size(), 32U);
  EXPECT_EQ(read_model_info(file).fingerprint, fingerprint);
  const std::string path = testing::TempDir() + "other_base.gguf";
  std::ofstream(path, std::ios::binary)
      << with_value(bytes_of_model(), "bitnet-b1.58.rope.freq_base", 9999.0F);
  EXPECT_NE(read_model_info(GgufFile(path)).fingerprint, fingerprint);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace bitnet
