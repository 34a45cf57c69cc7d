// Reads a conversation with all that belongs to it from the database, and writes one into it.
#include <algorithm>

#include "app/base/clock.h"
#include "sqlite_db.h"
#include "store.h"

namespace bitnet {

std::optional<WholeConversation> Store::whole(int64_t id) {
  const auto row = conversation(id);
  if (!row) return std::nullopt;
  WholeConversation all{*row, {}};
  std::unordered_map<int64_t, int64_t> numbers;  // by the id in this database
  const auto number = [&](const std::optional<int64_t>& of) -> std::optional<int64_t> {
    const auto found = of ? numbers.find(*of) : numbers.end();
    if (found == numbers.end()) return std::nullopt;
    return found->second;
  };
  for (const OutlineMessage& node : outline(id)) {
    WholeMessage message;
    message.stored = *this->message(node.id);
    message.kept = node.kept;
    if (message.stored.role == Role::assistant) {
      for (StoredTurn& turn : turns(node.id)) {
        std::vector<StoredToken> made = tokens(turn.id);
        message.turns.push_back({std::move(turn), std::move(made)});
      }
    }
    const auto next = static_cast<int64_t>(all.messages.size()) + 1;
    numbers[node.id] = next;
    message.stored.id = next;
    message.stored.parent = number(node.parent);
    if (message.stored.draft) {
      message.stored.finish = "interrupted";
      if (!message.turns.empty()) message.turns.back().stored.finish = "interrupted";
    }
    message.stored.draft = false;
    all.messages.push_back(std::move(message));
  }
  all.row.leaf = number(row->leaf);
  return all;
}

int64_t Store::add_whole_rows(const WholeConversation& whole) {
  const int64_t now = now_milliseconds();
  // A time in the future is wrong, and would put the conversation before all others in lists.
  const auto past = [now](int64_t time) { return time > 0 ? std::min(time, now) : now; };
  Statement insert(
      db(), "INSERT INTO conversation(title, system, created, updated, archived) VALUES (?, ?, ?, ?, ?)");
  insert << std::string_view(whole.row.title) << std::string_view(whole.row.system) << past(whole.row.created)
         << past(whole.row.updated) << int64_t{whole.row.archived};
  insert.run();
  const int64_t conversation = db().last_id();
  std::vector<int64_t> ids;  // in this database, by number - 1
  const auto id_of = [&](const std::optional<int64_t>& number) -> std::optional<int64_t> {
    if (!number) return std::nullopt;
    return ids.at(static_cast<size_t>(*number - 1));
  };
  for (const WholeMessage& m : whole.messages) {
    // Every answer needs a reason why it ended; one that an import gives no reason for ended by itself.
    const std::string finish =
        m.stored.role == Role::assistant && m.stored.finish.empty() ? "stop" : m.stored.finish;
    Statement message(db(),
                      "INSERT INTO message(conversation, parent, role, text, finish, created, kept)"
                      " VALUES (?, ?, ?, ?, ?, ?, ?)");
    message << conversation << id_of(m.stored.parent) << std::string_view(name_of(m.stored.role))
            << std::string_view(m.stored.text) << finish << past(m.stored.created) << int64_t{m.kept};
    message.run();
    ids.push_back(db().last_id());
    for (const WholeTurn& made : m.turns) {
      StoredTurn turn = made.stored;
      turn.message = ids.back();
      turn.started = past(turn.started);
      turn.id = add_turn_row(turn);
      update_turn_row(turn);
      if (!made.tokens.empty()) add_token_run(turn.id, made.tokens);
    }
  }
  set_leaf(conversation, id_of(whole.row.leaf));
  return conversation;
}

std::vector<int64_t> Store::add_wholes(const std::vector<WholeConversation>& wholes) {
  std::vector<int64_t> ids;
  db().transaction([&] {
    for (const WholeConversation& whole : wholes) ids.push_back(add_whole_rows(whole));
  });
  return ids;
}

}  // namespace bitnet
