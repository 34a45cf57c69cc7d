// Tests the trash, and conversations that are removed for good.
#include <fstream>
#include <vector>

#include "store_fixture.h"

namespace bitnet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// These words occur nowhere else. The index may share their beginnings, and keeps at least the end of each.
const std::vector<std::string> kSecrets = {"qzxvkwjy", "jvxqpzwk", "wkzyxjqv", "zjqwvyxk"};

// A conversation whose messages, title, system prompt and turns hold the secrets, in rows of many sizes.
int64_t secret_conversation(Store& store) {
  const int64_t conversation = store.add_conversation("be a " + kSecrets[0]);
  store.set_title(conversation, "about " + kSecrets[1]);
  std::optional<int64_t> parent;
  for (int i = 0; i < 25; ++i) {
    const std::string text = "the " + kSecrets[2] + std::string(static_cast<size_t>(i * 37 % 1700), '.');
    parent = store.add_message(conversation, parent, Role::user, text + " of " + kSecrets[3]);
    StoredTurn turn = some_turn();
    turn.system = "be a " + kSecrets[0];
    turn = store.begin_turn(conversation, parent, turn);
    for (int part = 0; part < 4; ++part)
      store.append(turn, kSecrets[3] + " and " + kSecrets[2] + ", ", {{1, 0, 0}});
    turn.finish = "stop";
    store.finish_turn(turn);
    parent = turn.message;
  }
  return conversation;
}

// Returns the names of the files in `folder` that hold one of the words or the end of one. The end alone
// counts because an index may store the common beginning of words once.
std::vector<std::string> files_with_secrets(const std::filesystem::path& folder) {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    for (const std::string& secret : kSecrets) {
      if (bytes.find(secret.substr(3)) == std::string::npos) continue;
      found.push_back(entry.path().filename());
      break;
    }
  }
  return found;
}

TEST_F(StoreTest, NoWordOfAPurgedConversationIsLeftInAnyFile) {
  const auto store = Store::open(file());
  const int64_t other = store->add_conversation("");
  store->add_message(other, {}, Role::user, "something harmless");
  const int64_t conversation = secret_conversation(*store);
  StoredTurn draft = store->begin_turn(other, {}, some_turn());  // this chat goes on meanwhile
  store->append(draft, "harmless draft", {});
  EXPECT_FALSE(files_with_secrets(folder_).empty());
  std::filesystem::copy(file(), file() + ".v3-backup");
  ASSERT_TRUE(store->purge(conversation));
  EXPECT_EQ(store->scrub(), "");
  EXPECT_THAT(files_with_secrets(folder_), ElementsAre());
  EXPECT_FALSE(std::filesystem::exists(file() + ".v3-backup"));
  EXPECT_EQ(store->search("something", 9).size(), 1U);
  EXPECT_TRUE(store->search("draft", 9).empty());
  draft.finish = "stop";
  store->finish_turn(draft);
  EXPECT_EQ(store->search("draft", 9).size(), 1U);
  Database(file()).execute("INSERT INTO message_fts(message_fts, rank) VALUES ('integrity-check', 1)");
}

// SQLite finds no table that a key names if the file was written anew since this connection read it.
TEST_F(StoreTest, AfterAnotherProgramHasScrubbedAConversationIsPurgedAllTheSame) {
  std::vector<int64_t> conversations;
  for (int i = 0; i < 2; ++i) conversations.push_back(secret_conversation(*Store::open(file())));
  const auto one = Store::open(file());
  EXPECT_EQ(one->conversations(9).size(), 2U);
  const auto other = Store::open(file());
  EXPECT_TRUE(other->purge(conversations[1]));
  EXPECT_EQ(other->scrub(), "");
  EXPECT_TRUE(one->purge(conversations[0]));
  EXPECT_EQ(one->scrub(), "");
  EXPECT_THAT(files_with_secrets(folder_), ElementsAre());
}

// If the program ended after it had removed the rows and before it had removed the words, the end of the next
// chat finishes that.
TEST_F(StoreTest, APurgeThatWasCutShortIsFinishedLater) {
  {
    const auto store = Store::open(file());
    store->purge(secret_conversation(*store));
  }
  EXPECT_FALSE(files_with_secrets(folder_).empty());
  Store::open(file())->tidy();
  EXPECT_THAT(files_with_secrets(folder_), ElementsAre());
}

