// Tests stored conversations: a full disk, other programs, the trash, /search, and the figures of each.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>

#include <filesystem>

#include "app/store/sqlite_db.h"
#include "tests/support/chat_fixture.h"

namespace bitnet {
namespace {

using testing::HasSubstr;
using testing::Not;

// No file of the process may grow, which is to SQLite what a full disk is.
TEST_F(ChatTest, ADiskThatFillsUpCostsTheKeepingAndNotTheChat) {
  std::string folder = std::filesystem::temp_directory_path() / "bitnet-chat-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  store = Store::open(folder + "/chats.db");
  script.answer("one");
  script.answer("two");
  script.answer("three");
  start_loaded();
  say("a");
  const auto former = signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  const rlimit none = {1, limit.rlim_max};
  setrlimit(RLIMIT_FSIZE, &none);
  say("b");
  setrlimit(RLIMIT_FSIZE, &limit);
  signal(SIGXFSZ, former);
  ASSERT_EQ(front.errors.size(), 1U);
  EXPECT_THAT(front.errors[0], HasSubstr("nothing more of it is saved"));
  EXPECT_FALSE(front.last_status.saved);
  EXPECT_EQ(front.shown.back().text, "two");
  say("/regen");
  ASSERT_EQ(front.shown.size(), 4U);
  EXPECT_EQ(front.shown.back().text, "three");
  EXPECT_EQ(last_prompt(), "<bos><usr>a<eot>one<eot><usr>b<eot>");
  chat.reset();
  worker.reset();
  store.reset();
  EXPECT_EQ(Store::open(folder + "/chats.db")->branch(2).size(), 2U);
  std::filesystem::remove_all(folder);
}

TEST_F(ChatTest, AConversationThatAnotherProgramDeletedIsLeftAndTheNextOneIsSaved) {
  start_loaded();
  say("one");
  store->remove_conversation(chat->conversation());
  say("two");
  EXPECT_THAT(front.errors.back(), HasSubstr("was deleted by another program"));
  EXPECT_EQ(front.returned, std::vector<std::string>{"two"});
  EXPECT_TRUE(front.shown.empty());
  say("two");
  EXPECT_EQ(last_prompt(), "<bos><usr>two<eot>");
  EXPECT_EQ(store->branch(store->conversation(chat->conversation())->leaf).size(), 2U);
}

TEST_F(ChatTest, AConversationThatIsPurgedWhileItIsAnsweredDoesNotComeBack) {
  script.answer("abc");
  script.hold_after(1);
  start_loaded();
  chat->submit("zebra");
  until_tokens(1);
  const int64_t purged = chat->conversation();
  store->purge(purged);
  script.release();
  until_idle();
  EXPECT_THAT(front.errors.back(), HasSubstr("was deleted for good by another program"));
  EXPECT_EQ(front.shown.back().text, "abc");
  say("two");
  EXPECT_EQ(front.returned, std::vector<std::string>{"two"});
  EXPECT_TRUE(front.shown.empty());
  say("two");
  EXPECT_EQ(last_prompt(), "<bos><usr>two<eot>");
  EXPECT_NE(chat->conversation(), 0);
  EXPECT_EQ(store->conversations(9).size(), 1U);
  EXPECT_TRUE(store->search("zebra", 9).empty());
}

TEST_F(ChatTest, WhatWaitsBehindAPurgedConversationIsGivenBack) {
  script.answer("abc");
  script.hold_after(1);
  start_loaded();
  chat->submit("zebra");
  until_tokens(1);
  chat->submit("next");
  store->purge(chat->conversation());
  script.release();
  until_idle();
  EXPECT_EQ(front.returned, std::vector<std::string>{"next"});
  EXPECT_EQ(front.shown.size(), 2U);
  say("/quit");
  EXPECT_TRUE(chat->quit_requested());
  EXPECT_TRUE(store->conversations(9).empty());
}

TEST_F(ChatTest, QuitEndsTheProgramThoughTheConversationWasDeleted) {
  start_loaded();
  say("one");
  store->remove_conversation(chat->conversation());
  say("/quit");
  EXPECT_TRUE(chat->quit_requested());
  EXPECT_TRUE(front.returned.empty());
}

// What another program has written so far.
StoredTurn half_an_answer(Store& store, int64_t conversation) {
  const StoredTurn turn =
      store.begin_turn(conversation, store.add_message(conversation, {}, Role::user, "go"), {});
  store.append(turn, "half of", {{7, 0, 0}, {8, 0, 0}});
  return turn;
}

TEST_F(ChatTest, AnAnswerThatAnotherProgramIsWritingIsMarked) {
  start_loaded();
  const int64_t theirs = store->add_conversation("");
  StoredTurn turn = half_an_answer(*store, theirs);
  say("/open " + std::to_string(theirs));
  ASSERT_EQ(front.shown.size(), 2U);
  EXPECT_EQ(front.shown[1].text, "half of");
  EXPECT_EQ(front.shown[1].finish, "elsewhere");
  turn.finish = "stop";
  store->finish_turn(turn);
  say("/open " + std::to_string(theirs));
  EXPECT_EQ(front.shown[1].finish, "stop");
  say("more");  // one's own answer is not marked as another program's
  EXPECT_EQ(front.shown[1].finish, "stop");
  EXPECT_EQ(front.shown[3].finish, "stop");
  EXPECT_THAT(front.log, testing::Not(HasSubstr("elsewhere")));
}

TEST_F(ChatTest, NothingIsSentBehindAnAnswerThatAnotherProgramIsWriting) {
  start_loaded();
  const int64_t theirs = store->add_conversation("");
  StoredTurn turn = half_an_answer(*store, theirs);
  say("/open " + std::to_string(theirs));
  store->append(turn, " it", {});
  for (const char* typed : {"more", "/continue"}) {
    front.log.clear();
    say(typed);
    EXPECT_THAT(front.log, HasSubstr("another program is still writing the last answer"));
    EXPECT_EQ(store->messages(theirs).size(), 2U) << typed;
    EXPECT_EQ(store->turns(turn.message).size(), 1U) << typed;
  }
  EXPECT_EQ(front.returned.size(), 1U);  // what was typed
  turn.finish = "length";
  store->append(turn, " all", {});
  store->finish_turn(turn);
  say("more");
  EXPECT_EQ(store->messages(theirs).size(), 4U);
  EXPECT_EQ(front.shown[1].text, "half of it all");
}

// What was said behind an answer was said to it as it was.
TEST_F(ChatTest, AnAnswerWithTurnsBehindItIsContinuedInACopy) {
  start_loaded();
  const int64_t number = store->add_conversation("");
  StoredTurn turn = half_an_answer(*store, number);
  turn.finish = "length";
  store->finish_turn(turn);
  const int64_t behind = store->add_message(number, turn.message, Role::user, "and then?");
  store->set_leaf(number, turn.message);
  say("/open " + std::to_string(number));
  say("/continue");
  EXPECT_EQ(store->message(turn.message)->text, "half of");
  EXPECT_EQ(store->message(behind)->parent, turn.message);
  EXPECT_EQ(store->turns(turn.message).size(), 1U);
  ASSERT_EQ(front.shown.size(), 2U);
  EXPECT_NE(front.shown[1].id, turn.message);
  EXPECT_EQ(store->message(front.shown[1].id)->text.substr(0, 7), "half of");
  EXPECT_GT(store->message(front.shown[1].id)->text.size(), 7U);
}

TEST_F(ChatTest, AnAnswerThatCannotBeContinuedIsNotCopied) {
  start_loaded(8);  // fewer tokens than its prompt has
  const int64_t number = store->add_conversation("");
  StoredTurn turn = half_an_answer(*store, number);
  turn.finish = "length";
  store->finish_turn(turn);
  store->add_message(number, turn.message, Role::user, "and then?");
  store->set_leaf(number, turn.message);
  const size_t messages = store->outline(number).size();
  say("/open " + std::to_string(number));
  say("/continue");
  EXPECT_THAT(front.log, HasSubstr("Not continued: "));
  EXPECT_EQ(store->outline(number).size(), messages);
  EXPECT_EQ(front.shown.back().id, turn.message);
}

// Of the 16 experts of each layer half have a place on the device, so that 4 MiB a token are expected to come
// over the link; but those that are used most have one: 6 of 96 were missed, and 2 were copied.
TEST_F(ChatTest, FiguresTellWhatAnAnswerReadOfExperts) {
  script.placement.pieces = {
      {.kind = WeightPiece::Kind::experts, .read = 8 << 20, .n_expert = 16, .n_used = 4}};
  script.placement.read_in_host = (4 << 20) + (1 << 20);
  script.placement.expert_places = 8;
  script.answer("abcd");
  start_loaded();
  say("first");
  say("/show stats");
  EXPECT_THAT(front.last_output, testing::Not(HasSubstr("experts")));
  script.read_experts({.uses = 96, .hits = 90, .copies = 2});
  script.answer("abcd");
  script.answer("abcd");
  for (int answer = 0; answer < 2; ++answer) {
    say("again");
    say("/show stats");
    EXPECT_THAT(front.last_output, HasSubstr("\nlink    1.7 MiB a token, "));
    EXPECT_THAT(front.last_output,
                HasSubstr("\nexperts 93.8 % of those used were on the device, 2 were copied there"));
  }
}

TEST_F(ChatTest, FiguresTellWhatAnAnswerReadOfTheFile) {
  script.placement.read_in_file = 2 << 20;
  script.answer("abcd");
  start_loaded();
  say("first");
  say("/show stats");
  EXPECT_THAT(front.last_output, HasSubstr("\nfile    2.0 MiB a token, "));
}

TEST_F(ChatTest, FiguresGoWithTheConversationTheyBelongTo) {
  script.answer("abcdef");
  start_loaded();
  const auto speak = [&] {
    say("first");
    say("second");
    EXPECT_GT(front.last_status.reused, 0U);
    EXPECT_GT(front.last_status.tokens_per_second, 0);
  };
  const auto expect_none = [&](const std::string& command) {
    say(command);
    EXPECT_EQ(front.last_status.reused, 0U) << command;
    EXPECT_EQ(front.last_status.prompt_tokens, 0U) << command;
    EXPECT_EQ(front.last_status.tokens_per_second, 0) << command;
    say("/show stats");
    EXPECT_THAT(front.last_output, HasSubstr("No answer was made")) << command;
    say("/show context");
    EXPECT_THAT(front.last_output, testing::Not(HasSubstr("last prompt"))) << command;
  };
  speak();
  expect_none("/new");
  speak();
  expect_none("/open 1");
  speak();
  expect_none("/archive");
  speak();
  expect_none("/delete");
}

TEST_F(ChatFolderTest, ADeletedConversationComesBackAsItWas) {
  store = Store::open(folder / "chats.db");
  start_loaded();
  say("/undelete");
  EXPECT_THAT(front.errors.back(), HasSubstr("the trash is empty"));
  say("a slip");
  const int64_t id = chat->conversation();
  say("/delete");
  EXPECT_THAT(front.last_output, HasSubstr("/undelete 1 brings it back within 30 days"));
  EXPECT_TRUE(front.shown.empty());
  say("/list");
  EXPECT_EQ(front.last_output, "This list is empty; /list deleted shows the trash.");
  say("/open");
  EXPECT_THAT(front.errors.back(), HasSubstr("/list deleted shows the trash"));
  say("/list deleted");
  EXPECT_THAT(front.last_output, HasSubstr("a slip"));
  say("/open 1");
  EXPECT_THAT(front.errors.back(), HasSubstr("/undelete 1"));
  say("/undelete");
  EXPECT_EQ(chat->conversation(), id);
  EXPECT_EQ(front.shown.size(), 2U);
  say("/delete");
  say("another");
  say("/undelete 1");
  EXPECT_THAT(front.last_output, HasSubstr("/open 1 goes on with it"));
  EXPECT_EQ(front.shown.at(0).text, "another");
  say("/undelete 1");
  EXPECT_THAT(front.errors.back(), HasSubstr("not in the trash"));
  say("/delete 1 now");
  EXPECT_THAT(front.last_output, HasSubstr("no word of it is in the database"));
  say("/delete now");
  EXPECT_EQ(chat->conversation(), 0);
  EXPECT_TRUE(store->conversations(9, true).empty());
  EXPECT_TRUE(store->trash().empty());
  for (const char* wrong : {"/delete 1 later", "/delete now now", "/delete x"}) {
    const size_t errors = front.errors.size();
    say(wrong);
    EXPECT_EQ(front.errors.size(), errors + 1) << wrong;
  }
}

// Another program puts the conversation into the trash while it is open here.
TEST_F(ChatFolderTest, AConversationThatWasPutIntoTheTrashElsewhereIsLeftWithTheWayBack) {
  store = Store::open(folder / "chats.db");
  start_loaded();
  say("one");
  store->set_deleted(chat->conversation(), true);
  say("two");
  EXPECT_THAT(front.errors.back(), HasSubstr("/undelete 1 brings it back"));
  EXPECT_EQ(front.returned, std::vector<std::string>{"two"});
}

TEST_F(ChatFolderTest, ADamagedConversationIsRefusedByItsIdAndTheOthersGoOn) {
  store = Store::open(folder / "chats.db");
  start_loaded();
  say("damaged");
  say("/new");
  say("sound");
  {
    Database db(folder / "chats.db");
    db.execute("UPDATE message SET parent = 2 WHERE id = 1");
  }
  for (const char* command : {"/open 1", "/replay 1 instant"}) {
    say(command);
    EXPECT_THAT(front.errors.back(), HasSubstr("conversation 1 is damaged")) << command;
    EXPECT_EQ(front.shown.at(0).text, "sound");
  }
  say("/goto 1");
  say("on");
  EXPECT_EQ(front.shown.back().text, "ok");
  say("/delete 1");
  EXPECT_THAT(front.last_output, HasSubstr("Conversation 1 is deleted"));
}

TEST_F(ChatTest, WhatAListLeavesOutIsTold) {
  store = Store::in_memory();
  store->set_title(store->add_conversation(""), "a real one");
  store->set_archived(store->add_conversation(""), true);
  for (int i = 0; i < 1000; ++i) store->add_conversation("", /*once=*/true);
  start_loaded();
  say("/list");
  EXPECT_THAT(front.last_output, HasSubstr("There are more than these 1000; "));
  EXPECT_THAT(front.last_output, HasSubstr("'bitnet-chat list --json' has them all."));
  say("/list all");
  EXPECT_THAT(front.last_output, HasSubstr("'bitnet-chat list --all --json' has them all."));
  store->remove_conversation(3);
  say("/list");
  EXPECT_THAT(front.last_output, Not(HasSubstr("There are more")));
}

TEST_F(ChatTest, QuestionsOfTheCommandLineHideNoConversationFromWhoPicksOne) {
  store = Store::in_memory();
  store->set_title(store->add_conversation(""), "a real one");
  for (int i = 0; i < 1001; ++i) store->add_conversation("", /*once=*/true);
  start_loaded();
  say("/open");
  ASSERT_EQ(front.choices.find("").size(), 1U);
  EXPECT_EQ(front.choices.find("")[0].text, "a real one");
  front.has_hands = false;
  say("/open");
  EXPECT_THAT(front.last_output, HasSubstr("a real one"));
}

TEST_F(ChatTest, ATitleIsCutBetweenCharacters) {
  start_loaded();
  say("hello");
  std::string long_title, title;
  for (int i = 0; i < 300; ++i) {
    long_title += "é";
    if (i < 200) title += "é";
  }
  say("/title " + long_title);
  EXPECT_EQ(front.last_output, title);
  EXPECT_EQ(store->conversation(chat->conversation())->title, title);
}

TEST_F(ChatFolderTest, SearchMarksHitsAndSaysWhereTheyAre) {
  script.answer("The cat sat on the mat.");
  script.answer("你好世界，今天天气很好。");
  start_loaded();
  say("Where did the \"animal\" sit?");
  say("再见");
  say("/search mat cat");
  EXPECT_THAT(front.last_output, HasSubstr("message 2\n"));
  EXPECT_THAT(front.last_output, HasSubstr("The [cat] sat on the [mat]."));
  say("/search anim");  // this is the beginning of a word
  EXPECT_THAT(front.last_output, HasSubstr("\"[animal]\" sit?"));
  say("/search nima");  // this is inside of a word
  EXPECT_THAT(front.last_output, HasSubstr("\"a[nima]l\" sit?"));
  say("/search 世界");
  EXPECT_THAT(front.last_output, HasSubstr("你好[世界]，今天"));
  EXPECT_THAT(front.last_output, HasSubstr("message 4"));
  say("नमस्ते दुनिया");
  say("/search नमस्ते");
  EXPECT_THAT(front.last_output, HasSubstr("[नमस्ते] ")) << "no character is torn apart";
  for (const char* none : {"dog", "\"", "cat OR dog", "%", "*", "NOT"}) {
    say(std::string("/search ") + none);
    if (std::string(none) == "\"") continue;  // the text has this one
    EXPECT_EQ(front.last_output, "Nothing found.") << none;
  }
  say("/search");
  EXPECT_THAT(front.errors.back(), HasSubstr("wants words"));
}

}  // namespace
}  // namespace bitnet
