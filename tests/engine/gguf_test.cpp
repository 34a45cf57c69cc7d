#include "engine/gguf.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>

namespace bitnet {
namespace {

using testing::HasSubstr;

// Bytes of a GGUF file, written field by field so that a test can put anything anywhere.
struct Bytes {
  std::string data;

  template <typename T>
  Bytes& put(T value) {
    data.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Bytes& u32(uint32_t v) { return put(v); }
  Bytes& u64(uint64_t v) { return put(v); }
  Bytes& text(std::string_view s) {
    u64(s.size());
    data += s;
    return *this;
  }
  Bytes& type(GgufType t) { return u32(static_cast<uint32_t>(t)); }
};

struct Tensor {
  std::string name = "a";
  std::vector<uint64_t> shape = {8};
  uint32_t type = 0;
  uint64_t offset = 0;
};

// The parts of a valid file; a test changes one of them.
struct Recipe {
  std::string magic = "GGUF";
  uint32_t version = 3;
  std::vector<std::string> keys;  // key, type and value as bytes
  std::vector<Tensor> tensors = {Tensor{}};
  std::optional<uint64_t> n_keys;
  std::optional<uint64_t> n_tensors;
  std::optional<uint32_t> n_dims;
  uint64_t data_bytes = 32;

  std::string bytes() const {
    Bytes b;
    b.data = magic;
    b.u32(version).u64(n_tensors.value_or(tensors.size())).u64(n_keys.value_or(keys.size()));
    for (const auto& k : keys) b.data += k;
    for (const auto& t : tensors) {
      b.text(t.name).u32(n_dims.value_or(static_cast<uint32_t>(t.shape.size())));
      for (const uint64_t n : t.shape) b.u64(n);
      b.u32(t.type).u64(t.offset);
    }
    b.data.resize((b.data.size() + 31) / 32 * 32 + data_bytes, '\x01');
    return b.data;
  }
};

std::string key_u32(std::string_view key, uint32_t value) {
  return Bytes().text(key).type(GgufType::u32).u32(value).data;
}
std::string key_string(std::string_view key, std::string_view value) {
  return Bytes().text(key).type(GgufType::string).text(value).data;
}
template <typename T>
std::string key_value(std::string_view key, GgufType type, T value) {
  return Bytes().text(key).type(type).put(value).data;
}
Bytes key_array(std::string_view key, GgufType element, uint64_t n) {
  Bytes b;
  b.text(key).type(GgufType::array).type(element).u64(n);
  return b;
}

class Gguf : public testing::Test {
 protected:
  Gguf() : folder_(testing::TempDir() + fmt::format("gguf-{}-{}", getpid(), counter_++)) {
    std::filesystem::create_directories(folder_);
  }
  ~Gguf() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name = "tiny.gguf") const { return folder_ + "/" + name; }

  std::string write(const std::string& bytes) const {
    std::ofstream(path(), std::ios::binary) << bytes;
    return path();
  }

  std::unique_ptr<GgufFile> open(const Recipe& recipe) const {
    return std::make_unique<GgufFile>(write(recipe.bytes()));
  }

  // The message of the Error(model) that `action` must throw.
  static std::string refusal(const std::function<void()>& action) {
    try {
      action();
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::model);
      EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos) << e.what();
      return e.what();
    }
    ADD_FAILURE() << "accepted";
    return "";
  }
  std::string refusal_of(const std::string& bytes) const {
    const std::string message = refusal([&] { GgufFile file(write(bytes)); });
    EXPECT_THAT(message, HasSubstr("tiny.gguf"));
    return message;
  }
  std::string refusal_of(const Recipe& recipe) const { return refusal_of(recipe.bytes()); }
  std::string refusal_of_key(const std::string& key) const {
    Recipe r;
    r.keys = {key};
    return refusal_of(r);
  }
  std::string refusal_of_tensor(const Tensor& tensor) const {
    Recipe r;
    r.tensors = {tensor};
    return refusal_of(r);
  }

 private:
  static inline int counter_ = 0;
  std::string folder_;
};

