// Tests SentencePiece's kind of vocabulary with one that is small enough to work results out by hand;
// golden_test.cpp compares a larger one with SentencePiece itself.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <random>

#include "engine/error.h"
#include "tests/tokenizer/refusal.h"
#include "tests/tokenizer/vocabulary.h"
#include "tokenizer/utf8.h"

namespace bitnet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int32_t kBytes = 3;  // the token of byte 0

struct Piece {
  const char* text;
  float score;
  int32_t type = 1;
};

// <unk>, <s>, </s>, the 256 bytes, and `pieces` from id 259 on.
Vocabulary spm(const std::vector<Piece>& pieces) {
  Vocabulary v;
  v.model = "llama";
  const auto add = [&](const std::string& text, float score, int32_t type) {
    v.tokens.push_back(text);
    v.scores.push_back(score);
    v.types.push_back(type);
  };
  add("<unk>", 0, 2);
  add("<s>", 0, 3);
  add("</s>", 0, 3);
  for (int b = 0; b < 256; ++b) {
    constexpr const char* kHex = "0123456789ABCDEF";
    add(std::string("<0x") + kHex[b / 16] + kHex[b % 16] + ">", 0, 6);
  }
  for (const Piece& p : pieces) add(p.text, p.score, p.type);
  return v;
}

const std::vector<Piece> kPieces = {{"▁", -100}, {"a", -101}, {"b", -102},  {"c", -103}, {"é", -104},
                                    {"ab", -2},  {"bc", -1},  {"▁a", -3},   {"▁▁", -4},  {"▁▁▁▁", -5},
                                    {"aa", -6},  {"abc", -7}, {"<x>", 0, 4}};

TEST(Spm, TheHighestScoreFirstThenTheLeftmost) {
  const Tokenizer t(spm(kPieces));
  EXPECT_EQ(pieces(t, "abc"), " a|bc");  // bc, then ▁a; abc would need ab
  EXPECT_EQ(pieces(t, "ab"), " |ab");
  EXPECT_EQ(pieces(t, "aaa"), " a|aa");
  EXPECT_EQ(pieces(t, "caaaa"), " |c|aa|aa");
  const Tokenizer equal(spm({{"▁", -9}, {"a", -9}, {"b", -9}, {"ab", -1}, {"ba", -1}}));
  EXPECT_EQ(pieces(equal, "aba"), " |ab|a");
}

TEST(Spm, ASpaceGoesBeforeATextAndComesOffAgain) {
  const Tokenizer t(spm(kPieces));
  EXPECT_EQ(pieces(t, " b"), "  |b");
  EXPECT_EQ(pieces(t, ""), "");
  for (const char* text : {"", " ", "  ", "b", " b", "   b", "a b", "a  b ", "▁"}) {
    const std::string wanted = text == std::string_view("▁") ? " " : text;
    EXPECT_EQ(t.decode(t.encode(text, false), false), wanted);
  }
  Vocabulary v = spm(kPieces);
  v.add_space_prefix = false;
  const Tokenizer bare(std::move(v));
  EXPECT_EQ(pieces(bare, "b"), "b");
  EXPECT_EQ(pieces(bare, " b"), " |b");
  EXPECT_EQ(bare.decode(bare.encode(" b", false), false), " b");
}

TEST(Spm, ATextBeginsAfterAControlTokenOnly) {
  const Tokenizer t(spm(kPieces));
  const int32_t space = 259, b = 261, x = t.find("<x>");
  EXPECT_THAT(t.encode("<s>b</s>b", true), ElementsAre(1, space, b, 2, space, b));
  EXPECT_THAT(t.encode("b<x>b", true), ElementsAre(space, b, x, b));
  EXPECT_EQ(t.decode(std::vector{1, space, b, 2, space, b}, true), "<s>b</s>b");
  EXPECT_EQ(t.decode(std::vector{space, b, x, b}, true), "b<x>b");
  const Segment segment{"b", false};
  EXPECT_THAT(t.encode(std::span(&segment, 1), /*after=*/b), ElementsAre(b));
  EXPECT_THAT(t.encode(std::span(&segment, 1), /*after=*/2), ElementsAre(space, b));
  EXPECT_THAT(t.encode(std::span(&segment, 1)), ElementsAre(space, b));
  EXPECT_THROW(t.encode(std::span(&segment, 1), t.n_vocab()), Error);
}

