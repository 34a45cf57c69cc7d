// Everything that was said, in one SQLite file.
//
// Thread rule: a Store belongs to one thread. Any number of processes may use one file.
//
// A conversation is a tree of messages by their parent: /regen makes a sibling answer, /undo steps back to an
// ancestor, and nothing is overwritten. `leaf` names the end of the branch that is shown. An answer begins as
// a draft, grows in batches and is finished with a reason; a draft whose process is gone is marked
// "interrupted" when the file is next opened. Failures are Error(database).
//
// A conversation that is deleted lies in the trash: nothing but trash() and conversation() shows it, and it
// can be restored until kTrashDays have passed. Purging takes it out so that no word of it is left in the
// file, its WAL, its search index or a migration's backup.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "message.h"

namespace bitnet {

class Database;
class Store;

// All times are milliseconds since 1970.
struct StoredMessage {
  int64_t id = 0;
  std::optional<int64_t> parent;  // empty: the first of its conversation
  Role role = Role::user;
  std::string text;
  std::string finish;  // of an answer: "stop", "length", "context", "interrupted", "numeric", "device_lost"
  bool draft = false;  // an answer that is being written
  int64_t created = 0;
};

struct StoredConversation {
  int64_t id = 0;
  std::string title;
  std::string system;
  std::optional<int64_t> leaf;
  int64_t created = 0;
  int64_t updated = 0;
  int64_t messages = 0;  // of the whole tree
  bool archived = false;
  std::optional<int64_t> deleted;  // since when it is in the trash
};

// A message as a node of its conversation's tree, without its text.
struct OutlineMessage {
  int64_t id = 0;
  std::optional<int64_t> parent;
  Role role = Role::user;
  bool kept = false;  // the end of a branch although something may follow it
  int64_t created = 0;
};

// How an answer came about: what replay needs to do it again.
struct StoredTurn {
  int64_t id = 0;
  int64_t message = 0;  // the answer
  uint64_t seed = 0;
  std::string sampler;  // JSON, see chat_settings.h
  std::string system;   // system prompt of this turn
  std::string build;    // version of the program
  std::string device;
  std::string driver;
  std::string model;          // path of the file
  std::string model_hash;     // ModelInfo::fingerprint; old_fingerprint in turns of earlier versions
  std::string template_hash;  // XXH3-128, hex, of the template's source
  std::string prompt_hash;    // XXH3-128, hex, of the prompt's token ids as int32, little-endian
  uint32_t prompt_tokens = 0;
  uint32_t reused_tokens = 0;
  uint32_t answer_tokens = 0;
  double prefill_seconds = 0;
  double decode_seconds = 0;
  std::string finish;
  int64_t started = 0;
  bool imported = false;  // a file said all this: `model` is a stranger's word
};

struct StoredToken {
  int32_t id;
  float logprob;
  float seconds;  // since decoding began
};

// A conversation with all that belongs to it, as a value that knows nothing of a database: the id of its
// i-th message is i + 1, and `parent` and `leaf` are such ids; a parent stands before its children.
struct WholeTurn {
  StoredTurn stored;
  std::vector<StoredToken> tokens;
};
struct WholeMessage {
  StoredMessage stored;
  bool kept = false;
  std::vector<WholeTurn> turns;  // of an answer
};
struct WholeConversation {
  StoredConversation row;
  std::vector<WholeMessage> messages;
};

struct SearchHit {
  int64_t conversation;
  int64_t message;
  int64_t number;  // of the message in its conversation
  std::string title;
  bool archived;
  bool from_user;
  std::string snippet;  // the words found stand between \x02 and \x03
};

// What a store in memory took while the database could not be written (Store::take_over).
struct Unsaved {
  // A message of `memory` that the database has: its id there, how many of its turns in memory are known
  // there, and the turn that was running.
  struct Known {
    int64_t id = 0;
    size_t turns = 0;
    std::optional<int64_t> open_turn;
  };
  std::unique_ptr<Store> memory;
  std::unordered_map<int64_t, int64_t> conversations;  // id in memory to id in the database
  std::unordered_map<int64_t, Known> messages;
  std::vector<uint64_t> file;  // Store::file() these ids are of
  std::string why;             // for people

  size_t count() const;  // messages that the database lacks
};

class Store {
 public:
  // An empty path: $XDG_DATA_HOME/bitnet-chat/chats.db, with its folders made 0700.
  static std::unique_ptr<Store> open(const std::string& path);
  static std::unique_ptr<Store> in_memory();  // --private
  // One that could not be opened yet; until reopen() works, everything but that throws.
  static std::unique_ptr<Store> closed(const std::string& path);
  ~Store();

  // store_resume.cpp. The file is opened anew, after waiting for other programs but shortly. Throws
  // Error(database), and is closed then.
  void reopen();
  bool is_open() const { return db_ != nullptr; }
  // Which file it is, not where: device and inode; empty where none was open yet.
  std::vector<uint64_t> file() const;
  bool moved() const;    // the file that is open is no longer the one at path()
  bool is_gone() const;  // there is none at path()
  // What `unsaved` has and this has not, in one transaction; its maps then have every id.
  void take_over(Unsaved& unsaved);

  bool is_private() const;
  const std::string& path() const;

