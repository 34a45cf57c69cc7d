// The trash, and removing conversations for good.
//
// SQLite and FTS5 leave words behind: a deleted row stays in message_fts until its segments are merged, a
// page that was split keeps copies of the rows that moved, and the WAL keeps old pages until it is
// overwritten. So after rows were removed the index is made anew, the file is written anew (VACUUM), and the
// WAL is cut to nothing. The transaction that removes the rows also notes that this is to be done, so that
// the next program finishes it if this one ends before.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/base/clock.h"
#include "engine/error.h"
#include "sqlite_db.h"
#include "store.h"
#include "store_schema.h"

namespace bitnet {
namespace {

constexpr const char* kScrub = "scrub";
constexpr const char* kBackups = "backups";

}  // namespace

bool Store::set_deleted(int64_t conversation, bool deleted) {
  Statement update(
      db(), "UPDATE conversation SET deleted = ?1 WHERE id = ?2 AND (deleted IS NULL) = (?1 IS NOT NULL)");
  update << (deleted ? std::optional(now_milliseconds()) : std::nullopt) << conversation;
  update.run();
  return db().changes() > 0;
}

std::vector<StoredConversation> Store::trash() {
  std::vector<int64_t> ids;
  Statement query(db(),
                  "SELECT id FROM conversation WHERE deleted IS NOT NULL ORDER BY deleted DESC, id DESC");
  while (query.step()) ids.push_back(query.integer(0));
  std::vector<StoredConversation> all;
  for (const int64_t id : ids) {
    if (auto row = conversation(id)) all.push_back(std::move(*row));
  }
  return all;
}

// The random number tells one note from another: a note that another program makes while we work must stay.
void Store::note_unfinished(std::string_view work) {
  Statement note(db(), "INSERT OR REPLACE INTO unfinished VALUES (?, random())");
  note << work;
  note.run();
}

std::optional<int64_t> Store::unfinished(std::string_view work) {
  Statement query(db(), "SELECT noted FROM unfinished WHERE work = ?");
  query << work;
  if (!query.step()) return std::nullopt;
  return query.integer(0);
}

bool Store::remove(int64_t conversation, const char* left_to_do) {
  bool there = false;
  db().transaction([&] {
    // In a damaged file, messages of other conversations may follow one of these.
    Statement part(db(),
                   "UPDATE message SET parent = NULL WHERE conversation <> ?1 AND parent IN"
                   " (SELECT id FROM message WHERE conversation = ?1)");
    part << conversation;
    part.run();
    Statement remove(db(), "DELETE FROM conversation WHERE id = ?");
    remove << conversation;
    remove.run();
    there = db().changes() > 0;
    if (!there) return;
    note_unfinished(kScrub);
    if (left_to_do != nullptr) note_unfinished(left_to_do);
  });
  return there;
}

bool Store::remove_conversation(int64_t id) { return remove(id, nullptr); }
bool Store::purge(int64_t conversation) { return remove(conversation, kBackups); }

// Removes the backups that are older than `made_before`.
void Store::remove_backups(int64_t made_before) {
  if (db().in_memory()) return;
  for (int64_t version = 1; version < kSchemaVersion; ++version) {
    const std::string copy = backup_path(db().path(), version);
    for (const char* ending : {"", ".unfinished", ".unfinished-journal"}) {
      struct stat status {};
      const std::string file = copy + ending;
      if (lstat(file.c_str(), &status) != 0) continue;
      if (int64_t{status.st_mtim.tv_sec} * 1000 < made_before) unlink(file.c_str());
    }
  }
}

std::string Store::scrub() {
  const char* later = "its words leave the file at the end of a later chat";
  if (db().in_memory()) return {};
  try {
    const auto backups = unfinished(kBackups);
    const auto words = unfinished(kScrub);
    if (!backups && !words) return {};
    if (backups) remove_backups(INT64_MAX);
    if (words) {
      // This does what 'rebuild' does, except for drafts, which are not indexed.
      db().transaction([&] {
        db().execute(
            "INSERT INTO message_fts(message_fts) VALUES ('delete-all');"
            "INSERT INTO message_fts(rowid, text) SELECT id, text FROM message WHERE finish IS NOT NULL");
      });
      db().execute("VACUUM");
    }
    if (db().pragma("wal_checkpoint(TRUNCATE)") != 0) {
      return fmt::format("another program reads the database; {}", later);
    }
    Statement done(db(), "DELETE FROM unfinished WHERE noted IN (?, ?)");
    done << backups << words;
    done.run();
    return {};
  } catch (const Error& error) {
    return fmt::format("{}; {}", error.what(), later);
  }
}

bool Store::tidy() {
  const int64_t expired = now_milliseconds() - kTrashMilliseconds;
  std::vector<int64_t> ids;
  {
    Statement query(db(), "SELECT id FROM conversation WHERE deleted <= ?");
    query << expired;
    while (query.step()) ids.push_back(query.integer(0));
  }
  for (const int64_t id : ids) purge(id);
  const bool was_left = unfinished(kScrub).has_value();  // by a program that ended meanwhile
  scrub();
  remove_backups(expired);  // they may hold words of what was deleted before they were made
  return !ids.empty() || was_left;
}

}  // namespace bitnet
