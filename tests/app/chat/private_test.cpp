// Tests /private.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "app/store/sqlite_db.h"
#include "tests/support/chat_fixture.h"

namespace bitnet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ChatPrivateTest : public ChatFolderTest {};

TEST_F(ChatPrivateTest, PrivateStoresNothingFurther) {
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

// Borders of texts are counted too.
TEST_F(ChatPrivateTest, GuessesComeFromStoredConversationsAndNotFromPrivateOnes) {
  store = Store::open(folder / "chats.db");
  for (const char* text : {"stored", "hidden", "like the first"}) script.answer(text);
  start_loaded();
  say("a");
  EXPECT_EQ(script.learned(), 1U);
  say("/new");
  say("/private");
  say("b");
  EXPECT_EQ(script.learned(), 1U);
  say("/private off");
  say("/new");
  say("c");
  EXPECT_EQ(script.learned(), 1U + 6 + 1);
}

TEST_F(ChatPrivateTest, StoredConversationsCanBeReadAndDeletedWhilePrivate) {
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

TEST_F(ChatPrivateTest, NothingIsImportedIntoWhatIsNotStored) {
  store = Store::open(folder / "chats.db");
  start_loaded();
  say("first thing");
  const std::string exported = (folder / "x.json").string();
  say("/export json " + exported);
  say("/private on");
  say("/import " + exported);
  EXPECT_THAT(front.errors.back(), HasSubstr("/private off"));
  EXPECT_EQ(store->conversations(9).size(), 1U);
}

TEST_F(ChatPrivateTest, APrivateSessionCannotBeMadePublic) {
  settings.is_private = true;
  start_loaded();  // Store::in_memory, as --private has it
  EXPECT_TRUE(front.last_status.is_private);
  say("/private off");
  EXPECT_THAT(front.errors.back(), HasSubstr("without --private"));
  say("/private maybe");
  EXPECT_THAT(front.errors.back(), HasSubstr("on or off"));
}

TEST_F(ChatPrivateTest, FiguresOfAPrivateConversationEndWithIt) {
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

TEST_F(ChatPrivateTest, NothingOfAPrivateConversationReachesTheDatabase) {
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

// The database is replaced by a file that is no database, and that file then goes away.
TEST_F(ChatPrivateTest, NothingPrivateIsSavedWhenALostDatabaseComesBack) {
  const std::string path = folder / "chats.db";
  store = Store::open(path);
  start_loaded();
  say("public");
  say("/private");
  say("secret");
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path + suffix);
  std::ofstream(path) << "no database at all, and long enough to be read as the header of one";
  say("secret too");
  EXPECT_THAT(front.errors.back(), HasSubstr("was replaced"));
  std::filesystem::remove(path);
  say("secret again");
  EXPECT_FALSE(front.last_status.saved);
  EXPECT_EQ(front.shown.size(), 8U);
  say("/private off");
  say("public again");
  EXPECT_TRUE(store->search("secret", 9).empty());
  EXPECT_EQ(store->search("again", 9).size(), 1U);
}

}  // namespace
}  // namespace bitnet
