#include "tokenizer/tokenizer.h"

#include <gmock/gmock.h>

#include <functional>
#include <random>
#include <unordered_set>

#include "engine/error.h"
#include "tests/tokenizer/refusal.h"
#include "tests/tokenizer/vocabulary.h"
#include "tokenizer/mix.h"
#include "tokenizer/utf8.h"

namespace bitnet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::vector<std::pair<std::string, std::string>> kMerges = {
    {"l", "o"}, {"lo", "w"}, {"e", "r"}, {"low", "er"}, {"a", "a"}, {"\xf0", "\x9f"}, {" ", "lower"}};

int32_t byte(char c) { return static_cast<unsigned char>(c); }

TEST(Merge, BestRankFirstThenLeftmost) {
  const Tokenizer t(small_vocabulary("gpt-2", kMerges));
  EXPECT_EQ(pieces(t, "lower lowers"), "lower| lower|s");
  EXPECT_EQ(pieces(t, "slow"), "s|low");
  EXPECT_EQ(pieces(t, "aaaaa"), "aa|aa|a");
  const Tokenizer ranked(small_vocabulary("gpt-2", {{"b", "c"}, {"a", "b"}}));
  EXPECT_EQ(pieces(ranked, "abc"), "a|bc");  // although ab comes first in the text
}

TEST(Merge, AVeryLongPieceIsOneSweep) {
  const Tokenizer t(small_vocabulary("gpt-2", kMerges));
  EXPECT_EQ(t.encode(std::string(1 << 20, 'a'), false).size(), size_t{1} << 19);
}

TEST(IgnoreMerges, APieceThatIsATokenIsTakenWholeByLlamaOnly) {
  // "abc" is a token that no order of merges makes: a-b goes first, and ab-c is no merge.
  const std::vector<std::pair<std::string, std::string>> merges = {{"a", "b"}, {"b", "c"}, {"a", "bc"}};
  EXPECT_EQ(pieces(Tokenizer(small_vocabulary("llama-bpe", merges)), "abc abc"), "abc| |ab|c");
  EXPECT_EQ(pieces(Tokenizer(small_vocabulary("qwen2", merges)), "abc"), "ab|c");
}

TEST(Special, OnlyWhereAskedAndTheLongestFirst) {
  const Tokenizer t(small_vocabulary("gpt-2"));
  const int32_t begin = t.find("<|begin|>"), eot = t.find("<|eot_id|>"), eot_x = t.find("<|eot_id|>x");
  EXPECT_THAT(t.encode("<|begin|>a<|eot_id|>", true), ElementsAre(begin, byte('a'), eot));
  EXPECT_THAT(t.encode("<|eot_id|>xy", true), ElementsAre(eot_x, byte('y')));
  EXPECT_THAT(t.encode("<<tool>", true), ElementsAre(byte('<'), t.find("<tool>")));
  EXPECT_EQ(t.encode("<|eot_id|>", false).size(), 10u);
  EXPECT_EQ(t.find("a"), -1);
}

TEST(Special, OfManyTheLongestThatMayStandThere) {
  Vocabulary v = small_vocabulary("gpt-2");
  const auto add = [&v](const std::string& text, int32_t type) {
    v.tokens.push_back(text);
    v.types.push_back(type);
    return static_cast<int32_t>(v.tokens.size() - 1);
  };
  const int32_t two = add("\n\n", 4), four = add("\n\n\n\n", 4), control = add("\n\n\nX", 3);
  std::vector<int32_t> runs;
  for (size_t n = 2; n < 200; ++n) runs.push_back(add(std::string(n, 'e') + "X", 3));
  const Tokenizer t(std::move(v));
  const int32_t line = byte('\n'), x = byte('X');
  EXPECT_THAT(t.encode("\n\n\nX", true), ElementsAre(control));
  EXPECT_THAT(t.encode("\n\n\nX", false), ElementsAre(two, line, x));
  EXPECT_THAT(t.encode("\n\n\n\nX", false), ElementsAre(four, x));
  const std::vector<Segment> split = {{"\n\n\n", true}, {"X", false}},
                             ends = {{"\n", true}, {"\n\n\n", false}};
  EXPECT_THAT(t.encode(split), ElementsAre(two, line, x));
  EXPECT_THAT(t.encode(ends), ElementsAre(four));
  for (size_t n = 2; n < 200; ++n) {
    EXPECT_THAT(t.encode(std::string(n, 'e') + "X", true), ElementsAre(runs[n - 2]));
    EXPECT_EQ(t.find(std::string(n, 'e') + "X"), runs[n - 2]);
    EXPECT_EQ(t.find(std::string(n, 'e')), -1);
  }
  EXPECT_EQ(t.encode(std::string(300, 'e') + "X", false).size(), 301u);
}

