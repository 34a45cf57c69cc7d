// Tests the branches of a conversation (/regen /edit /undo /redo /fork /branches /goto) and what of them the
// KV cache keeps.
#include <gmock/gmock.h>

#include "app/store/message_tree.h"
#include "app/store/sqlite_db.h"
#include "tests/support/chat_fixture.h"

namespace bitnet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class ChatTreeTest : public ChatTest {
 protected:
  // The turns a, b and c get the answers 1, 2 and 3; these are the messages 1 to 6.
  void three_turns() {
    for (const char* answer : {"1", "2", "3"}) script.answer(answer);
    start_loaded();
    for (const char* turn : {"a", "b", "c"}) say(turn);
  }
};

TEST_F(ChatTreeTest, SiblingsAreCountedAndNumbered) {
  three_turns();
  EXPECT_EQ(front.shown[5].number, 6);
  EXPECT_EQ(sibling_mark(front.shown[5]), "");
  script.answer("3b");
  script.answer("3c");
  say("/regen");
  EXPECT_EQ(sibling_mark(front.shown[5]), "2/2");
  say("/regen");
  EXPECT_EQ(sibling_mark(front.shown[5]), "3/3");
  EXPECT_EQ(front.shown[5].number, 8);
  say("/goto 6");
  EXPECT_THAT(shown_texts(), ElementsAre("a", "1", "b", "2", "c", "3"));
  EXPECT_EQ(sibling_mark(front.shown[5]), "1/3");
  EXPECT_EQ(sibling_mark(front.shown[3]), "");
}

TEST_F(ChatTreeTest, EveryMoveReusesTheCommonPrefix) {
  three_turns();  // <bos>, then <usr> a <eot> 1 <eot> and so on; a prompt ends before its answer
  EXPECT_EQ(front.last_usage.prompt_tokens, 1U + 5 + 5 + 3);
  script.answer("3b");
  say("/regen");
  // The whole prompt was there; its last token is evaluated again for the logits.
  EXPECT_EQ(front.last_usage.reused_tokens, front.last_usage.prompt_tokens - 1);
  EXPECT_EQ(front.last_status.reused, 13U);
  EXPECT_EQ(front.last_status.prompt_tokens, 14U);
  say("/goto 2");
  say("x");
  EXPECT_EQ(front.last_usage.prompt_tokens, 1U + 5 + 3);
  EXPECT_EQ(front.last_usage.reused_tokens, 1U + 5 + 1);  // the prefix ends with <usr>, because x is not b
}

TEST_F(ChatTreeTest, EditReplacesTheLastTurnByASibling) {
  three_turns();
  script.answer("new");
  say("/edit d");
  EXPECT_THAT(shown_texts(), ElementsAre("a", "1", "b", "2", "d", "new"));
  EXPECT_EQ(sibling_mark(front.shown[4]), "2/2");
  EXPECT_EQ(last_prompt(), "<bos><usr>a<eot>1<eot><usr>b<eot>2<eot><usr>d<eot>");
  say("/goto 5");
  EXPECT_THAT(shown_texts(), ElementsAre("a", "1", "b", "2", "c", "3"));
}

TEST_F(ChatTreeTest, EditWithoutTextGivesTheTurnBackAndRedoUndoesThat) {
  three_turns();
  say("/edit");
  EXPECT_EQ(front.returned, std::vector<std::string>{"c"});
  EXPECT_THAT(shown_texts(), ElementsAre("a", "1", "b", "2"));
  say("/redo");
  EXPECT_THAT(shown_texts(), ElementsAre("a", "1", "b", "2", "c", "3"));
  say("/edit");
  say("cc");
  EXPECT_EQ(sibling_mark(front.shown[4]), "2/2");
}

TEST_F(ChatTreeTest, AnEarlierTurnIsEditedAfterGoto) {
  three_turns();
  say("/goto 3");  // a turn of the user is shown with its answer
  EXPECT_THAT(shown_texts(), ElementsAre("a", "1", "b", "2"));
  say("/edit bb");
  EXPECT_EQ(last_prompt(), "<bos><usr>a<eot>1<eot><usr>bb<eot>");
  say("/goto 6");
  EXPECT_EQ(front.shown.size(), 6U);
}

