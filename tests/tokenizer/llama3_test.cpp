// Tests LLaMA-3's own vocabulary: the published cases, the names of its tokens, and how it is recognised.
// llama3/ has the part of it that these need. With LLAMA3_RANKS=path/to/tokenizer.model the tests use the
// whole vocabulary.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

#include "tests/tokenizer/vocabulary.h"

namespace bitnet {
namespace {

const std::filesystem::path kData = LLAMA3_DATA;

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

const char* const kWhole = std::getenv("LLAMA3_RANKS");  // null if it is not set
const std::filesystem::path kRanks = kWhole ? std::filesystem::path(kWhole) : kData / "ranks";

TEST(Llama3, PublishedCases) {
  Vocabulary v = llama3_vocabulary(kRanks);
  ASSERT_EQ(v.tokens.size(), 128256u);
  ASSERT_EQ(v.merges.size(), kWhole ? 280147u : 311u);
  const Tokenizer tokenizer(std::move(v));
  EXPECT_EQ(tokenizer.pre(), "llama-bpe");  // the file names none

  const std::string inputs = read(kData / "cases.inp");
  std::istringstream outputs(read(kData / "cases.out"));
  constexpr std::string_view kBetween = "\n__ggml_vocab_test__\n";
  // The last case is the empty text after the last separator, for which there is no line of ids.
  size_t n = 0;
  std::string line;
  for (size_t at = 0, end = 0; end != std::string::npos; at = end + kBetween.size()) {
    end = inputs.find(kBetween, at);
    const std::string text = inputs.substr(at, end == std::string::npos ? end : end - at);
    if (!std::getline(outputs, line)) line.clear();
    std::istringstream ids(line);
    const std::vector<int32_t> wanted{std::istream_iterator<int32_t>(ids), {}};
    const std::vector<int32_t> got = tokenizer.encode(text, false);
    EXPECT_EQ(got, wanted) << "case " << n << ": " << text;
    EXPECT_EQ(tokenizer.decode(got, false), text) << "case " << n;
    ++n;
  }
  EXPECT_EQ(n, 47u);
}

TEST(Llama3, IsRecognisedInAShortenedVocabulary) {
  for (const size_t limit : {256, 257, 300, 2000}) {
    EXPECT_EQ(Tokenizer(llama3_vocabulary(kRanks, limit)).pre(), "llama-bpe") << limit;
  }
  Vocabulary other = llama3_vocabulary(kRanks, 300);
  std::swap(other.tokens[256], other.tokens[257]);  // another vocabulary with the same special tokens
  EXPECT_EQ(Tokenizer(std::move(other)).pre(), "default");
}

TEST(Llama3, EndsOfTurnAndSpecials) {
  const Tokenizer tokenizer(llama3_vocabulary(kRanks));
  EXPECT_EQ(tokenizer.find("<|eot_id|>"), 128009);
  EXPECT_EQ(std::vector(tokenizer.end_of_turn().begin(), tokenizer.end_of_turn().end()),
            (std::vector<int32_t>{128001, 128009}));
  EXPECT_EQ(tokenizer.encode("<|begin_of_text|>Hello<|eot_id|>", true),
            (std::vector<int32_t>{128000, 9906, 128009}));
  for (const int32_t id : tokenizer.encode("<|eot_id|>", false)) EXPECT_LT(id, 128000);
}

}  // namespace
}  // namespace bitnet