TEST(Special, OfMoreThan256BytesAreRefused) {
  for (const int32_t type : {3, 4}) {
    Vocabulary v = small_vocabulary("gpt-2");
    v.tokens.push_back(std::string(256, 'e'));
    v.types.push_back(type);
    EXPECT_EQ(Tokenizer(v).encode(std::string(256, 'e'), true).size(), 1u);
    v.tokens.back() += 'e';
    expect_refused(v, "has 257 bytes; wanted at most 256");
  }
}

TEST(Special, TheirTreeIsBounded) {
  Vocabulary v = small_vocabulary("gpt-2");
  const auto add = [&](const std::string& text) {
    v.tokens.push_back(text);
    v.types.push_back(3);
  };
  for (int i = 0; i < 65536; ++i) add("<|image_" + std::to_string(i) + "|>");
  EXPECT_NO_THROW(Tokenizer{v});
  for (int i = 0; i < 4200; ++i) add(std::to_string(10000 + i) + std::string(251, 'e'));
  expect_refused(v, "different beginnings; wanted at most 1048575");
}

TEST(Special, NeverFromTextThatSomebodyTyped) {
  const Tokenizer t(small_vocabulary("gpt-2"));
  const int32_t eot = t.find("<|eot_id|>");
  const auto count = [&](const std::vector<Segment>& s) { return std::ranges::count(t.encode(s), eot); };
  EXPECT_EQ(count({{"<|eot_id|>", false}}), 0);
  EXPECT_EQ(count({{"<|eot_", true}, {"id|>", true}}), 1);
  for (size_t cut = 1; cut < 10; ++cut) {  // half of it is typed
    const std::string text = "<|eot_id|>";
    EXPECT_EQ(count({{text.substr(0, cut), true}, {text.substr(cut), false}}), 0) << cut;
    EXPECT_EQ(count({{text.substr(0, cut), false}, {text.substr(cut), true}}), 0) << cut;
  }
  EXPECT_EQ(count({{"<|eot_", true}, {"", false}, {"id|>", true}}), 1);  // nothing was typed
  // The longer name would need a byte that was typed; the shorter one is all from the template.
  EXPECT_EQ(count({{"<|eot_id|>", true}, {"x", false}}), 1);
}

TEST(Special, ATypedNameIsNotATokenEvenIfMergesAreIgnored) {
  const Tokenizer t(small_vocabulary("llama-bpe"));
  for (const int32_t id : t.encode("<tool>", false)) EXPECT_LT(id, 256);
}

TEST(Segments, MergesRunAcrossTheirBorders) {
  const Tokenizer t(small_vocabulary("gpt-2", kMerges));
  const std::vector<Segment> split = {{"x lo", true}, {"we", false}, {"r", true}};
  EXPECT_EQ(t.encode(split), t.encode("x lower", false));
  EXPECT_EQ(t.encode(split).size(), 2u);
}

void expect_round_trip(const Tokenizer& t, const std::string& text) {
  ASSERT_EQ(t.decode(t.encode(text, false), false), text) << printable(text);
}

