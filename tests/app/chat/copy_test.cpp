// Tests what a front end does for the person: the clipboard of /copy, and the list that /open picks from.
#include <gmock/gmock.h>

#include "tests/support/chat_fixture.h"

namespace bitnet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ChatCopyTest : public ChatTest {
 protected:
  std::vector<std::string> titles(const std::string& filter) {
    std::vector<std::string> found;
    for (const Choice& choice : front.choices.find(filter)) found.push_back(choice.text);
    return found;
  }
  void talk(const std::string& title, const std::string& turn, const std::string& answer) {
    say("/new");
    script.answer(answer);
    say(turn);
    say("/title " + title);
  }
};

TEST_F(ChatCopyTest, CodeBlocksAreNumberedOverTheConversation) {
  start_loaded();
  say("/copy");
  EXPECT_THAT(front.errors.back(), HasSubstr("no answer to copy yet"));
  script.answer("Do\n```sh\nmake\n  all\n```\nor\n```\nninja\n```\n");
  say("a");
  script.answer("```cpp\nint x;\n```");
  say("b");
  say("/copy");
  say("/copy 1");
  say("/copy 2");
  EXPECT_THAT(front.copied, ElementsAre("int x;\n", "make\n  all\n", "ninja\n"));
  EXPECT_THAT(front.log, HasSubstr("Copied code block 1 (sh), 2 lines."));
  EXPECT_THAT(front.log, HasSubstr("Copied code block 2, 1 line."));
  for (const char* wrong : {"/copy 0", "/copy 4", "/copy x", "/copy 1x", "/copy -1"}) {
    say(wrong);
    EXPECT_THAT(front.errors.back(), HasSubstr("a code block, 1 to 3, or 'answer'")) << wrong;
  }
  say("/copy answer");
  EXPECT_EQ(front.copied.back(), "```cpp\nint x;\n```");
}

TEST_F(ChatCopyTest, APersonPicksABlockWithTheKeyboard) {
  settings.asks = true;
  start_loaded();
  script.answer("Do\n```sh\nmake\n  all\n```\nor\n```python\n\nprint(1)\n```\n");
  say("a");
  say("/copy");
  const std::vector<Choice> blocks = front.choices.find("");
  ASSERT_EQ(blocks.size(), 2U);
  EXPECT_EQ(blocks[1].text, " 2  print(1)");
  EXPECT_EQ(blocks[0].detail, "sh, 2 lines");
  front.choices.chosen(1);
  EXPECT_THAT(front.copied, ElementsAre("make\n  all\n"));
  front.choices.keys.at(0).chosen(2);
  EXPECT_THAT(front.returned, ElementsAre("/save 2 block-2.py"));
}

TEST_F(ChatCopyTest, WithoutCodeTheAnswerIsCopiedByteForByte) {
  start_loaded();
  script.answer("caf\u00e9 \x1b[31m\t漢字 \n");
  say("a");
  say("/copy");
  EXPECT_THAT(front.copied, ElementsAre("caf\u00e9 \x1b[31m\t漢字 \n"));
  say("/copy 1");
  EXPECT_THAT(front.errors.back(), HasSubstr("there are none here"));
}

TEST_F(ChatCopyTest, WithoutAClipboardTheTextIsShown) {
  front.has_hands = false;
  start_loaded();
  script.answer("```\nmake\n```");
  say("a");
  say("/copy");
  EXPECT_EQ(front.last_output, "make\n");
  say("/copy answer");
  EXPECT_EQ(front.last_output, "```\nmake\n```");
}

TEST_F(ChatCopyTest, ThePickerFindsTitlesAndWhatWasSaid) {
  start_loaded();
  say("/open");
  EXPECT_THAT(front.errors.back(), HasSubstr("nothing is stored yet"));
  talk("Cooking rice", "How long?", "Twelve minutes.");
  talk("The sea", "Whales?", "A narwhal has a tusk.");
  talk("漢字", "Kanji?", "There are many rice fields.");
  say("/archive 1");
  say("/open");
  EXPECT_EQ(front.choices.title, "Open a conversation");
  EXPECT_THAT(titles(""), ElementsAre("漢字", "The sea"));
  EXPECT_THAT(titles("SEA the"), ElementsAre("The sea"));
  EXPECT_THAT(titles("字"), ElementsAre("漢字"));
  EXPECT_THAT(titles("narwhal"), ElementsAre("The sea"));  // it was said, but is in no title
  EXPECT_THAT(titles("rice"), ElementsAre("漢字"));        // the conversation with the title was archived
  EXPECT_THAT(titles("minutes"),
              ElementsAre("Cooking rice"));  // but what was said there is found, as by /search
  EXPECT_THAT(titles("na"), IsEmpty());      // this is too short to search all text for
  EXPECT_THAT(titles("\" OR x* (\x02"), IsEmpty());
  EXPECT_THAT(front.choices.find("sea")[0].detail, HasSubstr("2 messages"));
  front.choices.chosen(2);
  EXPECT_EQ(front.shown.front().text, "Whales?");
  say("/delete 3");
  front.choices.chosen(3);
  EXPECT_THAT(front.errors.back(), HasSubstr("conversation 3 is in the trash"));
  talk("Über Москва", "Wo?", "Im Osten.");
  say("/open");
  EXPECT_THAT(titles("москва über"), ElementsAre("Über Москва"));
}

TEST_F(ChatCopyTest, WithoutAPickerOpenLists) {
  front.has_hands = false;
  start_loaded();
  talk("The sea", "Whales?", "Yes.");
  say("/open");
  EXPECT_THAT(front.last_output, HasSubstr("The sea"));
  EXPECT_THAT(front.last_output, HasSubstr("/open ID goes on"));
  store->set_once(chat->conversation(), true);
  say("/open");
  EXPECT_THAT(front.last_output, testing::StartsWith("This list is empty; /list shows what -p asked.\n"));
}

using SaveTest = ChatFolderTest;

TEST_F(SaveTest, ABlockIsWrittenToAFileAndNothingIsOverwritten) {
  script.answer("```c\none\n```\nand\n```\ntwo\nlines\n```\n");
  start_loaded();
  say("code");
  const std::string target = folder / "two.txt";
  say("/save 2 " + target);
  std::ifstream saved(target);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(saved), {}), "two\nlines\n");
  EXPECT_TRUE(front.last_output.starts_with("Code block 2, 2 lines, is in ")) << front.last_output;
  say("/save 1 " + target);
  ASSERT_EQ(front.errors.size(), 1U);
  EXPECT_NE(front.errors.back().find("a ! behind the name overwrites it"), std::string::npos);
  say("/save 1 " + target + "!");
  EXPECT_EQ(front.errors.size(), 1U);
  say("/save 3 " + target);
  EXPECT_NE(front.errors.back().find("/save wants the number of a code block, 1 to 2; found '3'"),
            std::string::npos)
      << front.errors.back();
}

}  // namespace
}  // namespace bitnet
