// Tests the model's work beside the conversation: /tokens, /alt, and a context of another size.
#include <gmock/gmock.h>

#include "tests/support/chat_fixture.h"

namespace bitnet {
namespace {

using testing::HasSubstr;
using testing::Not;

// After token t the fake model gives t + 1 and t + 2 the first two of these probabilities, and each of the
// 257 others the third:
//   exp(7) / (exp(7) + exp(6) + 257) = 62.4 %, exp(6) / ... = 23.0 %, 1 / ... = 0.06 %

TEST_F(ChatTest, TokensShowsHowLikelyEachTokenOfTheAnswerWas) {
  script.answer("abd");
  start_loaded();
  say("go");
  say("/tokens");
  EXPECT_THAT(front.last_output, HasSubstr("    1    0.1 % ░░░░░░░░  \"a\"               97\n"));
  EXPECT_THAT(front.last_output, HasSubstr("    2   62.4 % █████░░░  \"b\"               98\n"));
  EXPECT_THAT(front.last_output, HasSubstr("    3   23.0 % █▉░░░░░░  \"d\"               100\n"));
  EXPECT_THAT(front.last_output, testing::StartsWith("3 tokens, "));
  say("/tokens 3");
  EXPECT_THAT(front.last_output, Not(HasSubstr("\"b\"")));
  EXPECT_THAT(front.last_output, HasSubstr("\"d\""));
  say("/tokens 4");
  EXPECT_THAT(front.errors.back(), HasSubstr("1 to 3"));
}

TEST_F(ChatTest, LookingAtAnAnswerHappensOnceAndLeavesTheTimelineThere) {
  script.answer("abd");
  start_loaded();
  say("go");
  say("/tokens");
  const size_t syncs = script.prompts().size();
  EXPECT_EQ(last_prompt(), "<bos><usr>go<eot>abd");
  say("/alt");
  say("/alt 2");
  EXPECT_EQ(script.prompts().size(), syncs);
  say("more");
  EXPECT_EQ(front.last_usage.reused_tokens, 8U);  // <bos> <usr> g o <eot> a b d
}

TEST_F(ChatTest, AltShowsCandidatesAndGoesOnFromAnotherOne) {
  script.answer("abd");
  script.answer("xyz");
  start_loaded();
  say("go");
  say("/alt");
  EXPECT_THAT(front.last_output, HasSubstr("    3   23.0 % █▉░░░░░░  \"d\"               1: \"c\" 62 %\n"));
  EXPECT_THAT(front.last_output, testing::ContainsRegex("1: .* 62 %, 2: .* 23 %\n"));
  say("/alt 3");
  EXPECT_THAT(front.last_output, HasSubstr("Token 3, after \"ab\""));
  EXPECT_THAT(front.last_output, HasSubstr("    1   62.4 % █████░░░  \"c\"\n"));
  EXPECT_THAT(front.last_output, HasSubstr("    2   23.0 % █▉░░░░░░  \"d\"               (this one)\n"));
  say("/alt 3 1");
  EXPECT_EQ(last_prompt(), "<bos><usr>go<eot>abc");
  ASSERT_EQ(front.shown.size(), 2U);
  EXPECT_EQ(front.shown[1].text, "abcxyz");
  EXPECT_EQ(front.shown[1].finish, "stop");
  EXPECT_EQ(sibling_mark(front.shown[1]), "2/2");
  EXPECT_EQ(store->message(front.shown[1].id)->text, "abcxyz");
  EXPECT_EQ(store->message_tokens(front.shown[1].id).size(), 6U);
  say("more");  // the whole answer counts as made of its tokens
  EXPECT_EQ(last_prompt(), "<bos><usr>go<eot>abcxyz<eot><usr>more<eot>");
  EXPECT_EQ(front.last_usage.reused_tokens, 11U);
}

TEST_F(ChatTest, TheEndOfTheAnswerIsACandidateToo) {
  script.answer("\xff");  // after byte 255 come 256 (<bos>) and 257 (<eot>)
  script.answer("x");
  start_loaded();
  say("/set max_tokens 1");  // so that there is something to continue
  say("go");
  say("/continue");
  ASSERT_EQ(front.shown[1].text, "\uFFFDx");
  say("/alt 2");
  EXPECT_THAT(front.last_output, HasSubstr("\"<eot>\""));
  const size_t syncs = script.prompts().size();
  say("/alt 2 2");
  EXPECT_EQ(script.prompts().size(), syncs);  // nothing is left to answer
  EXPECT_EQ(front.shown[1].finish, "stop");
  EXPECT_EQ(store->message_tokens(front.shown[1].id).size(), 1U);
}

TEST_F(ChatTest, AltAndTokensCheckWhatTheyAreGiven) {
  start_loaded();
  for (const char* command : {"/alt", "/tokens", "/alt 1 1"}) {
    say(command);
    EXPECT_THAT(front.errors.back(), HasSubstr("no answer to look at")) << command;
  }
  say("go");
  for (const char* wrong :
       {"/alt 0", "/alt 3", "/alt x", "/alt 1 0", "/alt 1 9", "/alt 1 x", "/alt -1 1", "/tokens 0"}) {
    const size_t errors = front.errors.size();
    say(wrong);
    EXPECT_EQ(front.errors.size(), errors + 1) << wrong;
  }
  EXPECT_EQ(front.shown.size(), 2U);
}

TEST_F(ChatTest, TheContextCanBeMadeSmallerAndLargerInTheRunningChat) {
  script.answer("one");
  script.answer(std::string(100, 'y'));
  start_loaded(512);
  say("a");
  say("/set ctx 24");
  EXPECT_EQ(front.last_status.context_limit, 24U);
  EXPECT_THAT(front.log, HasSubstr("holds 24 tokens now"));
  say("b");
  EXPECT_EQ(front.last_usage.reused_tokens, 0U);
  EXPECT_EQ(front.shown.back().finish, "context");
  EXPECT_THAT(front.log, HasSubstr("/compact"));
  say("/set ctx 1");
  EXPECT_THAT(front.log, HasSubstr("holds 1 token now"));
  say("/set ctx 0");
  EXPECT_EQ(front.last_status.context_limit, fake::kTrainedFor);
  say("/set ctx 100000");
  EXPECT_THAT(front.errors.back(), HasSubstr("0 to 8192"));
  for (const char* wrong : {"/set ctx -1", "/set ctx nan", "/set ctx 1e3", "/set ctx 4294967296"}) {
    const size_t errors = front.errors.size();
    say(wrong);
    EXPECT_EQ(front.errors.size(), errors + 1) << wrong;
  }
  EXPECT_EQ(front.last_status.context_limit, fake::kTrainedFor);
}

TEST_F(ChatTest, AContextSetWhileTheModelLoadsAppliesBeforeTheWaitingTurn) {
  script.hold_loading(true);
  script.answer(std::string(100, 'y'));
  start(512);
  chat->submit("/set ctx 24");
  chat->submit("a");
  script.hold_loading(false);
  until_idle();
  EXPECT_EQ(front.shown.back().finish, "context");
  EXPECT_EQ(front.last_status.context_limit, 24U);
}

}  // namespace
}  // namespace bitnet