TEST_F(Gguf, ReadsMetadataOfEveryType) {
  Recipe r;
  r.keys = {key_u32("n", 7),
            key_string("name", "tiny"),
            key_value<float>("eps", GgufType::f32, 1e-5F),
            key_value<uint8_t>("flag", GgufType::boolean, 1),
            key_value<int64_t>("wide", GgufType::i64, 9),
            key_value<uint64_t>("big", GgufType::u64, 1ULL << 40),
            key_value<int8_t>("negative", GgufType::i8, -1),
            key_array("words", GgufType::string, 2).text("one").text("").data,
            key_array("ints", GgufType::i32, 2).put<int32_t>(-3).put<int32_t>(4).data,
            key_array("bytes", GgufType::u8, 2).put<uint8_t>(200).put<uint8_t>(1).data,
            key_array("floats", GgufType::f32, 1).put(0.5F).data,
            key_array("none", GgufType::string, 0).data};
  const auto file = open(r);
  EXPECT_EQ(file->version(), 3U);
  EXPECT_EQ(file->metadata().size(), r.keys.size());
  EXPECT_EQ(file->metadata()[1].first, "name");
  EXPECT_EQ(file->get_u32("n"), 7U);
  EXPECT_EQ(file->get_string("name"), "tiny");
  EXPECT_EQ(file->get_f32("eps"), 1e-5F);
  EXPECT_EQ(file->find_bool("flag"), true);
  EXPECT_EQ(file->get_u32("wide"), 9U);
  EXPECT_EQ(file->find_strings("words"), (std::vector<std::string>{"one", ""}));
  EXPECT_EQ(file->find_ints("ints"), (std::vector<int32_t>{-3, 4}));
  EXPECT_EQ(file->find_ints("bytes"), (std::vector<int32_t>{200, 1}));
  EXPECT_EQ(file->find_floats("floats"), std::vector<float>{0.5F});
  EXPECT_TRUE(file->find_strings("none").empty());

  EXPECT_EQ(file->find("absent"), nullptr);
  EXPECT_EQ(file->find_u32("absent"), std::nullopt);
  EXPECT_EQ(file->find_string("absent"), std::nullopt);
  EXPECT_TRUE(file->find_ints("absent").empty());
  EXPECT_THAT(refusal([&] { file->get_u32("absent"); }), HasSubstr("key absent"));
  EXPECT_THAT(refusal([&] { file->get_u32("name"); }), HasSubstr("key name: wanted an integer, got string"));
  EXPECT_THAT(refusal([&] { file->get_u32("words"); }), HasSubstr("got array of string"));
  EXPECT_THAT(refusal([&] { file->get_u32("none"); }), HasSubstr("got array of string"));
  EXPECT_THAT(refusal([&] { file->get_u32("big"); }), HasSubstr("got 1099511627776"));
  EXPECT_THAT(refusal([&] { file->get_u32("negative"); }), HasSubstr("got -1"));
  EXPECT_THAT(refusal([&] { file->get_string("n"); }), HasSubstr("key n: wanted string, got uint32"));
  EXPECT_THAT(refusal([&] { file->find_f32("n"); }), HasSubstr("wanted float32, got uint32"));
  EXPECT_THAT(refusal([&] { file->find_bool("n"); }), HasSubstr("wanted bool, got uint32"));
  EXPECT_THAT(refusal([&] { file->find_strings("ints"); }), HasSubstr("array of int32"));
  EXPECT_THAT(refusal([&] { file->find_ints("words"); }), HasSubstr("array of string"));
  EXPECT_THAT(refusal([&] { file->find_ints("n"); }), HasSubstr("wanted array, got uint32"));
  EXPECT_THAT(refusal([&] { file->find_floats("ints"); }), HasSubstr("array of int32"));
}

TEST_F(Gguf, IntegersOfAnArrayMustFit) {
  Recipe r;
  r.keys = {key_array("a", GgufType::u32, 2).u32(1).u32(1U << 31).data,
            key_array("b", GgufType::u64, 1).u64(~0ULL).data,
            key_array("c", GgufType::i64, 1).put<int64_t>(-1).data};
  const auto file = open(r);
  EXPECT_THAT(refusal([&] { file->find_ints("a"); }), HasSubstr("key a: element 1"));
  EXPECT_THAT(refusal([&] { file->find_ints("b"); }), HasSubstr("18446744073709551615"));
  EXPECT_EQ(file->find_ints("c"), std::vector<int32_t>{-1});
}

