// Tests settings, the wishes of a model's file, and system prompts.
#include <gmock/gmock.h>

#include "tests/support/chat_fixture.h"

namespace bitnet {
namespace {

using testing::HasSubstr;

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
  EXPECT_THAT(front.last_output, testing::ContainsRegex("temp +=.0.25 .*default 0.25 of the model's file"));
  EXPECT_THAT(front.last_output, testing::ContainsRegex("top_k +=.40 .*default 40 of the program"));
  say("hello");
  const auto stored = store->turns(store->messages(chat->conversation()).back().id);
  EXPECT_THAT(stored.back().sampler, HasSubstr("\"temp\":0.25"));
  say("/set temp 0.9");
  EXPECT_THAT(front.last_output, testing::ContainsRegex("temp +=.0.9 .*default 0.25"));
  say("/reset");
  EXPECT_THAT(front.last_output, testing::ContainsRegex("temp +=.0.25 "));
  EXPECT_THAT(front.last_output, testing::ContainsRegex("repeat_last +=.9 "));
  // When another file is opened, the wishes of the one before no longer hold.
  script.wish({{{"top_k", "3"}}, {}});
  say("/reopen");
  say("/set");
  EXPECT_THAT(front.last_output, testing::ContainsRegex("temp +=.0.7 .*default 0.7 of the program"));
  EXPECT_THAT(front.last_output, testing::ContainsRegex("top_k +=.3 "));
}

TEST_F(ChatTest, WhatThePersonOptionsOrAScriptSaidWinsOverTheModelsFile) {
  settings = interactive_settings();
  set_from(SettingSource::config, settings, "top_k", "11");
  set_from(SettingSource::command_line, settings, "min_p", "0.5");
  script.wish({{{"temp", "0"}, {"top_k", "5"}, {"min_p", "0"}, {"top_p", "0.5"}}, {}});
  script.hold_loading(true);
  start();
  chat->submit("/set temp 0.7");  // it still loads, and this is the program's default
  EXPECT_THAT(front.last_output, HasSubstr("still loading"));
  script.hold_loading(false);
  until_idle();
  say("/set");
  EXPECT_THAT(front.last_output, testing::ContainsRegex("temp +=.0.7 .*default 0 of the model's file"));
  EXPECT_THAT(front.last_output, testing::ContainsRegex("top_k +=.11 .*default 11 of the config file"));
  EXPECT_THAT(front.last_output, testing::ContainsRegex("min_p +=.0.5 .*default 0.5 of the command line"));
  EXPECT_THAT(front.last_output, testing::ContainsRegex("top_p +=.0.5 "));
}

TEST_F(ChatTest, AScriptIsTheSameWhateverTheModelsFileSays) {
  script.wish({{{"temp", "0.9"}, {"repeat_penalty", "1.3"}}, {}});
  start_loaded();  // script_settings()
  say("/set");
  EXPECT_THAT(front.last_output, testing::ContainsRegex("temp +=.0 .*default 0 of scripts"));
  EXPECT_THAT(front.last_output, testing::ContainsRegex("repeat_penalty += 1 "));
}

TEST_F(ChatTest, TheClockOfAConversationStaysThatOfItsBeginning) {
  const auto set_zone = [](const char* zone) {
    setenv("TZ", zone, 1);
    tzset();
  };
  set_zone("EAST-13");
  start_loaded();
  say("one");
  set_zone("UTC");
  say("/reset");
  say("two");
  EXPECT_THAT(store->turns(front.shown.back().id).back().sampler, HasSubstr("\"utc_offset\":46800"));
  unsetenv("TZ");
  tzset();
  ChatSettings settings;
  for (const char* wrong : {"1e300", "9223372036854775807", "-90000", "\"a\"", "1.5"}) {
    std::string text = to_json(settings, 1);
    text.replace(text.find("\"utc_offset\":0"), 14, std::string("\"utc_offset\":") + wrong);
    EXPECT_THROW(from_json(text, settings), Error) << wrong;
  }
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

}  // namespace
}  // namespace bitnet
