// Tests moves in the tree of a conversation while its database cannot be written.
#include <gmock/gmock.h>

#include "store_fault.h"

namespace bitnet {
namespace {

using faulty_vfs::Fault;
using testing::ElementsAre;
using testing::HasSubstr;

// The second conversation of a database, whose messages have other ids than those of a copy in memory.
class StoreFaultInATree : public StoreFault {
 protected:
  void fail_at(const std::string& command) {
    store = Store::open(file());
    start_loaded();
    say("before");
    say("/new");
    for (const char* answer : {"1", "2", "3"}) script.answer(answer);
    for (const char* turn : {"a", "b", "c"}) say(turn);
    faulty_vfs::fail(Fault::full, 1, true);
    say(command);
    faulty_vfs::heal();
    ASSERT_EQ(front.errors.size(), 1U) << testing::PrintToString(front.errors);
    EXPECT_THAT(front.errors[0], HasSubstr("the disk is full"));
  }
  std::vector<std::string> stored_texts() {
    std::vector<std::string> texts;
    for (const StoredMessage& m : store->branch(store->conversation(2)->leaf)) texts.push_back(m.text);
    return texts;
  }
};

TEST_F(StoreFaultInATree, UndoAsTheDiskFillsUpTakesTheLastTurnBack) {
  fail_at("/undo");
  EXPECT_THAT(shown_texts(), ElementsAre("a", "1", "b", "2"));
  say("/redo");
  EXPECT_EQ(shown_texts().size(), 6U);
  say("/undo");
  say("d");
  EXPECT_EQ(last_prompt(), "<bos><usr>a<eot>1<eot><usr>b<eot>2<eot><usr>d<eot>");
  EXPECT_THAT(stored_texts(), ElementsAre("a", "1", "b", "2", "d", "ok"));
}

TEST_F(StoreFaultInATree, EditAsTheDiskFillsUpReplacesTheLastTurn) {
  fail_at("/edit d");
  EXPECT_EQ(last_prompt(), "<bos><usr>a<eot>1<eot><usr>b<eot>2<eot><usr>d<eot>");
  say("e");
  EXPECT_THAT(stored_texts(), ElementsAre("a", "1", "b", "2", "d", "ok", "e", "ok"));
}

TEST_F(StoreFaultInATree, RegenAsTheDiskFillsUpAnswersTheLastTurnAgain) {
  fail_at("/regen");
  EXPECT_EQ(last_prompt(), "<bos><usr>a<eot>1<eot><usr>b<eot>2<eot><usr>c<eot>");
  EXPECT_EQ(sibling_mark(front.shown.back()), "2/2");
  say("d");
  EXPECT_THAT(stored_texts(), ElementsAre("a", "1", "b", "2", "c", "ok", "d", "ok"));
}

TEST_F(StoreFaultInATree, GotoAsTheDiskFillsUpGoesToItsMessage) {
  fail_at("/goto 2");
  EXPECT_THAT(shown_texts(), ElementsAre("a", "1"));
  say("d");
  EXPECT_THAT(stored_texts(), ElementsAre("a", "1", "d", "ok"));
}

TEST_F(StoreFaultInATree, AnotherBranchCannotBeShownFromMemory) {
  fail_at("/edit d");
  say("/list");  // with which it is saved
  ASSERT_TRUE(front.last_status.saved);
  const auto shown = shown_texts();
  faulty_vfs::fail(Fault::full, 1, true);
  say("/goto 6");
  faulty_vfs::heal();
  EXPECT_THAT(front.errors.back(), HasSubstr("on another branch"));
  EXPECT_EQ(shown_texts(), shown);
  say("/goto 6");
  EXPECT_THAT(shown_texts(), ElementsAre("a", "1", "b", "2", "c", "3"));
}

// Its last tokens are in memory alone then, and would be shown as if they were stored.
TEST_F(StoreFault, AnAnswerOutOfSightThatCouldNotBeStoredIsNotGoneOnWith) {
  script.answer(std::string(40, 'x'));
  script.hold_after(32);  // with which a batch is stored
  store = Store::open(file());
  start_loaded();
  chat->submit("go");
  chat->submit("/new");
  script.wait_until_held();
  faulty_vfs::fail(Fault::full, 1, true);
  chat->handle_events();
  chat->submit("/open 1");
  faulty_vfs::heal();
  script.release();
  until_idle();
  EXPECT_THAT(front.log, HasSubstr("was stopped because it could not be stored"));
  say("/open 1");
  EXPECT_EQ(front.shown.back().finish, "interrupted");
  EXPECT_EQ(front.shown.back().text.size(), store->message_tokens(front.shown.back().id).size());
}

}  // namespace
}  // namespace bitnet
