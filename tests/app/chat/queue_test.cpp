// Tests what is sent while something else runs: messages and commands that wait, and answers that go on out
// of sight.
#include <gmock/gmock.h>

#include "tests/support/chat_fixture.h"

namespace bitnet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class QueueTest : public ChatFolderTest {
 protected:
  // The chat answers, and the answer stands still after its first token.
  void begin(const std::string& answer = "abc") {
    script.answer(answer);
    script.hold_after(1);
    start_loaded();
    chat->submit("go");
    until_tokens(1);
  }
  void go_on() {
    script.release();
    until_idle();
  }
  std::string stored_answer(int64_t conversation) {
    return store->branch(store->conversation(conversation)->leaf).back().text;
  }
};

TEST_F(QueueTest, MessagesAreSentInTheirOrder) {
  begin();
  script.answer("two");
  script.answer("three");
  chat->submit("second");
  chat->submit("//third");
  EXPECT_THAT(front.last_status.queued, ElementsAre("second", "//third"));
  EXPECT_EQ(store->branch(store->conversation(1)->leaf).size(), 2U);
  go_on();
  EXPECT_THAT(shown_texts(), ElementsAre("go", "abc", "second", "two", "/third", "three"));
  EXPECT_THAT(front.last_status.queued, IsEmpty());
}

TEST_F(QueueTest, TheLastOneIsTakenBackFirst) {
  begin();
  chat->submit("second");
  chat->submit("third");
  EXPECT_TRUE(chat->take_back());
  EXPECT_THAT(front.returned, ElementsAre("third"));
  EXPECT_TRUE(chat->take_back());
  EXPECT_FALSE(chat->take_back());
  EXPECT_THAT(front.returned, ElementsAre("third", "second"));
  go_on();
  EXPECT_THAT(shown_texts(), ElementsAre("go", "abc"));
}

TEST_F(QueueTest, AStoppedAnswerGivesBackWhatWaitsBehindIt) {
  begin();
  chat->submit("second");
  chat->interrupt();
  until_idle();
  EXPECT_THAT(front.returned, ElementsAre("second"));
  EXPECT_THAT(shown_texts(), ElementsAre("go", "a"));
}

TEST_F(QueueTest, ATurnThatDoesNotFitGivesBackWhatWaitsBehindIt) {
  begin();
  chat->submit(std::string(600, 'x'));
  chat->submit("third");
  go_on();
  EXPECT_THAT(front.returned, ElementsAre(std::string(600, 'x'), "third"));
}

TEST_F(QueueTest, WhatWaitsIsGivenBackWhereAnotherProgramIsWriting) {
  begin();
  store->begin_turn(1, store->messages(1).front().id, {});  // another answer to the turn
  chat->submit("/goto 3");
  chat->submit("second");
  go_on();
  EXPECT_THAT(front.log, HasSubstr("another program is still writing the last answer"));
  EXPECT_THAT(front.returned, ElementsAre("second"));
  EXPECT_EQ(store->messages(1).size(), 3U);
}

TEST_F(QueueTest, FilesGoWithTheMessageThatTheyWereReadFor) {
  begin();
  script.answer("two");
  chat->submit("/read " + file("notes.txt", "deep"));
  chat->submit("second");
  EXPECT_THAT(front.last_status.pending, IsEmpty());
  chat->take_back();
  ASSERT_EQ(front.last_status.pending.size(), 1U);
  EXPECT_EQ(front.last_status.pending[0].name, "notes.txt");
  chat->submit("second");
  go_on();
  EXPECT_EQ(front.shown.at(2).text, "notes.txt:\n\ndeep\n\nsecond");
}

TEST_F(QueueTest, AFileThatAMessageNamedLeavesWithItsName) {
  settings.asks = true;
  begin();
  script.answer("two");
  chat->submit("See @" + file("notes.txt", "deep"));
  chat->take_back();
  ASSERT_EQ(front.last_status.pending.size(), 1U);
  chat->typing("");
  EXPECT_THAT(front.last_status.pending, IsEmpty());
  go_on();
}

TEST_F(QueueTest, CommandsThatNeedTheModelWaitTheirTurn) {
  begin();
  script.answer("two");
  chat->submit("/system Be brief.");
  chat->submit("second");
  EXPECT_THAT(front.last_status.queued, ElementsAre("/system Be brief.", "second"));
  EXPECT_THAT(front.errors, IsEmpty());
  go_on();
  EXPECT_EQ(store->conversation(1)->system, "Be brief.");
  EXPECT_EQ(front.shown.back().text, "two");
}

// What is typed behind a /private that waits is meant to be private.
TEST_F(QueueTest, HistoryIsNotKeptFromWhereAPrivateWaits) {
  store = Store::open(folder / "chats.db");
  begin();
  EXPECT_TRUE(front.last_status.keeps_history);
  chat->submit("/private on");
  EXPECT_FALSE(front.last_status.keeps_history);
  EXPECT_FALSE(front.last_status.is_private);
  chat->submit("secret");
  EXPECT_FALSE(front.last_status.keeps_history);
  chat->submit("/private off");
  EXPECT_TRUE(front.last_status.keeps_history);
  chat->submit("/private");
  EXPECT_FALSE(front.last_status.keeps_history);
  chat->take_back();
  chat->take_back();
  EXPECT_FALSE(front.last_status.keeps_history);
  go_on();
  EXPECT_TRUE(front.last_status.is_private);
  EXPECT_FALSE(front.last_status.keeps_history);
  say("/private off");
  EXPECT_TRUE(front.last_status.keeps_history);
}

