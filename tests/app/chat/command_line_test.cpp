// Tests what a typed line is: a command, a mistyped one, or a turn. Tests completion and /help too.
#include <gmock/gmock.h>

#include "app/chat/commands.h"
#include "tests/support/chat_fixture.h"

namespace bitnet {
namespace {

using testing::HasSubstr;

TEST_F(ChatTest, CommandsAreMatchedExactlyAndASlipIsNamed) {
  start_loaded();
  say("/hel");
  EXPECT_THAT(front.errors.back(), HasSubstr("/help"));
  say("/undoo");
  EXPECT_THAT(front.errors.back(), HasSubstr("did you mean /undo?"));
  say("/quit now");
  EXPECT_THAT(front.errors.back(), HasSubstr("takes no arguments"));
  EXPECT_FALSE(chat->quit_requested());
  say("/bye");
  EXPECT_TRUE(chat->quit_requested());
}

TEST_F(ChatTest, TwoSlashesAreATurn) {
  start_loaded();
  say("//etc");
  EXPECT_EQ(last_prompt(), "<bos><usr>/etc<eot>");
}

TEST_F(ChatTest, AMessageThatBeginsWithAPathIsATurn) {
  script.answer("x");
  start_loaded(1024);
  for (const std::string message :
       {"/etc/passwd what is this?", "/home/x/run.py:3: in <module>\n    import y", "/* a comment */ int x;",
        "/usr/bin", "/tmp is full", "/proc/cpuinfo"}) {
    say(message);
    EXPECT_EQ(front.shown.at(front.shown.size() - 2).text, message);
  }
  EXPECT_TRUE(front.errors.empty());
  EXPECT_TRUE(front.returned.empty());
}

// A test may see a token and release the answer before the worker has come to where it would be held.
TEST_F(ChatTest, AnAnswerThatIsReleasedEarlyIsNotHeld) {
  script.hold_after(1);
  start_loaded();
  script.release();
  say("go");
  EXPECT_EQ(front.shown.back().text, "ok");
}

TEST_F(ChatTest, WhatCouldBeASlipOfACommandIsAskedAboutAndStaysInTheInput) {
  start_loaded();
  const std::string slips[] = {"/undoo", "/Help", "/sett temp 0.5", "/help.", "/frobnicate", "/quit now"};
  for (const std::string& slip : slips) {
    say(slip);
    ASSERT_FALSE(front.returned.empty()) << slip;
    EXPECT_EQ(front.returned.back(), slip);
  }
  EXPECT_EQ(front.errors.size(), std::size(slips));
  EXPECT_TRUE(front.shown.empty());
}

TEST_F(ChatTest, WhatGoesBackToTheInputSendsTheSameTurnAgain) {
  script.answer("x");
  start_loaded(1024);
  // Each pair is what is typed and the turn that it becomes.
  const std::pair<std::string, std::string> turns[] = {
      {"//delete", "/delete"},          {"///delete", "//delete"}, {"//undoo", "/undoo"},
      {"/etc/passwd?", "/etc/passwd?"}, {"plain", "plain"},        {"///", "//"}};
  for (const auto& [typed, turn] : turns) {
    say(typed);
    ASSERT_EQ(front.shown.at(front.shown.size() - 2).text, turn);
    say("/edit");
    ASSERT_FALSE(front.returned.empty());
    say(front.returned.back());
    ASSERT_TRUE(front.errors.empty()) << typed;
    EXPECT_EQ(front.shown.at(front.shown.size() - 2).text, turn);
  }
  EXPECT_TRUE(store->conversation(1)) << "/delete was run";
  const std::string too_long = "//delete " + std::string(1024, 'x');
  say(too_long);
  EXPECT_EQ(front.returned.back(), too_long);
  script.hold();
  chat->submit("go");
  script.wait_until_held();
  chat->submit("//delete");
  EXPECT_TRUE(chat->take_back());
  EXPECT_EQ(front.returned.back(), "//delete");
  script.release();
  until_idle();
}

TEST_F(ChatTest, CompletionFollowsTheTable) {
  start_loaded();
  EXPECT_EQ(chat->complete("/undo"), std::vector<std::string>{"/undo"});
  EXPECT_EQ(chat->complete("/set top_"), (std::vector<std::string>{"/set top_k", "/set top_p"}));
  EXPECT_TRUE(chat->complete("hello").empty());
  EXPECT_TRUE(chat->complete("//").empty());
  EXPECT_TRUE(chat->complete("/open ").empty());  // nothing is stored
  EXPECT_EQ(chat->complete("/help ke"), std::vector<std::string>{"/help keys"});
}

TEST_F(ChatTest, WhatIsStoredIsCompletedByItsNumber) {
  start_loaded();
  say("a");
  const std::string id = std::to_string(store->conversations(1).front().id);
  EXPECT_EQ(chat->complete("/open "), std::vector<std::string>{"/open " + id});
  EXPECT_TRUE(chat->complete("/archive off ").empty());
  store->set_archived(store->conversations(1).front().id, true);
  EXPECT_TRUE(chat->complete("/open ").empty());
  EXPECT_EQ(chat->complete("/archive off "), std::vector<std::string>{"/archive off " + id});
}

TEST_F(ChatTest, EveryCommandOfTheTableIsInTheHelp) {
  start_loaded();
  say("/help");
  for (const char* name :
       {"/help", "/new", "/open", "/list", "/set", "/system", "/regen", "/undo", "/show", "/quit"}) {
    EXPECT_THAT(front.last_output, HasSubstr(name));
  }
}

TEST_F(ChatTest, HelpFitsAScreenAndSaysMoreOfOneCommand) {
  start_loaded();
  for (const Command& command : command_table()) {  // they fit into 80 columns with the margin
    EXPECT_LE(std::string(command.help).size(), 51U) << command.name;
    EXPECT_LE(std::string(command.name).size() + 1 + std::string(command.arguments).size(), 26U)
        << command.name;
  }
  say("/help alt");
  EXPECT_THAT(front.last_output, testing::StartsWith("/alt [N [K]]\n  what else was likely"));
  EXPECT_THAT(front.last_output, HasSubstr("goes on from candidate K"));
  say("/help alto");
  EXPECT_THAT(front.errors.back(), HasSubstr("no command /alto"));
}

}  // namespace
}  // namespace bitnet
