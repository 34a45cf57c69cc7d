#include "store_schema.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <system_error>

#include "engine/error.h"
#include "sqlite_db.h"

namespace bitnet {
namespace {

// A message is in message_fts exactly while it has a finish: drafts are indexed once, when they end.
constexpr const char* kVersion1 = R"sql(
CREATE TABLE conversation (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  title TEXT NOT NULL DEFAULT '',
  system TEXT NOT NULL DEFAULT '',
  leaf INTEGER REFERENCES message(id) ON DELETE SET NULL DEFERRABLE INITIALLY DEFERRED,
  created INTEGER NOT NULL,
  updated INTEGER NOT NULL
);
CREATE TABLE message (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  conversation INTEGER NOT NULL REFERENCES conversation(id) ON DELETE CASCADE,
  -- deferred, not cascading: a cascade down a long conversation would be too deep a recursion for SQLite
  parent INTEGER REFERENCES message(id) DEFERRABLE INITIALLY DEFERRED,
  role TEXT NOT NULL CHECK (role IN ('system', 'user', 'assistant')),
  text TEXT NOT NULL,
  finish TEXT,              -- NULL: a draft; '' for what was not generated
  owner TEXT,               -- of a draft: the process that writes it
  created INTEGER NOT NULL
);
CREATE INDEX message_by_parent ON message(conversation, parent);
CREATE INDEX message_drafts ON message(id) WHERE finish IS NULL;
CREATE TABLE turn (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  message INTEGER NOT NULL REFERENCES message(id) ON DELETE CASCADE,
  seed INTEGER NOT NULL,
  sampler TEXT NOT NULL,
  system TEXT NOT NULL,
  build TEXT NOT NULL,
  device TEXT NOT NULL,
  driver TEXT NOT NULL,
  model TEXT NOT NULL,
  model_hash TEXT NOT NULL,
  template_hash TEXT NOT NULL,
  prompt_hash TEXT NOT NULL,
  prompt_tokens INTEGER NOT NULL,
  reused_tokens INTEGER NOT NULL DEFAULT 0,
  answer_tokens INTEGER NOT NULL DEFAULT 0,
  prefill_seconds REAL NOT NULL DEFAULT 0,
  decode_seconds REAL NOT NULL DEFAULT 0,
  finish TEXT,
  started INTEGER NOT NULL
);
CREATE INDEX turn_by_message ON turn(message);
CREATE TABLE token_run (
  turn INTEGER NOT NULL REFERENCES turn(id) ON DELETE CASCADE,
  position INTEGER NOT NULL,  -- of its first token in the turn
  ids BLOB NOT NULL,          -- int32, little-endian
  logprobs BLOB NOT NULL,     -- float32
  seconds BLOB NOT NULL,      -- float32, since decoding began
  PRIMARY KEY (turn, position)
) WITHOUT ROWID;
CREATE VIRTUAL TABLE message_fts USING fts5(text, content='message', content_rowid='id');
CREATE TRIGGER message_inserted AFTER INSERT ON message WHEN new.finish IS NOT NULL BEGIN
  INSERT INTO message_fts(rowid, text) VALUES (new.id, new.text);
END;
CREATE TRIGGER message_updated AFTER UPDATE ON message BEGIN
  INSERT INTO message_fts(message_fts, rowid, text) SELECT 'delete', old.id, old.text WHERE old.finish IS NOT NULL;
  INSERT INTO message_fts(rowid, text) SELECT new.id, new.text WHERE new.finish IS NOT NULL;
END;
CREATE TRIGGER message_deleted AFTER DELETE ON message WHEN old.finish IS NOT NULL BEGIN
  INSERT INTO message_fts(message_fts, rowid, text) VALUES ('delete', old.id, old.text);
END;
)sql";

// Conversations that /list leaves out, and messages that /fork keeps as the end of a branch.
constexpr const char* kVersion2 = R"sql(
ALTER TABLE conversation ADD COLUMN archived INTEGER NOT NULL DEFAULT 0;
ALTER TABLE message ADD COLUMN kept INTEGER NOT NULL DEFAULT 0;
)sql";