// While another program reads, the words stay in the WAL. The person is told, and it is mended later.
TEST_F(StoreTest, APurgeBesideAReaderSaysThatWordsAreLeftAndTakesThemLater) {
  const auto store = Store::open(file());
  const int64_t conversation = secret_conversation(*store);
  int ready[2];
  int done[2];
  ASSERT_EQ(pipe(ready) | pipe(done), 0);
  const pid_t child = fork();
  if (child == 0) {
    Database reader(file());
    Statement query(reader, "SELECT text FROM message");
    query.step();
    char byte = 'r';
    if (write(ready[1], &byte, 1) != 1 || read(done[0], &byte, 1) != 1) _exit(1);
    _exit(0);
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  store->purge(conversation);
  EXPECT_THAT(store->scrub(), HasSubstr("another program"));
  ASSERT_EQ(write(done[1], &byte, 1), 1);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  for (const int fd : {ready[0], ready[1], done[0], done[1]}) close(fd);
  store->tidy();
  EXPECT_THAT(files_with_secrets(folder_), ElementsAre());
}

TEST_F(StoreTest, WhatLiesInTheTrashIsListedNowhereElseAndComesBack) {
  const auto store = Store::open(file());
  const int64_t kept = store->add_conversation("");
  store->add_message(kept, {}, Role::user, "common word");
  const int64_t deleted = store->add_conversation("");
  store->add_message(deleted, {}, Role::user, "common word, rare one");
  EXPECT_TRUE(store->set_deleted(deleted, true));
  EXPECT_FALSE(store->set_deleted(deleted, true));
  EXPECT_FALSE(store->set_deleted(99, true));
  EXPECT_EQ(store->latest_conversation(), kept);
  EXPECT_EQ(store->conversations(9, true).size(), 1U);
  EXPECT_EQ(store->search("common", 9).size(), 1U);
  EXPECT_TRUE(store->search("rare", 9).empty());
  EXPECT_TRUE(store->search("omm", 9).size() == 1);  // it is found by looking at every text
  EXPECT_FALSE(store->has_conversation(deleted));
  ASSERT_EQ(store->trash().size(), 1U);
  EXPECT_EQ(store->trash()[0].id, deleted);
  EXPECT_TRUE(store->set_deleted(deleted, false));
  EXPECT_FALSE(store->set_deleted(deleted, false));
  EXPECT_EQ(store->search("rare", 9).size(), 1U);
  EXPECT_EQ(store->latest_conversation(), deleted);
}

TEST_F(StoreTest, TheTrashKeepsFor30DaysAndNoLonger) {
  const auto store = Store::open(file());
  const int64_t fresh = secret_conversation(*store);
  store->set_deleted(fresh, true);
  EXPECT_FALSE(store->tidy());
  EXPECT_EQ(store->trash().size(), 1U);
  const auto age = [&](int days) {
    const std::string sql =
        "UPDATE conversation SET deleted = deleted - " + std::to_string(days) + " * 86400000";
    Database(file()).execute(sql.c_str());
  };
  age(29);
  EXPECT_FALSE(store->tidy());
  age(1);
  EXPECT_TRUE(store->tidy());
  EXPECT_FALSE(store->conversation(fresh));
  EXPECT_THAT(files_with_secrets(folder_), ElementsAre());
}

// Older programs left the words of what they deleted in the index and in free pages.
TEST_F(StoreTest, AfterAMigrationTheWordsThatEarlierProgramsLeftGoToo) {
  {
    const auto store = Store::open(file());
    store->add_conversation("");
    const int64_t conversation = secret_conversation(*store);
    Database db(file());
    db.execute(("PRAGMA secure_delete = OFF; PRAGMA foreign_keys = ON; DELETE FROM conversation WHERE id = " +
                std::to_string(conversation))
                   .c_str());
    db.execute(
        "ALTER TABLE conversation DROP COLUMN deleted; ALTER TABLE turn DROP COLUMN imported;"
        "DROP TABLE unfinished; ALTER TABLE turn DROP COLUMN thought_tokens;"
        "ALTER TABLE conversation DROP COLUMN once; PRAGMA user_version = 3");
  }
  EXPECT_FALSE(files_with_secrets(folder_).empty());
  const auto store = Store::open(file());
  store->tidy();
  // The backup is kept as long as the trash.
  EXPECT_THAT(files_with_secrets(folder_), testing::IsSubsetOf({"chats.db.v3-backup"}));
  std::filesystem::last_write_time(
      file() + ".v3-backup", std::filesystem::file_time_type::clock::now() - std::chrono::hours(31 * 24));
  store->tidy();
  EXPECT_THAT(files_with_secrets(folder_), ElementsAre());
}

}  // namespace
}  // namespace bitnet