TEST(Spm, SpecialTokensAreNeverMadeOfWhatSomebodyTyped) {
  const Tokenizer t(spm({{"▁", -9}, {"<", -9}, {"s", -9}, {">", -9}, {"s>", -1}}));
  EXPECT_EQ(pieces(t, "<s>"), " |<|s>");  // no pair becomes the control token
  EXPECT_THAT(t.encode("<unk>", true), ElementsAre(0));
  EXPECT_GT(t.encode("<unk>", false).size(), 1u);
  for (const int32_t id : t.encode("<0x41>", false)) EXPECT_NE(id, kBytes + 0x41);
}

TEST(Spm, WhatNoTokenHasBecomesItsBytes) {
  const Tokenizer t(spm(kPieces));
  EXPECT_THAT(t.encode("aß", false), ElementsAre(266, kBytes + 0xc3, kBytes + 0x9f));
  EXPECT_THAT(t.encode("\xff\xc3", false), ElementsAre(259, kBytes + 0xff, kBytes + 0xc3));
  EXPECT_EQ(pieces(t, "é"), " |é");
  // A space that has no token is the byte of a space, so that it comes back.
  const Tokenizer no_space(spm({{"a", -1}}));
  EXPECT_THAT(no_space.encode("a a", false), ElementsAre(kBytes + ' ', 259, kBytes + ' ', 259));
  EXPECT_EQ(no_space.decode(no_space.encode("a a", false), false), "a a");
}

TEST(Spm, WithoutBytesARunOfUnknownCharactersIsOneUnknownToken) {
  Vocabulary v = spm({{"▁", -1}, {"a", -2}});
  for (size_t i = kBytes; i < kBytes + 256; ++i) v.types[i] = 5;
  const Tokenizer t(v);
  EXPECT_THAT(t.encode("aßßa", false), ElementsAre(259, 260, 0, 260));
  EXPECT_EQ(t.decode(t.encode("aßa", false), false), "aa");
  EXPECT_EQ(t.decode(t.encode("aßa", false), true), "a<unk>a");
  v.types[0] = 5;
  try {
    Tokenizer(v).encode("aß", false);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::model);
    EXPECT_THAT(e.what(), HasSubstr("\"<0xC3>\" is missing"));
  }
}

TEST(Spm, AnyBytesComeBack) {
  const Tokenizer t(spm(kPieces));
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    std::string text(random() % 60, ' ');
    for (char& c : text) {
      c = random() % 4 == 0 ? static_cast<char>(random() & 0xff) : " abc\n\xc3\xa9<x>"[random() % 9];
    }
    if (text.find("▁") != std::string::npos) continue;
    for (const bool special : {false, true}) {
      const std::vector<int32_t> ids = t.encode(text, special);
      ASSERT_EQ(t.decode(ids, true), text) << printable(text);
    }
  }
}

TEST(Spm, AStreamHoldsBytesBackUntilTheyAreACharacter) {
  const Tokenizer t(spm(kPieces));
  StreamDecoder s(t);
  EXPECT_EQ(s.push(266), "a");  // this is ▁a; the vocabulary adds the space, so it is left out
  EXPECT_EQ(s.push(266), " a");
  EXPECT_EQ(s.push(kBytes + 0xf0), "");
  EXPECT_EQ(s.push(kBytes + 0x9f), "");
  EXPECT_EQ(s.push(kBytes + 0x98), "");
  EXPECT_EQ(s.push(kBytes + 0x80), "😀");
  EXPECT_EQ(s.push(kBytes + 0xc3), "");
  EXPECT_EQ(s.push(260), "\ufffda");
  EXPECT_EQ(s.push(2), "");
  EXPECT_EQ(s.push(kBytes + 0xc3), "");
  EXPECT_EQ(s.finish(), kReplacement);
  EXPECT_EQ(s.push(259), "");  // a text begins anew
  EXPECT_EQ(s.push(259), " ");
}

