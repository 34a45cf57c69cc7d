#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <filesystem>

#include "app/chat/commands.h"
#include "app/model/prompt.h"
#include "tests/support/chat_fixture.h"

namespace bitnet {
namespace {

using testing::HasSubstr;

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

TEST_F(ChatTest, EscStopsAnAnswerThatHangs) {
  script.answer("abc");
  script.hold();
  start_loaded();
  chat->submit("go");
  script.wait_until_held();
  chat->interrupt();
  until_idle();
  EXPECT_EQ(front.shown.back().finish, "interrupted");
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

TEST_F(ChatTest, ATurnTypedWhileLoadingWaitsForTheModel) {
  script.hold_loading(true);
  script.answer("late");
  start();
  chat->submit("early");
  EXPECT_TRUE(chat->busy());
  EXPECT_EQ(store->branch(store->conversation(chat->conversation())->leaf).size(), 1U);
  chat->submit("second");
  EXPECT_EQ(front.returned, std::vector<std::string>{"second"});
  script.hold_loading(false);
  until_idle();
  EXPECT_EQ(front.shown.back().text, "late");
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
  chat->submit("two");  // waits
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

// No file of the process may grow: what a full disk is to SQLite.
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

TEST_F(ChatTest, AnAnswerThatAnotherProgramIsWritingIsMarked) {
  start_loaded();
  const int64_t theirs = store->add_conversation("");
  StoredTurn turn = store->begin_turn(theirs, store->add_message(theirs, {}, Role::user, "go"), {});
  store->append(turn, "half of", {});
  say("/open " + std::to_string(theirs));
  ASSERT_EQ(front.shown.size(), 2U);
  EXPECT_EQ(front.shown[1].text, "half of");
  EXPECT_EQ(front.shown[1].finish, "elsewhere");
  turn.finish = "stop";
  store->finish_turn(turn);
  say("/open " + std::to_string(theirs));
  EXPECT_EQ(front.shown[1].finish, "stop");
  say("more");  // one's own is not
  EXPECT_EQ(front.shown[1].finish, "stop");
  EXPECT_EQ(front.shown[3].finish, "stop");
  EXPECT_THAT(front.log, testing::Not(HasSubstr("elsewhere")));
}

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

TEST_F(ChatTest, WhatCouldBeASlipOfACommandIsAskedAboutAndStaysInTheInput) {
  script.answer("abc");
  script.hold_after(1);
  start_loaded();
  const std::string slips[] = {"/undoo", "/Help", "/sett temp 0.5", "/help.", "/frobnicate", "/quit now"};
  for (const std::string& slip : slips) {
    say(slip);
    ASSERT_FALSE(front.returned.empty()) << slip;
    EXPECT_EQ(front.returned.back(), slip);
  }
  EXPECT_EQ(front.errors.size(), std::size(slips));
  EXPECT_TRUE(front.shown.empty());
  chat->submit("go");
  until_tokens(1);
  chat->submit("/system Answer in verse.");
  EXPECT_THAT(front.errors.back(), HasSubstr("has to wait"));
  EXPECT_EQ(front.returned.back(), "/system Answer in verse.");
  script.release();
  until_idle();
}

TEST_F(ChatTest, WhatGoesBackToTheInputSendsTheSameTurnAgain) {
  script.answer("x");
  start_loaded(1024);
  // As it is typed, and what the turn is.
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
  EXPECT_EQ(front.returned.back(), "//delete");
  script.release();
  until_idle();
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

TEST_F(ChatTest, SettingsAreCheckedAndShowTheirDefault) {
  start_loaded();
  for (const char* wrong : {"nan", "inf", "-1", "1e9", "warm", "0.5x"}) {
    say(std::string("/set temp ") + wrong);
    EXPECT_THAT(front.errors.back(), HasSubstr("0 to 100")) << wrong;
  }
  const size_t errors = front.errors.size();
  say("/set temp 0.5");
  EXPECT_EQ(front.errors.size(), errors);
  EXPECT_THAT(front.last_output, HasSubstr("0.5"));
  EXPECT_THAT(front.last_output, HasSubstr("default 0"));
  say("/set warmth 1");
  EXPECT_THAT(front.errors.back(), HasSubstr("warmth"));
  say("/set top-k 5");
  EXPECT_THAT(front.errors.back(), HasSubstr("did you mean top_k?"));
  say("/reset");
  say("/set temp");
  EXPECT_THAT(front.last_output, testing::Not(HasSubstr("0.5 ")));
}

TEST_F(ChatTest, TheModelsFileGivesDefaultsThatResetGoesBackTo) {
  settings = interactive_settings();
  script.wish({{{"temp", "0.25"}, {"repeat_last", "9"}}, {"general.sampling.top_p: wanted a number"}});
  start_loaded();
  EXPECT_THAT(front.log, HasSubstr("general.sampling.top_p"));
  say("/set");
  EXPECT_THAT(front.last_output, testing::ContainsRegex("temp +=.0.25 .*default 0.25.*of the model's file"));
  EXPECT_THAT(front.last_output, testing::ContainsRegex("top_k +=.40 .*default 40.*of the program"));
  say("hello");
  const auto stored = store->turns(store->messages(chat->conversation()).back().id);
  EXPECT_THAT(stored.back().sampler, HasSubstr("\"temp\":0.25"));
  say("/set temp 0.9");
  EXPECT_THAT(front.last_output, testing::ContainsRegex("temp +=.0.9 .*default 0.25"));
  say("/reset");
  EXPECT_THAT(front.last_output, testing::ContainsRegex("temp +=.0.25 "));
  EXPECT_THAT(front.last_output, testing::ContainsRegex("repeat_last +=.9 "));
  // Another file takes the wishes of the one before along.
  script.wish({{{"top_k", "3"}}, {}});
  say("/reopen");
  say("/set");
  EXPECT_THAT(front.last_output, testing::ContainsRegex("temp +=.0.7 .*default 0.7.*of the program"));
  EXPECT_THAT(front.last_output, testing::ContainsRegex("top_k +=.3 "));
}

TEST_F(ChatTest, WhatThePersonOptionsOrAScriptSaidWinsOverTheModelsFile) {
  settings = interactive_settings();
  set_from(SettingSource::config, settings, "top_k", "11");
  set_from(SettingSource::command_line, settings, "min_p", "0.5");
  script.wish({{{"temp", "0"}, {"top_k", "5"}, {"min_p", "0"}, {"top_p", "0.5"}}, {}});
  script.hold_loading(true);
  start();
  chat->submit("/set temp 0.7");  // while it loads, and to what the program has anyway
  EXPECT_THAT(front.last_output, HasSubstr("still loading"));
  script.hold_loading(false);
  until_idle();
  say("/set");
  EXPECT_THAT(front.last_output, testing::ContainsRegex("temp +=.0.7 .*default 0;.*of the model's file"));
  EXPECT_THAT(front.last_output, testing::ContainsRegex("top_k +=.11 .*default 11;.*of the config file"));
  EXPECT_THAT(front.last_output, testing::ContainsRegex("min_p +=.0.5 .*default 0.5;.*of the command line"));
  EXPECT_THAT(front.last_output, testing::ContainsRegex("top_p +=.0.5 "));
}

TEST_F(ChatTest, AScriptIsTheSameWhateverTheModelsFileSays) {
  script.wish({{{"temp", "0.9"}, {"repeat_penalty", "1.3"}}, {}});
  start_loaded();  // script_settings()
  say("/set");
  EXPECT_THAT(front.last_output, testing::ContainsRegex("temp +=.0 .*default 0;.*of scripts"));
  EXPECT_THAT(front.last_output, testing::ContainsRegex("repeat_penalty += 1 "));
}

TEST_F(ChatTest, TheSystemPromptIsPartOfThePromptAndOfTheConversation) {
  start_loaded();
  say("/system be brief");
  say("go");
  EXPECT_EQ(last_prompt(), "<bos>[be brief]<usr>go<eot>");
  const int64_t first = chat->conversation();
  say("/new");
  EXPECT_TRUE(front.shown.empty());
  say("/system none");
  say("other");
  say("/open " + std::to_string(first));
  ASSERT_EQ(front.shown.size(), 2U);
  say("/show prompt");
  EXPECT_THAT(front.last_output, HasSubstr("[be brief]"));
  say("/open 77");
  EXPECT_THAT(front.errors.back(), HasSubstr("77"));
}

TEST_F(ChatTest, TheSystemPromptOfAnOpenedConversationIsNotThatOfTheNextNewOne) {
  settings.system = "mine";
  start_loaded();
  say("/system theirs");
  say("a");
  const std::string theirs = std::to_string(chat->conversation());
  say("/new");
  say("/system mine");
  say("b");
  say("/open " + theirs);
  say("c");
  EXPECT_THAT(last_prompt(), testing::StartsWith("<bos>[theirs]<usr>a<eot>"));
  say("/new");
  say("d");
  EXPECT_EQ(last_prompt(), "<bos>[mine]<usr>d<eot>");
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
  for (const std::string command : {"/open ", "/archive off "}) {
    EXPECT_EQ(chat->complete(command), (std::vector<std::string>{command + id})) << command;
  }
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
  for (const Command& command : command_table()) {  // 80 columns, with the margin
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

TEST_F(ChatTest, BosStandsOnceWhetherTheTemplatePrintsItOrNot) {
  const auto prints = fake::model_text("{{ bos_token }}{{ bos_token }}x", true);
  const auto does_not = fake::model_text("x", true);
  const auto wants_none = fake::model_text("x", false);
  const std::vector<PromptMessage> messages = {{Role::user, "hi", {}}};
  EXPECT_EQ(build_prompt(*prints, "", messages, 0), (std::vector<int32_t>{fake::kBos, 'x'}));
  EXPECT_EQ(build_prompt(*does_not, "", messages, 0), (std::vector<int32_t>{fake::kBos, 'x'}));
  EXPECT_EQ(build_prompt(*wants_none, "", messages, 0), (std::vector<int32_t>{'x'}));
}

}  // namespace
}  // namespace bitnet
