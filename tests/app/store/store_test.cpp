#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "app/store/store_schema.h"
#include "store_fixture.h"

namespace bitnet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(StoreTest, KeepsAConversationAcrossOpens) {
  int64_t conversation = 0;
  {
    const auto store = Store::open(file());
    conversation = store->add_conversation("be kind");
    const int64_t user = store->add_message(conversation, {}, Role::user, "Hello");
    StoredTurn turn = store->begin_turn(conversation, user, some_turn());
    store->append(turn, "Hi ", {{5, -0.5F, 0.1F}});
    store->append(turn, "there", {{6, -0.25F, 0.2F}, {7, -1.0F, 0.3F}});
    turn.finish = "stop";
    turn.answer_tokens = 3;
    store->finish_turn(turn);
  }
  const auto store = Store::open(file());
  EXPECT_EQ(store->latest_conversation(), conversation);
  const auto row = store->conversation(conversation);
  ASSERT_TRUE(row);
  EXPECT_EQ(row->system, "be kind");
  const auto branch = store->branch(row->leaf);
  ASSERT_EQ(branch.size(), 2U);
  EXPECT_EQ(branch[0].text, "Hello");
  EXPECT_EQ(branch[1].text, "Hi there");
  EXPECT_EQ(branch[1].finish, "stop");
  EXPECT_FALSE(branch[1].draft);
  const auto turns = store->turns(branch[1].id);
  ASSERT_EQ(turns.size(), 1U);
  EXPECT_EQ(turns[0].seed, UINT64_MAX);
  EXPECT_EQ(turns[0].prompt_tokens, 7U);
  const auto tokens = store->tokens(turns[0].id);
  ASSERT_EQ(tokens.size(), 3U);
  EXPECT_EQ(tokens[2].id, 7);
  EXPECT_EQ(tokens[1].logprob, -0.25F);
}

TEST_F(StoreTest, TheFileNamesItsProgramWritesAheadAndChecksItsKeys) {
  const auto store = Store::open(file());
  Database db(file());
  EXPECT_EQ(db.pragma("application_id"), kApplicationId);
  EXPECT_EQ(db.pragma("user_version"), kSchemaVersion);
  Statement journal(db, "PRAGMA journal_mode");
  ASSERT_TRUE(journal.step());
  EXPECT_EQ(journal.text(0), "wal");
  EXPECT_EQ(kind_of([&] { store->add_message(77, {}, Role::user, "of no conversation"); }),
            ErrorKind::database);
}

// When a row is deleted, SQLite looks for what refers to it. Without an index that is slow in a large file.
TEST_F(StoreTest, DeletingSearchesAndDoesNotScan) {
  { Store::open(file()); }
  Database db(file());
  Statement keys(
      db,
      "SELECT m.name, k.\"from\" FROM sqlite_master m, pragma_foreign_key_list(m.name) k WHERE m.type = "
      "'table'");
  int count = 0;
  for (; keys.step(); ++count) {
    const std::string query = "SELECT 1 FROM " + keys.text(0) + " WHERE " + keys.text(1) + " = 1";
    Statement plan(db, "EXPLAIN QUERY PLAN " + query);
    ASSERT_TRUE(plan.step());
    EXPECT_THAT(plan.text(3), testing::StartsWith("SEARCH")) << query;
  }
  EXPECT_EQ(count, 5);
}

