// Tests what a chat does while its database cannot be written, when it can be again, and when its file is
// gone or another: nothing is lost, and no number means another conversation than the one that was shown.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "app/store/exchange.h"
#include "app/store/sqlite_db.h"
#include "store_fault.h"

namespace bitnet {
namespace {

using faulty_vfs::Fault;
using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

TEST_F(StoreFault, AfterAFullDiskSavingResumesWithTheFirstWriteThatWorks) {
  for (const char* answer : {"first", "second", "third", "fourth", "fifth"}) script.answer(answer);
  store = Store::open(file());
  start_loaded();
  say("one");
  faulty_vfs::fail(Fault::full, 1, true);
  say("two");
  EXPECT_FALSE(front.last_status.saved);
  EXPECT_THAT(front.errors.back(),
              testing::AllOf(HasSubstr("the disk is full"), HasSubstr("/export json FILE")));
  say("/regen");
  say("/title a title");
  EXPECT_FALSE(front.last_status.saved);
  say("/private off");
  EXPECT_THAT(front.last_output, HasSubstr("as soon as the database can be written"));
  say("/delete");
  EXPECT_THAT(front.errors.back(), HasSubstr("cannot be written"));
  say("/quit");
  EXPECT_FALSE(chat->quit_requested());
  EXPECT_THAT(front.errors.back(),
              testing::AllOf(HasSubstr("3 messages are not saved"), HasSubstr("/export json FILE")));
  say("/export json " + (folder_ / "elsewhere.json").string());
  EXPECT_TRUE(fs::exists(folder_ / "elsewhere.json"));
  faulty_vfs::heal();
  say("three");
  EXPECT_TRUE(front.last_status.saved);
  EXPECT_THAT(front.log, HasSubstr("3 messages are saved now"));
  EXPECT_EQ(last_prompt(), "<bos><usr>one<eot>first<eot><usr>two<eot>third<eot><usr>three<eot>");
  say("/private off");
  EXPECT_THAT(front.last_output, HasSubstr("Turns are stored."));
  say("/quit");
  EXPECT_TRUE(chat->quit_requested());
  EXPECT_EQ(chat->close(), "");
  end();
  const auto stored = Store::open(file());
  ASSERT_EQ(stored->conversations(9).size(), 1U);
  const StoredConversation row = *stored->conversation(1);
  EXPECT_EQ(row.title, "a title");
  std::vector<std::string> texts;
  for (const StoredMessage& m : stored->branch(row.leaf)) texts.push_back(m.text);
  EXPECT_THAT(texts, testing::ElementsAre("one", "first", "two", "third", "three", "fourth"));
  EXPECT_EQ(stored->outline(1).size(), 7U);  // this counts the other answer to "two" too
  for (const OutlineMessage& m : stored->outline(1)) {
    if (m.role != Role::assistant) continue;
    const auto turns = stored->turns(m.id);
    ASSERT_EQ(turns.size(), 1U);
    EXPECT_EQ(turns[0].finish, "stop");
    EXPECT_EQ(stored->tokens(turns[0].id).size(), stored->message(m.id)->text.size());
  }
}

// Templates may write the day on which a conversation began into its prompts.
TEST_F(StoreFault, AConversationBeganWhenItDidWhereverItIsKept) {
  store = Store::open(file());
  start(512, std::string("{{ strftime_now('%Y') }}") + fake::kTemplate);
  until_idle();
  say("one");
  {
    Database db(file());
    db.execute("UPDATE conversation SET created = 978350400000");  // the first day of 2001
  }
  say("/open 1");
  faulty_vfs::fail(Fault::full, 1, true);
  say("two");
  EXPECT_FALSE(front.last_status.saved);
  EXPECT_THAT(last_prompt(), HasSubstr("2001"));
  say("/new");
  say("/open 1");
  say("three");
  EXPECT_THAT(last_prompt(), HasSubstr("2001"));
  faulty_vfs::heal();
  Store::open(file())->set_deleted(1, true);  // so that it is stored anew
  say("four");
  EXPECT_TRUE(front.last_status.saved);
  EXPECT_EQ(store->conversation(chat->conversation())->created, 978350400000);
  EXPECT_NE(chat->conversation(), 1);
}

TEST_F(StoreFault, WhatCannotBeLookedUpIsNotSaidToBeNothing) {
  store = Store::open(file());
  start_loaded();
  say("zebra");
  say("/delete");
  say("yak");
  say("/new");
  faulty_vfs::fail(Fault::full, 1, true);
  const auto has_reason =
      testing::AllOf(HasSubstr("; only what is in memory was looked at: "), HasSubstr("the disk is full"));
  say("gnu");
  say("/search yak");
  EXPECT_THAT(front.last_output, testing::AllOf(testing::StartsWith("Nothing found; "), has_reason));
  say("/search gnu");
  EXPECT_THAT(front.last_output,
              testing::AllOf(HasSubstr("[gnu]"), HasSubstr("There may be more"), has_reason));
  say("/list deleted");
  EXPECT_THAT(front.last_output, testing::AllOf(testing::StartsWith("The trash is empty; "), has_reason));
  say("/undelete");
  EXPECT_THAT(front.errors.back(), has_reason);
  faulty_vfs::heal();
  say("/search yak");
  EXPECT_THAT(front.last_output, testing::AllOf(HasSubstr("[yak]"), Not(HasSubstr("in memory"))));
}

// The disk fills up in the middle of an answer, and is empty again before its end.
TEST_F(StoreFault, AnAnswerThatAFullDiskCutIsWholeAgainWhenSavingResumes) {
  const std::string answer(200, 'x');
  script.answer(answer);
  store = Store::open(file());
  start_loaded(1024);
  script.hold();
  chat->submit("one");
  script.wait_until_held();
  faulty_vfs::fail(Fault::full, 1, false);
  script.release();
  until_idle();
  EXPECT_TRUE(front.last_status.saved);
  EXPECT_EQ(front.shown.back().text, answer);
  end();
  const auto stored = Store::open(file());
  const auto branch = stored->branch(stored->conversation(1)->leaf);
  ASSERT_EQ(branch.size(), 2U);
  EXPECT_EQ(branch[1].text, answer);
  EXPECT_FALSE(branch[1].draft);
  EXPECT_EQ(stored->message_tokens(branch[1].id).size(), 200U);
  EXPECT_EQ(stored->turns(branch[1].id).size(), 1U);
}

// What cannot be saved to the end is said at the end, and a second /quit is obeyed.
TEST_F(StoreFault, WhatIsNotSavedAtTheEndIsSaid) {
  store = Store::open(file());
  start_loaded();
  faulty_vfs::fail(Fault::full, 1, true);
  say("one");
  say("/new");
  say("/quit");
  EXPECT_FALSE(chat->quit_requested());
  EXPECT_THAT(front.errors.back(),
              HasSubstr("/open 1000000001 and then /export json FILE writes that conversation elsewhere"));
  say("two");
  say("/quit");
  EXPECT_FALSE(chat->quit_requested());
  EXPECT_THAT(front.errors.back(), HasSubstr("each of the conversations 1000000001, 1000000002 elsewhere"));
  say("/list");
  EXPECT_THAT(front.last_output, testing::AllOf(testing::StartsWith("Nothing is saved for now: database "),
                                                HasSubstr("In memory meanwhile:\n*1000000002 ")));
  say("/quit");
  EXPECT_TRUE(chat->quit_requested());
  EXPECT_THAT(chat->close(), HasSubstr("4 messages are not saved"));
}

// A session can begin on a full disk, and is saved once there is room.
TEST_F(StoreFault, ASessionThatBeganWithoutADatabaseIsSavedWhenThereIsOne) {
  store = Store::closed(file());
  faulty_vfs::fail(Fault::open, 1, true);
  start_loaded();
  EXPECT_FALSE(front.last_status.saved);
  say("one");
  EXPECT_FALSE(front.last_status.saved);
  faulty_vfs::heal();
  say("two");
  EXPECT_TRUE(front.last_status.saved);
  EXPECT_EQ(store->branch(store->conversation(chat->conversation())->leaf).size(), 4U);
}

TEST_F(StoreFault, PrivateTurnsAreNotSavedWhenSavingResumes) {
  store = Store::open(file());
  start_loaded();
  faulty_vfs::fail(Fault::full, 1, true);
  say("public");
  say("/private on");
  say("secret");
  faulty_vfs::heal();
  say("secret too");
  EXPECT_FALSE(front.last_status.saved);
  say("/private off");
  EXPECT_TRUE(front.last_status.saved);
  EXPECT_EQ(front.shown.size(), 2U);
  EXPECT_EQ(store->search("public", 9).size(), 1U);
  EXPECT_TRUE(store->search("secret", 9).empty());
}

// What is shown, or was left by /private, need not be among what is saved.
TEST_F(StoreFault, SavingResumesWithoutAConversationThatWasDeletedMeanwhile) {
  store = Store::open(file());
  start_loaded();
  faulty_vfs::fail(Fault::full, 1, true);
  say("public");
  say("/private on");
  say("/delete 1000000001 now");
  EXPECT_THAT(front.last_output, HasSubstr("Conversation 1000000001 is deleted"));
  faulty_vfs::heal();
  say("secret");
  say("/private off");
  EXPECT_TRUE(front.last_status.saved);
  EXPECT_TRUE(front.shown.empty());
  EXPECT_TRUE(store->conversations(9).empty());
}

TEST_F(StoreFault, SavingResumesWithoutAConversationInWhichNothingWasSaid) {
  const fs::path empty = folder_ / "empty.json";
  const auto other = Store::in_memory();
  std::ofstream(empty) << write_chat(*other->whole(other->add_conversation("")), ChatFormat::json);
  store = Store::open(file());
  start_loaded();
  faulty_vfs::fail(Fault::full, 1, true);
  say("one");
  say("/import " + empty.string());
  EXPECT_THAT(front.last_output, HasSubstr("This is conversation 1000000002 now."));
  faulty_vfs::heal();
  say("two");
  EXPECT_TRUE(front.last_status.saved);
  EXPECT_EQ(front.shown.size(), 2U);
  EXPECT_EQ(store->conversations(9).size(), 2U);
  EXPECT_EQ(store->branch(store->conversation(chat->conversation())->leaf).front().text, "two");
}

// ---- what other programs write meanwhile

// As another program does with an answer of conversation 1.
void go_on_with(Store& store, int64_t answer, const char* words) {
  StoredTurn turn;
  turn.message = answer;
  turn.sampler = "{}";
  turn = store.begin_turn(1, std::nullopt, turn);
  store.append(turn, words, {});
  turn.finish = "stop";
  store.finish_turn(turn);
}

TEST_F(StoreFault, WhatAnotherProgramWroteMeanwhileStays) {
  script.answer("ab");
  store = Store::open(file());
  start_loaded();
  say("/set max_tokens 1");
  say("one");
  const int64_t answer = store->messages(1).back().id;
  faulty_vfs::fail(Fault::full, 1, true);
  say("/system Be kind.");
  EXPECT_FALSE(front.last_status.saved);
  faulty_vfs::heal();
  {
    const auto other = Store::open(file());
    go_on_with(*other, answer, "bc");
    other->set_title(1, "theirs");
    other->set_kept(answer, true);
    other->set_archived(1, true);
  }
  say("/list");
  EXPECT_TRUE(front.last_status.saved);
  EXPECT_EQ(store->message(answer)->text, "abc");
  EXPECT_EQ(store->message(answer)->finish, "stop");
  EXPECT_TRUE(store->outline(1).back().kept);
  const StoredConversation row = *store->conversation(1);
  EXPECT_EQ(row.title, "theirs");
  EXPECT_EQ(row.system, "Be kind.");
  EXPECT_TRUE(row.archived);
  EXPECT_EQ(front.shown.back().text, "abc");
}

TEST_F(StoreFault, AnAnswerThatTwoProgramsWentOnWithIsThereTwice) {
  script.answer("a");
  script.answer("mine");
  store = Store::open(file());
  start_loaded();
  say("/set max_tokens 1");
  say("one");
  const int64_t answer = store->messages(1).back().id;
  faulty_vfs::fail(Fault::full, 1, true);
  say("/title ours");
  say("/continue");
  EXPECT_EQ(front.shown.back().text, "am");
  faulty_vfs::heal();
  go_on_with(*Store::open(file()), answer, "theirs");
  say("/list");
  EXPECT_TRUE(front.last_status.saved);
  EXPECT_EQ(store->message(answer)->text, "atheirs");
  EXPECT_EQ(store->conversation(1)->title, "ours");
  ASSERT_EQ(front.shown.size(), 2U);
  EXPECT_EQ(front.shown[1].text, "am");
  EXPECT_NE(front.shown[1].id, answer);
  EXPECT_EQ(store->message(front.shown[1].id)->parent, store->message(answer)->parent);
}

// ---- answers out of sight

TEST_F(StoreFault, AnAnswerOutOfSightThatCannotBeStoredIsNoneThatIsBeingWritten) {
  for (const bool in_time : {true, false}) {
    SCOPED_TRACE(in_time);
    script.answer(std::string(100, 'x'));
    script.hold_after(1);
    store = Store::open(file());
    start_loaded(1024);
    chat->submit("one");
    until_tokens(1);
    const int64_t number = chat->conversation();
    chat->submit("/new");
    faulty_vfs::fail(Fault::full, 1, !in_time);
    script.release();
    until_idle();
    EXPECT_THAT(front.errors.back(), HasSubstr("was stopped because it could not be stored"));
    faulty_vfs::heal();
    say("/open " + std::to_string(number));
    say("more");
    EXPECT_EQ(front.shown.size(), 4U);
    EXPECT_EQ(store->message(front.shown[1].id)->finish, "interrupted");
    end();
  }
}

// ---- numbers of conversations

// While the database cannot be written the conversation that is shown keeps its number, and another one that
// has the first number in the file is not meant by what is typed once there is room.
TEST_F(StoreFault, AConversationOfTheDatabaseHasItsNumberInMemoryToo) {
  store = Store::open(file());
  start_loaded();
  say("cat");
  say("/new");
  say("dog");
  faulty_vfs::fail(Fault::full, 1, true);
  say("dog food");
  say("/list");
  EXPECT_THAT(front.last_output, HasSubstr("*    2 "));
  say("/delete 1 now");
  EXPECT_THAT(front.errors.back(), HasSubstr("there is no conversation 1"));
  faulty_vfs::heal();
  say("/delete 2 now");
  EXPECT_THAT(front.last_output, HasSubstr("Conversation 2 is deleted for good"));
  EXPECT_EQ(front.log.find("has number"), std::string::npos) << front.log;
  EXPECT_TRUE(store->has_conversation(1));
  EXPECT_FALSE(store->conversation(2));
}

// A new one has a number that no conversation of a database has; the one that it gets is told.
TEST_F(StoreFault, ANumberInMemoryNeverMeansAConversationOfTheDatabase) {
  store = Store::open(file());
  start_loaded();
  say("cat");
  faulty_vfs::fail(Fault::full, 1, true);
  say("/new");
  say("dog");
  say("/new");
  say("fish");
  say("/list");
  EXPECT_THAT(front.last_output, testing::AllOf(HasSubstr(" 1000000001 "), HasSubstr("*1000000002 ")));
  say("/open 1000000001");
  EXPECT_EQ(front.shown.front().text, "dog");
  say("/delete 1000000002");
  EXPECT_THAT(front.last_output, HasSubstr("/undelete 1000000002 brings it back"));
  faulty_vfs::heal();
  say("/undelete 1000000002");
  EXPECT_THAT(front.log, testing::AllOf(HasSubstr("Conversation 1000000001 has number 2 now."),
                                        HasSubstr("Conversation 1000000002 has number 3 now.")));
  EXPECT_THAT(front.errors.back(), HasSubstr("there is no conversation 1000000002"));
  EXPECT_EQ(chat->conversation(), 2);
  say("/undelete 3");
  for (const int64_t number : {1, 2, 3}) EXPECT_TRUE(store->has_conversation(number)) << number;
}

// A session that began without the database has shown nothing of it.
TEST_F(StoreFault, ASessionThatBeganWithoutADatabaseDeletesNothingInIt) {
  {
    const auto before = Store::open(file());
    before->add_message(before->add_conversation(""), {}, Role::user, "cat");
  }
  store = Store::closed(file());
  faulty_vfs::fail(Fault::open, 1, true);
  start_loaded();
  say("dog");
  say("/list");
  EXPECT_THAT(front.last_output, HasSubstr("*1000000001 "));
  faulty_vfs::heal();
  say("/delete 1000000001 now");
  EXPECT_THAT(front.errors.back(), HasSubstr("there is no conversation 1000000001"));
  EXPECT_EQ(store->conversations(9).size(), 2U);
}

// Meanwhile another program deleted the conversation that is shown, which is stored anew: its old number is
// that of the deleted one.
TEST_F(StoreFault, ANumberThatIsTypedAsItChangesIsNotObeyed) {
  store = Store::open(file());
  start_loaded();
  say("cat");
  faulty_vfs::fail(Fault::full, 1, true);
  say("cat food");
  faulty_vfs::heal();
  {
    const auto other = Store::open(file());
    other->set_deleted(1, true);
  }
  say("/delete 1 now");
  EXPECT_THAT(front.log, HasSubstr("Conversation 1 has number 2 now."));
  EXPECT_THAT(front.errors.back(), HasSubstr("Not done, because conversations have other numbers now"));
  EXPECT_EQ(front.returned.back(), "/delete 1 now");
  EXPECT_TRUE(store->conversation(1));
  EXPECT_EQ(chat->conversation(), 2);
  say("/delete 1 now");
  EXPECT_FALSE(store->conversation(1));
}

TEST_F(StoreFault, ANumberThatIsTypedAsTheFileIsReplacedIsNotObeyed) {
  store = Store::open(file());
  start_loaded();
  say("one");
  replace_file();
  say("/delete 1 now");
  EXPECT_THAT(front.errors.back(), HasSubstr("Not done, because conversations have other numbers now"));
  EXPECT_EQ(front.returned.back(), "/delete 1 now");
  EXPECT_EQ(store->search("theirs", 9).size(), 1U);
  say("/archive");
  EXPECT_EQ(store->conversations(9, false).size(), 1U);
  EXPECT_EQ(store->search("theirs", 9).size(), 1U);
}

// ---- the file goes away

TEST_F(StoreFault, ADatabaseThatIsRemovedIsNoticedWithTheNextTurnAndStoredAnew) {
  store = Store::open(file());
  start_loaded();
  say("one");
  for (const char* suffix : {"", "-wal", "-shm"}) fs::remove(file() + suffix);
  say("two");
  EXPECT_THAT(front.errors.back(), testing::AllOf(HasSubstr("was removed while"), HasSubstr("as number 1")));
  EXPECT_TRUE(front.last_status.saved);
  say("three");
  EXPECT_EQ(front.errors.size(), 1U);
  end();
  const auto stored = Store::open(file());
  const auto branch = stored->branch(stored->conversation(1)->leaf);
  ASSERT_EQ(branch.size(), 6U);
  EXPECT_EQ(branch[0].text, "one");
  EXPECT_EQ(stored->turns(branch[1].id).size(), 1U);
}

TEST_F(StoreFault, ADatabaseThatIsReplacedIsNoticedAndWhatIsInItStays) {
  store = Store::open(file());
  start_loaded();
  say("one");
  replace_file();
  say("two");
  EXPECT_THAT(front.errors.back(), testing::AllOf(HasSubstr("was replaced while"), HasSubstr("as number 2")));
  EXPECT_EQ(store->search("theirs", 9).size(), 1U);
  EXPECT_EQ(store->branch(store->conversation(2)->leaf).size(), 4U);
}

TEST_F(StoreFault, ADatabaseThatIsReplacedBeforeTheEndHasTheConversationToo) {
  store = Store::open(file());
  start_loaded();
  say("one");
  replace_file();
  EXPECT_EQ(chat->close(), "");
  EXPECT_EQ(chat->conversation(), 2);
  EXPECT_THAT(front.errors.back(), testing::AllOf(HasSubstr("was replaced while"), HasSubstr("as number 2")));
  end();
  const auto stored = Store::open(file());
  EXPECT_EQ(stored->search("theirs", 9).size(), 1U);
  ASSERT_TRUE(stored->conversation(2));
  EXPECT_EQ(stored->branch(stored->conversation(2)->leaf).size(), 2U);
}

// If what replaces it is no database, the conversation goes on in memory until that is mended.
TEST_F(StoreFault, ADatabaseThatIsReplacedByNoDatabaseIsNotTouched) {
  store = Store::open(file());
  start_loaded();
  say("one");
  for (const char* suffix : {"", "-wal", "-shm"}) fs::remove(file() + suffix);
  const std::string text = "no database at all, and long enough to be read as the header of one";
  std::ofstream(file()) << text;
  say("two");
  EXPECT_THAT(front.errors.back(), testing::AllOf(HasSubstr("was replaced"), HasSubstr("/export json FILE")));
  EXPECT_FALSE(front.last_status.saved);
  EXPECT_EQ(fs::file_size(file()), text.size());
  fs::remove(file());
  say("three");
  EXPECT_TRUE(front.last_status.saved);
  EXPECT_EQ(store->branch(store->conversation(chat->conversation())->leaf).size(), 6U);
}

}  // namespace
}  // namespace bitnet
