// The answers: drafts, token runs, and drafts whose process is gone.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <fstream>
#include <string>
#include <type_traits>

#include "app/base/clock.h"
#include "engine/error.h"
#include "sqlite_db.h"
#include "store.h"

namespace bitnet {
namespace {

// Little-endian on every platform this program runs on: Vulkan drivers exist for no other.
template <typename T, typename Get>
std::string pack(const std::vector<StoredToken>& tokens, Get get) {
  std::string bytes(tokens.size() * sizeof(T), '\0');
  for (size_t i = 0; i < tokens.size(); ++i) {
    const T value = get(tokens[i]);
    std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
  }
  return bytes;
}

template <typename T>
T unpack(const std::string& bytes, size_t i) {
  T value{};
  if ((i + 1) * sizeof(T) <= bytes.size()) std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
  return value;
}

// Field 22 of /proc/PID/stat tells when the process began, so that a reused number is not taken for the
// owner.
std::string start_time_of(long pid) {
  std::ifstream in(fmt::format("/proc/{}/stat", pid));
  std::string line;
  std::getline(in, line);
  // The second field is the program's name in brackets, which may hold anything.
  size_t at = line.rfind(')');
  if (at == std::string::npos) return "";
  for (int field = 2; field < 22 && at != std::string::npos; ++field) at = line.find(' ', at + 1);
  if (at == std::string::npos) return "";
  return line.substr(at + 1, line.find(' ', at + 1) - at - 1);
}

std::string boot_id() {
  std::ifstream in("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(in, id);
  return id;
}

std::string mark_of(long pid) { return fmt::format("{} {} {}", pid, start_time_of(pid), boot_id()); }

}  // namespace

std::string process_mark() { return mark_of(getpid()); }

bool process_runs(const std::string& mark) {
  const long pid = std::strtol(mark.c_str(), nullptr, 10);
  return pid > 0 && mark_of(pid) == mark;
}

void Store::mark_abandoned_drafts() {
  std::vector<int64_t> abandoned;
  {
    Statement query(db(), "SELECT id, owner FROM message WHERE finish IS NULL");
    while (query.step()) {
      const int64_t id = query.integer(0);
      if (given_up_.contains(id) || !process_runs(query.text(1))) abandoned.push_back(id);
    }
  }
  if (abandoned.empty()) return;
  db().transaction([&] {
    for (const int64_t id : abandoned) {
      Statement message(db(), "UPDATE message SET finish = 'interrupted', owner = NULL WHERE id = ?");
      message << id;
      message.run();
      Statement turn(
          db(),
          "UPDATE turn SET finish = 'interrupted', answer_tokens ="
          " (SELECT coalesce(sum(length(ids) / 4), 0) FROM token_run WHERE token_run.turn = turn.id)"
          " WHERE message = ? AND finish IS NULL");
      turn << id;
      turn.run();
    }
  });
  given_up_.clear();
}

int64_t Store::add_turn_row(const StoredTurn& turn) {
  Statement insert(
      db(),
      "INSERT INTO turn(message, seed, sampler, system, build, device, driver, model, model_hash,"
      " template_hash, prompt_hash, prompt_tokens, started, imported)"
      " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  insert << turn.message << static_cast<int64_t>(turn.seed) << std::string_view(turn.sampler)
         << std::string_view(turn.system) << std::string_view(turn.build) << std::string_view(turn.device)
         << std::string_view(turn.driver) << std::string_view(turn.model) << std::string_view(turn.model_hash)
         << std::string_view(turn.template_hash) << std::string_view(turn.prompt_hash)
         << int64_t{turn.prompt_tokens} << turn.started << int64_t{turn.imported};
  insert.run();
  return db().last_id();
}

void Store::update_turn_row(const StoredTurn& turn) {
  Statement update(
      db(),
      "UPDATE turn SET reused_tokens = ?, answer_tokens = ?, thought_tokens = ?, prefill_seconds = ?,"
      " decode_seconds = ?, finish = ? WHERE id = ?");
  update << int64_t{turn.reused_tokens} << int64_t{turn.answer_tokens} << int64_t{turn.thought_tokens}
         << turn.prefill_seconds << turn.decode_seconds << std::string_view(turn.finish) << turn.id;
  update.run();
}

StoredTurn Store::begin_turn(int64_t conversation, std::optional<int64_t> parent, StoredTurn turn,
                             std::optional<std::string_view> shown) {
  turn.started = now_milliseconds();
  db().transaction([&] {
    if (turn.message == 0) {
      Statement message(db(),
                        "INSERT INTO message(conversation, parent, role, text, owner, created)"
                        " VALUES (?, ?, 'assistant', '', ?, ?)");
      message << conversation << parent << std::string_view(owner_) << turn.started;
      message.run();
      turn.message = db().last_id();
    } else {
      refuse_other_text(turn.message, shown);
      if (!children(conversation, turn.message).empty())
        throw Error(ErrorKind::usage, "another program has said something after this answer");
      // Without RETURNING: a statement that is left before its end writes the search index when it is
      // finalized, and SQLite rolls back where that write is the connection's first to the index.
      Statement message(db(),
                        "UPDATE message SET finish = NULL, owner = ? WHERE id = ? AND finish IS NOT NULL");
      message << std::string_view(owner_) << turn.message;
      message.run();
      if (db().changes() == 0) throw Error(ErrorKind::usage, "another program goes on with this answer");
    }
    set_leaf(conversation, turn.message);
    touch(conversation);
    turn.id = add_turn_row(turn);
  });
  return turn;
}

void Store::add_token_run(int64_t turn, const std::vector<StoredToken>& tokens) {
  Statement run(db(),
                "INSERT INTO token_run(turn, position, ids, logprobs, seconds) VALUES (?1,"
                " (SELECT coalesce(sum(length(ids) / 4), 0) FROM token_run WHERE turn = ?1), ?2, ?3, ?4)");
  run << turn;
  run.blob(pack<int32_t>(tokens, [](const StoredToken& t) { return t.id; }));
  run.blob(pack<float>(tokens, [](const StoredToken& t) { return t.logprob; }));
  run.blob(pack<float>(tokens, [](const StoredToken& t) { return t.seconds; }));
  run.run();
}

int64_t Store::add_answer(int64_t conversation, std::optional<int64_t> parent, std::string_view text,
                          std::string_view finish, const std::vector<StoredToken>& tokens,
                          std::string_view sampler, uint32_t thought_tokens) {
  int64_t id = 0;
  db().transaction([&] {
    Statement message(db(),
                      "INSERT INTO message(conversation, parent, role, text, finish, created)"
                      " VALUES (?, ?, 'assistant', ?, ?, ?)");
    message << conversation << parent << text << finish << now_milliseconds();
    message.run();
    id = db().last_id();
    set_leaf(conversation, id);
    touch(conversation);
    if (tokens.empty()) return;
    Statement turn(
        db(),
        "INSERT INTO turn(message, seed, sampler, system, build, device, driver, model, model_hash,"
        " template_hash, prompt_hash, prompt_tokens, answer_tokens, thought_tokens, finish, started)"
        " VALUES (?, 0, ?, '', '', '', '', '', '', '', '', 0, ?, ?, 'given', ?)");
    turn << id << sampler << static_cast<int64_t>(tokens.size()) << int64_t{thought_tokens}
         << now_milliseconds();
    turn.run();
    add_token_run(db().last_id(), tokens);
  });
  return id;
}

void Store::append(const StoredTurn& turn, std::string_view text, const std::vector<StoredToken>& tokens) {
  if (text.empty() && tokens.empty()) return;
  // Batches need not survive a power cut, only a crash of the program; finish_turn syncs.
  db().execute("PRAGMA synchronous = NORMAL");
  try {
    db().transaction([&] {
      Statement message(db(), "UPDATE message SET text = text || ? WHERE id = ?");
      message << text << turn.message;
      message.run();
      if (!tokens.empty()) add_token_run(turn.id, tokens);
    });
  } catch (...) {
    db().execute("PRAGMA synchronous = FULL");
    throw;
  }
  db().execute("PRAGMA synchronous = FULL");
}

void Store::finish_turn(const StoredTurn& turn) {
  db().transaction([&] {
    Statement message(db(), "UPDATE message SET finish = ?, owner = NULL WHERE id = ?");
    message << std::string_view(turn.finish) << turn.message;
    message.run();
    update_turn_row(turn);
  });
}

std::vector<StoredTurn> Store::turns(int64_t message) {
  Statement query(
      db(),
      "SELECT id, message, seed, sampler, system, build, device, driver, model, model_hash, template_hash,"
      " prompt_hash, prompt_tokens, reused_tokens, answer_tokens, prefill_seconds, decode_seconds, finish,"
      " started, imported, thought_tokens FROM turn WHERE message = ? ORDER BY id");
  query << message;
  std::vector<StoredTurn> turns;
  while (query.step()) {
    StoredTurn t;
    t.id = query.integer(0);
    t.message = query.integer(1);
    t.seed = static_cast<uint64_t>(query.integer(2));
    t.sampler = query.text(3);
    t.system = query.text(4);
    t.build = query.text(5);
    t.device = query.text(6);
    t.driver = query.text(7);
    t.model = query.text(8);
    t.model_hash = query.text(9);
    t.template_hash = query.text(10);
    t.prompt_hash = query.text(11);
    t.prompt_tokens = static_cast<uint32_t>(query.integer(12));
    t.reused_tokens = static_cast<uint32_t>(query.integer(13));
    t.answer_tokens = static_cast<uint32_t>(query.integer(14));
    t.prefill_seconds = query.real(15);
    t.decode_seconds = query.real(16);
    t.finish = query.text(17);
    t.started = query.integer(18);
    t.imported = query.integer(19) != 0;
    t.thought_tokens = static_cast<uint32_t>(query.integer(20));
    turns.push_back(std::move(t));
  }
  return turns;
}

std::vector<StoredToken> Store::tokens(int64_t turn) {
  Statement query(db(), "SELECT ids, logprobs, seconds FROM token_run WHERE turn = ? ORDER BY position");
  query << turn;
  std::vector<StoredToken> tokens;
  while (query.step()) {
    const std::string ids = query.text(0);
    const std::string logprobs = query.text(1);
    const std::string seconds = query.text(2);
    for (size_t i = 0; i < ids.size() / sizeof(int32_t); ++i) {
      tokens.push_back({unpack<int32_t>(ids, i), unpack<float>(logprobs, i), unpack<float>(seconds, i)});
    }
  }
  return tokens;
}

std::vector<StoredToken> Store::message_tokens(int64_t message) {
  std::vector<StoredToken> all;
  for (const StoredTurn& turn : turns(message)) {
    const std::vector<StoredToken> part = tokens(turn.id);
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

std::unordered_map<int64_t, std::vector<int32_t>> Store::answer_tokens(int64_t conversation) {
  std::unordered_map<int64_t, std::vector<int32_t>> tokens;
  Statement query(db(),
                  "SELECT turn.message, token_run.ids FROM message JOIN turn ON turn.message = message.id"
                  " JOIN token_run ON token_run.turn = turn.id WHERE message.conversation = ?"
                  " ORDER BY turn.id, token_run.position");
  query << conversation;
  while (query.step()) {
    std::vector<int32_t>& all = tokens[query.integer(0)];
    const std::string ids = query.text(1);
    for (size_t i = 0; i < ids.size() / sizeof(int32_t); ++i) all.push_back(unpack<int32_t>(ids, i));
  }
  return tokens;
}

std::vector<std::vector<int32_t>> Store::latest_answers(std::string_view model_hash, int64_t without,
                                                        size_t most_tokens) {
  constexpr int64_t kMostTurns = 1000;  // that are looked at
  std::vector<std::vector<int32_t>> answers;
  Statement turns(db(),
                  "SELECT turn.id FROM turn JOIN message ON message.id = turn.message"
                  " JOIN conversation ON conversation.id = message.conversation"
                  " WHERE turn.id > (SELECT max(id) FROM turn) - ? AND turn.model_hash = ?"
                  " AND turn.imported = 0 AND conversation.id <> ? AND conversation.deleted IS NULL"
                  " ORDER BY turn.id DESC");
  turns << kMostTurns << model_hash << without;
  for (size_t n = 0; n < most_tokens && turns.step();) {
    std::vector<int32_t>& answer = answers.emplace_back();
    for (const StoredToken& token : tokens(turns.integer(0))) answer.push_back(token.id);
    answer.resize(std::min(answer.size(), most_tokens - n));
    n += answer.size();
  }
  std::ranges::reverse(answers);
  return answers;
}

}  // namespace bitnet
