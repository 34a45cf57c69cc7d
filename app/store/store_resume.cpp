// Moves what a store in memory kept while the database could not be written into the database.
#include <sys/stat.h>

#include <algorithm>
#include <iterator>

#include "app/base/clock.h"
#include "sqlite_db.h"
#include "store.h"

namespace bitnet {
namespace {

constexpr int kShortWait = 200;  // milliseconds for a database that others hold, while a person waits

std::vector<StoredConversation> everything(Store& store) {
  std::vector<StoredConversation> all = store.conversations(INT64_MAX, true);
  for (StoredConversation& row : store.trash()) all.push_back(std::move(row));
  return all;
}

}  // namespace

std::map<int64_t, size_t> Unsaved::counts() const {
  std::map<int64_t, size_t> counts;
  for (const StoredConversation& row : everything(*memory)) {
    for (const OutlineMessage& node : memory->outline(row.id)) {
      const auto known = messages.find(node.id);
      if (known == messages.end() || known->second.open_turn) ++counts[row.id];
    }
  }
  return counts;
}

size_t Unsaved::count() const {
  size_t all = 0;
  for (const auto& [conversation, count] : counts()) all += count;
  return all;
}

std::vector<uint64_t> Store::file_at(const std::string& path) {
  std::vector<uint64_t> id;
  for (const char* ending : {"", "-wal"}) {
    struct stat status {};
    if (stat((path + ending).c_str(), &status) != 0) return {};
    id.push_back(status.st_dev);
    id.push_back(status.st_ino);
  }
  return id;
}

// Leaves out the WAL, which is another file whenever a database was closed and opened.
std::vector<uint64_t> Store::file() const {
  return {file_.begin(), file_.begin() + std::min<std::ptrdiff_t>(2, std::ssize(file_))};
}

bool Store::moved() const { return is_open() && !is_private() && file_at(path()) != file_; }

bool Store::is_gone() const {
  struct stat status {};
  return stat(path().c_str(), &status) != 0;
}

void Store::reopen() {
  if (is_private()) return;
  if (moved()) given_up_.clear();
  db_.reset();  // first, because two handles of a process on one file would release each other's locks
  open_file(kShortWait);
}

// Whether the message that the database has is still the one that memory has. Where another program went on
// with an answer that went on in memory too, neither takes the other's words: what memory has becomes a
// sibling.
bool Store::takes_over(const StoredMessage& in_memory, const Unsaved::Known& known, bool grew) {
  const std::optional<StoredMessage> here = message(known.id);
  if (!here || !grew) return here.has_value();
  return in_memory.text.starts_with(here->text) && (!here->draft || known.open_turn);
}

void Store::take_over_message(const Store::From& from, const OutlineMessage& node, Unsaved::Known* known,
                              std::unordered_map<int64_t, Unsaved::Known>& messages) {
  const StoredMessage m = *from.store.message(node.id);
  std::optional<int64_t> parent;
  if (m.parent) parent = messages.at(*m.parent).id;
  const std::vector<StoredTurn> turns = from.store.turns(node.id);
  const bool grew = known != nullptr && (known->open_turn || turns.size() > known->turns);
  Unsaved::Known here{0, 0, {}};
  if (known != nullptr && takes_over(m, *known, grew)) {
    here = *known;
    if (grew) {
      Statement update(db(), "UPDATE message SET text = ?, finish = ?, owner = NULL WHERE id = ?");
      update << std::string_view(m.text) << std::string_view(m.finish) << here.id;
      update.run();
    }
    if (node.kept) set_kept(here.id, true);
  } else {
    Statement insert(db(),
                     "INSERT INTO message(conversation, parent, role, text, finish, created, kept)"
                     " VALUES (?, ?, ?, ?, ?, ?, ?)");
    insert << from.conversation << parent << std::string_view(name_of(m.role)) << std::string_view(m.text)
           << std::string_view(m.finish) << m.created << int64_t{node.kept};
    insert.run();
    here.id = db().last_id();
  }
  for (size_t i = here.turns; i < turns.size(); ++i) {
    StoredTurn turn = turns[i];
    const std::vector<StoredToken> tokens = from.store.tokens(turn.id);
    turn.message = here.id;
    // The turn that ran when the database failed continues where its last batch ended.
    turn.id = i == 0 && here.open_turn ? *here.open_turn : add_turn_row(turn);
    update_turn_row(turn);
    if (!tokens.empty()) add_token_run(turn.id, tokens);
  }
  messages[node.id] = {here.id, turns.size(), {}};
}

void Store::take_over(Unsaved& unsaved) {
  Store& from = *unsaved.memory;
  auto conversations = unsaved.conversations;
  auto messages = unsaved.messages;
  db().wait_at_most(kShortWait);  // it is tried again with each line, and the person waits
  db().transaction([&] {
    for (const StoredConversation& row : everything(from)) {
      const std::vector<OutlineMessage> outline = from.outline(row.id);
      auto known = conversations.find(row.id);
      if (known != conversations.end() && !has_conversation(known->second)) {
        // Another program deleted it meanwhile, so what is shown here becomes a new conversation.
        conversations.erase(known);
        for (const OutlineMessage& node : outline) messages.erase(node.id);
        known = conversations.end();
      }
      int64_t here = 0;
      if (known == conversations.end()) {
        if (outline.empty()) continue;
        Statement insert(db(),
                         "INSERT INTO conversation(title, system, created, updated, archived, deleted, once)"
                         " VALUES (?, ?, ?, ?, ?, ?, ?)");
        insert << std::string_view(row.title) << std::string_view(row.system) << row.created << row.updated
               << int64_t{row.archived} << row.deleted << int64_t{row.once};
        insert.run();
        here = conversations[row.id] = db().last_id();
      } else {
        here = known->second;
        const StoredConversation& then = unsaved.as_copied.at(row.id);
        if (row.title != then.title) set_title(here, row.title);
        if (row.system != then.system) set_system(here, row.system);
      }
      for (const OutlineMessage& node : outline) {
        const auto before = messages.find(node.id);
        take_over_message({from, here}, node, before == messages.end() ? nullptr : &before->second, messages);
      }
      set_leaf(here, row.leaf ? std::optional(messages.at(*row.leaf).id) : std::nullopt);
      touch(here);
    }
    // A turn that was taken back is removed from the database too, if nothing follows it.
    for (const auto& [id, known] : messages) {
      if (from.message(id)) continue;
      Statement remove(
          db(), "DELETE FROM message WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM message WHERE parent = ?1)");
      remove << known.id;
      remove.run();
      note_unfinished("scrub");
    }
  });
  db().wait_at_most(kWait);
  unsaved.conversations = std::move(conversations);
  unsaved.messages = std::move(messages);
}

}  // namespace bitnet
