// Tests answers of models that think first, and the models that have no template.
#include <gmock/gmock.h>

#include "app/script/replay.h"
#include "tests/support/chat_fixture.h"

namespace bitnet {
namespace {

using testing::HasSubstr;
using testing::Not;

// The fake's template, as Qwen3's: it leaves out earlier thoughts, and writes an empty one where none is
// wanted.
constexpr const char* kThinks =
    "{{ bos_token }}{% for m in messages %}{% if m.role == 'assistant' %}"
    "{{ m.content.split('</think>')[-1].lstrip('\\n') }}<eot>"
    "{% else %}<usr>{{ m.content }}<eot>{% endif %}{% endfor %}"
    "{% if enable_thinking is defined and not enable_thinking %}<think>\n\n</think>\n\n{% endif %}";
constexpr const char* kOpens =
    "{% for m in messages %}<usr>{{ m.content }}<eot>{% endfor %}{{ '<think>\\n' }}";

class ThinkingTest : public ChatTest {
 protected:
  void start_with(const char* chat_template) {
    start(512, chat_template);
    while (chat->loading()) loop.run_once();
  }
  int64_t store_one(const std::vector<std::pair<Role, std::string>>& messages) {
    store = Store::in_memory();
    const int64_t number = store->add_conversation("");
    std::optional<int64_t> leaf;
    for (const auto& [role, text] : messages) {
      leaf = role == Role::user ? store->add_message(number, leaf, role, text)
                                : store->add_answer(number, leaf, text, "stop", {}, "{}");
    }
    return number;
  }
  StoredMessage stored() { return store->branch(store->conversation(1)->leaf).back(); }
};

TEST_F(ThinkingTest, AThoughtIsShownApartAndStoredWhole) {
  const std::string text = "<think>\nhm, two\n</think>\n\nFour.";
  script.answer(text);
  script.answer("Six.");
  start_with(kThinks);
  say("2 + 2?");
  EXPECT_EQ(front.thought, "hm, two");
  ASSERT_EQ(front.shown.size(), 2U);
  EXPECT_EQ(front.shown[1].text, "Four.");
  EXPECT_EQ(front.shown[1].thought, "hm, two");
  EXPECT_EQ(front.shown[1].thought_tokens, text.size() - 5);  // a token a byte
  EXPECT_FALSE(front.shown[1].thinks);
  EXPECT_EQ(front.tokens, text.size());
  EXPECT_EQ(front.last_status.thought_tokens, text.size() - 5);
  EXPECT_EQ(stored().text, text);
  EXPECT_EQ(stored().thought_tokens, text.size() - 5);
  chat->submit("/show stats");
  EXPECT_THAT(front.last_output, HasSubstr("31 tokens, 26 of them thought,"));
  chat->submit("/copy");
  EXPECT_EQ(front.copied.back(), "Four.");
  chat->submit("/goto");
  EXPECT_THAT(front.last_output, Not(HasSubstr("hm")));
  say("3 + 3?");
  EXPECT_EQ(last_prompt(), "<bos><usr>2 + 2?<eot>Four.<eot><usr>3 + 3?<eot>");
  EXPECT_EQ(front.last_status.thought_tokens, 0U);

  // What is stored shows the same again.
  chat->submit("/new");
  chat->submit("/open 1");
  EXPECT_EQ(front.shown[1].text, "Four.");
  EXPECT_EQ(front.shown[1].thought, "hm, two");
  EXPECT_EQ(front.shown[1].thought_tokens, text.size() - 5);
  front.thought.clear();
  chat->submit("/replay 1 instant");
  until_idle();
  EXPECT_EQ(front.shown[1].text, "Four.");
  EXPECT_EQ(front.shown[1].thought_tokens, text.size() - 5);
}

// As Gemma 4's template: it takes the thoughts out of earlier answers, and writes an empty one where none is
// wanted.
TEST_F(ThinkingTest, Gemma4HasMarksOfItsOwn) {
  const std::string text = "<|channel>thought\nhm, two\n<channel|>Four.";
  script.answer(text);
  script.answer("Six.");
  start_with(
      "{{ bos_token }}{% for m in messages %}{% if m.role == 'assistant' %}"
      "{% for part in m.content.split('<channel|>') %}{{ part.split('<|channel>')[0] }}{% endfor %}<eot>"
      "{% else %}<usr>{{ m.content | trim }}<eot>{% endif %}{% endfor %}"
      "{% if not enable_thinking | default(true) %}{{ '<|channel>thought\\n<channel|>' }}{% endif %}");
  say("2 + 2?");
  EXPECT_EQ(front.shown[1].text, "Four.");
  EXPECT_EQ(front.shown[1].thought, "hm, two");
  EXPECT_EQ(front.shown[1].thought_tokens, text.size() - 5);
  EXPECT_EQ(stored().text, text);
  chat->submit("/think off");
  say("3 + 3?");
  EXPECT_EQ(last_prompt(), "<bos><usr>2 + 2?<eot>Four.<eot><usr>3 + 3?<eot><|channel>thought\n<channel|>");
  EXPECT_EQ(front.shown[3].text, "Six.");
  fake::FrontEndLog again;
  EXPECT_EQ(replay(*store, 1, 0, nullptr, loop, again), 0);
  EXPECT_EQ(again.thought + again.shown[1].thought, "hm, two");
}

TEST_F(ThinkingTest, TheTemplateMayBeginTheThought) {
  script.answer("hm</think>Four.");
  start_with(kOpens);
  say("2 + 2?");
  EXPECT_EQ(front.thought, "hm");
  EXPECT_EQ(front.shown[1].text, "Four.");
  EXPECT_EQ(front.shown[1].thought_tokens, 10U);
  EXPECT_EQ(stored().text, "<think>\nhm</think>Four.");
  fake::FrontEndLog again;
  EXPECT_EQ(replay(*store, 1, 0, nullptr, loop, again), 0);
  EXPECT_EQ(again.thought, "hm");
  fake::FrontEndLog spelled;
  EXPECT_EQ(replay(*store, 1, 0, &fake::model_text()->tokenizer, loop, spelled), 0);
  EXPECT_EQ(spelled.thought, "hm");
  EXPECT_EQ(spelled.shown[1].text, "Four.");
  EXPECT_EQ(spelled.tokens, 15U);
}

TEST_F(ThinkingTest, WhatCompactKeepsWasThoughtAboutAsBefore) {
  script.answer("One, and a long answer to it all, with many more words than a summary has.");
  script.answer("<think>\nhm\n</think>\n\nTwo.");
  script.answer("First came one.");
  start(4096, kThinks);
  say("first came " + std::string(600, 'x'));
  say("second");
  const uint32_t thought = front.shown.at(3).thought_tokens;
  EXPECT_GT(thought, 0U);
  say("/compact");
  EXPECT_THAT(front.last_output, HasSubstr("became the summary"));
  EXPECT_EQ(front.shown.at(3).text, "Two.");
  EXPECT_EQ(front.shown.at(3).thought_tokens, thought);
}

// As an import or another model's answer has it.
TEST_F(ThinkingTest, WhatElseWasLikelyIsFoundBehindAThoughtThatTheTemplateBegan) {
  const int64_t number = store_one({{Role::user, "2 + 2?"}, {Role::assistant, "<think>\nhm</think>Four."}});
  script.answer("!");
  start_with(kOpens);
  chat->open_conversation(number);
  say("/tokens");
  EXPECT_THAT(front.last_output, HasSubstr("15 tokens, "));
  EXPECT_EQ(last_prompt(), "<bos><usr>2 + 2?<eot><think>\nhm</think>Four.");
  say("/alt 2 1");
  EXPECT_THAT(last_prompt(), testing::StartsWith("<bos><usr>2 + 2?<eot><think>\nh"));
  EXPECT_EQ(last_prompt().size(), std::string("<bos><usr>2 + 2?<eot><think>\nhm").size());
  EXPECT_THAT(stored().text, testing::StartsWith("<think>\nh"));
  EXPECT_EQ(stored().text.find("<think>", 1), std::string::npos);
}

TEST_F(ThinkingTest, AThoughtThatWasStoppedGoesOn) {
  script.answer("hm, so");
  script.answer(" it</think>Four.");
  start_with(kOpens);
  chat->submit("2 + 2?");
  chat->interrupt_after(4);
  until_idle();
  EXPECT_TRUE(front.shown[1].thinks);
  EXPECT_EQ(front.shown[1].thought, "hm,");
  EXPECT_EQ(front.shown[1].text, "");
  say("/continue");
  EXPECT_EQ(front.shown[1].thought, "hm,  it");
  EXPECT_EQ(front.shown[1].text, "Four.");
  EXPECT_EQ(front.shown[1].thought_tokens, 15U);
  EXPECT_EQ(last_prompt(), "<bos><usr>2 + 2?<eot><think>\nhm, ");
}

TEST_F(ThinkingTest, ThinkIsASettingOfTheTurn) {
  start_with(kThinks);
  script.answer("Four.");
  script.answer("Six.");
  chat->submit("/think off");
  EXPECT_THAT(front.last_output, HasSubstr("think          = off"));
  say("2 + 2?");
  EXPECT_THAT(last_prompt(), testing::EndsWith("<eot><think>\n\n</think>\n\n"));
  EXPECT_EQ(front.shown[1].thought_tokens, 0U);
  chat->submit("/set think auto");
  until_idle();  // the context is fitted to what the model was trained for
  say("3 + 3?");
  EXPECT_THAT(last_prompt(), testing::EndsWith("3 + 3?<eot>")) << front.log;
  EXPECT_THAT(front.log, Not(HasSubstr("enable_thinking")));
  chat->submit("/think maybe");
  EXPECT_THAT(front.errors.back(), HasSubstr("think: wanted on, off, or auto"));
  // The model sees the same again.
  fake::Script again;
  again.answer("Four.");
  again.answer("Six.");
  LoadedModel model = fake::opener(again, 512, kThinks)([](double) { return true; }, "");
  EXPECT_THAT(verify_replay(*store, 1, model), HasSubstr("2 turns, 9 tokens"));
}

TEST_F(ThinkingTest, AConversationIsOpenedWithWhatItsLastAnswerWasAskedFor) {
  start_with(kThinks);
  const auto shown = [&] {
    chat->submit("/think");
    return front.last_output.substr(front.last_output.find('=') + 2, 4);
  };
  chat->submit("/think off");
  say("one");
  chat->submit("/new");
  EXPECT_EQ(shown(), "off ");  // what was said holds in later conversations too
  chat->submit("/think auto");
  say("two");
  chat->submit("/open 1");
  EXPECT_EQ(shown(), "off ");
  EXPECT_THAT(front.log, HasSubstr("notice: think is off again"));
  say("three");
  EXPECT_THAT(last_prompt(), testing::EndsWith("three<eot><think>\n\n</think>\n\n"));
  chat->submit("/new");
  EXPECT_EQ(shown(), "auto");
  chat->submit("/open 2");
  EXPECT_EQ(shown(), "auto");
  chat->submit("/open 1");
  chat->submit("/think on");
  chat->submit("/new");
  EXPECT_EQ(shown(), "on  ");
}

TEST_F(ThinkingTest, TheCommandLineWinsOverTheConversation) {
  settings.think = true;
  settings.sources["think"] = SettingSource::command_line;
  start_with(kThinks);
  say("one");
  chat->submit("/think off");
  say("two");
  chat->submit("/think on");
  chat->submit("/open 1");
  say("three");
  EXPECT_THAT(last_prompt(), testing::EndsWith("three<eot>"));
}

TEST_F(ThinkingTest, ATemplateThatDoesNotKnowSaysSo) {
  settings.think = true;
  start_with(fake::kTemplate);
  EXPECT_THAT(front.log, HasSubstr("notice: think on changes nothing"));
  chat->submit("/think off");
  EXPECT_THAT(front.log, HasSubstr("notice: think off changes nothing"));
}

}  // namespace
}  // namespace bitnet
