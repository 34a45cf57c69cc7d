// Tests /model: one model in place of another, in the middle of a conversation.
#include "app/model/models.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>

#include "tests/support/chat_fixture.h"

namespace bitnet {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

// A template that marks an answer's turn in another way than that of the fixture.
const char* const kOther =
    "{{ bos_token }}{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}[assistant]";

// A fake model whose text says that it comes from this file.
OpenModel at_path(OpenModel open, const std::string& path) {
  return [open = std::move(open), path](const auto& progress, const std::string& device) {
    LoadedModel model = open(progress, device);
    const auto text = fake::model_text(model.text->chat_template.source());
    text->path = path;
    model.text = text;
    return model;
  };
}

class ModelsTest : public ChatFolderTest {
 protected:
  void SetUp() override {
    ChatFolderTest::SetUp();
    setenv("XDG_CACHE_HOME", (folder / "cache").c_str(), 1);
    first = file("first.gguf", "GGUF");
    second = file("second.gguf", "GGUF");
    other.fingerprint = "0123456789abcdef0123456789abcdef";
    models.options.model_folders = {folder};
    models.opener = [this](const ModelOptions& options) {
      opened.push_back(options);
      if (gone) throw Error(ErrorKind::model, "it is gone");
      fake::Script& one = options.model == first ? script : other;
      const uint32_t n_ctx = options.ctx == 0 ? 512 : std::min(options.ctx, one.trained_for);
      return at_path(fake::opener(one, n_ctx, options.model == first ? fake::kTemplate : kOther),
                     options.model);
    };
    store = Store::in_memory();
    worker = std::make_unique<Worker>(at_path(fake::opener(script), first));
    settings.asks = true;
    models.options.chat_template = "of the first";
    chat = make_chat(*store, *worker, settings, front, models);
    loop.watch(chat->wake_fd(), [this] { chat->handle_events(); });
    worker->start();
    until_idle();
  }
  void TearDown() override {
    unsetenv("XDG_CACHE_HOME");
    ChatFolderTest::TearDown();
  }
  std::string last_error() { return front.errors.empty() ? "" : front.errors.back(); }