TEST_F(Gguf, FindsTensorsAndTheirBytes) {
  Recipe r;
  r.tensors = {
      {"embd", {4, 2}, 1, 64}, {"ternary", {128, 2}, 36, 96}, {"norm", {8}, 0, 0}, {"neon", {64}, 36, 192}};
  r.data_bytes = 240;
  auto bytes = r.bytes();
  const uint64_t base = bytes.size() - r.data_bytes;
  bytes[base + 64] = 'E';
  const GgufFile file(write(bytes));
  ASSERT_EQ(file.tensors().size(), 4U);
  const GgufTensor* embd = file.find_tensor("embd");
  ASSERT_NE(embd, nullptr);
  EXPECT_EQ(embd->type, TensorType::f16);
  EXPECT_EQ(embd->shape, (std::vector<uint64_t>{4, 2}));
  EXPECT_EQ(embd->data.size(), 16U);
  EXPECT_EQ(embd->offset, base + 64);
  EXPECT_EQ(embd->data[0], std::byte{'E'});
  EXPECT_EQ(file.find_tensor("ternary")->data.size(), 256U / 4 + 32);
  EXPECT_EQ(file.find_tensor("neon")->data.size(), 64U / 4 + 32);
  EXPECT_EQ(file.find_tensor("absent"), nullptr);
  EXPECT_EQ(name_of(TensorType::i2_s), "i2_s");
  EXPECT_EQ(name_of(TensorType{14}), "q6_k");
  EXPECT_EQ(name_of(TensorType{99}), "type 99");
}

TEST_F(Gguf, SizesOfGgmlTypesAreTheirBlocks) {
  const std::vector<std::pair<uint32_t, uint64_t>> bytes_of_256 = {
      {0, 1024}, {1, 512}, {2, 144}, {8, 272},  {12, 144}, {14, 210}, {28, 2048}, {30, 512},
      {34, 54},  {35, 66}, {36, 96}, {39, 136}, {41, 36},  {142, 68}, {143, 56}};
  for (const auto& [type, bytes] : bytes_of_256) {
    Recipe r;
    r.tensors = {{"a", {256}, type, 0}};
    r.data_bytes = bytes;
    EXPECT_EQ(open(r)->tensors()[0].data.size(), bytes) << type;
    r.data_bytes = bytes - 1;
    EXPECT_THAT(refusal_of(r), HasSubstr("tensor a")) << type;
  }
}

TEST_F(Gguf, Version2IsReadAndOthersAreNamed) {
  Recipe r;
  r.version = 2;
  EXPECT_EQ(open(r)->version(), 2U);
  for (const uint32_t version : {0U, 1U, 4U, 1U << 31}) {
    r.version = version;
    EXPECT_THAT(refusal_of(r), HasSubstr(fmt::format("got version {}", version)));
  }
  r.version = 3U << 24;
  EXPECT_THAT(refusal_of(r), HasSubstr("big-endian"));
  r.magic = "FUGG";
  EXPECT_THAT(refusal_of(r), HasSubstr("big-endian"));
  r.magic = "\x1b[2J";
  EXPECT_THAT(refusal_of(r), HasSubstr("<U+001B>[2J"));
}

TEST_F(Gguf, EveryTruncationIsRefused) {
  Recipe r;
  r.keys = {key_u32("n", 7), key_string("name", "tiny"),
            key_array("w", GgufType::string, 2).text("x").text("yz").data,
            key_array("i", GgufType::i32, 2).u32(1).u32(2).data};
  r.tensors.push_back({"b", {4, 2}, 1, 32});
  r.data_bytes = 48;
  const auto bytes = r.bytes();
  for (size_t n = 0; n < bytes.size(); ++n) EXPECT_NE(refusal_of(bytes.substr(0, n)), "") << n;
  EXPECT_NO_THROW(GgufFile(write(bytes)));
}