TEST_F(ChatTreeTest, RedoGoesBackToTheAnswerThatWasLeftAndNotToTheNewest) {
  three_turns();
  script.answer("3b");
  say("/regen");
  say("/goto 6");
  say("/undo");
  say("/undo");
  say("/redo");
  EXPECT_THAT(shown_texts(), ElementsAre("a", "1", "b", "2"));
  say("/redo");
  EXPECT_THAT(shown_texts(), ElementsAre("a", "1", "b", "2", "c", "3"));
  say("/redo");
  EXPECT_THAT(front.errors.back(), HasSubstr("nothing to bring back"));
}

TEST_F(ChatTreeTest, ANewTurnEndsWhatRedoKnows) {
  three_turns();
  say("/undo");
  say("d");
  say("/redo");
  EXPECT_THAT(front.errors.back(), HasSubstr("nothing to bring back"));
  EXPECT_EQ(front.shown[4].text, "d");
}

TEST_F(ChatTreeTest, ForkKeepsThisBranchAndBeginsAnother) {
  three_turns();
  say("/fork");
  EXPECT_THAT(front.last_output, HasSubstr("/goto 6"));
  say("d");
  EXPECT_EQ(front.shown.size(), 8U);
  say("/branches");
  EXPECT_THAT(front.last_output, HasSubstr("*    8  "));
  EXPECT_THAT(front.last_output, HasSubstr("     6  "));
  say("/fork 2");
  EXPECT_THAT(shown_texts(), ElementsAre("a", "1"));
  say("e");
  EXPECT_EQ(last_prompt(), "<bos><usr>a<eot>1<eot><usr>e<eot>");
  EXPECT_EQ(sibling_mark(front.shown[2]), "2/2");
  say("/branches");
  for (const char* end : {"     6  ", "     8  ", "*   10  "}) EXPECT_THAT(front.last_output, HasSubstr(end));
  say("/goto 8");
  EXPECT_EQ(front.shown.size(), 8U);
}

TEST_F(ChatTreeTest, BranchesNameTheirLastTurnAndWhereTheyPart) {
  three_turns();
  script.answer("other");
  say("/edit what else?");
  say("/branches");
  EXPECT_THAT(front.last_output, HasSubstr("› what else?"));
  EXPECT_THAT(front.last_output, HasSubstr("other"));
  EXPECT_THAT(front.last_output, HasSubstr("(leaves at 4)"));
  EXPECT_THAT(front.last_output, HasSubstr("(here)"));
}

TEST_F(ChatTreeTest, GotoChecksItsNumberAndListsNumbers) {
  three_turns();
  for (const char* wrong : {"/goto 0", "/goto 7", "/goto -1", "/goto x", "/goto 99999999999999999999"}) {
    const size_t errors = front.errors.size();
    say(wrong);
    EXPECT_EQ(front.errors.size(), errors + 1) << wrong;
  }
  EXPECT_EQ(front.shown.size(), 6U);
  say("/goto");
  EXPECT_THAT(front.last_output, HasSubstr("    3  › b"));
  EXPECT_THAT(front.last_output, HasSubstr("    4    2"));
}

TEST_F(ChatTreeTest, MovesOfATreeWithNothingInIt) {
  start_loaded();
  for (const char* command : {"/undo", "/redo", "/edit", "/edit x", "/fork", "/goto 1", "/regen"}) {
    const size_t errors = front.errors.size();
    say(command);
    EXPECT_EQ(front.errors.size(), errors + 1) << command;
  }
  say("/branches");
  EXPECT_THAT(front.last_output, HasSubstr("Nothing was said yet"));
  say("/export");
  EXPECT_THAT(front.errors.back(), HasSubstr("wanted md, json or openai, found nothing"));
}

TEST_F(ChatTreeTest, TheTreeIsThereAgainAfterTheConversationIsOpened) {
  three_turns();
  script.answer("3b");
  say("/regen");
  const int64_t id = chat->conversation();
  say("/new");
  say("/open " + std::to_string(id));
  EXPECT_EQ(sibling_mark(front.shown[5]), "2/2");
  say("/undo");
  say("/redo");
  EXPECT_EQ(front.shown[5].text, "3b");
}

