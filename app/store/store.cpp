#include "store.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "app/base/clock.h"
#include "app/base/places.h"
#include "app/base/shell_word.h"
#include "engine/error.h"
#include "sqlite_db.h"
#include "store_schema.h"

namespace bitnet {
namespace {

namespace fs = std::filesystem;

void make_folder_of(const std::string& file) {
  if (const auto problem = make_private_folders(fs::path(file).parent_path())) {
    throw Error(ErrorKind::database,
                fmt::format("folder {} cannot be made: {}; use --db FILE or --private",
                            printable(problem->folder.string()), std::strerror(problem->reason)));
  }
}

// False leaves in errno why.
bool is_there(const std::string& file) {
  return access(file.c_str(), F_OK) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

StoredMessage read_message(const Statement& row) {
  StoredMessage m;
  m.id = row.integer(0);
  m.parent = row.optional_integer(1);
  m.role = role_of(row.text(2));
  m.text = row.text(3);
  m.draft = row.is_null(4);
  m.finish = row.text(4);
  m.created = row.integer(5);
  m.thought_tokens = static_cast<uint32_t>(row.integer(6));
  return m;
}

constexpr const char* kMessageColumns =
    "m.id, m.parent, m.role, m.text, m.finish, m.created,"
    " (SELECT coalesce(sum(thought_tokens), 0) FROM turn WHERE turn.message = m.id)";

StoredConversation read_conversation(const Statement& row) {
  StoredConversation c;
  c.id = row.integer(0);
  c.title = row.text(1);
  c.system = row.text(2);
  c.leaf = row.optional_integer(3);
  c.created = row.integer(4);
  c.updated = row.integer(5);
  c.messages = row.integer(6);
  c.archived = row.integer(7) != 0;
  c.deleted = row.optional_integer(8);
  c.once = row.integer(9) != 0;
  return c;
}

constexpr const char* kConversationQuery =
    "SELECT c.id, c.title, c.system, c.leaf, c.created, c.updated,"
    " (SELECT count(*) FROM message WHERE conversation = c.id), c.archived, c.deleted, c.once"
    " FROM conversation c ";

}  // namespace

std::string default_database_path() {
  if (const std::string folder = data_folder(); !folder.empty()) return folder + "/chats.db";
  throw Error(ErrorKind::database,
              "neither XDG_DATA_HOME nor HOME names a folder; use --db FILE or --private");
}

std::unique_ptr<Store> Store::closed(const std::string& path) {
  return std::unique_ptr<Store>(new Store(path));
}

std::unique_ptr<Store> Store::open(const std::string& path) {
  auto store = closed(path);
  store->open_file(kWait);
  return store;
}

std::unique_ptr<Store> Store::open_existing(const std::string& path) {
  if (!path.empty() && !is_there(path)) {
    const char* why = std::strerror(errno);
    throw Error(ErrorKind::database,
                fmt::format("database {}: {}; --db FILE wants one that is there", printable(path), why));
  }
  return open(path);
}

std::unique_ptr<Store> Store::open_to_read(const std::string& path) {
  const std::string file = path.empty() ? default_database_path() : path;
  // Without the default database nothing is stored; a file in the place of its folder is something to mend.
  if (path.empty() && !is_there(file) && errno == ENOENT) return in_memory();
  const fs::path folder = fs::path(file).has_parent_path() ? fs::path(file).parent_path() : ".";
  const bool readable = access(file.c_str(), R_OK) == 0;
  const bool writable = access(file.c_str(), W_OK) == 0 && access(folder.c_str(), W_OK) == 0;
  if (!readable) return open_existing(path);
  try {
    if (writable) return open_existing(path);
  } catch (const Error&) {
    if (!disk_is_full(file)) throw;
  }
  auto store = closed(path);
  store->path_ = file;
  store->db_ = std::make_unique<Database>(file, Database::ReadOnly());
  check_schema_to_read(*store->db_);
  store->file_ = file_at(file);
  return store;
}

std::unique_ptr<Store> Store::in_memory(int64_t first_conversation) {
  auto store = closed({});
  store->in_memory_ = true;
  store->open_file(kWait);
  if (first_conversation > 1) {
    Statement insert(*store->db_, "INSERT INTO sqlite_sequence(name, seq) VALUES ('conversation', ?)");
    insert << first_conversation - 1;
    insert.run();
  }
  return store;
}

Store::Store(std::string wanted) : wanted_(std::move(wanted)), owner_(process_mark()) {}

void Store::open_file(int wait_milliseconds) {
  if (!in_memory_) path_ = wanted_.empty() ? default_database_path() : wanted_;
  if (!in_memory_ && wanted_.empty()) make_folder_of(path_);
  try {
    db_ = std::make_unique<Database>(in_memory_ ? Database::kInMemory : path_);
    db_->wait_at_most(wait_milliseconds);
    // The schema comes first, so that a newer or foreign file is refused before anything is written to it.
    db_->execute("PRAGMA foreign_keys = ON");
    prepare_schema(*db_);
    db_->execute("PRAGMA journal_mode = WAL");
    db_->execute("PRAGMA synchronous = FULL");
    // SQLite overwrites what is deleted; scrub() does the rest.
    db_->execute("PRAGMA secure_delete = ON");
    // In KiB. Opening a long conversation walks it several times, but should read it from the disk only once.
    db_->execute("PRAGMA cache_size = -16384");
    mark_abandoned_drafts();
    db_->wait_at_most(kWait);
    if (!in_memory_) file_ = file_at(path_);
  } catch (...) {
    db_.reset();
    throw;
  }
}

Database& Store::db() {
  if (!db_) throw Error(ErrorKind::database, "the database is not open");
  return *db_;
}

Store::~Store() = default;

bool Store::is_private() const { return in_memory_; }
const std::string& Store::path() const { return path_; }

std::string Store::command(std::string_view words) const {
  return fmt::format("'bitnet-chat {}{}{}'", words, wanted_.empty() ? "" : " --db ",
                     wanted_.empty() ? "" : shell_word(wanted_));
}

int64_t Store::add_conversation(std::string_view system, bool once, std::optional<int64_t> id,
                                std::optional<int64_t> created) {
  const int64_t now = now_milliseconds();
  Statement insert(db(),
                   "INSERT INTO conversation(id, system, created, updated, once) VALUES (?, ?, ?, ?, ?)");
  insert << id << system << created.value_or(now) << now << int64_t{once};
  insert.run();
  return db().last_id();
}

std::optional<StoredConversation> Store::conversation(int64_t id) {
  Statement query(db(), std::string(kConversationQuery) + "WHERE c.id = ?");
  query << id;
  if (!query.step()) return std::nullopt;
  return read_conversation(query);
}

bool Store::has_conversation(int64_t id) {
  Statement query(db(), "SELECT 1 FROM conversation WHERE id = ? AND deleted IS NULL");
  query << id;
  return query.step();
}

std::optional<int64_t> Store::latest_conversation() {
  Statement query(db(),
                  "SELECT id FROM conversation WHERE NOT archived AND NOT once AND deleted IS NULL"
                  " ORDER BY updated DESC, id DESC LIMIT 1");
  if (!query.step()) return std::nullopt;
  return query.integer(0);
}

std::vector<StoredConversation> Store::conversations(int64_t at_most, bool archived, bool asked_once) {
  Statement query(db(),
                  fmt::format("{}WHERE c.deleted IS NULL{}{} ORDER BY c.updated DESC, c.id DESC LIMIT ?",
                              kConversationQuery, archived ? "" : " AND NOT c.archived",
                              asked_once ? "" : " AND NOT c.once"));
  query << at_most;
  std::vector<StoredConversation> all;
  while (query.step()) all.push_back(read_conversation(query));
  return all;
}

void Store::touch(int64_t conversation) {
  Statement update(db(), "UPDATE conversation SET updated = ? WHERE id = ?");
  update << now_milliseconds() << conversation;
  update.run();
}

void Store::set_title(int64_t conversation, std::string_view title) {
  Statement update(db(), "UPDATE conversation SET title = ? WHERE id = ?");
  update << title << conversation;
  update.run();
}

void Store::set_system(int64_t conversation, std::string_view system) {
  Statement update(db(), "UPDATE conversation SET system = ? WHERE id = ?");
  update << system << conversation;
  update.run();
}

void Store::set_leaf(int64_t conversation, std::optional<int64_t> leaf) {
  Statement update(db(), "UPDATE conversation SET leaf = ? WHERE id = ?");
  update << leaf << conversation;
  update.run();
}

bool Store::set_archived(int64_t conversation, bool archived) {
  Statement update(db(), "UPDATE conversation SET archived = ? WHERE id = ? AND deleted IS NULL");
  update << int64_t{archived} << conversation;
  update.run();
  return db().changes() > 0;
}

void Store::set_once(int64_t conversation, bool once) {
  Statement update(db(), "UPDATE conversation SET once = ? WHERE id = ?");
  update << int64_t{once} << conversation;
  update.run();
}

void Store::refuse_other_text(int64_t message, std::optional<std::string_view> shown) {
  if (!shown) return;
  Statement query(db(), "SELECT 1 FROM message WHERE id = ? AND (finish IS NULL OR CAST(text AS TEXT) <> ?)");
  query << message << *shown;
  if (query.step()) throw Error(ErrorKind::usage, "another program goes on with this answer");
}

int64_t Store::add_message(int64_t conversation, std::optional<int64_t> parent, Role role,
                           std::string_view text, std::optional<std::string_view> shown) {
  int64_t id = 0;
  db().transaction([&] {
    if (parent) refuse_other_text(*parent, shown);
    Statement insert(db(),
                     "INSERT INTO message(conversation, parent, role, text, finish, created)"
                     " VALUES (?, ?, ?, ?, '', ?)");
    insert << conversation << parent << std::string_view(name_of(role)) << text << now_milliseconds();
    insert.run();
    id = db().last_id();
    set_leaf(conversation, id);
    touch(conversation);
  });
  return id;
}

std::optional<StoredMessage> Store::message(int64_t id) {
  Statement query(db(), fmt::format("SELECT {} FROM message m WHERE m.id = ?", kMessageColumns));
  query << id;
  if (!query.step()) return std::nullopt;
  return read_message(query);
}

std::vector<StoredMessage> Store::branch(std::optional<int64_t> leaf) {
  std::vector<StoredMessage> messages;
  if (!leaf) return messages;
  // Each step up yields one row, so the rows come in order and need not be sorted with all their text.
  Statement query(db(),
                  fmt::format("WITH RECURSIVE up(id) AS (SELECT ? UNION ALL"
                              " SELECT message.parent FROM up CROSS JOIN message ON message.id = up.id"
                              " WHERE message.parent < message.id)"  // so it ends, whatever the file says
                              " SELECT {} FROM up CROSS JOIN message m ON m.id = up.id",
                              kMessageColumns));
  query << *leaf;
  while (query.step()) messages.push_back(read_message(query));
  std::reverse(messages.begin(), messages.end());
  return messages;
}

std::vector<StoredMessage> Store::children(int64_t conversation, std::optional<int64_t> parent) {
  Statement query(
      db(), fmt::format("SELECT {} FROM message m WHERE m.conversation = ? AND m.parent IS ? ORDER BY m.id",
                        kMessageColumns));
  query << conversation << parent;
  std::vector<StoredMessage> messages;
  while (query.step()) messages.push_back(read_message(query));
  return messages;
}

std::vector<StoredMessage> Store::messages(int64_t conversation) {
  Statement query(db(), fmt::format("SELECT {} FROM message m WHERE m.conversation = ?", kMessageColumns));
  query << conversation;
  std::vector<StoredMessage> messages;
  while (query.step()) messages.push_back(read_message(query));
  // They are sorted here because SQLite would copy all their text once more.
  std::sort(messages.begin(), messages.end(),
            [](const StoredMessage& a, const StoredMessage& b) { return a.id < b.id; });
  return messages;
}

std::vector<OutlineMessage> Store::outline(int64_t conversation) {
  Statement query(db(),
                  "SELECT id, parent, role, kept, created FROM message WHERE conversation = ? ORDER BY id");
  query << conversation;
  std::vector<OutlineMessage> messages;
  while (query.step()) {
    messages.push_back({query.integer(0), query.optional_integer(1), role_of(query.text(2)),
                        query.integer(3) != 0, query.integer(4)});
  }
  return messages;
}

void Store::remove_message(int64_t id) {
  db().transaction([&] {
    Statement remove(db(), "DELETE FROM message WHERE id = ?");
    remove << id;
    remove.run();
    note_unfinished("scrub");
  });
}

void Store::check_tree(const StoredConversation& conversation) {
  std::vector<int64_t> ids;
  std::vector<std::pair<int64_t, int64_t>> parents;
  Statement query(db(),
                  "SELECT id, parent FROM message WHERE conversation = ?");  // an index has both columns
  query << conversation.id;
  while (query.step()) {
    ids.push_back(query.integer(0));
    if (!query.is_null(1)) parents.emplace_back(query.integer(0), query.integer(1));
  }
  std::sort(ids.begin(), ids.end());
  const auto is_in_it = [&](int64_t id) { return std::binary_search(ids.begin(), ids.end(), id); };
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorKind::database,
                fmt::format("conversation {0} is damaged and cannot be opened: {1}. The others can be used; "
                            "/delete {0} or {2} puts it away",
                            conversation.id, why, command(fmt::format("delete {}", conversation.id))));
  };
  for (const auto& [id, parent] : parents) {
    // A message is added after the one that it follows. So if a parent is not older, there is a circle, or
    // the tree is not ours.
    if (parent >= id) refuse(fmt::format("message {} is said to follow {}, which is not older", id, parent));
    if (!is_in_it(parent))
      refuse(fmt::format("message {} is said to follow {}, which is not in it", id, parent));
  }
  if (conversation.leaf && !is_in_it(*conversation.leaf))
    refuse(fmt::format("it is said to end with message {}, which is not in it", *conversation.leaf));
}

void Store::set_kept(int64_t message, bool kept) {
  Statement update(db(), "UPDATE message SET kept = ? WHERE id = ?");
  update << int64_t{kept} << message;
  update.run();
}

}  // namespace bitnet