TEST_F(Gguf, AnyByteMayBeWrong) {
  Recipe r;
  r.keys = {key_u32("general.alignment", 32), key_array("w", GgufType::string, 2).text("x").text("yz").data};
  r.tensors.push_back({"b", {4, 2}, 1, 32});
  r.data_bytes = 48;
  const auto good = r.bytes();
  for (size_t i = 0; i < good.size() - r.data_bytes; ++i) {
    for (const char value : {'\0', '\x01', '\x7f', '\x80', '\xff'}) {
      auto bytes = good;
      bytes[i] = value;
      write(bytes);
      try {
        const GgufFile file(path());
        for (const auto& t : file.tensors()) ASSERT_LE(t.offset + t.data.size(), file.size());
        file.find_strings("w");
      } catch (const Error& e) {
        EXPECT_EQ(e.kind(), ErrorKind::model);
      }
    }
  }
}

TEST_F(Gguf, CountsAreBounded) {
  for (const uint64_t n : {~0ULL, 1ULL << 60, 1ULL << 20, 60000ULL}) {
    Recipe r;
    r.n_keys = n;
    EXPECT_THAT(refusal_of(r), HasSubstr("number of metadata keys"));
    r.n_keys.reset();
    r.n_tensors = n;
    EXPECT_THAT(refusal_of(r), HasSubstr("number of tensors"));
  }
}

TEST_F(Gguf, KeysAreChecked) {
  EXPECT_THAT(refusal_of_key(key_u32("", 1)),
              HasSubstr("metadata key 1 of 1: wanted 1 to 65535 bytes, got 0"));
  EXPECT_THAT(refusal_of_key(key_u32(std::string(65536, 'k'), 1)), HasSubstr("got 65536"));
  EXPECT_THAT(refusal_of_key(key_u32("a\xff", 1)), HasSubstr("a<0xFF>"));
  EXPECT_THAT(refusal_of_key(key_u32("a\x1b[2J", 1)), HasSubstr("a<U+001B>[2J"));
  EXPECT_THAT(refusal_of_key(Bytes().u64(~0ULL).data), HasSubstr("18446744073709551615"));
  EXPECT_THAT(refusal_of_key(Bytes().text("k").u32(13).u64(0).data),
              HasSubstr("key k: wanted a value type of 0 to 12, got 13"));
  EXPECT_THAT(refusal_of_key(Bytes().text("k").u32(~0U).u64(0).data), HasSubstr("got 4294967295"));
  EXPECT_THAT(refusal_of_key(key_value<uint8_t>("k", GgufType::boolean, 2)), HasSubstr("key k"));
  Recipe r;
  r.keys = {key_u32("twice", 1), key_u32("twice", 1)};
  EXPECT_THAT(refusal_of(r), HasSubstr("key twice: wanted it once"));
  r.keys = {key_u32(std::string(65535, 'k'), 1)};
  EXPECT_NO_THROW(open(r));
}

TEST_F(Gguf, StringsAndArraysAreBoundedByTheFile) {
  for (const uint64_t n : {~0ULL, ~0ULL - 7, 1ULL << 63, 1ULL << 61, 4096ULL}) {
    EXPECT_THAT(refusal_of_key(Bytes().text("k").type(GgufType::string).u64(n).data), HasSubstr("key k"));
    EXPECT_THAT(refusal_of_key(key_array("k", GgufType::u64, n).data), HasSubstr("key k"));
    EXPECT_THAT(refusal_of_key(key_array("k", GgufType::u8, n).data), HasSubstr("key k"));
    EXPECT_THAT(refusal_of_key(key_array("k", GgufType::string, n).data), HasSubstr("key k"));
    EXPECT_THAT(refusal_of_key(key_array("k", GgufType::string, 1).u64(n).data), HasSubstr("key k"));
  }
  EXPECT_THAT(refusal_of_key(key_array("k", GgufType::array, 1).type(GgufType::u8).u64(1).data),
              HasSubstr("array of arrays"));
  EXPECT_THAT(refusal_of_key(key_array("k", GgufType{13}, 1).data), HasSubstr("got 13"));
}

