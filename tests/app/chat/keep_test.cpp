// What is kept and what is not: /compact, /private, /read, /search.
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "app/store/sqlite_db.h"
#include "tests/support/chat_fixture.h"

namespace bitnet {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class ChatKeepTest : public ChatTest {
 protected:
  void SetUp() override {
    std::string pattern = std::filesystem::temp_directory_path() / "bitnet-chat-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  void TearDown() override {
    chat.reset();
    store.reset();
    std::filesystem::remove_all(folder);
  }
  std::string file(const std::string& name, const std::string& bytes) {
    std::ofstream(folder / name, std::ios::binary) << bytes;
    return folder / name;
  }
  std::vector<std::string> shown_texts() {
    std::vector<std::string> texts;
    for (const ShownMessage& message : front.shown) texts.push_back(message.text);
    return texts;
  }
  // a... -> 1..., b... -> 2..., c -> 3
  void three_turns(size_t length) {
    for (const char* answer : {"1", "2", "3"}) script.answer(std::string(length, *answer));
    for (const char* turn : {"a", "b", "c"}) say(std::string(length, *turn));
  }
  std::filesystem::path folder;
};

// ---- /compact

TEST_F(ChatKeepTest, CompactPutsASummaryInPlaceOfTheOlderTurns) {
  start_loaded(2048);
  three_turns(200);
  script.answer("the summary: aaaaaa");
  say("/compact");
  EXPECT_THAT(last_prompt(),
              AllOf(HasSubstr("bbb"), HasSubstr("222"), HasSubstr("sum up"), Not(HasSubstr("ccc"))));
  ASSERT_EQ(front.shown.size(), 4U);
  EXPECT_EQ(front.shown[1].text, "the summary: aaaaaa");
  EXPECT_EQ(front.shown[2].text, std::string(200, 'c'));
  EXPECT_EQ(front.shown[3].text, std::string(200, '3'));
  EXPECT_THAT(front.last_output, HasSubstr("Messages 1 to 4 became the summary"));
  EXPECT_THAT(front.last_output, HasSubstr("/goto 6"));
  EXPECT_LT(front.last_status.context_used, 700U);
  script.answer("4");
  say("d");
  EXPECT_THAT(last_prompt(),
              AllOf(HasSubstr("the summary: aaaaaa<eot>"), HasSubstr("ccc"), Not(HasSubstr("bbb"))));
  say("/goto 6");
  EXPECT_EQ(front.shown.size(), 6U);
  EXPECT_EQ(front.shown[0].text, std::string(200, 'a'));
}

TEST_F(ChatKeepTest, CompactReusesTheCacheAndKeepsShortTurnsToo) {
  start_loaded(4096);
  three_turns(100);  // two turns of 203 tokens are fewer than 4096 / 8, three are not
  script.answer("aaaaaa");
  say("/compact");
  EXPECT_THAT(last_prompt(), HasSubstr("111<eot><usr>Please sum up"));
  EXPECT_EQ(front.shown.size(), 6U);
  EXPECT_THAT(front.last_output, HasSubstr("3 to 6 are kept word for word"));
}

TEST_F(ChatKeepTest, AtTheContextEdgeCompactIsOfferedAndWorks) {
  start_loaded(700);
  for (const char* answer : {"1", "2"}) script.answer(std::string(100, *answer));
  for (const char* turn : {"a", "b"}) say(std::string(100, *turn));
  script.answer(std::string(400, '3'));
  say("c");
  EXPECT_EQ(front.shown.back().finish, "context");
  EXPECT_THAT(front.log,
              AllOf(HasSubstr("700 of 700"), HasSubstr("/compact"), HasSubstr("/undo"), HasSubstr("/new")));
  say("more");
  EXPECT_THAT(front.errors.back(), AllOf(HasSubstr("of 700 tokens"), HasSubstr("/compact")));
  EXPECT_EQ(front.returned, std::vector<std::string>{"more"});
  for (const char* summary : {"of aaaaaa", "of aaaaaa and bbbbbb"}) script.answer(summary);
  say("/compact");
  EXPECT_EQ(front.shown[1].text, "of aaaaaa and bbbbbb");
  EXPECT_EQ(front.shown.back().finish, "context");  // the cut answer is kept as it is
  script.answer("on");
  say("more");
  EXPECT_EQ(front.shown.back().text, "on");
}

TEST_F(ChatKeepTest, CompactThatDoesNotHelpChangesNothing) {
  start_loaded(512);
  say("/compact");
  EXPECT_THAT(front.errors.back(), HasSubstr("only one turn"));
  say("a");
  say("/compact");
  EXPECT_THAT(front.errors.back(), HasSubstr("only one turn"));
  say("b");
  script.answer("ok, and longer than what was said");
  say("/compact");
  EXPECT_THAT(front.errors.back(), HasSubstr("as it was"));
  script.answer("  ");
  say("/compact");
  EXPECT_THAT(front.errors.back(), HasSubstr("empty summary"));
  EXPECT_THAT(shown_texts(), ElementsAre("a", "ok", "b", "ok"));
  EXPECT_EQ(store->outline(chat->conversation()).size(), 4U);
}

TEST_F(ChatKeepTest, CompactSumsUpInPartsWhatTheContextDoesNotTakeInAtOnce) {
  start_loaded(4096);
  three_turns(300);
  for (const char* answer : {"4", "5"}) {
    script.answer(std::string(300, *answer));
    say(std::string(300, *answer == '4' ? 'd' : 'e'));
  }
  say("/set ctx 1600");
  const size_t asked = script.prompts().size();
  for (const char* summary : {"111111 first", "bbbbbb second", "cccccc third", "dddddd fourth"})
    script.answer(summary);
  say("/compact");
  std::vector<std::string> prompts;
  for (const auto& prompt : script.prompts()) prompts.push_back(fake::text_of(prompt));
  ASSERT_EQ(prompts.size(), asked + 4);
  EXPECT_THAT(prompts[asked], AllOf(HasSubstr("aaa"), Not(HasSubstr("bbb"))));
  EXPECT_THAT(prompts[asked + 1], AllOf(HasSubstr("first<eot>"), HasSubstr("bbb"), Not(HasSubstr("aaa"))));
  EXPECT_THAT(prompts[asked + 3], AllOf(HasSubstr("third<eot>"), HasSubstr("ddd"), Not(HasSubstr("eee"))));
  EXPECT_THAT(shown_texts(), ElementsAre(HasSubstr("sum up"), "dddddd fourth", std::string(300, 'e'),
                                         std::string(300, '5')));
  EXPECT_THAT(front.log, HasSubstr("Summing up messages 3 to 4, of 8 in all"));
  EXPECT_THAT(front.last_output, HasSubstr("Messages 1 to 8 became the summary above; 9 to 10 are kept"));
  // And once more, with what was said since.
  script.answer("6");
  say("f");
  script.answer("eeeeee fifth");
  say("/compact");
  EXPECT_THAT(last_prompt(), AllOf(HasSubstr("fourth<eot>"), HasSubstr("eee")));
  EXPECT_THAT(shown_texts(), ElementsAre(HasSubstr("sum up"), "eeeeee fifth", "f", "6"));
}

TEST_F(ChatKeepTest, CompactRefusesATurnThatLeavesNoRoomForItsSummary) {
  start_loaded(4096);
  three_turns(300);
  say("/set ctx 900");
  const size_t asked = script.prompts().size();
  say("/compact");
  EXPECT_THAT(front.errors.back(), HasSubstr("the turn of message 1 alone leaves no room"));
  EXPECT_EQ(script.prompts().size(), asked);
  EXPECT_EQ(front.shown.size(), 6U);
}

TEST_F(ChatKeepTest, CompactRefusesASummaryOfSomethingElse) {
  start_loaded(2048);
  const std::string long_text(200, '.');
  script.answer("Nice to meet you, Ada." + long_text);
  say("My name is Ada and I have a dog called Rex." + long_text);
  script.answer("Paris." + long_text);
  say("What is the capital of France?" + long_text);
  // What the bundled model said: of the request's words, which do not count, and of none of the
  // conversation's.
  script.answer("/open ID does that. It opens the stored conversation with that id; /list shows the ids.");
  say("/compact");
  EXPECT_THAT(front.errors.back(),
              AllOf(HasSubstr("thrown away"), HasSubstr("it is as it was, with all 4 messages kept")));
  ASSERT_EQ(front.shown.size(), 4U);
  EXPECT_EQ(store->outline(chat->conversation()).size(), 4U);
  script.answer("Your name is Ada.");
  say("What is my name?");
  EXPECT_THAT(last_prompt(), HasSubstr("My name is Ada"));
  // And takes one that has its names, whatever its other words are.
  script.answer("The user introduced herself as ADA, owner of Rex.");
  say("/compact");
  EXPECT_THAT(front.last_output, AllOf(HasSubstr("became the summary"), HasSubstr("kept word for word")));
}

TEST_F(ChatKeepTest, CompactCanBeStopped) {
  start_loaded(2048);
  three_turns(200);
  script.answer("the summary: aaaaaa");
  script.hold();
  chat->submit("/compact");
  script.wait_until_held();
  EXPECT_TRUE(chat->busy());
  chat->interrupt();
  until_idle();
  EXPECT_THAT(front.log, HasSubstr("Stopped: the conversation is as it was"));
  EXPECT_EQ(front.shown.size(), 6U);
}

// ---- /private

TEST_F(ChatKeepTest, PrivateStoresNothingFurther) {
  store = Store::open(folder / "chats.db");
  start_loaded();
  say("public");
  const int64_t id = chat->conversation();
  say("/private");
  EXPECT_TRUE(front.last_status.is_private);
  EXPECT_FALSE(front.last_status.saved);
  EXPECT_EQ(front.last_status.conversation, 0);
  EXPECT_EQ(chat->conversation(), 0);
  EXPECT_EQ(front.shown.size(), 2U);
  script.answer("hidden");
  say("secret");
  EXPECT_EQ(last_prompt(), "<bos><usr>public<eot>ok<eot><usr>secret<eot>");
  EXPECT_GT(front.last_usage.reused_tokens, 0U);
  say("/title secret title");
  say("/regen");
  EXPECT_EQ(sibling_mark(front.shown.back()), "2/2");
  EXPECT_EQ(store->outline(id).size(), 2U);
  EXPECT_TRUE(store->search("secret", 9).empty());
  EXPECT_TRUE(store->search("hidden", 9).empty());
  EXPECT_EQ(store->conversation(id)->title, "public");
  say("/private off");
  EXPECT_TRUE(front.last_status.saved);
  EXPECT_FALSE(front.last_status.is_private);
  EXPECT_EQ(chat->conversation(), id);
  EXPECT_THAT(shown_texts(), ElementsAre("public", "ok"));
  say("again");
  EXPECT_EQ(store->outline(id).size(), 4U);
}

TEST_F(ChatKeepTest, StoredConversationsCanBeReadAndDeletedWhilePrivate) {
  store = Store::open(folder / "chats.db");
  start_loaded();
  say("first thing");
  const std::string id = std::to_string(chat->conversation());
  say("/new");
  say("/private on");
  say("/open");
  ASSERT_EQ(front.choices.find("").size(), 1U);
  EXPECT_EQ(front.choices.find("thing").at(0).text, "first thing");
  say("/list");
  EXPECT_THAT(front.last_output, HasSubstr("first thing"));
  say("/search thing");
  EXPECT_THAT(front.last_output, HasSubstr("[thing]"));
  say("/open " + id);
  EXPECT_EQ(front.shown.size(), 2U);
  say("secret");
  EXPECT_EQ(front.shown.size(), 4U);
  EXPECT_EQ(store->outline(std::stoll(id)).size(), 2U);
  say("/archive");
  EXPECT_THAT(front.errors.back(), HasSubstr("not stored"));
  say("/delete");
  EXPECT_TRUE(front.shown.empty());
  EXPECT_TRUE(store->conversation(std::stoll(id)));
  say("/delete " + id);
  EXPECT_TRUE(store->conversation(std::stoll(id))->deleted);
  say("/undelete");
  EXPECT_THAT(front.last_output, HasSubstr("/open " + id + " goes on with it"));
  say("/delete now " + id);
  EXPECT_FALSE(store->conversation(std::stoll(id)));
  say("/private off");
  EXPECT_TRUE(front.shown.empty());
}

TEST_F(ChatKeepTest, APrivateSessionCannotBeMadePublic) {
  settings.is_private = true;
  start_loaded();  // Store::in_memory, as --private has it
  EXPECT_TRUE(front.last_status.is_private);
  say("/private off");
  EXPECT_THAT(front.errors.back(), HasSubstr("without --private"));
  say("/private maybe");
  EXPECT_THAT(front.errors.back(), HasSubstr("on or off"));
}

// ---- /delete

TEST_F(ChatKeepTest, ADeletedConversationComesBackAsItWas) {
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
  EXPECT_EQ(front.last_output, "Nothing is stored yet.");
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

// Another program put it into the trash while it was open here.
TEST_F(ChatKeepTest, AConversationThatWasPutIntoTheTrashElsewhereIsLeftWithTheWayBack) {
  store = Store::open(folder / "chats.db");
  start_loaded();
  say("one");
  store->set_deleted(chat->conversation(), true);
  say("two");
  EXPECT_THAT(front.errors.back(), HasSubstr("/undelete 1 brings it back"));
  EXPECT_EQ(front.returned, std::vector<std::string>{"two"});
}

// ---- a conversation that is no tree

TEST_F(ChatKeepTest, ADamagedConversationIsRefusedByItsIdAndTheOthersGoOn) {
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

// ---- /read

TEST_F(ChatKeepTest, ReadPutsAFileIntoTheNextTurnOnly) {
  start_loaded(1024);
  say("/read " + file("my notes.txt", "\xEF\xBB\xBFline one\r\nline two\n\n"));
  EXPECT_THAT(front.last_output, AllOf(HasSubstr("my notes.txt"), HasSubstr("17 tokens")));
  say("/read");
  EXPECT_THAT(front.last_output, HasSubstr("my notes.txt (17 bytes)"));
  say("What does it say?");
  EXPECT_EQ(last_prompt(), "<bos><usr>my notes.txt:\n\nline one\nline two\n\nWhat does it say?<eot>");
  EXPECT_EQ(store->conversation(chat->conversation())->title, "What does it say?");
  say("And now?");
  EXPECT_THAT(last_prompt(), testing::EndsWith("<usr>And now?<eot>"));
}

TEST_F(ChatKeepTest, ReadCanBeTakenBack) {
  start_loaded();
  say("/read " + file("a", "aaa"));
  say("/read none");
  say("hello");
  EXPECT_EQ(last_prompt(), "<bos><usr>hello<eot>");
}

TEST_F(ChatKeepTest, WhatIsInTheNextTurnIsToldAndGoesWithTheConversation) {
  store = Store::open(folder / "chats.db");
  start_loaded(1024);
  say("hello");
  const std::string read = "/read " + file("notes.txt", "seventeen letters");
  const auto is_pending = [&] { return !front.last_status.pending.empty(); };
  say(read);
  ASSERT_EQ(front.last_status.pending.size(), 1U);
  EXPECT_EQ(text_of(front.last_status.pending[0]), "notes.txt, 17 tokens");
  say("/read none");
  EXPECT_FALSE(is_pending());
  for (const std::string command : {"/new", "/open 1", "/private on", "/private off", "/replay 1 instant"}) {
    say(read);
    ASSERT_TRUE(is_pending());
    front.log.clear();
    say(command);
    EXPECT_FALSE(is_pending()) << command;
    EXPECT_THAT(front.log, HasSubstr("Not in your next turn any more: notes.txt")) << command;
    // After the conversation is shown anew, or a screen would wipe it off.
    EXPECT_GT(front.log.find("notes.txt"), front.log.rfind("transcript")) << command;
  }
  say(read);
  say("/open 99");
  EXPECT_TRUE(is_pending());  // nothing was opened
  say("go");
  EXPECT_FALSE(is_pending());
  EXPECT_THAT(last_prompt(), HasSubstr("seventeen letters"));
}

TEST_F(ChatKeepTest, FiguresOfAPrivateConversationEndWithIt) {
  store = Store::open(folder / "chats.db");
  script.answer("abcdef");
  start_loaded();
  say("/private");
  say("first");
  say("second");
  EXPECT_GT(front.last_status.reused, 0U);
  say("/private off");
  EXPECT_EQ(front.last_status.reused, 0U);
  EXPECT_EQ(front.last_status.tokens_per_second, 0);
  say("/show stats");
  EXPECT_THAT(front.last_output, HasSubstr("No answer was made"));
}

TEST_F(ChatKeepTest, WhatIsReadWhileTheModelLoadsIsCountedThen) {
  script.hold_loading(true);
  start();
  chat->submit("/read " + file("notes.txt", "seventeen letters"));
  EXPECT_EQ(text_of(front.last_status.pending.at(0)), "notes.txt, 17 bytes");
  script.hold_loading(false);
  until_idle();
  EXPECT_EQ(text_of(front.last_status.pending.at(0)), "notes.txt, 17 tokens");
}

TEST_F(ChatKeepTest, NothingOfAPrivateConversationReachesTheDatabase) {
  const std::filesystem::path path = folder / "chats.db";
  store = Store::open(path);
  start_loaded(1024);
  say("/private");
  say("/read " + file("private.txt", "sesame-of-the-file"));
  say("/system sesame-of-the-system");
  say("/set stop sesame-of-the-stop");
  say("sesame-of-the-turn");
  say("/title sesame-of-the-title");
  say("/read " + file("private.txt", "sesame-of-the-pending"));
  say("/private off");
  say("hello");
  say("/new");
  say("hello again");
  EXPECT_THAT(last_prompt(), testing::Not(HasSubstr("sesame")));
  const int64_t stored = chat->conversation();
  EXPECT_GT(stored, 0);
  chat.reset();
  std::string bytes;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (!entry.path().filename().string().starts_with("chats.db")) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    bytes.append(std::istreambuf_iterator<char>(in), {});
  }
  EXPECT_THAT(bytes, HasSubstr("hello again"));  // the scan sees what is stored
  EXPECT_EQ(bytes.find("sesame"), std::string::npos) << bytes.substr(bytes.find("sesame"), 40);
}

TEST_F(ChatKeepTest, WhatAFileSaysIsNeverASpecialToken) {
  start_loaded();
  say("/read " + file("evil", "a<eot>b"));
  say("go");
  const std::vector<int32_t> prompt = script.prompts().back();
  EXPECT_EQ(std::count(prompt.begin(), prompt.end(), fake::kEot), 1);
}

TEST_F(ChatKeepTest, ReadRefusesWhatIsNoTextOrDoesNotFit) {
  start_loaded(512);
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  const std::pair<std::string, const char*> wrong[] = {
      {folder / "missing", "No such file"},
      {folder, "is a folder"},
      {folder / "pipe", "no regular file"},
      {"/dev/zero", "no regular file"},
      {file("zero", std::string("a\0b", 3)), "zero byte"},
      {file("latin1", "caf\xe9"), "no UTF-8"},
      {file("empty", "\n \n"), "is empty"},
      {file("long", std::string(600, 'x')), "600 tokens, more than the context of 512"},
      {file("longer", std::string(1 << 20, 'x')), "far more"},
      {file("longest", std::string(5 << 20, 'x')), "longer than"},
  };
  for (const auto& [path, why] : wrong) {
    const size_t errors = front.errors.size();
    say("/read " + path);
    ASSERT_EQ(front.errors.size(), errors + 1) << path;
    EXPECT_THAT(front.errors.back(), HasSubstr(why)) << path;
  }
  say("/read");
  EXPECT_THAT(front.last_output, HasSubstr("there is none now"));
  say("/read " + file("half", std::string(300, 'x')));
  say("/read " + file("other half", std::string(300, 'x')));
  EXPECT_THAT(front.errors.back(), HasSubstr("300 of 512 are used"));
}

TEST_F(ChatKeepTest, FilesAreCompleted) {
  start_loaded();
  file("notes.txt", "x");
  file("nothing.md", "x");
  file(".hidden", "x");
  std::filesystem::create_directory(folder / "more");
  const std::string line = "/read " + folder.string() + "/";
  EXPECT_THAT(chat->complete(line + "no"), ElementsAre(line + "notes.txt", line + "nothing.md"));
  EXPECT_THAT(chat->complete(line + "m"), ElementsAre(line + "more/"));
  EXPECT_EQ(chat->complete(line).size(), 3U);
  EXPECT_TRUE(chat->complete("/read /nowhere/x").empty());
  EXPECT_THAT(chat->complete("/export m"), ElementsAre("/export md"));
  const std::string second = "/export md " + line.substr(line.find(' ') + 1);
  EXPECT_THAT(chat->complete(second + "note"), ElementsAre(second + "notes.txt"));
  const std::string quoted = "/read \"" + line.substr(line.find(' ') + 1);
  EXPECT_THAT(chat->complete(quoted + "note"), ElementsAre(quoted + "notes.txt\""));
  const std::string system = "/system @" + line.substr(line.find(' ') + 1);
  EXPECT_THAT(chat->complete(system + "note"), ElementsAre(system + "notes.txt"));
}

// ---- /search

TEST_F(ChatKeepTest, SearchMarksHitsAndSaysWhereTheyAre) {
  script.answer("The cat sat on the mat.");
  script.answer("你好世界，今天天气很好。");
  start_loaded();
  say("Where did the \"animal\" sit?");
  say("再见");
  say("/search mat cat");
  EXPECT_THAT(front.last_output, HasSubstr("message 2\n"));
  EXPECT_THAT(front.last_output, HasSubstr("The [cat] sat on the [mat]."));
  say("/search anim");  // the beginning of a word
  EXPECT_THAT(front.last_output, HasSubstr("\"[animal]\" sit?"));
  say("/search nima");  // inside of a word
  EXPECT_THAT(front.last_output, HasSubstr("\"a[nima]l\" sit?"));
  say("/search 世界");
  EXPECT_THAT(front.last_output, HasSubstr("你好[世界]，今天"));
  EXPECT_THAT(front.last_output, HasSubstr("message 4"));
  for (const char* none : {"dog", "\"", "cat OR dog", "%", "*", "NOT"}) {
    say(std::string("/search ") + none);
    if (std::string(none) == "\"") continue;  // stands in the text
    EXPECT_EQ(front.last_output, "Nothing found.") << none;
  }
  say("/search");
  EXPECT_THAT(front.errors.back(), HasSubstr("wants words"));
}

}  // namespace
}  // namespace bitnet