TEST_F(ChatTreeTest, AConversationThatWasLeftAtItsStartDoesNotLookLikeANewOne) {
  three_turns();
  for (int i = 0; i < 3; ++i) say("/undo");
  const std::string id = std::to_string(chat->conversation());
  const std::string told = "stands before its first turn; in the chat /redo brings its 6 messages back";
  say("/goto");
  EXPECT_THAT(front.last_output, HasSubstr(told));
  say("/export md");
  EXPECT_THAT(front.log, HasSubstr("/export json has them all"));
  say("/new");
  front.log.clear();
  say("/open " + id);
  EXPECT_THAT(front.log, HasSubstr("This conversation " + told));
  say("/new");
  say("x");
  say("/replay " + id);
  EXPECT_THAT(front.errors.back(), HasSubstr(told));
  EXPECT_TRUE(front.shown.empty());  // it was opened
  say("/redo");
  EXPECT_EQ(front.shown.size(), 2U);
  front.log.clear();
  say("/open " + id);
  EXPECT_EQ(front.log.find("first turn"), std::string::npos) << front.log;
}

TEST_F(ChatTreeTest, ATurnThatIsGivenBackLeavesNothingBehind) {
  start_loaded(24);
  say("/title x");
  const std::string big(30, 'x');
  say(big);
  EXPECT_EQ(front.returned, std::vector<std::string>{big});
  EXPECT_TRUE(store->conversations(9).empty());
  script.answer("1");
  say("a");
  say(big);
  EXPECT_EQ(store->outline(chat->conversation()).size(), 2U);
  say("/edit " + big);  // it does not fit
  EXPECT_THAT(shown_texts(), ElementsAre("a", "1"));
  EXPECT_EQ(front.returned, (std::vector<std::string>{big, big, big}));
  EXPECT_EQ(store->outline(chat->conversation()).size(), 2U);
}

TEST_F(ChatTreeTest, WhatCannotBeAnsweredAnewLeavesTheBranchAsItWas) {
  three_turns();
  say("/set ctx 12");
  const int64_t leaf = front.shown.back().id;
  for (const char* command : {"/regen", "/edit cc"}) {
    const size_t errors = front.errors.size();
    say(command);
    ASSERT_EQ(front.errors.size(), errors + 1) << command;
    EXPECT_THAT(front.errors.back(), HasSubstr(" of 12 tokens and leave no room")) << command;
    EXPECT_THAT(shown_texts(), ElementsAre("a", "1", "b", "2", "c", "3")) << command;
    EXPECT_EQ(store->conversation(chat->conversation())->leaf, leaf) << command;
  }
  EXPECT_EQ(front.returned, std::vector<std::string>{"cc"});
  EXPECT_EQ(store->outline(chat->conversation()).size(), 6U);
}

TEST_F(ChatTreeTest, ATurnWithoutAnAnswerThatCannotBeAnsweredStays) {
  three_turns();
  const int64_t id = chat->conversation();
  store->add_message(id, front.shown.back().id, Role::user, "d");
  say("/new");
  say("/set ctx 12");
  say("/open " + std::to_string(id));
  say("/regen");
  EXPECT_THAT(front.errors.back(), testing::StartsWith("Not answered: "));
  EXPECT_THAT(shown_texts(), ElementsAre("a", "1", "b", "2", "c", "3", "d"));
  EXPECT_TRUE(front.returned.empty());
}

TEST_F(ChatTreeTest, ARegenThatWaitsForTheModelIsStoppedWithoutATrace) {
  script.answer("1");
  start_loaded();
  say("a");
  script.hold_loading(true);
  chat->submit("/reopen");
  chat->submit("/regen");
  EXPECT_THAT(shown_texts(), ElementsAre("a"));
  chat->interrupt();
  EXPECT_THAT(shown_texts(), ElementsAre("a", "1"));
  EXPECT_TRUE(front.returned.empty());
  script.hold_loading(false);
  until_idle();
}