TEST_F(Gguf, AlignmentIsChecked) {
  for (const uint32_t alignment : {0U, 1U, 3U, 4U, 48U}) {
    EXPECT_THAT(refusal_of_key(key_u32("general.alignment", alignment)),
                HasSubstr(fmt::format("key general.alignment: wanted a power of two of at least 8, got {}",
                                      alignment)));
  }
  EXPECT_THAT(refusal_of_key(key_u32("general.alignment", 1U << 31)), HasSubstr("tensor a"));
  EXPECT_THAT(refusal_of_key(key_value<uint64_t>("general.alignment", GgufType::u64, 1ULL << 40)),
              HasSubstr("key general.alignment: wanted uint32, got uint64"));
  EXPECT_THAT(refusal_of_key(key_string("general.alignment", "32")), HasSubstr("got string"));
  Recipe r;
  r.keys = {key_u32("general.alignment", 64)};
  r.tensors = {{"a", {8}, 0, 0}, {"b", {8}, 0, 32}};
  r.data_bytes = 256;
  EXPECT_THAT(refusal_of(r), HasSubstr("tensor b: wanted an offset that is a multiple of 64, got 32"));
}

TEST_F(Gguf, ShapesAreChecked) {
  constexpr uint64_t kHuge = 1ULL << 63;
  EXPECT_THAT(refusal_of_tensor({"t", {0}, 0, 0}),
              HasSubstr("tensor t: wanted dimensions of 1 to 2^63 - 1, got 0"));
  EXPECT_THAT(refusal_of_tensor({"t", {8, 0}, 0, 0}), HasSubstr("tensor t"));
  EXPECT_THAT(refusal_of_tensor({"t", {kHuge}, 0, 0}), HasSubstr("9223372036854775808"));
  EXPECT_THAT(refusal_of_tensor({"t", {kHuge - 1}, 0, 0}), HasSubstr("[9223372036854775807]"));
  EXPECT_THAT(refusal_of_tensor({"t", {1ULL << 62}, 0, 0}), HasSubstr("tensor t"));
  EXPECT_THAT(refusal_of_tensor({"t", {1ULL << 32, 1ULL << 32}, 0, 0}),
              HasSubstr("[4294967296, 4294967296]"));
  EXPECT_THAT(refusal_of_tensor({"t", {1ULL << 32, 1ULL << 31, 2}, 36, 0}), HasSubstr("tensor t"));
  EXPECT_THAT(refusal_of_tensor({"t", {1ULL << 31, 1ULL << 31, 4, 1}, 0, 0}), HasSubstr("tensor t"));
  EXPECT_THAT(refusal_of_tensor({"t", {1, 1, 1, 1, 1}, 0, 0}),
              HasSubstr("tensor t: wanted 1 to 4 dimensions, got 5"));
  EXPECT_THAT(refusal_of_tensor({"t", {}, 0, 0}), HasSubstr("got 0"));
  Recipe r;
  r.n_dims = 1U << 31;
  EXPECT_THAT(refusal_of(r), HasSubstr("got 2147483648"));
  EXPECT_THAT(refusal_of_tensor({"t", {32}, 36, 0}),
              HasSubstr("tensor t: wanted rows of a multiple of 64 elements for i2_s, got 32"));
  EXPECT_THAT(refusal_of_tensor({"t", {128}, 14, 0}),
              HasSubstr("multiple of 256 elements for q6_k, got 128"));
}

TEST_F(Gguf, TypesOfTensorsAreChecked) {
  for (const uint32_t type : {4U, 5U, 31U, 37U, 40U, 1000U, ~0U}) {
    EXPECT_THAT(refusal_of_tensor({"t", {8}, type, 0}),
                HasSubstr(fmt::format("tensor t: type {} is not known", type)));
  }
  EXPECT_THAT(refusal_of_tensor({"t", {8}, 38, 0}), HasSubstr("use the model's i2_s file"));
}

