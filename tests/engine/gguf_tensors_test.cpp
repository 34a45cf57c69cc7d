// Tests what the reader of GGUF files says of tensors: their names, shapes, types and places.
#include "tests/engine/gguf_fixture.h"

namespace bitnet {
namespace {

using testing::HasSubstr;

TEST_F(Gguf, FindsTensorsAndTheirBytes) {
  Recipe r;
  r.tensors = {
      {"embd", {4, 2}, 1, 64}, {"ternary", {128, 2}, 36, 96}, {"norm", {8}, 0, 0}, {"neon", {64}, 36, 192}};
  r.data_bytes = 240;
  auto bytes = r.bytes();
  const uint64_t base = bytes.size() - r.data_bytes;
  bytes[base + 64] = 'E';
  const Checkpoint file(write(bytes));
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

TEST_F(Gguf, AFileWithoutTensorsIsAFile) {
  Recipe r;
  r.tensors.clear();
  r.data_bytes = 0;
  EXPECT_TRUE(open(r)->tensors().empty());
}

}  // namespace
}  // namespace bitnet