TEST(Spm, AStreamThatGoesOnWithATextKeepsItsFirstSpace) {
  const Tokenizer t(spm(kPieces));
  EXPECT_EQ(StreamDecoder(t, 260).push(266), " a");
  EXPECT_EQ(StreamDecoder(t, 1).push(266), "a");  // after BOS a text begins
  EXPECT_THROW(StreamDecoder(t, t.n_vocab()), Error);
}

TEST(Spm, WhatTheFileDoesNotSay) {
  Vocabulary v = spm(kPieces);
  const Tokenizer t(v);
  EXPECT_EQ(t.bos(), 1);
  EXPECT_EQ(t.eos(), 2);
  EXPECT_TRUE(t.add_bos());
  EXPECT_EQ(t.pre(), "none (SentencePiece)");
  EXPECT_THAT(t.end_of_turn(), ElementsAre(2));
  EXPECT_TRUE(t.is_control(0));
  v.add_bos = false;
  v.eos = 1;
  const Tokenizer said(v);
  EXPECT_FALSE(said.add_bos());
  EXPECT_THAT(said.end_of_turn(), ElementsAre(1, 2));
  v.types.clear();
  v.eos = -1;
  const Tokenizer untyped(v);
  EXPECT_EQ(untyped.bos(), 1);
  EXPECT_EQ(untyped.encode("\xff", false).back(), kBytes + 0xff);
  EXPECT_EQ(untyped.decode(std::vector{0, 1, 2}, false), "");
}

TEST(Spm, WhereSIsNoControlTokenItsEndIsATagOfHtml) {
  Vocabulary v = spm({{"a", -1}, {"<eos>", 0, 3}});
  v.types[1] = v.types[2] = 4;
  const Tokenizer gemma3(v);
  EXPECT_THAT(gemma3.end_of_turn(), ElementsAre(260));
  v.eos = 2;  // the file says so
  EXPECT_THAT(Tokenizer(v).end_of_turn(), ElementsAre(2, 260));
}

// With work that grew as the square of a text's length, these would not end within ctest's patience.
TEST(Spm, LongRunsOfOneThingComeBack) {
  std::vector<std::string> runs;  // a, aa, aaa, ...: each step of one merge at a time
  for (size_t n = 1; n < 3000; n += n < 1200 ? 1 : 600) runs.emplace_back(n, 'a');
  std::vector<Piece> pieces = {{"▁", -1}, {"b▁", -2}};
  for (const std::string& run : runs) pieces.push_back({run.c_str(), static_cast<float>(run.size())});
  const Tokenizer t(spm(pieces));
  for (const char* unit : {"a", " ", "b", "ab ", "ß", "\xff"}) {
    std::string text;
    while (text.size() < size_t{1} << 20) text += unit;
    EXPECT_EQ(t.decode(t.encode(text, false), false), text) << unit;
  }
}

TEST(Spm, FaultsAreNamed) {
  const auto refuse = [](const char* wanted, auto make) {
    Vocabulary v = spm(kPieces);
    make(v);
    expect_refused(std::move(v), wanted);
  };
  refuse("tokenizer.ggml.scores: 0 scores for 272 tokens", [](Vocabulary& v) { v.scores.clear(); });
  refuse("tokenizer.ggml.scores: 271 scores", [](Vocabulary& v) { v.scores.pop_back(); });
  refuse("tokenizer.ggml.scores: 273 scores", [](Vocabulary& v) { v.scores.push_back(0); });
  refuse("tokenizer.ggml.scores[7]: wanted a finite number, got nan",
         [](Vocabulary& v) { v.scores[7] = NAN; });
  refuse("tokenizer.ggml.scores[260]: wanted a finite number, got -inf",
         [](Vocabulary& v) { v.scores[260] = -std::numeric_limits<float>::infinity(); });
  refuse("tokenizer.ggml.tokens[260]: the token is empty", [](Vocabulary& v) { v.tokens[260].clear(); });
  refuse("tokenizer.ggml.tokens[260]: \"<0xFF>\" is not UTF-8",
         [](Vocabulary& v) { v.tokens[260] = "\xff"; });
  refuse("tokenizer.ggml.tokens[261]: \"a\" is there already, as token 260",
         [](Vocabulary& v) { v.tokens[261] = "a"; });
  refuse("tokenizer.ggml.unknown_token_id: 272", [](Vocabulary& v) { v.unknown = 272; });
}

}  // namespace
}  // namespace bitnet
