#include "engine/json_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "engine/error.h"

namespace bitnet {
namespace {

using testing::HasSubstr;

std::string refusal(std::string_view text, const JsonLimits& limits) {
  try {
    read_json(text, limits);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::runtime);
    return error.what();
  }
  ADD_FAILURE() << "read: " << text.substr(0, 200);
  return "";
}

std::string repeated(size_t n, std::string_view text) {
  std::string all;
  all.reserve(n * text.size());
  for (size_t i = 0; i < n; ++i) all += text;
  return all;
}

TEST(JsonReader, ANameThatStandsTwiceInOneObjectIsRefusedWhereItIsAskedFor) {
  const JsonLimits once{.names_once = true};
  for (const char* text :
       {R"({"a":1,"a":2})", R"([{}, {"b":{"a":[1], "c":0, "a":null}}])", R"({"a":1,"\u0061":2})"})
    EXPECT_EQ(refusal(text, once), "an object that has \"a\" twice") << text;
  EXPECT_EQ(read_json(R"({"a":1,"a":2})"), nlohmann::json({{"a", 2}}));
  const char* in_others = R"({"a":{"a":[{"a":1},{"a":2}]},"b":{"a":"a"}})";
  EXPECT_EQ(read_json(in_others, once).dump(), in_others);
}

TEST(JsonReader, WhatIsWrongIsSaidInTheSameWordsWhetherNamesMayStandTwiceOrNot) {
  for (const char* text : {"", "{", "[1,]", R"({"a" 1})", "\"\xff\"", "[1e999]", "{} {}", R"({"a":1)"}) {
    EXPECT_THAT(refusal(text, {}), HasSubstr("not JSON: ")) << text;
    EXPECT_EQ(refusal(text, {.names_once = true}), refusal(text, {})) << text;
  }
}

TEST(JsonReader, NothingBehindANulByteIsLeftUnread) {
  const std::string_view text("[1]\0,2]", 7), in_a_string("[\"a\0b\"]", 7);
  EXPECT_EQ(refusal(text, {}), "not JSON: a NUL byte, at byte 4");
  EXPECT_THAT(refusal(in_a_string, {}), HasSubstr("not JSON: "));
  for (const std::string_view wrong :
       {text, in_a_string, std::string_view("[1]\0", 4), std::string_view("\0", 1)})
    EXPECT_FALSE(is_json(wrong)) << wrong;
  EXPECT_EQ(read_json(R"(["a\u0000b"])")[0].get<std::string>(), std::string("a\0b", 3));
}

TEST(JsonReader, LimitsAreCheckedBeforeAnythingIsParsed) {
  EXPECT_THAT(refusal("[[[", {.depth = 2}), HasSubstr("nested more than 2 levels deep, at byte 3"));
  EXPECT_THAT(refusal("[1,2,3", {.values = 3}), HasSubstr("more than 3 values"));
  EXPECT_THAT(refusal("[1,2,3", {.bytes = 5}), HasSubstr("JSON of 6 bytes, more than the 5"));
}

TEST(JsonReader, AnObjectHasNoMoreNamesThanItMay) {
  const JsonLimits two{.names = 2};
  EXPECT_EQ(read_json(R"([{"a":1,"b":{"c":1,"d":2}},{"a":1,"b":2}])", two).size(), 2U);
  for (const char* text :
       {R"({"a":1,"b":2,"c":3})", R"([{"a":{"a":1,"b":2,"a":3}}])", R"({"a":1,"b":{},"c")"}) {
    EXPECT_EQ(refusal(text, two), "a JSON object of more than 2 names") << text;
    EXPECT_FALSE(is_json(text, two)) << text;
  }
  EXPECT_TRUE(is_json(R"({"a":1,"b":2})", two));
}

// This does not end where the time for each object grows with the number of those before it.
TEST(JsonReader, AListOfMillionsOfObjectsIsRead) {
  constexpr size_t kObjects = 2'000'000;
  const std::string text = R"({"messages":[)" + repeated(kObjects, "{},") + "{}]}";
  EXPECT_EQ(read_json(text, {.names_once = true})["messages"].size(), kObjects + 1);
}

}  // namespace
}  // namespace bitnet