TEST_F(Gguf, SpansTellHowManyWeightsAScaleOfQ2_0StandsFor) {
  struct Case {
    TensorType type;
    uint64_t second, bytes;  // where the second tensor begins, and of the whole data
  };
  for (const auto& [type, second, bytes] :
       {Case{TensorType::q2_0, 1152, 1152 + 1728}, {TensorType::q2_0_by_128, 1088, 1088 + 1632}}) {
    Recipe r;
    r.tensors = {{"a", {256, 16}, 42, 0}, {"b", {6144}, 42, second}};
    for (const uint64_t padding : {0, 1, 31}) {
      r.data_bytes = bytes + padding;
      const auto file = open(r);
      EXPECT_EQ(file->find_tensor("a")->type, type);
      EXPECT_EQ(file->find_tensor("a")->data.size(), second);
      EXPECT_EQ(file->find_tensor("b")->type, type);
      EXPECT_EQ(file->find_tensor("b")->data.size(), bytes - second);
    }
    r.data_bytes = bytes - 1;
    EXPECT_THAT(refusal_of(r), HasSubstr(fmt::format("tensor b: wanted {} bytes", bytes - second)));
    r.data_bytes = bytes + 512;
    EXPECT_THAT(refusal_of(r),
                HasSubstr("tensor b: wanted 1728 bytes of q2_0 with a scale every 64 weights, or "
                          "1632 with one every 128, got"));
    r.data_bytes = bytes;
    r.tensors[1].offset = 1120;
    EXPECT_THAT(refusal_of(r),
                HasSubstr("tensor a: wanted 1152 bytes of q2_0 with a scale every 64 weights, or "
                          "1088 with one every 128, got 1120 before the next tensor"));
    r.tensors[1].offset = 0;
    EXPECT_THAT(refusal_of(r), HasSubstr("tensor"));
  }
}

TEST_F(Gguf, TensorsOfQ2_0MustAgree) {
  Recipe r;
  r.tensors = {{"a", {4096}, 42, 0}, {"b", {4096}, 42, 1152}};
  r.data_bytes = 1152 + 1088;
  EXPECT_THAT(refusal_of(r),
              HasSubstr("tensor b: wanted q2_0 with a scale every 64 weights as in the tensors "
                        "before it, got one every 128"));
  r.tensors = {{"a", {4096}, 42, 0}, {"b", {4096}, 42, 1088}};
  EXPECT_THAT(refusal_of(r), HasSubstr("tensor b: wanted q2_0 with a scale every 128 weights"));
}

TEST_F(Gguf, SmallTensorsOfQ2_0AreDecidedByLargeOnes) {
  Recipe r;
  r.tensors = {{"small", {128}, 42, 0}};
  r.data_bytes = 64;  // 36 or 34 bytes
  EXPECT_THAT(refusal_of(r), HasSubstr("tensor small: wanted sizes that tell"));
  r.data_bytes = 36;
  EXPECT_THAT(refusal_of(r), HasSubstr("tensor small: wanted sizes that tell"));
  r.data_bytes = 34;
  EXPECT_EQ(open(r)->tensors()[0].type, TensorType::q2_0_by_128);
  r.data_bytes = 33;
  EXPECT_THAT(refusal_of(r), HasSubstr("is it complete?"));
  r.tensors = {{"small", {128}, 42, 0}, {"large", {4096}, 42, 64}};
  for (const bool by_64 : {true, false}) {
    r.data_bytes = 64 + (by_64 ? 1152 : 1088);
    const auto file = open(r);
    EXPECT_EQ(file->tensors()[0].type, by_64 ? TensorType::q2_0 : TensorType::q2_0_by_128);
    EXPECT_EQ(file->tensors()[0].data.size(), by_64 ? 36U : 34U);
  }
  r.tensors = {{"odd", {64}, 42, 0}};  // too short for a scale every 128
  r.data_bytes = 32;
  EXPECT_EQ(open(r)->tensors()[0].type, TensorType::q2_0);
  EXPECT_THAT(refusal_of_tensor({"t", {32}, 42, 0}), HasSubstr("multiple of 64 elements for q2_0"));
  EXPECT_THAT(refusal_of_tensor({"t", {128}, 0x10000 + 42, 0}), HasSubstr("is not known"));
}

