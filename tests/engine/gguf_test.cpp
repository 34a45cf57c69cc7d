// Tests the reader of GGUF files: its header and its metadata, whole and damaged.
#include "tests/engine/gguf_fixture.h"

namespace bitnet {
namespace {

using testing::HasSubstr;

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
  EXPECT_EQ(file->format(), "GGUF 3");
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

TEST_F(Gguf, Version2IsReadAndOthersAreNamed) {
  Recipe r;
  r.version = 2;
  EXPECT_EQ(open(r)->format(), "GGUF 2");
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
  EXPECT_NO_THROW(Checkpoint(write(bytes)));
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
        const Checkpoint file(path());
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

// A file of holes takes no room on a disk, whatever its size.
TEST_F(Gguf, WhatComesBeforeTheWeightsIsBounded) {
  constexpr uint64_t kMost = 128 << 20;
  const std::string head = Bytes().u32(0x46554747).u32(3).u64(0).u64(1).data;
  for (const GgufType type : {GgufType::string, GgufType::array}) {
    for (const uint64_t size : {kMost, kMost + 1}) {
      Bytes key = Bytes().text("general.name").type(type);
      if (type == GgufType::array) key.type(GgufType::u8);
      const uint64_t n = size - head.size() - key.data.size() - sizeof(uint64_t);
      write(head + key.u64(n).data);
      std::filesystem::resize_file(path(), size);
      if (size == kMost) {
        EXPECT_NO_THROW(Checkpoint{path()});
      } else {
        EXPECT_THAT(refusal([&] { Checkpoint{path()}; }), HasSubstr("key general.name at byte"));
      }
    }
  }
  // Empty texts, of which each is read.
  write(head + key_array("general.name", GgufType::string, 1U << 28).data);
  std::filesystem::resize_file(path(), uint64_t{1} << 32);
  EXPECT_THAT(refusal([&] { Checkpoint{path()}; }), HasSubstr("wanted all that comes before the weights"));
}

TEST_F(Gguf, ArraysOfMoreThanAnyVocabularyAreRefused) {
  constexpr uint64_t kMost = 1 << 21;
  for (const uint64_t n : {kMost, kMost + 1}) {
    Recipe r;
    r.keys = {key_array("ints", GgufType::u8, n).data + std::string(n, '\1'),
              key_array("floats", GgufType::f32, n).data + std::string(n * 4, '\0')};
    const auto file = open(r);
    if (n == kMost) {
      EXPECT_EQ(file->find_ints("ints").size(), n);
      EXPECT_EQ(file->find_floats("floats").size(), n);
      continue;
    }
    EXPECT_THAT(refusal([&] { file->find_ints("ints"); }),
                HasSubstr("key ints: wanted an array of at most 2097152 elements, got 2097153"));
    EXPECT_THAT(refusal([&] { file->find_floats("floats"); }), HasSubstr("got 2097153"));
  }
}

TEST_F(Gguf, WhatIsNoFileIsNamed) {
  EXPECT_THAT(refusal([&] { Checkpoint f(path("absent.gguf")); }),
              testing::AllOf(HasSubstr("absent.gguf"), HasSubstr("No such file")));
  EXPECT_THAT(refusal([&] { Checkpoint f(testing::TempDir()); }), HasSubstr("folder"));
  EXPECT_THAT(refusal([&] { Checkpoint f("/dev/null"); }), HasSubstr("pipe, device or socket"));
  EXPECT_THAT(refusal_of(""), HasSubstr("empty file"));
  EXPECT_THAT(refusal_of("GG"), HasSubstr("wanted 4 bytes, got 2"));
  EXPECT_THAT(refusal_of("version https://git-lfs.github.com/spec/v1"), HasSubstr("got \"vers\""));
  ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
  EXPECT_THAT(refusal([&] { Checkpoint f(path("fifo")); }), HasSubstr("pipe, device or socket"));
  if (geteuid() != 0) {
    chmod(write("GGUF").c_str(), 0);
    EXPECT_THAT(refusal([&] { Checkpoint f(path()); }), HasSubstr("Permission denied"));
  }
}

}  // namespace
}  // namespace bitnet