// Without these indexes SQLite scans all messages of the file for children of each message that is deleted.
constexpr const char* kVersion3 = R"sql(
CREATE INDEX IF NOT EXISTS message_children ON message(parent);
CREATE INDEX IF NOT EXISTS conversation_by_leaf ON conversation(leaf);
)sql";

// The trash; turns that an import brought, whose words are a stranger's; and work that is unfinished: 'scrub'
// after rows were removed whose words are still in free pages and in message_fts, and 'backups' if these
// words may be in backups too. Earlier programs left the words of what they deleted; the first scrub removes
// them.
constexpr const char* kVersion4 = R"sql(
ALTER TABLE conversation ADD COLUMN deleted INTEGER;  -- when it was put into the trash; NULL: it was not
ALTER TABLE turn ADD COLUMN imported INTEGER NOT NULL DEFAULT 0;
CREATE TABLE unfinished (work TEXT PRIMARY KEY, noted INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO unfinished SELECT 'scrub', random() WHERE EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'message');
)sql";

// How many of an answer's tokens are what the model thought before it answered.
constexpr const char* kVersion5 = R"sql(
ALTER TABLE turn ADD COLUMN thought_tokens INTEGER NOT NULL DEFAULT 0;
)sql";

// Conversations of one question of the command line (-p). Of those that are there nobody knows, so none is.
constexpr const char* kVersion6 = R"sql(
ALTER TABLE conversation ADD COLUMN once INTEGER NOT NULL DEFAULT 0;
)sql";

constexpr const char* kMigrations[kSchemaVersion] = {kVersion1, kVersion2, kVersion3,
                                                     kVersion4, kVersion5, kVersion6};

void refuse(const Database& db, const std::string& why) {
  throw Error(ErrorKind::database, fmt::format("database {}: {}", printable(db.path()), why));
}

void check_identity(Database& db, int64_t version, bool has_no_schema) {
  const int64_t id = db.pragma("application_id");
  const bool empty = version == 0 && id == 0 && has_no_schema;
  if (!empty && id != kApplicationId) {
    refuse(db, "is not a bitnet-chat database; name another with --db FILE");
  }
  if (version < 0) {
    refuse(db,
           fmt::format("has version {}, wanted 1 to {}: the file is damaged; move it away or use --db FILE",
                       version, kSchemaVersion));
  }
  if (version > kSchemaVersion) {
    refuse(db,
           fmt::format(
               "has version {}, this program knows versions up to {}; use a newer bitnet-chat or --db FILE",
               version, kSchemaVersion));
  }
}

// The statements that make a database of this version, by the names of what they make.
std::map<std::string, std::string> statements_of(int64_t version) {
  Database fresh(Database::kInMemory);
  for (int64_t i = 0; i < version; ++i) fresh.execute(kMigrations[i]);
  std::map<std::string, std::string> all = {
      {"sqlite_stat1", "CREATE TABLE sqlite_stat1(tbl,idx,stat)"},  // these two are of ANALYZE
      {"sqlite_stat4", "CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)"}};
  Statement rows(fresh, "SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL");
  while (rows.step()) all.emplace(rows.text(0), rows.text(1));
  return all;
}

// What a file may have: the statements of its version, and indexes of later ones, which migrations leave as
// they are.
std::map<std::string, std::string> statements_allowed(int64_t version) {
  static const std::map<std::string, std::string> latest = statements_of(kSchemaVersion);
  if (version >= kSchemaVersion) return latest;
  std::map<std::string, std::string> all = statements_of(version);
  for (const auto& [name, sql] : latest) {
    if (sql.starts_with("CREATE INDEX")) all.emplace(name, sql);
  }
  return all;
}

// Without what an ALTER TABLE of another version of SQLite may write otherwise.
std::string bare(std::string sql) {
  std::erase_if(sql, [](char c) { return c == '"' || c == ' ' || c == '\n' || c == '\t' || c == '\r'; });
  return sql;
}

