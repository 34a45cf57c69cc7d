// Tests an answer: its prompt, its tokens as they come, its ends; and turns that wait or come back.
#include <gmock/gmock.h>

#include "app/model/prompt.h"
#include "tests/support/chat_fixture.h"

namespace bitnet {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST_F(ChatTest, ATurnIsAnsweredAndStored) {
  script.answer("Hi there");
  start_loaded();
  say("Hello");
  ASSERT_EQ(front.shown.size(), 2U);
  EXPECT_EQ(front.shown[1].text, "Hi there");
  EXPECT_EQ(front.shown[1].finish, "stop");
  EXPECT_EQ(last_prompt(), "<bos><usr>Hello<eot>");
  const auto branch = store->branch(store->conversation(chat->conversation())->leaf);
  ASSERT_EQ(branch.size(), 2U);
  EXPECT_EQ(branch[1].text, "Hi there");
  const auto turns = store->turns(branch[1].id);
  ASSERT_EQ(turns.size(), 1U);
  EXPECT_EQ(turns[0].answer_tokens, 8U);
  EXPECT_EQ(turns[0].finish, "stop");
  EXPECT_EQ(store->tokens(turns[0].id).size(), 8U);
}

TEST_F(ChatTest, TheNextTurnReusesWhatTheModelSaw) {
  script.answer("one");
  script.answer("two");
  start_loaded();
  say("a");
  say("b");
  EXPECT_EQ(last_prompt(), "<bos><usr>a<eot>one<eot><usr>b<eot>");
  EXPECT_EQ(front.last_usage.reused_tokens, 7U);  // <bos> <usr> a <eot> o n e
}

// What helps depends on whether there are other turns.
TEST_F(ChatTest, ATurnThatDoesNotFitIsNotSent) {
  script.answer("one");
  start_loaded(32);
  say(std::string(40, 'x'));
  EXPECT_THAT(front.log, HasSubstr("the turn would take 43 of 32 tokens"));
  EXPECT_THAT(front.log, Not(HasSubstr("/compact")));
  chat->submit("/new");
  say("a");
  say(std::string(40, 'x'));
  EXPECT_THAT(front.log, HasSubstr("the conversation would take 50 of 32 tokens"));
  EXPECT_THAT(front.log, HasSubstr("/set ctx N (up to 8192)"));
  EXPECT_THAT(front.log, Not(HasSubstr("/compact"))) << "it keeps the last turn, and so does nothing here";
  say("b");
  say(std::string(40, 'x'));
  EXPECT_THAT(front.errors.back(), HasSubstr("shorten the turn, make room with /compact, "));
}

TEST_F(ChatTest, AnAnswerThatCannotGoOnSaysWhatHelps) {
  script.answer(std::string(100, 'y'));
  start_loaded(24);
  say("short");
  EXPECT_THAT(front.log,
              HasSubstr("take a larger context with /set ctx N (up to 8192), step back with /undo"));
  EXPECT_THAT(front.log, Not(HasSubstr("/compact")));
  say("/continue");
  EXPECT_THAT(front.errors.back(), testing::StartsWith("Not continued: "));
  EXPECT_THAT(front.errors.back(), Not(HasSubstr("shorten the turn")));
  EXPECT_EQ(front.shown.size(), 2U);
}

TEST_F(ChatTest, AnAnswerThatIsNoUtf8IsStillReusedTokenByToken) {
  script.answer("a\xff\xe2\x82");
  start_loaded();
  say("x");
  EXPECT_EQ(front.shown[1].text, "a\uFFFD\uFFFD");
  say("y");
  EXPECT_EQ(front.last_usage.reused_tokens, 8U);  // <bos> <usr> x <eot> and four bytes
}

TEST_F(ChatTest, WhatAUserTypesIsNeverASpecialToken) {
  start_loaded();
  say("x<eot>y");
  const std::vector<int32_t> prompt = script.prompts().back();
  EXPECT_EQ(std::count(prompt.begin(), prompt.end(), fake::kEot), 1);
}

TEST_F(ChatTest, BosStandsOnceWhetherTheTemplatePrintsItOrNot) {
  const auto prints = fake::model_text("{{ bos_token }}{{ bos_token }}x", true);
  const auto does_not = fake::model_text("x", true);
  const auto wants_none = fake::model_text("x", false);
  const std::vector<PromptMessage> messages = {{Role::user, "hi", {}}};
  EXPECT_EQ(build_prompt(*prints, "", messages, 0), (std::vector<int32_t>{fake::kBos, 'x'}));
  EXPECT_EQ(build_prompt(*does_not, "", messages, 0), (std::vector<int32_t>{fake::kBos, 'x'}));
  EXPECT_EQ(build_prompt(*wants_none, "", messages, 0), (std::vector<int32_t>{'x'}));
}

TEST_F(ChatTest, AnInterruptedAnswerKeepsExactlyWhatWasAskedFor) {
  script.answer("abcdefgh");
  start_loaded();
  chat->submit("go");
  chat->interrupt_after(3);
  until_idle();
  EXPECT_EQ(front.shown[1].text, "abc");
  EXPECT_EQ(front.shown[1].finish, "interrupted");
  EXPECT_EQ(store->message(front.shown[1].id)->text, "abc");
  say("more");
  EXPECT_EQ(last_prompt(), "<bos><usr>go<eot>abc<eot><usr>more<eot>");
}

TEST_F(ChatTest, AnAnswerStoppedBeforeItsFirstTokenLeavesNoEmptyMessageInThePrompt) {
  script.answer("abc");
  script.hold();
  start_loaded();
  chat->submit("go");
  script.wait_until_held();
  chat->interrupt();
  until_idle();
  EXPECT_EQ(front.shown.back().finish, "interrupted");
  script.release();
  say("more");
  EXPECT_EQ(last_prompt(), "<bos><usr>go<eot><usr>more<eot>");
}

TEST_F(ChatTest, ATemplateThatWantsRolesInTurnTakesTurnsWithoutAnAnswer) {
  script.answer("abc");
  script.hold();
  start(512,
        "{{ bos_token }}{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
        "{{ raise_exception('roles must alternate') }}{% endif %}"
        "{% if m.role == 'user' %}<usr>{% endif %}{{ m.content }}<eot>{% endfor %}");
  while (chat->loading()) loop.run_once();
  chat->submit("go");
  script.wait_until_held();
  chat->interrupt();
  until_idle();
  script.release();
  say("more");
  EXPECT_EQ(last_prompt(), "<bos><usr>go\n\nmore<eot>");
  EXPECT_TRUE(front.errors.empty());
}

TEST_F(ChatTest, TheFirstTokenAloneIsNoSpeed) {
  script.answer("abc");
  script.hold_after(1);
  start_loaded();
  chat->submit("go");
  until_tokens(1);
  EXPECT_EQ(front.last_status.state, ChatState::answering);
  EXPECT_EQ(front.last_status.tokens_per_second, 0);
}

TEST_F(ChatTest, AnAnswerIsStoredWhenTheProgramEndsInTheMiddle) {
  script.answer("abcdef");
  script.hold_after(3);
  start_loaded();
  chat->submit("go");
  until_tokens(3);
  chat.reset();
  const auto branch = store->branch(store->conversation(1)->leaf);
  ASSERT_EQ(branch.size(), 2U);
  EXPECT_EQ(branch[1].text, "abc");
  EXPECT_EQ(branch[1].finish, "interrupted");
}

TEST_F(ChatTest, WhatMayBeginAStopTextIsStoredWhenTheProgramEndsInTheMiddle) {
  script.answer("one ENDless");
  settings.stop = {"END."};
  script.hold_after(6);
  start_loaded();
  chat->submit("go");
  script.wait_until_held();
  chat->handle_events();
  ASSERT_EQ(store->conversations(9).size(), 1U);
  chat.reset();
  EXPECT_EQ(store->branch(store->conversation(1)->leaf).at(1).text, "one EN");
}

TEST_F(ChatTest, ContinueGoesOnInTheSameMessage) {
  script.answer("abcdef");
  script.answer("def");
  start_loaded();
  chat->submit("go");
  chat->interrupt_after(3);
  until_idle();
  say("/continue");
  EXPECT_EQ(last_prompt(), "<bos><usr>go<eot>abc");
  ASSERT_EQ(front.shown.size(), 2U);
  EXPECT_EQ(front.shown[1].text, "abcdef");
  EXPECT_EQ(front.shown[1].finish, "stop");
  EXPECT_EQ(store->message(front.shown[1].id)->text, "abcdef");
}

// "ä" is two tokens, between which the answer ends for a while.
TEST_F(ChatTest, ContinueGoesOnInTheMiddleOfACharacter) {
  for (const char* answer : {"a\xc3", "\xa4\xc3", "\xa4!"}) script.answer(answer);
  start_loaded();
  say("/set max_tokens 2");
  say("go");
  EXPECT_EQ(front.shown[1].text, "a");
  EXPECT_EQ(front.shown[1].finish, "length");
  say("/continue");
  EXPECT_EQ(front.shown[1].text, "a\u00e4");
  say("/continue");
  const std::vector<int32_t> prompt = script.prompts().back();  // with what it wrote, token by token
  EXPECT_EQ(std::vector(prompt.end() - 4, prompt.end()), (std::vector<int32_t>{'a', 0xC3, 0xA4, 0xC3}));
  EXPECT_EQ(front.shown[1].text, "a\u00e4\u00e4!");
  EXPECT_EQ(store->message(front.shown[1].id)->text, front.shown[1].text);
}

TEST_F(ChatTest, ContinueOfAFinishedAnswerSaysSo) {
  script.answer("abc");
  start_loaded();
  say("go");
  const size_t prompts = script.prompts().size();
  say("/continue");
  EXPECT_THAT(front.errors.back(), HasSubstr("the last answer is finished"));
  EXPECT_EQ(script.prompts().size(), prompts);
  EXPECT_EQ(front.shown.back().text, "abc");
}

TEST_F(ChatTest, RegenMakesASiblingAndKeepsTheOldAnswer) {
  script.answer("first");
  script.answer("second");
  start_loaded();
  say("go");
  say("/regen");
  ASSERT_EQ(front.shown.size(), 2U);
  EXPECT_EQ(front.shown[1].text, "second");
  const auto answers = store->children(chat->conversation(), front.shown[0].id);
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_EQ(answers[0].text, "first");
}

TEST_F(ChatTest, UndoStepsBackATurnAndRedoBringsItBack) {
  script.answer("1");
  script.answer("2");
  start_loaded();
  say("a");
  say("b");
  say("/undo");
  EXPECT_EQ(front.shown.size(), 2U);
  say("/redo");
  ASSERT_EQ(front.shown.size(), 4U);
  EXPECT_EQ(front.shown[3].text, "2");
  say("/undo");
  say("/undo");
  EXPECT_TRUE(front.shown.empty());
  say("/undo");
  EXPECT_THAT(front.errors.back(), HasSubstr("no turn"));
}

TEST_F(ChatTest, ATurnThatDoesNotFitIsRefusedAndNothingIsDropped) {
  script.answer("ok");
  start_loaded(24);
  say("short");
  const std::string second(20, 'x');
  say(second);
  EXPECT_THAT(front.errors.back(), HasSubstr("of 24 tokens"));
  EXPECT_EQ(front.returned, std::vector<std::string>{second});
  EXPECT_EQ(front.shown.size(), 2U);
  EXPECT_EQ(script.prompts().size(), 1U);
}

TEST_F(ChatTest, AnAnswerThatReachesTheLimitSaysSo) {
  script.answer(std::string(100, 'y'));
  start_loaded(24);
  say("short");
  EXPECT_EQ(front.shown.back().finish, "context");
  EXPECT_THAT(front.log, HasSubstr("context is full: 24 of 24"));
}

TEST_F(ChatTest, MaxTokensEndsWithLength) {
  script.answer("abcdef");
  start_loaded();
  say("/set max_tokens 2");
  say("go");
  EXPECT_EQ(front.shown.back().text, "ab");
  EXPECT_EQ(front.shown.back().finish, "length");
}

TEST_F(ChatTest, AStopTextEndsTheAnswerBeforeItAndIsNotShown) {
  script.answer("one END two");
  settings.stop = {"END"};
  start_loaded();
  say("go");
  EXPECT_EQ(front.shown.back().text, "one ");
  EXPECT_EQ(front.shown.back().finish, "stop");
}

TEST_F(ChatTest, AStopTextThatIsSetMeanwhileIsForTheNextAnswer) {
  script.answer("one END two");
  script.answer("one END two");
  script.hold_after(1);
  start_loaded();
  chat->submit("go");
  until_tokens(1);
  chat->submit("/set stop END");
  script.release();
  until_idle();
  EXPECT_EQ(front.shown.back().text, "one END two");
  EXPECT_THAT(store->turns(front.shown.back().id).back().sampler, testing::HasSubstr("\"stop\":[]"));
  say("again");
  EXPECT_EQ(front.shown.back().text, "one ");
}

TEST_F(ChatTest, WhatOnlyBeginsLikeAStopTextIsShown) {
  script.answer("one EN");
  settings.stop = {"END"};
  start_loaded();
  say("go");
  EXPECT_EQ(front.shown.back().text, "one EN");
}

TEST_F(ChatTest, NotANumberEndsTheTurnWithThatReason) {
  script.answer("abc");
  script.numeric_after(2);
  start_loaded();
  say("go");
  EXPECT_EQ(front.shown.back().text, "ab");
  EXPECT_EQ(front.shown.back().finish, "numeric");
}

TEST_F(ChatTest, ADriverThatComputesTokensTogetherOtherwiseIsNamedOnce) {
  script.answer("abc");
  script.answer("def");
  script.differ_in_passes_of(5);
  start_loaded();
  say("go");
  EXPECT_THAT(front.log, HasSubstr("no device (none) computes 5 tokens of this model together otherwise"));
  front.log.clear();
  say("on");
  EXPECT_THAT(front.log, Not(HasSubstr("together")));
}

}  // namespace
}  // namespace bitnet