TEST_F(ChatTreeTest, TextsAreCutBetweenCharactersAndSaySo) {
  const std::string family = "\U0001F469\u200D\U0001F469\u200D\U0001F467";  // one character of 18 bytes
  std::string families, spaces(200, ' ');
  for (int i = 0; i < 40; ++i) families += family;
  script.answer(families);
  script.answer("x");
  start_loaded(4096);
  say(spaces + "a");
  say("b" + spaces);
  say("/goto");
  std::string cut;
  for (int i = 0; i < 29; ++i) cut += family;
  EXPECT_THAT(front.last_output, HasSubstr("    2    " + cut + "…"));
  EXPECT_EQ(front.last_output.find("\uFFFD"), std::string::npos);
  EXPECT_THAT(front.last_output, HasSubstr("    1  › a  "));
  EXPECT_THAT(front.last_output, HasSubstr("    3  › b  "));
  say("/branches");
  EXPECT_EQ(front.last_output.find("\uFFFD"), std::string::npos);
}

TEST_F(ChatTreeTest, AnArchivedConversationIsPutAwayAndTakenBack) {
  start_loaded();
  say("first");
  const std::string id = std::to_string(chat->conversation());
  say("/archive");
  EXPECT_TRUE(front.shown.empty());
  EXPECT_EQ(chat->conversation(), 0);
  say("/list");
  EXPECT_THAT(front.last_output, Not(HasSubstr("first")));
  say("/list all");
  EXPECT_THAT(front.last_output, HasSubstr("(archived) first"));
  say("/search first");
  EXPECT_THAT(front.last_output, HasSubstr("[first]"));
  say("/open " + id);
  say("/archive off");
  EXPECT_EQ(front.shown.size(), 2U);
  say("/list");
  EXPECT_THAT(front.last_output, HasSubstr("first"));
  for (const char* wrong : {"/archive 77", "/archive off 77", "/archive x", "/list some"}) {
    const size_t errors = front.errors.size();
    say(wrong);
    EXPECT_EQ(front.errors.size(), errors + 1) << wrong;
  }
}

TEST(MessageTreeTest, PlacesPathsAndEnds) {
  //  1 - 2 - 3 - 4
  //    \ 5     \ 6      7 is another first message
  const MessageTree tree({{10, {}, Role::user, false, 0},
                          {20, 10, Role::assistant, true, 0},
                          {30, 20, Role::user, false, 0},
                          {40, 30, Role::assistant, false, 0},
                          {50, 10, Role::assistant, false, 0},
                          {60, 30, Role::assistant, false, 0},
                          {70, {}, Role::user, false, 0}});
  EXPECT_THAT(tree.ends(), ElementsAre(20, 40, 50, 60, 70));
  EXPECT_THAT(tree.path(60), ElementsAre(10, 20, 30, 60));
  EXPECT_EQ(tree.place(60).number, 6);
  EXPECT_EQ(tree.place(60).sibling, 2U);
  EXPECT_EQ(tree.place(60).siblings, 2U);
  EXPECT_EQ(tree.place(70).sibling, 2U);
  EXPECT_EQ(tree.answer_below(10), 50);
  EXPECT_EQ(tree.answer_below(30), 60);
  EXPECT_EQ(tree.answer_below(70), 70);
  EXPECT_EQ(tree.numbered(3)->id, 30);
  EXPECT_EQ(tree.numbered(0), nullptr);
  EXPECT_EQ(tree.numbered(8), nullptr);
}

TEST_F(ChatTreeTest, AnAnswerIsExpectedToBeginAsTheLatestToTheSameTurn) {
  for (const char* text : {"one", "two", "three", "four", "five"}) script.answer(text);
  start_loaded();
  say("a");
  EXPECT_EQ(script.guessed(), "");
  say("/regen");
  EXPECT_EQ(script.guessed(), "one");
  say("b");
  EXPECT_THAT(script.guessed(), testing::Not(testing::StartsWith("one")));
  say("/edit c");
  EXPECT_EQ(script.guessed(), "three");
  say("/regen");
  EXPECT_EQ(script.guessed(), "four");
}

}  // namespace
}  // namespace bitnet