TEST(RoundTrip, AnyBytes) {
  for (const char* pre : {"llama-bpe", "gpt-2", "qwen2", "smollm", "falcon", "default"}) {
    SCOPED_TRACE(pre);
    const Tokenizer t(small_vocabulary(pre, kMerges));
    expect_round_trip(t, "");
    for (int b = 0; b < 256; ++b) expect_round_trip(t, std::string(1, static_cast<char>(b)));
    std::mt19937 random(1);
    const auto any = [&] { return static_cast<char>(random() & 0xff); };
    for (int i = 0; i < 0x10000; i += 7) {  // 7 and 65536 share no factor
      expect_round_trip(t, {static_cast<char>(i >> 8), static_cast<char>(i & 0xff)});
    }
    for (int i = 0; i < 500; ++i) {
      std::string text(random() % 200, ' ');
      for (char& c : text) c = random() % 3 == 0 ? any() : " \n'slower19\xf0\x9f"[random() % 14];
      expect_round_trip(t, text);
    }
    const std::string text =
        "👩‍👩‍👧‍👦 កាន់តែពិសេស 🇩🇪 é\r\n\t  42½\u180e\u00a0x";
    for (size_t cut = 0; cut <= text.size(); ++cut) {
      expect_round_trip(t, text.substr(0, cut));
      expect_round_trip(t, text.substr(cut));
    }
  }
}

TEST(Load, TokensOfMoreThan4KiBAreRefused) {
  for (const int32_t type : {1, 5}) {
    Vocabulary v = small_vocabulary("gpt-2");
    v.tokens.push_back(std::string(4096, 'a'));
    v.types.push_back(type);
    EXPECT_EQ(Tokenizer(v).token_bytes(static_cast<int32_t>(v.tokens.size()) - 1).size(), 4096u);
    v.tokens.back() += 'a';
    expect_refused(v, "has 4097 bytes; wanted at most 4096");
  }
}

// Who knows how tables hash can write a file whose entries all fall on one place.
TEST(Hash, NobodyForeseesWhereAnEntryLies) {
  size_t found = 0, again = 0;
  for (uint64_t x = 0; found < 1000; ++x) {
    if ((mix(x) & 0xfff) != 0) continue;
    ++found;
    again += (mix(x ^ hash_seed()) & 0xfff) == 0;
  }
  EXPECT_LT(again, 50u);
  EXPECT_EQ(hash_seed(), hash_seed());
  EXPECT_NE(hash_bytes("token", hash_seed()), hash_bytes("token", hash_seed() + 1));
  std::unordered_set<size_t> hashes;
  for (size_t n = 0; n < 300; ++n) {
    hashes.insert(hash_bytes(std::string(n, '\0'), hash_seed()));
    hashes.insert(hash_bytes(std::string(n, '\0') + 'a', hash_seed()));
    hashes.insert(hash_bytes('a' + std::string(n + 1, '\0'), hash_seed()));
  }
  EXPECT_EQ(hashes.size(), 900u);
}

TEST(Stream, IsTheWholeTextAndNeverHalfACharacter) {
  const Tokenizer t(small_vocabulary("gpt-2", kMerges));
  const std::string text = "slower é 漢字 👩‍👩‍👧 កាន់ 🇩🇪!";
  const std::vector<int32_t> ids = t.encode(text, false);
  StreamDecoder stream(t);
  std::string got;
  for (size_t n = 0; n <= ids.size(); ++n) {
    // A stream that ends here gives the text so far, with one U+FFFD for a character that was cut.
    StreamDecoder cut(t);
    std::string so_far, wanted;
    for (const int32_t id : std::span(ids).first(n)) so_far += cut.push(id);
    const std::string whole = t.decode(std::span(ids).first(n), false);
    const size_t used = append_repaired(whole, wanted);
    EXPECT_EQ(so_far, wanted) << n;
    EXPECT_EQ(cut.finish(), used < whole.size() ? kReplacement : "") << n;
    if (n == ids.size()) break;

    const std::string piece = stream.push(ids[n]);
    std::string repaired;
    EXPECT_EQ(append_repaired(piece, repaired), piece.size());
    EXPECT_EQ(repaired, piece);
    got += piece;
  }
  EXPECT_EQ(got, text);
  EXPECT_EQ(stream.finish(), "");
}

TEST(Stream, InvalidBytesAreShownAndIncompleteOnesHeld) {
  const Tokenizer t(small_vocabulary("gpt-2"));
  const auto stream = [&](std::string_view bytes) {
    StreamDecoder s(t);
    std::string out;
    for (const char c : bytes) out += s.push(byte(c)) + ".";
    return out + s.finish();
  };
  EXPECT_EQ(stream("\xe6\xbc\xa2"), "..漢.");
  EXPECT_EQ(stream("\xff"
                   "a"),
            "\ufffd.a.");
  EXPECT_EQ(stream("\xf0\x9f\x98"
                   "a"),
            "...\ufffda.");                                    // one maximal subpart
  EXPECT_EQ(stream("\xed\xa0\x80"), ".\ufffd\ufffd.\ufffd.");  // a surrogate: three
  EXPECT_EQ(stream("\xf0\x9f"), "..\ufffd");
}

