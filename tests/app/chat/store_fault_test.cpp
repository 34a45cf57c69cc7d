// Tests a database that fails, at every call that a session makes and in every way that a disk can. What was
// said to be saved must be there afterwards, the chat must go on, and the file must be whole.
#include "store_fault.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <vector>

#include "app/store/sqlite_db.h"
#include "engine/error.h"

namespace bitnet {
namespace {

using faulty_vfs::Fault;
using testing::HasSubstr;
namespace fs = std::filesystem;

// The texts that the person was told are kept: those of each turn that ended while the status said "saved".
struct Acknowledged {
  std::vector<std::string> said;
  std::vector<std::string> answers;
};

void check_kept(const std::string& file, const Acknowledged& kept, const std::string& what) {
  const auto store = Store::open(file);
  Database db(file);
  Statement check(db, "PRAGMA integrity_check");
  ASSERT_TRUE(check.step()) << what;
  EXPECT_EQ(check.text(0), "ok") << what;
  std::vector<std::string> all;
  Statement query(db, "SELECT text FROM message");
  while (query.step()) all.push_back(query.text(0));
  for (const auto* list : {&kept.said, &kept.answers}) {
    for (const std::string& text : *list) EXPECT_THAT(all, testing::Contains(text)) << what;
  }
  // A draft whose end the failed database could not be told belongs to this process, and is marked once this
  // process has gone.
  Statement drafts(db, "SELECT count(*) FROM message WHERE finish IS NULL");
  ASSERT_TRUE(drafts.step());
  EXPECT_LE(drafts.integer(0), 1) << what;
}

// A session with `fault` at its n-th call. run() returns false if the session ended before that call.
class OneSession : public ChatTest {
 public:
  void TestBody() override {}

  bool run(const std::string& path, Fault fault, uint64_t n, bool stays) {
    const std::string what = faulty_vfs::name_of(fault) + " " + std::to_string(n) + (stays ? " and on" : "");
    Acknowledged kept;
    for (const char* text : {"first answer", "second answer", "third answer", "fourth answer"})
      script.answer(text);
    faulty_vfs::fail(fault, n, stays);
    try {
      store = Store::open(path);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::database) << what;
      faulty_vfs::heal();
      check_kept(path, kept, what);
      return true;
    }
    start_loaded();
    turn("one", "first answer", kept, what);
    turn("two", "second answer", kept, what);
    for (const char* command : {"/title a title", "/system be kind", "/undo", "/redo", "/list"})
      command_survives(command, what);
    turn("three", "third answer", kept, what);
    command_survives("/branches", what);
    command_survives("/regen", what);
    until_idle();
    EXPECT_EQ(front.shown.back().text, "fourth answer") << what;
    if (HasFailure()) ADD_FAILURE() << front.log;
    const bool was_saved = front.last_status.saved;
    loop.unwatch(chat->wake_fd());
    chat.reset();
    worker.reset();
    store.reset();
    const bool happened = faulty_vfs::happened();
    EXPECT_TRUE(happened || was_saved) << what;
    EXPECT_TRUE(was_saved || !front.errors.empty()) << what << ": nothing was said";
    faulty_vfs::heal();
    check_kept(path, kept, what);
    return happened;
  }

