// Tests how a person leaves and comes back: a bare "quit", titles that the model makes, the menu of commands.
#include <gmock/gmock.h>

#include "tests/support/chat_fixture.h"

namespace bitnet {
namespace {

using testing::HasSubstr;

class LeavingTest : public ChatFolderTest {
 protected:
  void SetUp() override {
    ChatFolderTest::SetUp();
    settings.asks = true;
    store = Store::open(folder / "chats.db");
  }
  std::string title() { return store->conversation(1)->title; }
};

TEST_F(LeavingTest, ABareQuitIsAskedAbout) {
  script.answer("Really?");
  start_loaded();
  say("quit");
  EXPECT_FALSE(chat->quit_requested());
  EXPECT_TRUE(front.shown.empty());
  front.choices.chosen(2);
  until_idle();
  EXPECT_EQ(shown_texts(), (std::vector<std::string>{"quit", "Really?"}));
  say("exit");
  front.choices.chosen(1);
  EXPECT_TRUE(chat->quit_requested());
}

TEST_F(LeavingTest, WhereNothingCanBePickedTheSecondQuitLeaves) {
  front.has_hands = false;
  start_loaded();
  say("quit");
  EXPECT_FALSE(chat->quit_requested());
  EXPECT_THAT(front.log, HasSubstr("quit again ends the program"));
  say("quit");
  EXPECT_TRUE(chat->quit_requested());
}

TEST_F(LeavingTest, AScriptSaysQuitToTheModel) {
  settings.asks = false;
  script.answer("Bye");
  start_loaded();
  say("quit");
  EXPECT_EQ(shown_texts(), (std::vector<std::string>{"quit", "Bye"}));
}

TEST_F(LeavingTest, TheModelMakesATitleAfterTheFirstAnswer) {
  settings.titles = true;
  script.answer("Whales swim in the sea.");
  script.answer("\"Whales in the Sea\"");
  start_loaded();
  say("Tell me about whales");
  EXPECT_EQ(title(), "Whales in the Sea");
  EXPECT_EQ(shown_texts().size(), 2U);
  script.answer("Fine");
  say("Thanks");
  EXPECT_EQ(last_prompt(), "<bos><usr>Tell me about whales<eot>Whales swim in the sea.<eot><usr>Thanks<eot>");
}

TEST_F(LeavingTest, ATitleOfSomethingElseIsThrownAway) {
  settings.titles = true;
  script.answer("Whales swim in the sea.");
  script.answer("Cooking with garlic");
  script.answer("And more.");
  start_loaded();
  say("Tell me about whales");
  EXPECT_EQ(title(), "Tell me about whales");
  say("/title Mine");
  say("More");  // a title that the person gave stays
  EXPECT_EQ(title(), "Mine");
}

TEST_F(LeavingTest, AMessageDoesNotWaitForATitle) {
  settings.titles = true;
  script.answer("Whales.");
  script.answer("Whales, whales, whales, whales");
  script.answer("Sharks.");
  script.answer("Sharks");
  script.hold_after(9);  // the title alone has so many
  start_loaded();
  chat->submit("Whales?");
  while (front.last_usage.answer_tokens == 0) loop.run_once();
  script.wait_until_held();
  EXPECT_EQ(front.last_status.state, ChatState::idle);
  EXPECT_FALSE(chat->stoppable());
  chat->submit("Sharks?");
  script.release();
  until_idle();
  EXPECT_EQ(shown_texts(), (std::vector<std::string>{"Whales?", "Whales.", "Sharks?", "Sharks."}));
}

TEST_F(LeavingTest, ATitleIsOneShortLine) {
  settings.titles = true;
  script.answer("With half of their brain.");
  script.answer("\nTitle: \"How whales sleep.\"\nAnd");
  start_loaded();
  say("How do whales sleep?");
  EXPECT_EQ(title(), "How whales sleep");
}

TEST_F(LeavingTest, TheMenuNarrowsAsACommandIsTyped) {
  start_loaded();
  const auto labels = [this](std::string_view line) {
    std::vector<std::string> labels;
    for (const MenuEntry& entry : chat->menu(line)) labels.push_back(entry.line);
    return labels;
  };
  EXPECT_GT(labels("/").size(), 30U);
  EXPECT_EQ(labels("/un"), (std::vector<std::string>{"/undelete ", "/undo"})) << "in the order of the table";
  EXPECT_EQ(labels("/ex"), (std::vector<std::string>{"/export ", "/exit"}));
  EXPECT_TRUE(labels("/undo ").empty());
  EXPECT_TRUE(labels("//").empty());
  EXPECT_TRUE(labels("undo").empty());
}

}  // namespace
}  // namespace bitnet