TEST(Stream, ControlTokensGiveNothing) {
  const Tokenizer t(small_vocabulary("gpt-2"));
  StreamDecoder s(t);
  EXPECT_EQ(s.push(byte('\xc3')), "");
  EXPECT_EQ(s.push(t.find("<|eot_id|>")), "");
  EXPECT_EQ(s.push(byte('\xa9')), "é");
  EXPECT_EQ(s.push(t.find("<tool>")), "<tool>");  // a user-defined token is ordinary text
}

TEST(Decode, ControlTokensAreShownOnlyWhenAsked) {
  const Tokenizer t(small_vocabulary("gpt-2"));
  const std::vector<int32_t> ids = {t.bos(), byte('a'), t.find("<tool>")};
  EXPECT_EQ(t.decode(ids, false), "a<tool>");
  EXPECT_EQ(t.decode(ids, true), "<|begin|>a<tool>");
  EXPECT_EQ(t.token_bytes(t.bos()), "<|begin|>");
  EXPECT_TRUE(t.is_control(t.bos()));
  EXPECT_FALSE(t.is_control(t.find("<tool>")));
}

TEST(Decode, IdsOutsideTheVocabularyAreRefused) {
  const Tokenizer t(small_vocabulary("gpt-2"));
  for (const int32_t id : {-1, t.n_vocab()}) {
    const int32_t ids[] = {id};
    EXPECT_THROW(t.decode(ids, true), Error);
    EXPECT_THROW(t.token_bytes(id), Error);
    EXPECT_THROW(t.is_control(id), Error);
    EXPECT_THROW(StreamDecoder(t).push(id), Error);
  }
}

TEST(EndOfTurn, TheFilesOwnAndTheKnownNamesOfSpecials) {
  Vocabulary v = small_vocabulary("gpt-2", {{"<", "/"}, {"</", "s"}, {"</s", ">"}});  // "</s>" as text
  v.tokens.insert(v.tokens.end(), {"<|im_end|>", "<|fin|>"});
  v.types.insert(v.types.end(), {4, 3});
  const auto n = static_cast<int32_t>(v.tokens.size());
  v.eos = n - 1;
  const Tokenizer t(std::move(v));
  EXPECT_THAT(t.end_of_turn(), ElementsAre(t.find("<|eot_id|>"), n - 2, n - 1));
}

// Returns the texts of the tokens that end a turn where `specials` (control) follow the small vocabulary.
std::vector<std::string> ends_with(const std::vector<const char*>& specials) {
  Vocabulary v = small_vocabulary("gpt-2");
  for (const char* text : specials) {
    v.tokens.push_back(text);
    v.types.push_back(3);
  }
  const Tokenizer t(std::move(v));
  std::vector<std::string> texts;
  for (const int32_t id : t.end_of_turn()) {
    if (t.token_bytes(id) != "<|eot_id|>") texts.emplace_back(t.token_bytes(id));
  }
  return texts;
}

TEST(EndOfTurn, NamesThatMeanSomethingElseInSomeVocabularies) {
  EXPECT_THAT(ends_with({"<|end|>", "</s>", "<turn|>"}), ElementsAre("<|end|>", "</s>", "<turn|>"));
  EXPECT_THAT(ends_with({"<|end|>", "<|return|>", "<|call|>"}), ElementsAre("<|return|>", "<|call|>"));
  EXPECT_THAT(ends_with({"<|end|>", "<|flush|>", "<|calls|>"}), ElementsAre("<|flush|>", "<|calls|>"));
  EXPECT_THAT(ends_with({"<|end|>", "<|call|>"}), ElementsAre("<|end|>", "<|call|>"));
  EXPECT_THAT(ends_with({"<eos>", "<|tool_response>", "</s>"}), ElementsAre("<eos>", "<|tool_response>"));
  EXPECT_THAT(ends_with({"<|fim_pad|>", "<|repo_name|>", "<|file_sep|>", "<|fim_prefix|>"}),
              ElementsAre("<|fim_pad|>", "<|repo_name|>", "<|file_sep|>"));
}

