// Tests /compact.
#include <gmock/gmock.h>

#include "tests/support/chat_fixture.h"

namespace bitnet {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class ChatCompactTest : public ChatTest {
 protected:
  // The turns are a..., b... and c...; their answers are 1..., 2... and 3...
  void three_turns(size_t length) {
    for (const char* answer : {"1", "2", "3"}) script.answer(std::string(length, *answer));
    for (const char* turn : {"a", "b", "c"}) say(std::string(length, *turn));
  }
};

TEST_F(ChatCompactTest, CompactPutsASummaryInPlaceOfTheOlderTurns) {
  start_loaded(2048);
  three_turns(200);
  script.answer("the summary: aaaaaa");
  say("/compact");
  EXPECT_THAT(last_prompt(),
              AllOf(HasSubstr("bbb"), HasSubstr("222"), HasSubstr("sum up"), Not(HasSubstr("ccc"))));
  ASSERT_EQ(front.shown.size(), 4U);
  EXPECT_EQ(front.shown[1].text, "the summary: aaaaaa");
  EXPECT_EQ(front.shown[2].text, std::string(200, 'c'));
  EXPECT_EQ(front.shown[3].text, std::string(200, '3'));
  EXPECT_THAT(front.last_output, HasSubstr("Messages 1 to 4 became the summary"));
  EXPECT_THAT(front.last_output, HasSubstr("/goto 6"));
  EXPECT_LT(front.last_status.context_used, 700U);
  script.answer("4");
  say("d");
  EXPECT_THAT(last_prompt(),
              AllOf(HasSubstr("the summary: aaaaaa<eot>"), HasSubstr("ccc"), Not(HasSubstr("bbb"))));
  say("/goto 6");
  EXPECT_EQ(front.shown.size(), 6U);
  EXPECT_EQ(front.shown[0].text, std::string(200, 'a'));
}

TEST_F(ChatCompactTest, CompactReusesTheCacheAndKeepsShortTurnsToo) {
  start_loaded(4096);
  three_turns(100);  // two turns of 203 tokens are fewer than 4096 / 8, three are not
  script.answer("aaaaaa");
  say("/compact");
  EXPECT_THAT(last_prompt(), HasSubstr("111<eot><usr>Please sum up"));
  EXPECT_EQ(front.shown.size(), 6U);
  EXPECT_THAT(front.last_output, HasSubstr("3 to 6 are kept word for word"));
}

TEST_F(ChatCompactTest, AtTheContextEdgeCompactIsOfferedAndWorks) {
  start_loaded(700);
  for (const char* answer : {"1", "2"}) script.answer(std::string(100, *answer));
  for (const char* turn : {"a", "b"}) say(std::string(100, *turn));
  script.answer(std::string(400, '3'));
  say("c");
  EXPECT_EQ(front.shown.back().finish, "context");
  EXPECT_THAT(front.log,
              AllOf(HasSubstr("700 of 700"), HasSubstr("/compact"), HasSubstr("/undo"), HasSubstr("/new")));
  say("more");
  EXPECT_THAT(front.errors.back(), AllOf(HasSubstr("of 700 tokens"), HasSubstr("/compact")));
  EXPECT_EQ(front.returned, std::vector<std::string>{"more"});
  for (const char* summary : {"of aaaaaa", "of aaaaaa and bbbbbb"}) script.answer(summary);
  say("/compact");
  EXPECT_EQ(front.shown[1].text, "of aaaaaa and bbbbbb");
  EXPECT_EQ(front.shown.back().finish, "context");  // the cut answer is kept as it is
  script.answer("on");
  say("more");
  EXPECT_EQ(front.shown.back().text, "on");
}

TEST_F(ChatCompactTest, CompactThatDoesNotHelpChangesNothing) {
  start_loaded(512);
  say("/compact");
  EXPECT_THAT(front.errors.back(), HasSubstr("there is no turn to sum up yet"));
  say("a");
  say("/compact");
  EXPECT_THAT(front.errors.back(), HasSubstr("only one turn"));
  say("b");
  script.answer("ok, and longer than what was said");
  say("/compact");
  EXPECT_THAT(front.errors.back(), HasSubstr("as it was"));
  script.answer("  ");
  say("/compact");
  EXPECT_THAT(front.errors.back(), HasSubstr("empty summary"));
  EXPECT_THAT(shown_texts(), ElementsAre("a", "ok", "b", "ok"));
  EXPECT_EQ(store->outline(chat->conversation()).size(), 4U);
}

TEST_F(ChatCompactTest, CompactSumsUpInPartsWhatTheContextDoesNotTakeInAtOnce) {
  start_loaded(4096);
  three_turns(300);
  for (const char* answer : {"4", "5"}) {
    script.answer(std::string(300, *answer));
    say(std::string(300, *answer == '4' ? 'd' : 'e'));
  }
  say("/set ctx 1600");
  const size_t asked = script.prompts().size();
  for (const char* summary : {"111111 first", "bbbbbb second", "cccccc third", "dddddd fourth"})
    script.answer(summary);
  say("/compact");
  std::vector<std::string> prompts;
  for (const auto& prompt : script.prompts()) prompts.push_back(fake::text_of(prompt));
  ASSERT_EQ(prompts.size(), asked + 4);
  EXPECT_THAT(prompts[asked], AllOf(HasSubstr("aaa"), Not(HasSubstr("bbb"))));
  EXPECT_THAT(prompts[asked + 1], AllOf(HasSubstr("first<eot>"), HasSubstr("bbb"), Not(HasSubstr("aaa"))));
  EXPECT_THAT(prompts[asked + 3], AllOf(HasSubstr("third<eot>"), HasSubstr("ddd"), Not(HasSubstr("eee"))));
  EXPECT_THAT(shown_texts(), ElementsAre(HasSubstr("sum up"), "dddddd fourth", std::string(300, 'e'),
                                         std::string(300, '5')));
  EXPECT_THAT(front.log, HasSubstr("Summing up messages 3 to 4, of 8 in all"));
  EXPECT_THAT(front.last_output, HasSubstr("Messages 1 to 8 became the summary above; 9 to 10 are kept"));
  // It can be done once more, with what was said since.
  script.answer("6");
  say("f");
  script.answer("eeeeee fifth");
  say("/compact");
  EXPECT_THAT(last_prompt(), AllOf(HasSubstr("fourth<eot>"), HasSubstr("eee")));
  EXPECT_THAT(shown_texts(), ElementsAre(HasSubstr("sum up"), "eeeeee fifth", "f", "6"));
}

TEST_F(ChatCompactTest, CompactRefusesATurnThatLeavesNoRoomForItsSummary) {
  start_loaded(4096);
  three_turns(300);
  say("/set ctx 900");
  const size_t asked = script.prompts().size();
  say("/compact");
  EXPECT_THAT(front.errors.back(), HasSubstr("the turn of message 1 alone leaves no room"));
  EXPECT_EQ(script.prompts().size(), asked);
  EXPECT_EQ(front.shown.size(), 6U);
}

TEST_F(ChatCompactTest, CompactRefusesASummaryOfSomethingElse) {
  start_loaded(2048);
  const std::string long_text(200, '.');
  script.answer("Nice to meet you, Ada." + long_text);
  say("My name is Ada and I have a dog called Rex." + long_text);
  script.answer("Paris." + long_text);
  say("What is the capital of France?" + long_text);
  // The bundled model once said this. It has words of the request, which do not count, and none of the
  // conversation.
  script.answer("/open ID does that. It opens the stored conversation with that id; /list shows the ids.");
  say("/compact");
  EXPECT_THAT(front.errors.back(),
              AllOf(HasSubstr("thrown away"), HasSubstr("it is as it was, with all 4 messages kept")));
  ASSERT_EQ(front.shown.size(), 4U);
  EXPECT_EQ(store->outline(chat->conversation()).size(), 4U);
  script.answer("Your name is Ada.");
  say("What is my name?");
  EXPECT_THAT(last_prompt(), HasSubstr("My name is Ada"));
  // A summary that has the conversation's names is taken, whatever its other words are.
  script.answer("The user introduced herself as ADA, owner of Rex.");
  say("/compact");
  EXPECT_THAT(front.last_output, AllOf(HasSubstr("became the summary"), HasSubstr("kept word for word")));
}

TEST_F(ChatCompactTest, CompactCanBeStopped) {
  start_loaded(2048);
  three_turns(200);
  script.answer("the summary: aaaaaa");
  script.hold();
  chat->submit("/compact");
  script.wait_until_held();
  EXPECT_TRUE(chat->busy());
  chat->interrupt();
  until_idle();
  EXPECT_THAT(front.log, HasSubstr("Stopped: the conversation is as it was"));
  EXPECT_EQ(front.shown.size(), 6U);
}

}  // namespace
}  // namespace bitnet
