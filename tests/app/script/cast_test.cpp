#include "app/script/cast.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/error.h"

namespace bitnet {
namespace {

using nlohmann::json;

std::vector<json> lines_of(const std::string& file) {
  std::ifstream in(file);
  std::vector<json> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(json::parse(line));
  return lines;
}

// The next recording may then have its name.
TEST(Cast, OneThatCannotBeginLeavesNoFile) {
  const std::string file = testing::TempDir() + "full.cast";
  std::remove(file.c_str());
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit nothing{0, before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &nothing);
  EXPECT_THROW(CastRecorder(file, {}, 80, 24, false), Error);
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_FALSE(std::ifstream(file).is_open());
}

// https://docs.asciinema.org/manual/asciicast/v3/
TEST(Cast, FollowsTheSpecification) {
  const std::string file = testing::TempDir() + "recording.cast";
  {
    std::remove(file.c_str());
    CastRecorder cast(file, {}, 80, 24, /*with_input=*/true);
    cast.output("\x1b[1mHi\xFF");
    cast.output("");
    cast.input("\r");
    cast.resize(80, 24);
    cast.resize(100, 30);
    cast.lines("two\nlines \x1b[31m\n");
    EXPECT_EQ(lines_of(file).size(), 5U);  // already there
    cast.finish(130);
    EXPECT_FALSE(cast.failed());
  }
  const auto lines = lines_of(file);
  ASSERT_EQ(lines.size(), 6U);
  EXPECT_EQ(lines[0].at("version"), 3);
  EXPECT_EQ(lines[0].at("term").at("cols"), 80);
  EXPECT_EQ(lines[0].at("term").at("rows"), 24);
  EXPECT_TRUE(lines[0].at("timestamp").is_number_integer());
  for (size_t i = 1; i < lines.size(); ++i) {
    ASSERT_EQ(lines[i].size(), 3U);
    EXPECT_TRUE(lines[i][0].is_number());
    EXPECT_GE(lines[i][0].get<double>(), 0);
    EXPECT_LT(lines[i][0].get<double>(), 60);  // the time is since the line before
    EXPECT_TRUE(lines[i][2].is_string());
  }
  const auto event = [&](size_t i) { return std::pair(lines[i][1], lines[i][2]); };
  EXPECT_EQ(event(1), std::pair(json("o"), json("\x1b[1mHi\uFFFD")));
  EXPECT_EQ(event(2), std::pair(json("i"), json("\r")));
  EXPECT_EQ(event(3), std::pair(json("r"), json("100x30")));
  EXPECT_EQ(event(4), std::pair(json("o"), json("two\r\nlines \u241B[31m\r\n")));
  EXPECT_EQ(event(5), std::pair(json("x"), json("130")));
  EXPECT_THROW(CastRecorder("/nowhere/x.cast", {}, 80, 24, false), Error);
}

TEST(Cast, WhatIsTypedIsLeftOutUnlessAskedFor) {
  const std::string file = testing::TempDir() + "quiet.cast";
  std::remove(file.c_str());
  {
    CastRecorder cast(file, {}, 80, 24, /*with_input=*/false);
    cast.input("a password\r");
    cast.output("shown");
  }
  const auto lines = lines_of(file);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[1][1], "o");
  EXPECT_THROW(CastRecorder(file, {}, 80, 24, false), Error);  // it is there already
}

Row row_of(const char* text, Face face = {}) {
  Row row;
  row.add(text, face);
  return row;
}

TEST(Cast, AFrameIsWrittenOnceAndThenWhatChanges) {
  FrameWriter frames(find_theme("mono"));
  const std::string whole = frames.bytes({row_of("one"), row_of("two")}, 10, 3, 1, 3);
  EXPECT_THAT(whole, testing::HasSubstr("\x1b[2J"));
  EXPECT_THAT(whole, testing::HasSubstr("\x1b[1;1H"));
  EXPECT_THAT(whole, testing::EndsWith("\x1b[2;4H\x1b[?25h"));
  const std::string part = frames.bytes({row_of("one"), row_of("2")}, 10, 3, -1, 0);
  EXPECT_EQ(part, "\x1b[2;1H\x1b[0m\x1b[2K\x1b[0m2\x1b[0m\x1b[?25l");
  EXPECT_EQ(frames.bytes({row_of("one"), row_of("2")}, 10, 3, -1, 0), "");
  // Never past the edge, where a terminal would wrap: a wide character that is cut in two goes.
  EXPECT_THAT(frames.bytes({row_of("abc\u4f60\u597d")}, 6, 2, 0, 99),
              testing::AllOf(testing::HasSubstr("abc\u4f60\x1b"), testing::EndsWith("\x1b[1;6H\x1b[?25h")));
}

}  // namespace
}  // namespace bitnet
