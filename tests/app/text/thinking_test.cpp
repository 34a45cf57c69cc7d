// Tests how what a model thought is told from what it answered.
#include "app/text/thinking.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace bitnet {
namespace {

TEST(Thinking, ATextIsSplit) {
  const auto parts = [](const std::string& text) {
    const SplitAnswer split = split_answer(text);
    return std::string(split.thought) + "|" + std::string(split.answer) + (split.thinks ? "|t" : "|") +
           (split.open ? "o" : "");
  };
  EXPECT_EQ(parts("<think>\nhm\n</think>\n\nFour."), "hm|Four.|t");
  EXPECT_EQ(parts("\n<think></think>Four."), "|Four.|t");
  EXPECT_EQ(parts("<think>\nhm"), "hm||to");
  EXPECT_EQ(parts("<think>a</think>\n  b </think> c"), "a|  b </think> c|t");
  for (const std::string text :
       {"", "Four.", "So <think>hm</think>", "<thin", "</think>Four.", "<thinking>x"})
    EXPECT_EQ(parts(text), "|" + text + "|") << text;
  EXPECT_EQ(parts("<|channel>thought\nhm </think>\n<channel|>Four."), "hm </think>|Four.|t");
  EXPECT_EQ(parts("<|channel>thought\n<channel|>Four."), "|Four.|t");
  EXPECT_EQ(parts("<|channel>thought"), "||to");
  EXPECT_EQ(parts("<|channel>final x<channel|>"), "|<|channel>final x<channel|>|");
  EXPECT_EQ(join_answer("hm", "Four."), "<think>\nhm\n</think>\n\nFour.");
  EXPECT_EQ(join_answer("", "Four."), "Four.");
  EXPECT_EQ(thought_label(1), "thought for 1 token");
  EXPECT_EQ(thought_label(0), "thought");
}

// Text that comes in pieces is split as text that came at once, wherever it is cut.
TEST(Thinking, AStreamIsSplitAsItsText) {
  const std::vector<std::string> texts = {"<think>\nhm </thin or </ so\n\n</think>\n\n Four. </think>",
                                          " \n<think></think>Four.",
                                          "<think>hm</thi",
                                          "<think>\n\n",
                                          "<thin ice",
                                          "  <",
                                          "Four.",
                                          "<think>a\n</think>",
                                          "<|channel>thought\na <channel> b\n<channel|>Four.",
                                          "<|chan",
                                          "<|channel>tho x"};
  for (const std::string& text : texts) {
    const SplitAnswer wanted = split_answer(text);
    for (size_t first = 0; first <= text.size(); ++first) {
      for (size_t second = first; second <= text.size(); ++second) {
        AnswerSplitter splitter;
        std::string thought, answer;
        const auto take = [&](const AnswerSplitter::Step& step) {
          thought += step.thought;
          answer += step.answer;
        };
        take(splitter.push(text.substr(0, first)));
        take(splitter.push(text.substr(first, second - first)));
        take(splitter.push(text.substr(second)));
        EXPECT_EQ(splitter.thinks(), wanted.thinks && wanted.answer.empty()) << text;
        take(splitter.finish());
        EXPECT_EQ(thought, wanted.thought) << text << first << "," << second;
        EXPECT_EQ(answer, wanted.answer) << text << first << "," << second;
      }
    }
  }
}

TEST(Thinking, ATextMayEndWithTheBeginningOfAThought) {
  EXPECT_EQ(find_last_opening("x<think>\n"), 1u);
  EXPECT_EQ(find_last_opening("<|channel>thought\n"), 0u);
  for (const char* text : {"", "<think>x", "<think>\n\n</think>\n\n", "<|channel>thought\n<channel|>"})
    EXPECT_EQ(find_last_opening(text), std::string_view::npos) << text;
  EXPECT_EQ(opening_mark("<|channel>thought x"), "<|channel>thought");
  EXPECT_EQ(opening_mark("x<think>"), "");
}

TEST(Thinking, NothingIsHeldBackThatIsClear) {
  AnswerSplitter splitter;
  EXPECT_EQ(splitter.push("<think>").thought, "");
  EXPECT_EQ(splitter.push("\nSo").thought, "So");
  EXPECT_EQ(splitter.push(" it").thought, " it");
  EXPECT_EQ(splitter.push(" <").thought, "");
  EXPECT_EQ(splitter.push("b").thought, " <b");
  EXPECT_EQ(splitter.push("</think>").answer, "");
  EXPECT_EQ(splitter.push("\n\nX").answer, "X");
  EXPECT_EQ(splitter.push(" ").answer, " ");
}

}  // namespace
}  // namespace bitnet