TEST_F(StoreTest, FilesAreForTheOwnerOnly) {
  setenv("XDG_DATA_HOME", (folder_ / "data").c_str(), 1);
  const auto store = Store::open("");
  unsetenv("XDG_DATA_HOME");
  store->add_conversation("");
  struct stat info {};
  ASSERT_EQ(stat((folder_ / "data/bitnet-chat/chats.db").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
  ASSERT_EQ(stat((folder_ / "data/bitnet-chat/chats.db-wal").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
  ASSERT_EQ(stat((folder_ / "data/bitnet-chat").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700U);
}

TEST_F(StoreTest, SiblingsStayWhenAnotherAnswerIsMade) {
  const auto store = Store::in_memory();
  const int64_t conversation = store->add_conversation("");
  const int64_t user = store->add_message(conversation, {}, Role::user, "Hello");
  StoredTurn first = store->begin_turn(conversation, user, some_turn());
  StoredTurn second = store->begin_turn(conversation, user, some_turn());
  first.finish = second.finish = "stop";
  store->finish_turn(first);
  store->finish_turn(second);
  EXPECT_EQ(store->children(conversation, user).size(), 2U);
  EXPECT_EQ(store->conversation(conversation)->leaf, second.message);
}

// A process that is killed in the middle of an answer leaves a draft with what it had stored.
// A store whose first write to the search index is that of an answer that goes on.
TEST_F(StoreTest, AnAnswerGoesOnAsTheFirstThingThatIsWritten) {
  {
    auto store = Store::open(file());
    const int64_t id = store->add_conversation("");
    const int64_t question = store->add_message(id, std::nullopt, Role::user, "why");
    StoredTurn turn = store->begin_turn(id, question, some_turn());
    store->append(turn, "because", {});
    turn.finish = "length";
    store->finish_turn(turn);
  }
  auto store = Store::open(file());
  StoredTurn turn = some_turn();
  turn.message = *store->conversation(1)->leaf;
  turn = store->begin_turn(1, std::nullopt, turn);
  EXPECT_EQ(kind_of([&] { store->begin_turn(1, std::nullopt, turn); }), ErrorKind::usage);
  store->append(turn, " it is", {});
  turn.finish = "stop";
  store->finish_turn(turn);
  EXPECT_EQ(store->message(turn.message)->text, "because it is");
  EXPECT_EQ(store->search("because", 9).size(), 1U);
}

TEST_F(StoreTest, ADraftOfADeadProcessIsMarkedInterrupted) {
  const pid_t child = fork();
  if (child == 0) {
    const auto store = Store::open(file());
    const int64_t conversation = store->add_conversation("");
    const int64_t user = store->add_message(conversation, {}, Role::user, "Hello");
    const StoredTurn turn = store->begin_turn(conversation, user, some_turn());
    store->append(turn, "partial xylophone", {{1, 0.0F, 0.0F}, {2, 0.0F, 0.0F}});
    raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));

  const auto store = Store::open(file());
  const auto branch = store->branch(store->conversation(1)->leaf);
  ASSERT_EQ(branch.size(), 2U);
  EXPECT_EQ(branch[1].text, "partial xylophone");
  EXPECT_EQ(branch[1].finish, "interrupted");
  EXPECT_FALSE(branch[1].draft);
  EXPECT_EQ(store->turns(branch[1].id).at(0).answer_tokens, 2U);
  EXPECT_EQ(store->search("xylophone", 10).size(), 1U);
}

TEST_F(StoreTest, ADraftOfALivingProcessIsLeftAlone) {
  const auto store = Store::open(file());
  const int64_t conversation = store->add_conversation("");
  StoredTurn turn = store->begin_turn(conversation, {}, some_turn());
  const auto other = Store::open(file());
  EXPECT_TRUE(other->message(turn.message)->draft);
  other->add_conversation("two writers");
  store->append(turn, "both write", {});
  EXPECT_EQ(other->message(turn.message)->text, "both write");
}

// Both chats show the answer, and looked at it before either of them wrote.
TEST_F(StoreTest, OfTwoChatsAtOneAnswerTheSecondOneIsRefused) {
  const auto one = Store::open(file()), two = Store::open(file());
  const int64_t id = one->add_conversation("");
  const int64_t question = one->add_message(id, {}, Role::user, "why");
  StoredTurn turn = one->begin_turn(id, question, some_turn());
  one->append(turn, "because", {});
  turn.finish = "length";
  one->finish_turn(turn);
  const int64_t answer = turn.message;

  turn = one->begin_turn(id, question, turn, "because");
  const auto say = [&] { two->add_message(id, answer, Role::user, "and so", "because"); };
  EXPECT_EQ(kind_of(say), ErrorKind::usage);  // it is written now
  one->append(turn, " it is", {});
  one->finish_turn(turn);
  EXPECT_EQ(kind_of(say), ErrorKind::usage);  // it is longer
  EXPECT_EQ(kind_of([&] { two->begin_turn(id, question, turn, "because"); }), ErrorKind::usage);
  EXPECT_EQ(one->outline(id).size(), 2U);
  EXPECT_EQ(one->message(answer)->text, "because it is");

  two->add_message(id, answer, Role::user, "and so", "because it is");
  std::string message;
  EXPECT_EQ(kind_of([&] { one->begin_turn(id, question, turn, "because it is"); }, &message),
            ErrorKind::usage);
  EXPECT_THAT(message, HasSubstr("said something after this answer"));
  EXPECT_FALSE(one->message(answer)->draft);
}

TEST_F(StoreTest, RefusesANewerDatabase) {
  { Store::open(file()); }
  { Database(file()).execute("PRAGMA user_version = 999"); }
  std::string message;
  EXPECT_EQ(kind_of([&] { Store::open(file()); }, &message), ErrorKind::database);
  EXPECT_THAT(message, HasSubstr("999"));
  EXPECT_THAT(message, HasSubstr("--db"));
}

TEST_F(StoreTest, RefusesWhatIsNoDatabaseOfOurs) {
  std::ofstream(file()) << "this is a text file, and long enough not to be an empty database";
  EXPECT_EQ(kind_of([&] { Store::open(file()); }), ErrorKind::database);
  const std::string other = folder_ / "other.db";
  { Database(other).execute("CREATE TABLE theirs(a)"); }
  EXPECT_EQ(kind_of([&] { Store::open(other); }), ErrorKind::database);
  EXPECT_EQ(kind_of([&] { Store::open("/dev/null/chats.db"); }), ErrorKind::database);
}

std::string bytes_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// A stranger's view or trigger would run with the first statement that reads or writes its table.
TEST_F(StoreTest, WhatThisProgramDoesNotMakeIsRefusedAndTheFileStaysAsItWas) {
  constexpr const char* kView =
      "PRAGMA foreign_keys = OFF; ALTER TABLE conversation RENAME TO theirs;"
      "CREATE VIEW conversation AS SELECT * FROM theirs;";
  constexpr const char* kOtherTrigger =
      "DROP TRIGGER message_deleted;"
      "CREATE TRIGGER message_deleted AFTER DELETE ON message BEGIN DELETE FROM conversation; END;";
  for (const auto& [sql, named] :
       {std::pair(kView, "its "),
        {"CREATE TRIGGER evil AFTER UPDATE ON message BEGIN SELECT 1; END;", "evil"},
        {kOtherTrigger, "trigger message_deleted"},
        {"ALTER TABLE turn ADD COLUMN g AS (zeroblob(9));", "table turn"},
        {"CREATE INDEX theirs ON message(hex(text));", "index theirs"}}) {
    for (const char* older : {"", "ALTER TABLE conversation DROP COLUMN once; PRAGMA user_version = 5;"}) {
      for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(file() + suffix);
      { Store::open(file())->add_conversation("kept"); }
      { Database(file()).execute((std::string("PRAGMA journal_mode = DELETE;") + older + sql).c_str()); }
      const std::string before = bytes_of(file());
      std::string message;
      EXPECT_EQ(kind_of([&] { Store::open(file()); }, &message), ErrorKind::database) << sql;
      EXPECT_THAT(message, testing::AllOf(HasSubstr(named), HasSubstr("none that bitnet-chat makes")));
      EXPECT_EQ(bytes_of(file()), before);
      EXPECT_FALSE(std::filesystem::exists(file() + ".v5-backup"));
    }
  }
}

TEST_F(StoreTest, WhatSqliteItselfAddsOrNobodyReadsIsNoReasonToRefuse) {
  { Store::open(file())->add_conversation("kept"); }
  { Database(file()).execute("ANALYZE; CREATE TABLE mine(a); VACUUM"); }
  EXPECT_EQ(Store::open(file())->conversation(1)->system, "kept");
}

TEST_F(StoreTest, ReadOnlyFolderIsADatabaseError) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  ASSERT_EQ(chmod(folder_.c_str(), 0500), 0);
  EXPECT_EQ(kind_of([&] { Store::open(file()); }), ErrorKind::database);
  chmod(folder_.c_str(), 0700);
}

TEST_F(StoreTest, WhatCannotBeWrittenIsReadInItsLatestVersion) {
  { Store::open(file())->add_conversation("kept"); }
  {
    Database db(file(), Database::ReadOnly());
    check_schema_to_read(db);
    EXPECT_EQ(db.pragma("user_version"), kSchemaVersion);
    EXPECT_EQ(kind_of([&] { db.execute("DELETE FROM conversation"); }), ErrorKind::database);
  }
  { Database(file()).execute("PRAGMA user_version = 5"); }
  Database older(file(), Database::ReadOnly());
  EXPECT_EQ(kind_of([&] { check_schema_to_read(older); }), ErrorKind::database);
}

TEST_F(StoreTest, SearchTakesAnyCharacters) {
  const auto store = Store::in_memory();
  const int64_t conversation = store->add_conversation("");
  store->add_message(conversation, {}, Role::user, "the \"quoted\" AND word* - (x)");
  EXPECT_EQ(store->search("quot", 10).size(), 1U);
  EXPECT_EQ(store->search("\"quoted", 10).size(), 1U);
  EXPECT_TRUE(store->search("nothing OR", 10).empty());
  EXPECT_TRUE(store->search("  ", 10).empty());
}

TEST_F(StoreTest, RemovesALongConversationWhole) {
  const auto store = Store::in_memory();
  const int64_t conversation = store->add_conversation("");
  std::optional<int64_t> parent;
  for (int i = 0; i < 2000; ++i) parent = store->add_message(conversation, parent, Role::user, "word");
  EXPECT_EQ(store->branch(parent).size(), 2000U);
  EXPECT_TRUE(store->remove_conversation(conversation));
  EXPECT_FALSE(store->remove_conversation(conversation));
  EXPECT_TRUE(store->search("word", 10).empty());
  EXPECT_FALSE(store->latest_conversation());
}

TEST_F(StoreTest, ADatabaseOfTheFirstVersionIsMigratedAfterABackup) {
  int64_t conversation = 0;
  {
    const auto store = Store::open(file());
    conversation = store->add_conversation("");
    store->add_message(conversation, {}, Role::user, "kept");
  }
  {
    Database db(file());
    db.execute(
        "ALTER TABLE conversation DROP COLUMN archived; ALTER TABLE message DROP COLUMN kept;"
        "ALTER TABLE conversation DROP COLUMN deleted; ALTER TABLE turn DROP COLUMN imported;"
        "DROP TABLE unfinished; ALTER TABLE turn DROP COLUMN thought_tokens;"
        "ALTER TABLE conversation DROP COLUMN once; PRAGMA user_version = 1");
  }
  const auto store = Store::open(file());
  EXPECT_TRUE(std::filesystem::exists(file() + ".v1-backup"));
  EXPECT_EQ(store->outline(conversation).size(), 1U);
  EXPECT_EQ(store->search("kept", 9).size(), 1U);
  EXPECT_EQ(store->latest_conversation(), conversation);  // nobody knows that it was asked once
  EXPECT_NE(store->add_conversation("", /*once=*/true), conversation);
  EXPECT_EQ(store->latest_conversation(), conversation);
  EXPECT_TRUE(store->set_archived(conversation, true));
}

TEST_F(StoreTest, AnArchivedConversationIsLeftOutUnlessAskedFor) {
  const auto store = Store::in_memory();
  const int64_t first = store->add_conversation("");
  const int64_t second = store->add_conversation("");
  EXPECT_TRUE(store->set_archived(second, true));
  EXPECT_FALSE(store->set_archived(99, true));
  EXPECT_EQ(store->latest_conversation(), first);
  EXPECT_EQ(store->conversations(9).size(), 1U);
  EXPECT_EQ(store->conversations(9, true).size(), 2U);
  EXPECT_TRUE(store->conversation(second)->archived);
}

TEST_F(StoreTest, TheOutlineIsTheWholeTreeWithoutTextAndAnswerTokens) {
  const auto store = Store::in_memory();
  const int64_t conversation = store->add_conversation("");
  const int64_t user = store->add_message(conversation, {}, Role::user, "u");
  for (const int32_t id : {5, 6}) {
    StoredTurn turn = store->begin_turn(conversation, user, some_turn());
    store->append(turn, "x", {{id, 0, 0}});
    store->append(turn, "y", {{id + 10, 0, 0}});
    store->finish_turn(turn);
  }
  store->set_kept(user, true);
  const auto outline = store->outline(conversation);
  ASSERT_EQ(outline.size(), 3U);
  EXPECT_TRUE(outline[0].kept);
  EXPECT_EQ(outline[1].parent, user);
  EXPECT_EQ(outline[2].role, Role::assistant);
  const auto messages = store->messages(conversation);
  ASSERT_EQ(messages.size(), 3U);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(messages[i].id, outline[i].id);
    EXPECT_EQ(messages[i].parent, outline[i].parent);
    EXPECT_EQ(messages[i].text, i == 0 ? "u" : "xy");
  }
  const auto tokens = store->answer_tokens(conversation);
  ASSERT_EQ(tokens.size(), 2U);
  EXPECT_THAT(tokens.at(outline[1].id), ElementsAre(5, 15));
  EXPECT_THAT(tokens.at(outline[2].id), ElementsAre(6, 16));
}

TEST_F(StoreTest, TheLatestAnswersOfAModelAreOfOtherConversationsThatArePresent) {
  const auto store = Store::open(file());
  const auto answered = [&](const std::string& model, int32_t first, bool imported = false) {
    const int64_t conversation = store->add_conversation("");
    StoredTurn turn = some_turn();
    turn.model_hash = model;
    turn.imported = imported;
    turn = store->begin_turn(conversation, {}, turn);
    store->append(turn, "x", {{first, 0, 0}, {first + 1, 0, 0}, {first + 2, 0, 0}});
    store->finish_turn(turn);
    return conversation;
  };
  EXPECT_THAT(store->latest_answers("this", 0, 100), ElementsAre());
  answered("this", 10);
  answered("that", 20);
  answered("this", 30);
  const int64_t trashed = answered("this", 40), own = answered("this", 50);
  answered("this", 60, /*imported=*/true);
  store->set_deleted(trashed, true);
  EXPECT_THAT(store->latest_answers("this", own, 100),
              ElementsAre(ElementsAre(10, 11, 12), ElementsAre(30, 31, 32)));
  EXPECT_THAT(store->latest_answers("this", own, 4), ElementsAre(ElementsAre(10), ElementsAre(30, 31, 32)));
  EXPECT_THAT(store->latest_answers("this", own, 3), ElementsAre(ElementsAre(30, 31, 32)));
}

// ---- what a stranger wrote

TEST_F(StoreTest, APathIsAPathWhateverItLooksLike) {
  const auto old = std::filesystem::current_path();
  std::filesystem::current_path(folder_);
  for (const char* name : {"file:x?mode=memory", ":memory:", "file::memory:", "file:y?mode=ro"}) {
    { Store::open(name)->add_conversation("kept"); }
    EXPECT_TRUE(std::filesystem::exists(folder_ / name)) << name;
    const auto store = Store::open(name);
    EXPECT_FALSE(store->is_private()) << name;
    EXPECT_EQ(store->conversations(9).size(), 1U) << name;
  }
  std::filesystem::current_path(old);
  EXPECT_EQ(kind_of([&] { Store::open(folder_); }), ErrorKind::database);
  ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(kind_of([&] { Store::open(folder_ / "pipe"); }), ErrorKind::database);
}

TEST_F(StoreTest, ConversationsThatAreNoTreesAreRefusedByTheirIdAndTheOthersAreNot) {
  const auto store = Store::open(file());
  const auto conversation = [&] {
    const int64_t id = store->add_conversation("");
    const int64_t first = store->add_message(id, {}, Role::user, "first");
    store->add_message(id, first, Role::user, "second");
    return id;
  };
  for (int i = 0; i < 6; ++i) conversation();  // messages 1 and 2, 3 and 4, ...
  Database(file()).execute(
      "PRAGMA foreign_keys = OFF;"
      "UPDATE message SET parent = 2 WHERE id = 1;"      // a circle of two
      "UPDATE message SET parent = 4 WHERE id = 4;"      // of one
      "UPDATE message SET parent = 1 WHERE id = 6;"      // in another conversation
      "UPDATE message SET parent = 99 WHERE id = 7;"     // nowhere
      "UPDATE conversation SET leaf = 1 WHERE id = 5");  // elsewhere
  for (int64_t id = 1; id <= 6; ++id) {
    const auto row = store->conversation(id);
    EXPECT_LE(store->branch(row->leaf).size(), 3U);  // the way to the root ends
    if (id == 6) {
      store->check_tree(*row);
      continue;
    }
    std::string message;
    EXPECT_EQ(kind_of([&] { store->check_tree(*row); }, &message), ErrorKind::database);
    EXPECT_THAT(message, HasSubstr("conversation " + std::to_string(id) + " is damaged"));
  }
  for (int64_t id = 1; id <= 5; ++id) EXPECT_TRUE(store->purge(id)) << id;
  EXPECT_EQ(store->branch(store->conversation(6)->leaf).size(), 2U);
}

TEST_F(StoreTest, AnImportStoresEverythingOrNothingAndNoTimeThatIsToCome) {
  const auto store = Store::open(file());
  WholeConversation whole;
  whole.row.created = whole.row.updated = int64_t{1} << 52;
  whole.messages.emplace_back();
  whole.messages[0].stored.created = int64_t{1} << 52;
  WholeConversation wrong = whole;
  wrong.row.leaf = 7;
  EXPECT_ANY_THROW(store->add_wholes({whole, whole, wrong}));
  EXPECT_TRUE(store->conversations(9).empty());
  const int64_t own = store->add_conversation("");
  const auto ids = store->add_wholes({whole, whole});
  store->set_title(own, "mine");
  const int64_t now = store->conversation(own)->created + 60'000;
  for (const int64_t id : ids) {
    EXPECT_LE(store->conversation(id)->updated, now);
    EXPECT_LE(store->conversation(id)->created, now);
    EXPECT_LE(store->messages(id).at(0).created, now);
  }
}

TEST_F(StoreTest, ASearchForThousandsOfWordsIsRefused) {
  const auto store = Store::in_memory();
  std::string words;
  for (int i = 0; i < 20'000; ++i) words += "word" + std::to_string(i) + " ";
  std::string message;
  EXPECT_EQ(kind_of([&] { store->search(words, 9); }, &message), ErrorKind::usage);
  EXPECT_THAT(message, HasSubstr("found 20000"));
  EXPECT_EQ(kind_of([&] { store->search(std::string(50'000, 'a'), 9); }), ErrorKind::usage);
  EXPECT_TRUE(store->search("thirty two words are more than enough for what anybody looks for", 9).empty());
}

}  // namespace
}  // namespace bitnet