TEST_F(QueueTest, UndoStopsTheAnswerThatItTakesAway) {
  begin();
  chat->submit("/undo");
  until_idle();
  EXPECT_THAT(front.shown, IsEmpty());
  script.release();
  say("/redo");
  EXPECT_THAT(shown_texts(), ElementsAre("go", "a"));
}

TEST_F(QueueTest, ExportRunsBesideTheAnswer) {
  begin();
  const std::string target = folder / "chat.md";
  chat->submit("/export md " + target);
  EXPECT_THAT(front.last_output, HasSubstr("messages are in"));
  EXPECT_TRUE(std::filesystem::exists(target));
  go_on();
  EXPECT_THAT(shown_texts(), ElementsAre("go", "abc"));
}

TEST_F(QueueTest, NewLeavesTheAnswerToItsConversation) {
  begin();
  script.answer("two");
  chat->submit("/new");
  EXPECT_THAT(front.shown, IsEmpty());
  EXPECT_EQ(front.last_status.elsewhere, 1);
  EXPECT_TRUE(chat->busy());
  EXPECT_FALSE(chat->stoppable());
  chat->interrupt();  // it is not what is shown
  chat->submit("other");
  EXPECT_TRUE(front.last_status.waits);
  EXPECT_TRUE(chat->stoppable());
  go_on();
  EXPECT_EQ(stored_answer(1), "abc");
  EXPECT_EQ(stored_answer(2), "two");
  EXPECT_EQ(front.last_status.elsewhere, 0);
  EXPECT_THAT(shown_texts(), ElementsAre("other", "two"));
  EXPECT_THAT(front.log, HasSubstr("Conversation 1 has its answer; /open 1 shows it."));
  EXPECT_EQ(store->message(front.shown[1].id)->finish, "stop");
}

TEST_F(QueueTest, ATurnThatWaitsForAnotherAnswerCanBeTakenBack) {
  begin();
  chat->submit("/new");
  chat->submit("other");
  chat->interrupt();
  EXPECT_THAT(front.returned, ElementsAre("other"));
  go_on();
  EXPECT_EQ(stored_answer(1), "abc");
  EXPECT_FALSE(store->conversation(2));
}

TEST_F(QueueTest, OpenComesBackToAnAnswerThatIsBeingMade) {
  begin();
  chat->submit("/new");
  chat->submit("/open 1");
  EXPECT_EQ(front.last_status.elsewhere, 0);
  EXPECT_EQ(front.shown.back().text, "a");
  EXPECT_TRUE(chat->stoppable());
  go_on();
  EXPECT_EQ(front.shown.back().text, "abc");
  EXPECT_EQ(front.shown.back().finish, "stop");
  EXPECT_EQ(stored_answer(1), "abc");
  EXPECT_EQ(front.last_usage.answer_tokens, 3U);
}

TEST_F(QueueTest, AnAnswerThatWouldBeLostIsNotLeft) {
  store = Store::open(folder / "chats.db");
  begin();
  go_on();
  say("/private");
  script.answer("secret");
  script.hold_after(1);
  chat->submit("more");
  until_tokens(1);
  chat->submit("/new");  // it waits until the answer is there
  EXPECT_THAT(front.last_status.queued, ElementsAre("/new"));
  go_on();
  EXPECT_THAT(front.shown, IsEmpty());
}

TEST_F(QueueTest, AListToPickFromIsShownAtOnceAndWhatIsPickedWaits) {
  store = Store::open(folder / "chats.db");
  begin();
  go_on();
  say("/private");
  script.answer("secret");
  script.answer("two");
  script.hold_after(1);
  chat->submit("more");
  until_tokens(1);
  chat->submit("second");
  chat->submit("/open");
  EXPECT_EQ(front.choices.title, "Open a conversation");
  EXPECT_THAT(front.last_status.queued, ElementsAre("second"));
  front.choices.chosen(1);
  EXPECT_THAT(front.last_status.queued, ElementsAre("second", "/open 1"));
  EXPECT_TRUE(chat->take_back());
  EXPECT_THAT(front.returned, ElementsAre("/open 1"));
  front.choices.chosen(1);
  go_on();
  EXPECT_THAT(shown_texts(), ElementsAre("go", "abc"));
  EXPECT_THAT(front.errors, IsEmpty());
}

TEST_F(QueueTest, AConversationThatIsBeingAnsweredIsNotDeleted) {
  begin();
  chat->submit("/new");
  chat->submit("/delete 1");
  EXPECT_THAT(front.errors.back(), HasSubstr("conversation 1 is being answered"));
  go_on();
  EXPECT_EQ(stored_answer(1), "abc");
}

