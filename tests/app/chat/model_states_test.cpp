// Tests the model as the chat sees it: loading, lost, failed, opened elsewhere.
#include <gmock/gmock.h>

#include "tests/support/chat_fixture.h"

namespace bitnet {
namespace {

using testing::HasSubstr;

TEST_F(ChatTest, ATurnTypedWhileLoadingWaitsForTheModel) {
  script.hold_loading(true);
  script.answer("late");
  script.answer("later");
  start();
  chat->submit("early");
  EXPECT_TRUE(chat->busy());
  EXPECT_EQ(store->branch(store->conversation(chat->conversation())->leaf).size(), 1U);
  chat->submit("second");
  EXPECT_EQ(front.last_status.queued, std::vector<std::string>{"second"});
  script.hold_loading(false);
  until_idle();
  EXPECT_EQ(shown_texts(), (std::vector<std::string>{"early", "late", "second", "later"}));
}

TEST_F(ChatTest, AWaitingTurnThatIsStoppedComesBackAsItWasTyped) {
  script.hold_loading(true);
  start();
  chat->submit("//delete");
  chat->interrupt();
  EXPECT_EQ(front.returned, std::vector<std::string>{"//delete"});
  script.hold_loading(false);
  until_idle();
}

TEST_F(ChatTest, ATurnThatWaitsAsTheProgramEndsStaysStored) {
  for (const bool quits : {true, false}) {
    script.hold_loading(true);
    start();
    chat->submit("early");
    const int64_t id = chat->conversation();
    if (quits)
      chat->submit("/quit");
    else
      chat->interrupt_at_end();
    EXPECT_EQ(chat->quit_requested(), quits);
    chat->close();
    EXPECT_THAT(front.returned, testing::IsEmpty());
    ASSERT_TRUE(store->conversation(id)) << quits;
    EXPECT_EQ(store->branch(store->conversation(id)->leaf).back().text, "early");
    script.hold_loading(false);
  }
}

TEST_F(ChatTest, AModelThatCannotBeOpenedGivesTheTurnBack) {
  script.hold_loading(true);
  script.wrong_device(true);
  start();
  chat->submit("early");
  script.hold_loading(false);
  while (!chat->failure()) loop.run_once();
  EXPECT_EQ(chat->failure()->kind(), ErrorKind::device);
  EXPECT_EQ(front.returned, std::vector<std::string>{"early"});
  EXPECT_FALSE(chat->busy());
}

TEST_F(ChatTest, ALostDeviceKeepsTheTextAndIsOpenedOnceMore) {
  script.answer("abcdef");
  script.answer("again");
  script.lose_device_after(3);
  start_loaded();
  say("go");
  EXPECT_EQ(front.shown.back().text, "abc");
  EXPECT_EQ(front.shown.back().finish, "device_lost");
  EXPECT_EQ(script.opened(), 2);
  script.lose_device_after(-1);
  say("/regen");
  EXPECT_EQ(front.shown.back().text, "again");
}

TEST_F(ChatTest, ADeviceLostTwiceInARowIsAFailureUntilReopen) {
  script.answer("first");
  script.answer("second");
  script.answer("third");
  script.lose_device_after(0);
  start_loaded();
  say("one");
  chat->submit("two");
  while (!chat->failure()) loop.run_once();
  EXPECT_EQ(chat->failure()->kind(), ErrorKind::device);
  EXPECT_THAT(front.errors.back(), HasSubstr("/reopen"));
  chat->submit("three");
  EXPECT_EQ(front.returned, std::vector<std::string>{"three"});
  script.lose_device_after(-1);
  say("/reopen 1");
  EXPECT_EQ(script.device(), "1");
  EXPECT_FALSE(chat->failure());
  say("three");
  EXPECT_EQ(front.shown.back().text, "third");
}

TEST_F(ChatTest, ReopenGoesOnWithTheConversationElsewhere) {
  start_loaded();
  say("one");
  chat->submit("/reopen cpu");
  EXPECT_TRUE(chat->loading());
  chat->submit("/reopen");
  EXPECT_THAT(front.errors.back(), HasSubstr("still loading"));
  chat->submit("two");  // it waits
  until_idle();
  EXPECT_EQ(script.opened(), 2);
  EXPECT_EQ(script.device(), "cpu");
  EXPECT_EQ(front.shown.back().text, "ok");
  EXPECT_EQ(last_prompt(), "<bos><usr>one<eot>ok<eot><usr>two<eot>");
  script.wrong_device(true);
  chat->submit("/reopen nowhere");
  while (!chat->failure()) loop.run_once();
  EXPECT_THAT(front.log, HasSubstr("The model goes on where it was"));  // which then fails as well
  EXPECT_EQ(script.device(), "cpu");
  EXPECT_EQ(front.last_status.state, ChatState::failed);
}

}  // namespace
}  // namespace bitnet