TEST(EndOfTurn, EveryNameThatVocabulariesUse) {
  for (const char* name : {"<|im_end|>",
                           "<|end|>",
                           "<end_of_turn>",
                           "<|endoftext|>",
                           "<|end_of_text|>",
                           "<EOT>",
                           "_<EOT>",
                           "[EOT]",
                           "<｜end▁of▁sentence｜>",
                           "<end_of_utterance>",
                           "<|eom_id|>",
                           "<|return|>",
                           "<|call|>",
                           "<|flush|>",
                           "<|calls|>",
                           "</s>",
                           "[EOS]",
                           "<eos>",
                           "<turn|>",
                           "<|tool_response>",
                           "[PAD]"}) {
    EXPECT_THAT(ends_with({name}), ElementsAre(name));
  }
}

TEST(EndOfTurn, AnOrdinaryTokenOfSuchANameThatNoMergeMakesIsAControlToken) {
  Vocabulary v = small_vocabulary("gpt-2");
  v.tokens.emplace_back("<|im_end|>");
  v.types.push_back(1);
  v.other_ends = {-1, byte('z')};
  const Tokenizer t(std::move(v));
  const int32_t end = t.n_vocab() - 1;
  EXPECT_TRUE(t.is_control(end));
  EXPECT_THAT(t.encode("a<|im_end|>", true), ElementsAre(byte('a'), end));
  EXPECT_THAT(t.end_of_turn(), ElementsAre(byte('z'), t.find("<|eot_id|>"), end));
}

TEST(EndOfTurn, TheTokenThatTheFileNamesIsOne) {
  Vocabulary v = small_vocabulary("gpt-2");
  EXPECT_THAT(Tokenizer(v).end_of_turn(), testing::Not(testing::Contains(byte('z'))));
  v.eot = byte('z');
  EXPECT_THAT(Tokenizer(v).end_of_turn(), testing::Contains(byte('z')));
}

TEST(Bos, IsAddedAsTheFileSaysElseAsThePreTokenizerHasIt) {
  for (const char* pre : {"llama-bpe", "falcon3", "qwen2", "gpt-2", "smollm", "default"}) {
    Vocabulary v = small_vocabulary(pre);
    EXPECT_EQ(Tokenizer(v).add_bos(),
              pre == std::string_view("llama-bpe") || pre == std::string_view("falcon3"));
    v.add_bos = false;
    EXPECT_FALSE(Tokenizer(v).add_bos());
    v.add_bos = true;
    EXPECT_TRUE(Tokenizer(v).add_bos());
  }
}

// The added tokens of GPT-NeoX's vocabulary are runs of spaces, and everybody types these.
TEST(Special, UserDefinedWhiteSpaceIsRecognisedInAnyText) {
  Vocabulary v = small_vocabulary("gpt-2");
  v.tokens.insert(v.tokens.end(), {"    ", "\n\n", " <b> "});
  v.types.insert(v.types.end(), {4, 4, 4});
  const Tokenizer t(std::move(v));
  const int32_t spaces = t.find("    ");
  EXPECT_THAT(t.encode("a    b", false), ElementsAre(byte('a'), spaces, byte('b')));
  EXPECT_THAT(t.encode("\n\n\n", false), ElementsAre(spaces + 1, byte('\n')));
  EXPECT_EQ(t.encode(" <b> ", false).size(), 5u);
  EXPECT_EQ(t.encode(" <b> ", true).size(), 1u);
}

TEST(Vocabulary, AnUnknownPreTokenizerGivesWayToDefault) {
  const Tokenizer t(small_vocabulary("nobody's"));
  EXPECT_EQ(t.pre(), "default");
  EXPECT_EQ(t.unknown_pre(), "nobody's");
  EXPECT_EQ(Tokenizer(small_vocabulary("")).unknown_pre(), "");
  EXPECT_EQ(Tokenizer(small_vocabulary("falcon_e")).unknown_pre(), "");
}