TEST_F(QueueTest, TheEndOfTheProgramKeepsWhatAnAnswerOutOfSightHas) {
  begin();
  chat->submit("/new");
  chat->close();
  const auto branch = store->branch(store->conversation(1)->leaf);
  EXPECT_EQ(branch.back().text, "a");
  EXPECT_EQ(branch.back().finish, "interrupted");
  script.release();
}

// What is sent behind a command is meant for what that command leads to.
TEST_F(QueueTest, WhatWaitsBehindNewIsForTheNewConversation) {
  begin();
  script.answer("two");
  script.answer("three");
  for (const char* line : {"second", "/new", "for the new one"}) chat->submit(line);
  go_on();
  EXPECT_THAT(front.errors, IsEmpty());
  EXPECT_EQ(stored_answer(1), "two");
  EXPECT_THAT(shown_texts(), ElementsAre("for the new one", "three"));
  EXPECT_EQ(chat->conversation(), 2);
}

TEST_F(QueueTest, WhatWaitsBehindDeleteIsNotForWhatIsDeleted) {
  begin();
  script.answer("two");
  for (const char* line : {"/goto", "/delete", "for a new one"}) chat->submit(line);
  go_on();
  EXPECT_THAT(front.errors, IsEmpty());
  EXPECT_EQ(store->outline(1).size(), 2U);
  EXPECT_FALSE(store->has_conversation(1));
  EXPECT_EQ(stored_answer(2), "two");
}

TEST_F(QueueTest, WhatWaitsBehindArchiveIsNotForWhatIsPutAway) {
  begin();
  script.answer("two");
  for (const char* line : {"/goto", "/archive", "for a new one"}) chat->submit(line);
  go_on();
  EXPECT_EQ(store->outline(1).size(), 2U);
  EXPECT_EQ(stored_answer(2), "two");
}

TEST_F(QueueTest, WhatWaitsBehindPrivateOffIsForWhatWasLeft) {
  store = Store::open(folder / "chats.db");
  begin();
  script.answer("hidden");
  script.answer("three");
  for (const char* line : {"/private", "secret", "/private off", "public"}) chat->submit(line);
  go_on();
  EXPECT_THAT(front.errors, IsEmpty());
  EXPECT_THAT(shown_texts(), ElementsAre("go", "abc", "public", "three"));
  EXPECT_EQ(stored_answer(1), "three");
  EXPECT_FALSE(store->conversation(2));
}

TEST_F(QueueTest, WhatWaitsBehindACommandThatFailsIsGivenBack) {
  begin();
  for (const char* line : {"/goto 99", "second"}) chat->submit(line);
  go_on();
  EXPECT_EQ(front.errors.size(), 1U);
  EXPECT_THAT(front.returned, ElementsAre("second"));
  EXPECT_THAT(shown_texts(), ElementsAre("go", "abc"));
}

TEST_F(QueueTest, ATurnThatIsRewrittenIsSentBeforeWhatWaitsBehindIt) {
  begin();
  script.answer("two");
  script.answer("three");
  for (const char* line : {"/goto", "/edit went", "second"}) chat->submit(line);
  go_on();
  EXPECT_THAT(shown_texts(), ElementsAre("went", "two", "second", "three"));
}

TEST_F(QueueTest, AnAnswerStaysWhereItsConversationCannotBePutAway) {
  store = Store::open(folder / "chats.db");
  begin();
  Store::open(folder / "chats.db")->set_deleted(1, true);
  chat->submit("/archive 1");
  EXPECT_EQ(front.errors.size(), 1U);
  EXPECT_EQ(front.last_status.elsewhere, 0);
  go_on();
  EXPECT_THAT(shown_texts(), ElementsAre("go", "abc"));
}

TEST_F(QueueTest, WhatWaitsBehindATaskThatFailsIsGivenBack) {
  begin();
  go_on();
  say("again");
  script.answer("nothing of the kind");
  script.hold_after(1);
  chat->submit("/compact");
  until_tokens(1);
  chat->submit("next");
  go_on();
  EXPECT_THAT(front.errors.back(), HasSubstr("as it was"));
  EXPECT_THAT(front.returned, ElementsAre("next"));
}

TEST_F(QueueTest, QuitAsksWhereAnAnswerIsBeingMadeOutOfSight) {
  begin();
  chat->submit("/new");
  chat->submit("/quit");
  EXPECT_FALSE(chat->quit_requested());
  EXPECT_THAT(front.errors.back(),
              HasSubstr("The answer to conversation 1 is still being made; /quit again ends the program"));
  chat->submit("/quit");
  EXPECT_TRUE(chat->quit_requested());
  script.release();
}

TEST_F(QueueTest, QuitAsksWhereAMessageWasNotSent) {
  begin();
  chat->submit("second");
  chat->submit("/quit");
  EXPECT_FALSE(chat->quit_requested());
  EXPECT_THAT(front.errors.back(), HasSubstr("One message is not sent yet"));
  chat->submit("/quit");
  EXPECT_TRUE(chat->quit_requested());
  script.release();
}

}  // namespace
}  // namespace bitnet