 private:
  void turn(const char* said, const char* answer, Acknowledged& kept, const std::string& what) {
    try {
      chat->submit(said);
      until_idle();
    } catch (const Error& error) {
      ADD_FAILURE() << what << ", at \"" << said << "\": " << error.what();
      return;
    }
    ASSERT_GE(front.shown.size(), 2U) << what;
    EXPECT_EQ(front.shown.back().text, answer) << what;
    EXPECT_EQ(front.shown[front.shown.size() - 2].text, said) << what;
    if (!front.last_status.saved) return;
    kept.said.emplace_back(said);
    kept.answers.emplace_back(answer);
  }
  void command_survives(const char* command, const std::string& what) {
    try {
      chat->submit(command);
      until_idle();
    } catch (const Error& error) {
      ADD_FAILURE() << what << ", at " << command << ": " << error.what();
    }
  }
};

// With sanitizers, which are slow, only every third call fails, for each fault other ones.
#ifdef BITNET_SANITIZED
constexpr uint64_t kStep = 3;
#else
constexpr uint64_t kStep = 1;
#endif

TEST_F(StoreFault, AtEveryCallOfASessionNothingAcknowledgedIsLost) {
  uint64_t sessions = 0, first = 0;
  for (const Fault fault : faulty_vfs::kFaults) {
    for (const bool stays : {false, true}) {
      for (uint64_t n = 1 + first++ % kStep;; n += kStep) {
        const std::string path = folder_ / (faulty_vfs::name_of(fault) + ".db");
        OneSession session;
        ++sessions;
        const bool happened = session.run(path, fault, n, stays);
        for (const char* suffix : {"", "-wal", "-shm", "-journal"}) fs::remove(path + suffix);
        if (!happened || HasFailure()) break;
      }
      if (HasFailure()) return;
    }
  }
  std::cout << sessions << " sessions\n";
}

// A migration that was cut off used to leave a backup, because of which no later migration could begin.
TEST_F(StoreFault, ABackupThatWasLeftBehindIsNoHindrance) {
  { Store::open(file())->add_conversation("kept"); }
  {
    Database(file()).execute(
        "ALTER TABLE conversation DROP COLUMN archived; ALTER TABLE message DROP COLUMN kept;"
        "ALTER TABLE conversation DROP COLUMN deleted; ALTER TABLE turn DROP COLUMN imported;"
        "DROP TABLE unfinished; ALTER TABLE turn DROP COLUMN thought_tokens;"
        "ALTER TABLE conversation DROP COLUMN once; PRAGMA user_version = 1");
  }
  for (const char* suffix : {".v1-backup", ".v1-backup.unfinished"})
    std::ofstream(file() + suffix) << "cut short";
  EXPECT_EQ(Store::open(file())->conversation(1)->system, "kept");
  EXPECT_EQ(Database(file() + ".v1-backup").pragma("user_version"), 1);
  EXPECT_FALSE(fs::exists(file() + ".v1-backup.unfinished"));
  EXPECT_EQ(fs::status(file() + ".v1-backup").permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

// Fuzzing found that the version was used unchecked as an index into the table of migrations.
TEST_F(StoreFault, ANegativeVersionIsRefused) {
  { Store::open(file()); }
  { Database(file()).execute("PRAGMA user_version = -7"); }
  try {
    Store::open(file());
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::database);
    EXPECT_THAT(error.what(), HasSubstr("-7"));
  }
}

// Fuzzing found that SQLite's messages quote the names of a schema as they stand.
TEST_F(StoreFault, WhatSqliteSaysIsPrintable) {
  { Store::open(file()); }
  {
    Database db(file());
    db.execute(
        "PRAGMA writable_schema = 1; UPDATE sqlite_master SET sql = 'CREATE TABLE \x1b[2J(' WHERE name = "
        "'turn'");
  }
  try {
    Store::open(file());
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find('\x1b'), std::string::npos) << error.what();
  }
}

TEST_F(StoreFault, AFileCutAtAnyPageIsRefusedOrReadWithoutHarm) {
  {
    const auto whole = Store::open(file());
    const int64_t conversation = whole->add_conversation("");
    for (int i = 0; i < 20; ++i) whole->add_message(conversation, {}, Role::user, std::string(500, 'x'));
  }
  std::ifstream in(file(), std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  for (size_t size = 1; size < bytes.size(); size += 1023) {
    const std::string cut = folder_ / "cut.db";
    for (const char* suffix : {"", "-wal", "-shm"}) fs::remove(cut + suffix);
    std::ofstream(cut, std::ios::binary) << bytes.substr(0, size);
    try {
      const auto opened = Store::open(cut);
      for (const auto& c : opened->conversations(9)) opened->branch(c.leaf);
      opened->add_message(opened->add_conversation(""), {}, Role::user, "x");
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::database);
      EXPECT_THAT(error.what(), HasSubstr("cut.db"));
    }
  }
}

TEST_F(StoreFault, TwoProcessesWriteOneDatabase) {
  { Store::open(file()); }
  constexpr int kTurns = 40;
  const auto write_turns = [&](const char* who) {
    const auto mine = Store::open(file());
    const int64_t conversation = mine->add_conversation(who);
    std::optional<int64_t> parent;
    for (int i = 0; i < kTurns; ++i) {
      parent = mine->add_message(conversation, parent, Role::user, who);
      StoredTurn turn = mine->begin_turn(conversation, parent, {});
      mine->append(turn, "answer to ", {{i, 0, 0}});
      mine->append(turn, who, {{i, 0, 0}});
      turn.finish = "stop";
      mine->finish_turn(turn);
      parent = turn.message;
    }
  };
  const pid_t child = fork();
  if (child == 0) {
    try {
      write_turns("child");
    } catch (const Error&) {
      _exit(1);
    }
    _exit(0);
  }
  write_turns("parent");
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  const auto both = Store::open(file());
  for (const int64_t conversation : {1, 2}) {
    const auto row = both->conversation(conversation);
    const auto branch = both->branch(row->leaf);
    ASSERT_EQ(branch.size(), 2U * kTurns);
    EXPECT_EQ(branch.back().text, "answer to " + row->system);
  }
  check_kept(file(), {}, "two processes");
}

// Several programs that begin at once each saw a database that the others were making, took it for an older
// one, and made its backup under one name.
TEST_F(StoreFault, ManyProcessesMakeOrMigrateOneDatabase) {
  const auto open_in_processes = [&] {
    int start[2];
    ASSERT_EQ(pipe(start), 0);
    std::vector<pid_t> children;
    for (int i = 0; i < 8; ++i) {
      children.push_back(fork());
      if (children.back() != 0) continue;
      char byte = 0;
      close(start[1]);
      if (read(start[0], &byte, 1) != 0) _exit(2);  // until all are there
      try {
        Store::open(file())->add_conversation("theirs");
      } catch (const Error& error) {
        std::cerr << error.what() << "\n";
        _exit(1);
      }
      _exit(0);
    }
    close(start[0]);
    close(start[1]);
    for (const pid_t child : children) {
      int status = 0;
      ASSERT_EQ(waitpid(child, &status, 0), child);
      EXPECT_EQ(status, 0);
    }
  };
  for (int round = 0; round < 5; ++round) {
    for (const char* suffix : {"", "-wal", "-shm"}) fs::remove(file() + suffix);
    open_in_processes();
    EXPECT_EQ(Store::open(file())->conversations(99, true).size(), 8U);
    EXPECT_FALSE(fs::exists(file() + ".v1-backup"));
  }
  Database(file()).execute("ALTER TABLE conversation DROP COLUMN once; PRAGMA user_version = 5");
  open_in_processes();
  EXPECT_EQ(Store::open(file())->conversations(99, true).size(), 16U);
  EXPECT_EQ(Database(file() + ".v5-backup").pragma("user_version"), 5);
  EXPECT_FALSE(fs::exists(file() + ".v5-backup.unfinished"));
}

// What the person said and how an answer ended survive a power cut. A batch in between survives only a crash
// of the program.
TEST_F(StoreFault, TurnsAreSyncedAndBatchesOfAnAnswerAreNot) {
  const auto kept = Store::open(file());
  const int64_t conversation = kept->add_conversation("");
  faulty_vfs::fail(Fault::sync, 1, true);
  EXPECT_THROW(kept->add_message(conversation, {}, Role::user, "x"), Error);
  faulty_vfs::heal();
  const StoredTurn turn = kept->begin_turn(conversation, {}, {});
  faulty_vfs::fail(Fault::sync, 1, true);
  kept->append(turn, "text", {{1, 0, 0}});
  EXPECT_FALSE(faulty_vfs::happened());
  EXPECT_THROW(kept->finish_turn(turn), Error);
}

// If another program holds the file for longer than we wait, the conversation goes on without it.
TEST_F(StoreFault, ALockedDatabaseCostsOnlyTheKeeping) {
  script.answer("first");
  script.answer("second");
  store = Store::open(file());
  start_loaded();
  say("one");
  EXPECT_TRUE(front.last_status.saved);
  faulty_vfs::fail(Fault::shared_memory, 1, true);
  say("two");
  faulty_vfs::heal();
  EXPECT_EQ(front.shown.back().text, "second");
  EXPECT_FALSE(front.last_status.saved);
  ASSERT_FALSE(front.errors.empty());
  EXPECT_THAT(front.errors[0], HasSubstr("nothing more of it is saved"));
  end();
  check_kept(file(), {{"one"}, {"first"}}, "locked");
}

// Where nothing can be saved already, the next try does not keep the person waiting.
TEST_F(StoreFault, ALockThatStaysIsWaitedForOnlyOnce) {
  store = Store::open(file());
  start_loaded();
  say("one");
  Database other(file());
  other.execute("BEGIN IMMEDIATE");
  faulty_vfs::skip_waits();
  say("two");
  EXPECT_THAT(front.errors.back(), HasSubstr("another program holds it"));
  const uint64_t first = faulty_vfs::waited();
  EXPECT_GE(first, 4000U);
  say("three");
  EXPECT_LT(faulty_vfs::waited() - first, 1000U);
  EXPECT_FALSE(front.last_status.saved);
  other.execute("ROLLBACK");
  say("four");
  EXPECT_TRUE(front.last_status.saved);
  EXPECT_EQ(store->branch(store->conversation(1)->leaf).size(), 8U);
  EXPECT_EQ(front.errors.size(), 1U);
}

// A lock of a moment does not cost the end of an answer; one that stays does not keep the program.
TEST_F(StoreFault, AProgramThatIsToEndWaitsForALockOnlyAMoment) {
  store = Store::open(file());
  Database other(file());
  other.execute("BEGIN IMMEDIATE");
  faulty_vfs::skip_waits();
  loop.note_end();
  EXPECT_THROW(store->add_conversation(""), Error);
  EXPECT_GE(faulty_vfs::waited(), 400U);
  EXPECT_LE(faulty_vfs::waited(), 600U);
  other.execute("ROLLBACK");
}

}  // namespace
}  // namespace bitnet