  fake::Script other;
  std::atomic<bool> gone = false;  // nothing can be opened
  std::string first, second;
  std::vector<ModelOptions> opened;
};

TEST_F(ModelsTest, TheConversationGoesOnWithAnotherModelsTemplate) {
  script.answer("one");
  other.answer("two");
  say("a");
  say("/model second");
  EXPECT_THAT(front.log, HasSubstr("second answers from here on"));
  ASSERT_EQ(opened.size(), 1U);
  EXPECT_EQ(opened[0].chat_template, "");  // that was for the first
  say("b");
  EXPECT_EQ(fake::text_of(other.prompts().back()), "<bos>[user]a[assistant]one[user]b[assistant]");
  EXPECT_EQ(shown_texts(), (std::vector<std::string>{"a", "one", "b", "two"}));
  EXPECT_EQ(script.prompts().size(), 1U);
  say("/model second");
  EXPECT_THAT(front.log, HasSubstr("second answers already"));
  script.answer("three");
  say("/model " + first);  // a path does as well
  EXPECT_EQ(opened.back().chat_template, "of the first");
  say("c");
  EXPECT_EQ(shown_texts().back(), "three");
}

TEST_F(ModelsTest, AModelThatCannotBeOpenedLeavesTheOneThatAnswers) {
  script.answer("one");
  gone = true;
  say("/model second");
  EXPECT_THAT(last_error(), HasSubstr("second cannot be opened, so first goes on: it is gone"));
  EXPECT_EQ(script.opened(), 1);  // it was not even closed
  say("a");
  EXPECT_EQ(shown_texts().back(), "one");
  // One that turns out not to fit is noticed later.
  gone = false;
  other.wrong_device(true);
  script.answer("two");
  say("/model second");
  EXPECT_THAT(last_error(), HasSubstr("second cannot be opened, so first goes on: no usable device"));
  EXPECT_EQ(script.opened(), 2);
  say("b");
  EXPECT_EQ(shown_texts().back(), "two");
  EXPECT_EQ(chat->failure(), std::nullopt);
}

TEST_F(ModelsTest, AContextThatOneModelCannotHoldIsThereAgainWithTheOther) {
  say("/set ctx 1000");
  other.trained_for = 256;
  say("/model second");
  EXPECT_EQ(front.last_status.context_limit, 256U);
  EXPECT_THAT(front.log, HasSubstr("ctx is 1000; the context holds 256 tokens"));
  front.log.clear();
  say("/set temp 0.5");
  EXPECT_THAT(front.log, Not(HasSubstr("ctx is")));
  EXPECT_EQ(last_error(), "");
  say("/set ctx 257");
  EXPECT_THAT(last_error(), HasSubstr("wanted 0 to 256"));
  say("/model first");
  EXPECT_EQ(front.last_status.context_limit, 1000U);
}

TEST_F(ModelsTest, AContextThatIsTheUsualOneAgainIsSoWhereTheModelIsOpenedAgain) {
  say("/set ctx 100");
  say("/model second");
  say("/set ctx 0");
  const uint32_t usual = front.last_status.context_limit;
  EXPECT_GT(usual, 512U);
  say("/reopen");
  EXPECT_EQ(front.last_status.context_limit, usual);
}

TEST_F(ModelsTest, WhatIsSentToAModelThatCannotBeOpenedIsGivenBack) {
  script.answer("one");
  say("a");
  other.wrong_device(true);
  other.hold_loading(true);
  chat->submit("/model second");
  while (!chat->loading()) loop.run_once();
  chat->submit("b");
  chat->submit("c");
  other.hold_loading(false);
  until_idle();
  EXPECT_THAT(last_error(), HasSubstr("second cannot be opened, so first goes on"));
  EXPECT_EQ(front.returned, (std::vector<std::string>{"b", "c"}));
  EXPECT_EQ(shown_texts(), (std::vector<std::string>{"a", "one"}));
  EXPECT_EQ(script.prompts().size(), 1U);
}

TEST_F(ModelsTest, ItWaitsForTheAnswerAndWhatIsSentMeanwhileWaitsForIt) {
  script.answer("one");
  other.answer("two");
  script.hold_after(1);
  chat->submit("a");
  script.wait_until_held();
  chat->submit("/model second");
  EXPECT_TRUE(opened.empty());
  chat->submit("b");
  EXPECT_EQ(front.last_status.queued, std::vector<std::string>{"b"});
  script.release();
  until_idle();
  EXPECT_EQ(shown_texts(), (std::vector<std::string>{"a", "one", "b", "two"}));
}

TEST_F(ModelsTest, EscTakesTheWishBack) {
  script.answer("one");
  script.answer("two");
  script.hold_after(1);
  chat->submit("a");
  script.wait_until_held();
  chat->submit("/model second");
  chat->interrupt();
  script.release();
  until_idle();
  EXPECT_TRUE(opened.empty());
  say("b");
  EXPECT_EQ(shown_texts().back(), "two");
}

TEST_F(ModelsTest, AConversationOffersTheModelThatAnsweredIt) {
  script.answer("one");
  other.answer("two");
  other.answer("three");
  say("a");
  say("/model second");
  say("/new");
  say("b");
  front.log.clear();
  say("/open 1");
  EXPECT_THAT(front.log, HasSubstr("first answered here before; /model back goes on with it"));
  front.log.clear();
  say("/open 2");
  EXPECT_THAT(front.log, Not(HasSubstr("answered here before")));
  say("/open 1");
  say("/model back");
  EXPECT_EQ(opened.back().model, first);
  EXPECT_THAT(front.log, HasSubstr("first answers from here on"));
  say("/open 2");
  std::filesystem::remove(second);
  front.log.clear();
  say("/open 2");
  EXPECT_THAT(front.log, HasSubstr("second answered here before, and is not here any more"));
  say("/model back");
  EXPECT_THAT(last_error(), HasSubstr("not here any more"));
}

TEST_F(ModelsTest, Names) {
  say("/model secnd");
  EXPECT_THAT(last_error(), HasSubstr("did you mean second?"));
  for (const char* name : {"../x", "a/../b", "nothing at all"}) {
    say(std::string("/model ") + name);
    EXPECT_THAT(last_error(), HasSubstr("there is no model"));
  }
  say("/model falcon3-7b");
  EXPECT_THAT(last_error(), HasSubstr("a folder of safetensors"));
  say("/model stop");
  EXPECT_THAT(last_error(), HasSubstr("no model is being fetched"));
  say("/model back");
  EXPECT_THAT(last_error(), HasSubstr("nobody knows which model"));
  EXPECT_TRUE(opened.empty());
  EXPECT_THAT(chat->complete("/model sec"), Contains("/model second"));
  EXPECT_THAT(chat->complete("/model bitnet"), Contains("/model bitnet-2b4t"));
  std::vector<std::string> labels;
  for (const MenuEntry& entry : chat->menu("/model ")) labels.push_back(entry.label);
  EXPECT_THAT(labels, Contains("second"));
  EXPECT_THAT(labels, Contains("bitnet-2b4t"));
  EXPECT_THAT(labels, Not(Contains("falcon3-7b")));
}

TEST_F(ModelsTest, OneIsPickedFromAList) {
  other.answer("two");
  chat->submit("/model");
  const std::vector<Choice> all = front.choices.find("");
  EXPECT_EQ(all.size(), models_here(models.options.model_folders).size() + catalogue().size());
  EXPECT_THAT(front.choices.find("first").at(0).detail, HasSubstr("answers"));
  const std::vector<Choice> found = front.choices.find("SECOND");
  ASSERT_EQ(found.size(), 1U);
  front.choices.chosen(found[0].id);
  until_idle();
  say("b");
  EXPECT_EQ(shown_texts().back(), "two");
}

TEST(Catalogue, EveryRowIsWhole) {
  for (const CatalogueRow& row : catalogue()) {
    EXPECT_EQ(find_in_catalogue(row.name), &row);  // no other has its name
    const ModelName name = model_name_of(row);
    EXPECT_EQ(std::string(row.repo), name.owner + "/" + name.repo);
    EXPECT_TRUE(parse_model_name(*row.file == '\0' ? row.repo : std::string(row.repo) + "/" + row.file))
        << row.name;
    EXPECT_TRUE(row.bytes != 0 || !row.rounded) << row.name;
  }
}

TEST(WhyNotRun, IsWhatTheTablesOfTheEngineSay) {
  EXPECT_EQ(why_not_run("bitnet-b1.58", "i2_s"), "");
  EXPECT_THAT(why_not_run("llama", "tl1"), HasSubstr("TL1"));
  EXPECT_THAT(why_not_run("qwen35", "i2_s"), HasSubstr("I2_S"));
  EXPECT_EQ(why_not_run("qwen35", "tq2_0"), "");
  EXPECT_THAT(why_not_run("llama", "no type"), HasSubstr("no type"));
  EXPECT_THAT(why_not_run("no family", "i2_s"), HasSubstr("no family"));
}

}  // namespace
}  // namespace bitnet