TEST(Vocabulary, WithoutTypesTheFilesOwnSpecialsAreControl) {
  Vocabulary v = small_vocabulary("gpt-2");
  v.types.clear();
  const Tokenizer t(std::move(v));
  EXPECT_TRUE(t.is_control(t.bos()));
  EXPECT_THAT(t.encode("<|begin|>", true), ElementsAre(t.bos()));
}

TEST(Vocabulary, WhatRealFilesHoldIsTaken) {
  Vocabulary v = small_vocabulary("");
  v.tokens.insert(v.tokens.end(), {"", "", "   ", "<0x41>"});  // two unused, a raw run of spaces, a byte
  v.types.insert(v.types.end(), {5, 5, 1, 6});
  const Tokenizer t(std::move(v));
  EXPECT_EQ(t.pre(), "default");
  EXPECT_EQ(t.token_bytes(t.n_vocab() - 2), "   ");
  EXPECT_EQ(t.token_bytes(t.n_vocab() - 1), "A");
  EXPECT_THAT(t.encode("A", false), ElementsAre(byte('A')));
}

TEST(Vocabulary, AMissingByteIsSaidWhenItIsNeeded) {
  Vocabulary v = small_vocabulary("gpt-2");
  v.types[0xc0] = 5;
  const Tokenizer t(std::move(v));
  EXPECT_EQ(t.encode("fine", false).size(), 4u);
  try {
    t.encode("\xc0", false);
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("0xC0"));
  }
}

struct Fault {
  const char* wanted;  // in the message
  std::function<void(Vocabulary&)> make;
};

TEST(Vocabulary, FaultsAreNamed) {
  const Fault faults[] = {
      {"tokenizer.ggml.model: \"bert\"", [](auto& v) { v.model = "bert"; }},
      {"tokenizer.ggml.tokens: the vocabulary is empty", [](auto& v) { v.tokens.clear(), v.types.clear(); }},
      {"tokenizer.ggml.token_type: 3 types", [](auto& v) { v.types.resize(3); }},
      {"tokenizer.ggml.tokens[7]: the token is empty", [](auto& v) { v.tokens[7].clear(); }},
      {"tokenizer.ggml.tokens[66]: \"A\" is there already, as token 65", [](auto& v) { v.tokens[66] = "A"; }},
      {"tokenizer.ggml.tokens[265]: \"<|eot_id|>\" is there already, as token 264",
       [](auto& v) { v.tokens.at(265) = "<|eot_id|>"; }},
      {"tokenizer.ggml.tokens[9]: \"a<0xFF>\" is not UTF-8", [](auto& v) { v.tokens[9] = "a\xff"; }},
      {"tokenizer.ggml.bos_token_id: 100000", [](auto& v) { v.bos = 100000; }},
      {"tokenizer.ggml.eos_token_id: -2", [](auto& v) { v.eos = -2; }},
      {"tokenizer.ggml.eot_token_id", [](auto& v) { v.eot = static_cast<int32_t>(v.tokens.size()); }},
      {"tokenizer.ggml.merges[1]: \"low\" is not two tokens", [](auto& v) { v.merges[1] = "low"; }},
      {"tokenizer.ggml.merges[1]: \"\"", [](auto& v) { v.merges[1] = ""; }},
      {"tokenizer.ggml.merges[1]: \" w\"", [](auto& v) { v.merges[1] = " w"; }},
      {"tokenizer.ggml.merges[1]: \"w \"", [](auto& v) { v.merges[1] = "w "; }},
      {"names \"zz\"", [](auto& v) { v.merges[1] = "zz a"; }},
      {"names \"zz\"", [](auto& v) { v.merges[1] = "a zz"; }},
      {"names \"xy\"", [](auto& v) { v.merges[1] = "x y"; }},
      {"names \"<tool>\"", [](auto& v) { v.merges[1] = "a <tool>"; }},
      {"tokenizer.ggml.unknown_token_id: 100000", [](auto& v) { v.unknown = 100000; }},
      {"tokenizer.ggml.eom or fim_token_id: 100000",
       [](auto& v) {
         v.other_ends = {-1, 100000};
       }},
  };
  for (const Fault& fault : faults) {
    Vocabulary v = small_vocabulary("gpt-2", kMerges);
    fault.make(v);
    expect_refused(std::move(v), fault.wanted);
  }
}

}  // namespace
}  // namespace bitnet
