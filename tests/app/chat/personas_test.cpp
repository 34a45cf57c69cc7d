// Tests personas and prompt templates: their files, who answers in which conversation, and what is sent.
#include "app/chat/personas.h"

#include <gmock/gmock.h>

#include "tests/support/chat_fixture.h"

namespace bitnet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string problem_of(const std::string& text, bool is_prompt = false) {
  try {
    if (is_prompt) {
      parse_prompt(text, "f");
    } else {
      parse_persona(text, "p", "f");
    }
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

TEST(PersonaFile, HasSettingsAndASystemPrompt) {
  const PersonaFile file = parse_persona(
      "# mine\nabout = x = y\ntemp = 0.3\n\nstop = [\"a\"]\n---\nBe kind.\n---\nYes.", "p", "f");
  EXPECT_EQ(file.about, "x = y");
  EXPECT_EQ(file.system, "Be kind.\n---\nYes.");
  EXPECT_THAT(file.persona.settings,
              ElementsAre(testing::Pair("temp", "0.3"), testing::Pair("stop", "[\"a\"]")));
}

TEST(PersonaFile, MistakesNameFileAndLine) {
  EXPECT_THAT(problem_of("about = x\ntemp = hot\n---\nx"), HasSubstr("f:2: temp: wanted 0 to 100"));
  EXPECT_THAT(problem_of("tmp = 1\n---\nx"), HasSubstr("f:1: there is no setting 'tmp'; did you mean temp?"));
  EXPECT_THAT(problem_of("ctx = 12\n---\nx"), HasSubstr("f:1: ctx"));
  EXPECT_THAT(problem_of("Be kind."), HasSubstr("f:1: wanted 'setting = value', or ---"));
  EXPECT_THAT(problem_of("temp = 1\n"), HasSubstr("f:1: wanted a line ---"));
  EXPECT_THAT(problem_of("---\n \n"), HasSubstr("f:1: the system prompt below --- is empty"));
  EXPECT_THAT(problem_of(""), HasSubstr("f:1: "));
}

TEST(PromptTemplate, WordsGoIntoTheirPlaces) {
  const PromptTemplate prompt = parse_prompt("# about it\nSay {{2*}} in {{1:German}} {x}.", "f");
  EXPECT_EQ(prompt.about, "about it");
  EXPECT_EQ(fill_prompt(prompt, "n", {"French", "good", "day"}), "Say good day in French {x}.");
  EXPECT_THROW(fill_prompt(prompt, "n", {"French"}), Error);
  EXPECT_EQ(fill_prompt(parse_prompt("{{*:all}}", "f"), "n", {}), "all");
  EXPECT_EQ(fill_prompt(parse_prompt("{{*}}", "f"), "n", {"{{1}}", "b"}), "{{1}} b")
      << "words are no template";
  EXPECT_THROW(fill_prompt(parse_prompt("{{1}}", "f"), "n", {"a", "b"}), Error);
  EXPECT_THAT(problem_of("# a\nx\n{{0}}", true), HasSubstr("f:3: wanted {{1}} to {{9}}"));
  EXPECT_THAT(problem_of("{{1", true), HasSubstr("f:1: {{ has no }}"));
  EXPECT_THAT(problem_of("# only this", true), HasSubstr("is empty"));
}

TEST(PersonaFile, ThoseThatComeWithTheProgramAreSound) {
  for (const NamedText& text : all_personas()) EXPECT_EQ(text.problem, "") << text.name;
  for (const NamedText& text : all_prompts()) EXPECT_EQ(text.problem, "") << text.name;
  EXPECT_EQ(find_persona("coder").persona.name, "coder");
  EXPECT_THROW(find_persona("../coder"), Error);
}

class PersonaTest : public ChatFolderTest {
 protected:
  void SetUp() override {
    ChatFolderTest::SetUp();
    const char* before = getenv("XDG_CONFIG_HOME");
    config_before_ = before == nullptr ? "" : before;
    setenv("XDG_CONFIG_HOME", folder.c_str(), 1);
    std::filesystem::create_directories(folder / "bitnet-chat/personas");
    std::filesystem::create_directories(folder / "bitnet-chat/prompts");
    file("bitnet-chat/personas/pirate.txt",
         "about = says arr\ntemp = 0.25\nmax_tokens = 60\n---\nSay arr.\n");
    file("bitnet-chat/prompts/greet.txt", "# greets\nGreet {{1}} and {{2:all}}.\n");
    store = Store::open(folder / "chats.db");
  }
  void TearDown() override {
    if (config_before_.empty()) {
      unsetenv("XDG_CONFIG_HOME");
    } else {
      setenv("XDG_CONFIG_HOME", config_before_.c_str(), 1);
    }
    ChatFolderTest::TearDown();
  }
  std::string shown_setting(const std::string& name) {
    say("/set " + name);
    return front.last_output.substr(0, front.last_output.find(" (default"));
  }

 private:
  std::string config_before_;
};

TEST_F(PersonaTest, AnswersWithItsPromptAndSettings) {
  script.answer("Arr");
  start_loaded();
  const std::string before = shown_setting("temp");
  say("/persona pirate");
  EXPECT_THAT(front.last_output, HasSubstr("pirate answers from here on: says arr."));
  EXPECT_THAT(shown_setting("temp"), HasSubstr("0.25"));
  say("Hello");
  EXPECT_THAT(last_prompt(), HasSubstr("Say arr."));
  say("/persona");
  EXPECT_THAT(front.last_output, HasSubstr("* pirate          says arr (yours)"));
  EXPECT_THAT(front.last_output, HasSubstr("  coder "));
  say("/persona none");
  EXPECT_EQ(shown_setting("temp"), before);
  say("/persona pirat");
  EXPECT_THAT(front.errors.back(), HasSubstr("did you mean pirate?"));
}

TEST_F(PersonaTest, AFileWhoseNameIsTakenIsListedWithThat) {
  file("bitnet-chat/personas/none.txt", "about = nobody\n---\nSay nothing.\n");
  start_loaded();
  say("/persona");
  EXPECT_THAT(front.last_output, HasSubstr("  none            this name is taken"));
  EXPECT_THAT(front.last_output, testing::Not(HasSubstr("nobody")));
}

TEST_F(PersonaTest, AConversationKeepsItsPersonaEvenWithoutTheFile) {
  script.answer("Arr");
  script.answer("Plain");
  start_loaded();
  say("/persona pirate");
  say("Hello");
  say("/persona none");
  say("/new");
  say("Hi");
  EXPECT_THAT(last_prompt(), testing::Not(HasSubstr("Say arr.")));
  std::filesystem::remove(folder / "bitnet-chat/personas/pirate.txt");
  say("/open 1");
  EXPECT_THAT(shown_setting("temp"), HasSubstr("0.25"));
  EXPECT_THAT(shown_setting("max_tokens"), HasSubstr("60"));
  const std::string sampler =
      store->turns(store->branch(store->conversation(1)->leaf).back().id).back().sampler;
  EXPECT_THAT(sampler, HasSubstr("\"name\":\"pirate\""));
  say("/open 2");
  EXPECT_THAT(shown_setting("temp"), testing::Not(HasSubstr("0.25")));
}

TEST_F(PersonaTest, AnAnswerThatWasGivenHasThePersonaOfItsConversation) {
  script.answer("\xff");  // after byte 255 come 256 (<bos>) and 257 (<eot>)
  script.answer("x");
  start_loaded();
  say("/persona pirate");
  say("/set max_tokens 1");
  say("go");
  say("/continue");
  say("/alt 2 2");  // the end of the answer, so that nothing of it is made
  say("/new");
  say("/persona none");
  say("/open 1");
  EXPECT_THAT(shown_setting("temp"), HasSubstr("0.25"));
}

TEST_F(PersonaTest, WhatThePersonSetsAfterwardsStays) {
  start_loaded();
  say("/persona pirate");
  say("/set temp 0.5");
  say("/persona none");
  EXPECT_THAT(shown_setting("temp"), HasSubstr("0.5"));
  EXPECT_THAT(shown_setting("max_tokens"), HasSubstr("= 0 "));
}

// bitnet-chat --persona pirate --temp 0.9, and later -c --temp 0.9.
TEST_F(PersonaTest, TheCommandLineWinsOverItsPersonaAndOverThatOfAnOpenedConversation) {
  script.answer("Arr");
  set_from(SettingSource::command_line, settings, "temp", "0.9");
  settings.persona = find_persona("pirate").persona;
  start_loaded();
  EXPECT_THAT(shown_setting("temp"), HasSubstr("0.9"));
  EXPECT_THAT(shown_setting("max_tokens"), HasSubstr("60"));
  say("Hello");
  say("/new");
  EXPECT_THAT(shown_setting("temp"), HasSubstr("0.9"));
  EXPECT_THAT(shown_setting("max_tokens"), HasSubstr("60"));
  settings.persona = {};
  start_loaded();
  say("/open 1");
  EXPECT_THAT(shown_setting("temp"), HasSubstr("0.9"));
  EXPECT_THAT(shown_setting("max_tokens"), HasSubstr("60"));
  say("/persona pirate");  // the person asks for it now
  EXPECT_THAT(shown_setting("temp"), HasSubstr("0.25"));
  say("/new");
  EXPECT_THAT(shown_setting("temp"), HasSubstr("0.25"));
}

TEST_F(PersonaTest, APromptIsATurn) {
  script.answer("Hello Ann");
  start_loaded();
  say("/prompt greet \"Ann Lee\"");
  EXPECT_EQ(shown_texts().front(), "Greet Ann Lee and all.");
  say("/prompt greet");
  EXPECT_THAT(front.errors.back(), HasSubstr("wants one word more: greets"));
  file("bitnet-chat/prompts/plain.txt", "Greet {{1}}.\n");
  say("/prompt plain");
  EXPECT_THAT(front.errors.back(), testing::EndsWith("wants one word more"));
  say("/prompt");
  EXPECT_THAT(front.last_output, HasSubstr("greets (yours)"));
  EXPECT_THAT(chat->complete("/prompt gr"), ElementsAre("/prompt greet"));
  EXPECT_EQ(chat->menu("/persona pir").front().line, "/persona pirate");
}

// Behind /prompt each word with an @ is meant for a file.
TEST_F(PersonaTest, AFileThatAPromptLacksIsSaidOnce) {
  settings.asks = true;
  start_loaded();
  for (const char* word : {"@nots", "@nots.txt"}) {
    front.log.clear();
    say(std::string("/prompt greet ") + word);
    const size_t told = front.log.find(std::string("No file goes along for ") + word + ":");
    ASSERT_NE(told, std::string::npos) << front.log;
    EXPECT_EQ(front.log.find("No file", told + 1), std::string::npos);
  }
  front.log.clear();
  say("/prompt greet @" + file("there", "x"));
  EXPECT_EQ(front.log.find("No file"), std::string::npos) << front.log;
}

}  // namespace
}  // namespace bitnet