// The columns of FTS5's own tables are those of the SQLite that made them, so their names are enough.
bool same_statement(const std::string& name, const std::string& sql, const std::string& wanted) {
  if (!name.starts_with("message_fts_")) return bare(sql) == bare(wanted);
  return sql.substr(0, sql.find('(')) == wanted.substr(0, wanted.find('('));
}

// A view or a trigger of a stranger would run where we read or write our tables, so what is not as this
// program makes it is refused before it runs, but for tables of other names, at which nobody looks. The type
// that sqlite_schema has of it says nothing.
// (SQLite's own trusted_schema = OFF would refuse our triggers too: FTS5 of SQLite 3.40 is not among what
// they may use.)
void check_schema(Database& db) {
  Statement rows(db, "SELECT name, sql, type, user_version FROM sqlite_schema, pragma_user_version");
  std::map<std::string, std::string> allowed;
  while (rows.step()) {
    if (rows.is_null(1)) continue;  // the index of a PRIMARY KEY
    if (allowed.empty()) allowed = statements_allowed(rows.integer(3));
    const auto at = allowed.find(rows.text(0));
    if (at == allowed.end() && rows.text(1).starts_with("CREATE TABLE")) continue;
    if (at == allowed.end() || !same_statement(at->first, rows.text(1), at->second)) {
      refuse(db, fmt::format("its {} {} is none that bitnet-chat makes: the file is damaged, or somebody "
                             "changed it; move it away or use --db FILE",
                             printable(rows.text(2), 20), printable(rows.text(0), 60)));
    }
  }
}

// Writes the backup under another name until it is whole: what a killed or failed migration leaves behind
// must neither be taken for a backup nor stand in the way of the next one. Requires: `db` is in a transaction
// that keeps others from writing, so that no other process makes this backup; since VACUUM is for a
// connection that is in none, another one reads.
void back_up(const Database& db, int64_t version) {
  const std::string copy = backup_path(db.path(), version);
  const std::string unfinished = copy + ".unfinished";
  std::error_code ignored;
  std::filesystem::remove(unfinished, ignored);
  std::filesystem::remove(unfinished + "-journal", ignored);
  // VACUUM would let others read it until it is whole.
  const int fd = open(unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0)
    refuse(db, fmt::format("its backup {} cannot be made: {}", printable(unfinished), std::strerror(errno)));
  close(fd);
  Database reader(db.path());
  reader.defend();
  Statement vacuum(reader, "VACUUM INTO ?");
  vacuum << std::string_view(unfinished.starts_with('/') ? unfinished : "./" + unfinished);  // no URI
  vacuum.run();
  std::error_code failed;
  std::filesystem::rename(unfinished, copy, failed);
  if (failed) refuse(db, fmt::format("its backup {} cannot be made: {}", printable(copy), failed.message()));
}

// The version of a database of ours whose schema is as this program makes it.
int64_t checked_version(Database& db) {
  db.defend();
  // In this order, because another process may make the tables meanwhile.
  const bool has_no_schema = db.pragma("schema_version") == 0;
  const int64_t version = db.pragma("user_version");
  check_identity(db, version, has_no_schema);
  check_schema(db);
  return version;
}

}  // namespace

std::string backup_path(const std::string& database, int64_t version) {
  return fmt::format("{}.v{}-backup", database, version);
}

void check_schema_to_read(Database& db) {
  const int64_t version = checked_version(db);
  if (version != kSchemaVersion)
    refuse(db,
           fmt::format("has version {}, and where it cannot be written only version {} is read; copy it to "
                       "another folder and use --db FILE",
                       version, kSchemaVersion));
}

void prepare_schema(Database& db) {
  if (checked_version(db) >= kSchemaVersion) return;
  db.transaction([&] {
    // Another process may have migrated it before we had the lock.
    const int64_t version = db.pragma("user_version");
    if (version >= kSchemaVersion) return;
    if (version > 0) back_up(db, version);
    for (int64_t i = version; i < kSchemaVersion; ++i) db.execute(kMigrations[i]);
    db.execute(fmt::format("PRAGMA application_id = {}", kApplicationId).c_str());
    db.execute(fmt::format("PRAGMA user_version = {}", kSchemaVersion).c_str());
  });
}

}  // namespace bitnet