TEST_F(Gguf, Tl2UnderTheNumberOfMxfp4IsNamed) {
  Recipe r;
  r.tensors = {{"a", {4096}, 39, 0}, {"b", {8}, 0, 1024}};  // 2176 bytes of mxfp4
  r.data_bytes = 1024 + 32;
  EXPECT_THAT(refusal_of(r), HasSubstr("tensor a has type MXFP4 or TL2"));
  r.data_bytes = 4096;
  EXPECT_THAT(refusal_of(r), HasSubstr("tensor a has type MXFP4 or TL2"));
  r.tensors[1].offset = 2176;
  EXPECT_NO_THROW(open(r));
}

TEST_F(Gguf, NamesOfTensorsAreChecked) {
  EXPECT_THAT(refusal_of_tensor({"", {8}, 0, 0}), HasSubstr("tensor 1 of 1"));
  EXPECT_THAT(refusal_of_tensor({std::string(65, 't'), {8}, 0, 0}), HasSubstr("got 65"));
  EXPECT_THAT(refusal_of_tensor({"\xe2\x80\xae", {8}, 0, 0}), HasSubstr("<U+202E>"));
  Recipe r;
  r.tensors = {{"same", {8}, 0, 0}, {"same", {8}, 0, 32}};
  r.data_bytes = 64;
  EXPECT_THAT(refusal_of(r), HasSubstr("tensor same: wanted it once"));
}

TEST_F(Gguf, OffsetsAreChecked) {
  EXPECT_THAT(refusal_of_tensor({"t", {8}, 0, 1}), HasSubstr("multiple of 32, got 1"));
  EXPECT_THAT(refusal_of_tensor({"t", {8}, 0, 32}), HasSubstr("tensor t"));
  EXPECT_THAT(refusal_of_tensor({"t", {8}, 0, 1ULL << 40}), HasSubstr("offset 1099511627776"));
  EXPECT_THAT(refusal_of_tensor({"t", {8}, 0, ~0ULL - 31}), HasSubstr("tensor t"));
  EXPECT_THAT(refusal_of_tensor({"t", {9}, 0, 0}), HasSubstr("wanted 36 bytes of f32 [9]"));
  Recipe r;
  r.tensors = {{"late", {16}, 0, 32}, {"early", {16}, 0, 0}};
  r.data_bytes = 96;
  EXPECT_THAT(refusal_of(r), testing::AllOf(HasSubstr("tensor late"), HasSubstr("where tensor early ends")));
  r.tensors = {{"one", {8}, 0, 0}, {"two", {8}, 0, 0}};
  EXPECT_THAT(refusal_of(r), testing::AllOf(HasSubstr("one"), HasSubstr("two")));
}

TEST_F(Gguf, WhatIsNoFileIsNamed) {
  EXPECT_THAT(refusal([&] { GgufFile f(path("absent.gguf")); }),
              testing::AllOf(HasSubstr("absent.gguf"), HasSubstr("No such file")));
  EXPECT_THAT(refusal([&] { GgufFile f(testing::TempDir()); }), HasSubstr("folder"));
  EXPECT_THAT(refusal([&] { GgufFile f("/dev/null"); }), HasSubstr("pipe, device or socket"));
  EXPECT_THAT(refusal_of(""), HasSubstr("empty file"));
  EXPECT_THAT(refusal_of("GG"), HasSubstr("wanted 4 bytes, got 2"));
  EXPECT_THAT(refusal_of("version https://git-lfs.github.com/spec/v1"), HasSubstr("got \"vers\""));
  ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
  EXPECT_THAT(refusal([&] { GgufFile f(path("fifo")); }), HasSubstr("pipe, device or socket"));
  if (geteuid() != 0) {
    chmod(write("GGUF").c_str(), 0);
    EXPECT_THAT(refusal([&] { GgufFile f(path()); }), HasSubstr("Permission denied"));
  }
}

TEST_F(Gguf, AFileWithoutTensorsIsAFile) {
  Recipe r;
  r.tensors.clear();
  r.data_bytes = 0;
  EXPECT_TRUE(open(r)->tensors().empty());
}

}  // namespace
}  // namespace bitnet