  int64_t add_conversation(std::string_view system);
  std::optional<StoredConversation> conversation(int64_t id);
  bool has_conversation(int64_t id);             // and it is not in the trash
  std::optional<int64_t> latest_conversation();  // that is not archived
  // Throws Error(database) that names a conversation whose messages do not form a tree of their own: a parent
  // that is not an older message of it, a leaf elsewhere. Whoever walks a tree that this program may not have
  // written asks first.
  void check_tree(const StoredConversation& conversation);
  // The latest first; with `archived` those too.
  std::vector<StoredConversation> conversations(int64_t at_most, bool archived = false);
  void set_title(int64_t conversation, std::string_view title);
  void set_system(int64_t conversation, std::string_view system);
  void set_leaf(int64_t conversation, std::optional<int64_t> leaf);
  bool set_archived(int64_t conversation, bool archived);  // false where it is not there
  bool remove_conversation(int64_t id);                    // false where it was not there
  // Throws Error(usage) for more words than are worth looking for.
  std::vector<SearchHit> search(std::string_view words, int64_t at_most);

  // store_trash.cpp. Into the trash and out of it; false where it is not there, or is so already.
  bool set_deleted(int64_t conversation, bool deleted);
  std::vector<StoredConversation> trash();  // the one that was deleted last first
  // Takes a conversation out for good; false where it was not there. What scrub() has to do is noted with it.
  bool purge(int64_t conversation);
  // Writes the file anew without the words of what was purged, if there is something to do. Returns why some
  // may still be there, for people; then the next call tries again. It takes time, and wants no other reader.
  std::string scrub();
  // Purges what was in the trash for too long, and does what was left to do. True where something was purged.
  bool tidy();

  // Stored, and on the disk when the call returns; it becomes the leaf.
  int64_t add_message(int64_t conversation, std::optional<int64_t> parent, Role role, std::string_view text);

  // An answer: a draft at first. begin_turn also serves to continue a finished answer (`message` not empty).
  StoredTurn begin_turn(int64_t conversation, std::optional<int64_t> parent, StoredTurn turn);
  // An answer that is not made here but known already, with its tokens where they are known: its turn has the
  // finish "given". Returns the message; it becomes the leaf.
  int64_t add_answer(int64_t conversation, std::optional<int64_t> parent, std::string_view text,
                     std::string_view finish, const std::vector<StoredToken>& tokens);
  void append(const StoredTurn& turn, std::string_view text, const std::vector<StoredToken>& tokens);
  void finish_turn(
      const StoredTurn& turn);  // its counts, times and finish; on the disk when the call returns

  std::optional<StoredMessage> message(int64_t id);
  std::vector<StoredMessage> branch(std::optional<int64_t> leaf);  // from the first message down to `leaf`
  std::vector<StoredMessage> children(int64_t conversation, std::optional<int64_t> parent);
  void remove_message(int64_t id);                            // one that nothing follows
  std::vector<StoredMessage> messages(int64_t conversation);  // the whole tree, the oldest message first
  std::vector<OutlineMessage> outline(int64_t conversation);  // the same without their text
  void set_kept(int64_t message, bool kept);
  std::vector<StoredTurn> turns(int64_t message);
  std::vector<StoredToken> tokens(int64_t turn);
  std::vector<StoredToken> message_tokens(int64_t message);  // of all its turns, in order
  // Everything about a conversation; a draft comes as interrupted.
  std::optional<WholeConversation> whole(int64_t conversation);
  // And into the store, under new ids, which are returned: all of them or none. No time in them may lie in
  // the future.
  std::vector<int64_t> add_wholes(const std::vector<WholeConversation>& wholes);
  int64_t add_whole(const WholeConversation& whole) { return add_wholes({whole}).front(); }

  // The token ids of every answer, by message.
  std::unordered_map<int64_t, std::vector<int32_t>> answer_tokens(int64_t conversation);

 private:
  explicit Store(std::string wanted);
  void open_file(int wait_milliseconds);
  static std::vector<uint64_t> file_at(const std::string& path);
  Database& db();
  struct From {
    Store& store;
    int64_t conversation;  // here
  };
  void take_over_message(const From& from, const OutlineMessage& node, Unsaved::Known* known,
                         std::unordered_map<int64_t, Unsaved::Known>& messages);
  bool remove(int64_t conversation, const char* left_to_do);
  void note_unfinished(std::string_view work);
  std::optional<int64_t> unfinished(std::string_view work);
  void remove_backups(int64_t made_before);
  int64_t add_whole_rows(const WholeConversation& whole);
  void mark_abandoned_drafts();
  void touch(int64_t conversation);
  // Rows of turns; within a transaction.
  int64_t add_turn_row(const StoredTurn& turn);
  void update_turn_row(const StoredTurn& turn);
  void add_token_run(int64_t turn, const std::vector<StoredToken>& tokens);

  std::string wanted_;  // as open() had it
  std::string path_;    // empty: in memory, or not known
  bool in_memory_ = false;
  std::unique_ptr<Database> db_;
  std::vector<uint64_t> file_;
  std::string owner_;  // names this process in drafts
};

constexpr int kTrashDays = 30;

// Folder and file of the default database. Throws Error(database) where no home is known.
std::string default_database_path();

// This process as a draft's owner, and whether such an owner still runs.
std::string process_mark();
bool process_runs(const std::string& mark);

}  // namespace bitnet
