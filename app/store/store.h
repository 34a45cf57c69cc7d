// Keeps everything that was said in one SQLite file.
//
// Thread rule: a Store belongs to one thread. Any number of processes may use one file.
//
// A conversation is a tree of messages by their parent: /regen makes a sibling answer, /undo steps back to an
// ancestor, and nothing is overwritten. `leaf` names the end of the branch that is shown. An answer begins as
// a draft, grows in batches and is finished with a reason; a draft whose process is gone is marked
// "interrupted" when the file is opened the next time. Failures are Error(database).
//
// A deleted conversation lies in the trash: only trash() and conversation() show it, and it can be restored
// until kTrashDays have passed. Purging removes it so that no word of it is left in the file, its WAL, its
// search index or the backup of a migration.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "rows.h"

namespace bitnet {

class Database;
class Store;

// What a store in memory kept while the database could not be written (Store::take_over).
struct Unsaved {
  // A message of `memory` that the database has: its id there, how many of its turns in memory are known
  // there, and the turn that was running.
  struct Known {
    int64_t id = 0;
    size_t turns = 0;
    std::optional<int64_t> open_turn;
  };
  // What the database does not have yet is numbered from here on in memory: no database has such numbers, so
  // they never mean another conversation.
  static constexpr int64_t kFirstNumber = 1'000'000'001;

  std::unique_ptr<Store> memory;
  std::unordered_map<int64_t, int64_t> conversations;  // id in memory to id in the database
  std::unordered_map<int64_t, Known> messages;
  // Conversations of the database as they were when they were copied, by id in memory: what was not changed
  // here since then may have been changed there.
  std::unordered_map<int64_t, StoredConversation> as_copied;
  std::vector<uint64_t> file;  // the Store::file() to which these ids belong
  std::string why;             // for people

  std::map<int64_t, size_t> counts() const;  // messages that the database lacks, by conversation of `memory`
  size_t count() const;                      // of all of them
};

class Store {
 public:
  // An empty path: $XDG_DATA_HOME/bitnet-chat/chats.db, with its folders made 0700.
  static std::unique_ptr<Store> open(const std::string& path);
  // The same for who expects to find something: a file that is named and not there is an error.
  static std::unique_ptr<Store> open_existing(const std::string& path);
  // For a caller that does not write. Where the file or its folder cannot be written, such as a backup on a
  // disk that is read-only, or where the disk is full, it is read as it is. Nothing is made: a file that is
  // named must be there, and without the default database nothing is stored.
  static std::unique_ptr<Store> open_to_read(const std::string& path);
  // --private, or for what a database lacks (Unsaved). New conversations get numbers from this one on.
  static std::unique_ptr<Store> in_memory(int64_t first_conversation = 1);
  // A store that could not be opened yet. Until reopen() succeeds, everything else throws.
  static std::unique_ptr<Store> closed(const std::string& path);
  ~Store();

  // store_resume.cpp. Opens the file anew, and waits only shortly for other programs. If it throws
  // Error(database), the store is closed.
  void reopen();
  bool is_open() const { return db_ != nullptr; }
  // Identifies the file by device and inode; empty if none was open yet.
  std::vector<uint64_t> file() const;
  bool moved() const;    // the file that is open is no longer the one at path()
  bool is_gone() const;  // there is no file at path()
  // Stores what `unsaved` has and this store lacks, in one transaction, and waits only shortly for other
  // programs; then the maps of `unsaved` have every id.
  void take_over(Unsaved& unsaved);

  bool is_private() const;
  const std::string& path() const;
  // For a message: 'bitnet-chat list --db FILE', in quotes, which does `words` ("list") in this database from
  // a shell.
  std::string command(std::string_view words) const;

  // Begun now or at `created`, under a new id, or under the one that is given, which must be free. Returns
  // it.
  int64_t add_conversation(std::string_view system, bool once = false, std::optional<int64_t> id = {},
                           std::optional<int64_t> created = {});
  std::optional<StoredConversation> conversation(int64_t id);
  bool has_conversation(int64_t id);             // false if it is in the trash
  std::optional<int64_t> latest_conversation();  // neither archived nor `once`
  // Throws Error(database) that names a conversation whose messages do not form a tree of their own: a parent
  // that is not an older message of it, a leaf elsewhere. Whoever walks a tree that this program may not have
  // written asks first.
  void check_tree(const StoredConversation& conversation);
  // The latest first. Archived ones are left out unless `archived` is true, and `once` ones if `asked_once`
  // is false.
  std::vector<StoredConversation> conversations(int64_t at_most, bool archived = false,
                                                bool asked_once = true);
  void set_title(int64_t conversation, std::string_view title);
  void set_system(int64_t conversation, std::string_view system);
  void set_leaf(int64_t conversation, std::optional<int64_t> leaf);
  bool set_archived(int64_t conversation, bool archived);  // false if there is none
  void set_once(int64_t conversation, bool once);
  bool remove_conversation(int64_t id);  // false if there was none
  // Throws Error(usage) for more words than are worth looking for.
  std::vector<SearchHit> search(std::string_view words, int64_t at_most);

  // store_trash.cpp. Moves it into the trash or out of it; false if there is none, or if it is there already.
  bool set_deleted(int64_t conversation, bool deleted);
  std::vector<StoredConversation> trash();  // the one that was deleted last comes first
  // Removes a conversation for good; false if there was none. Notes what scrub() then has to do.
  bool purge(int64_t conversation);
  // Writes the file anew without the words of what was purged, if there is something to do. If some words may
  // still be there, it returns why, for people, and the next call tries again. It takes time, and fails
  // beside other readers.
  std::string scrub();
  // Purges what was in the trash for too long, and does what is left to do. Returns whether something was
  // purged, now or before it was left.
  bool tidy();

  // The message is on the disk when the call returns, and becomes the leaf.
  // Where a chat shows the parent, `shown` is its text there: if it is written now, or has another text,
  // another program goes on with it, and nothing is stored: Error(usage).
  int64_t add_message(int64_t conversation, std::optional<int64_t> parent, Role role, std::string_view text,
                      std::optional<std::string_view> shown = {});

  // Begins an answer, which is a draft at first, or continues a finished one (if `turn.message` is not 0).
  // Throws Error(usage) for one that is a draft, that messages follow, or that has another text than is
  // shown.
  StoredTurn begin_turn(int64_t conversation, std::optional<int64_t> parent, StoredTurn turn,
                        std::optional<std::string_view> shown = {});
  // Adds an answer that is known already, with its tokens if they are known; its turn has the finish "given"
  // and, as `sampler`, the settings with which the conversation goes on. Returns the message, which becomes
  // the leaf.
  int64_t add_answer(int64_t conversation, std::optional<int64_t> parent, std::string_view text,
                     std::string_view finish, const std::vector<StoredToken>& tokens,
                     std::string_view sampler, uint32_t thought_tokens = 0);
  void mark_abandoned_drafts();  // whose process is gone, or which were given up, as interrupted
  void give_up(int64_t draft) { given_up_.insert(draft); }  // it could not be finished, and nobody writes it
  void append(const StoredTurn& turn, std::string_view text, const std::vector<StoredToken>& tokens);
  void finish_turn(
      const StoredTurn& turn);  // its counts, times and finish; on the disk when the call returns

  std::optional<StoredMessage> message(int64_t id);
  std::vector<StoredMessage> branch(std::optional<int64_t> leaf);  // from the first message down to `leaf`
  std::vector<StoredMessage> children(int64_t conversation, std::optional<int64_t> parent);
  void remove_message(int64_t id);                            // requires that no message follows it
  std::vector<StoredMessage> messages(int64_t conversation);  // the whole tree, the oldest message first
  std::vector<OutlineMessage> outline(int64_t conversation);  // the same without their text
  void set_kept(int64_t message, bool kept);
  std::vector<StoredTurn> turns(int64_t message);
  std::vector<StoredToken> tokens(int64_t turn);
  std::vector<StoredToken> message_tokens(int64_t message);  // of all its turns, in order
  // Everything about a conversation; a draft is returned as interrupted.
  std::optional<WholeConversation> whole(int64_t conversation);
  // Stores conversations under new ids, which are returned: all of them or none. Times that lie in the future
  // become the present.
  std::vector<int64_t> add_wholes(const std::vector<WholeConversation>& wholes);
  int64_t add_whole(const WholeConversation& whole) { return add_wholes({whole}).front(); }

  // The token ids of every answer, by message.
  std::unordered_map<int64_t, std::vector<int32_t>> answer_tokens(int64_t conversation);
  // Those of the latest answers of a model in other conversations, the oldest first: so many tokens at most,
  // of the latest turns alone, so that it takes milliseconds. Neither the trash nor imports are looked at.
  std::vector<std::vector<int32_t>> latest_answers(std::string_view model_hash, int64_t without,
                                                   size_t most_tokens);

 private:
  explicit Store(std::string wanted);
  void open_file(int wait_milliseconds);
  static std::vector<uint64_t> file_at(const std::string& path);
  Database& db();
  struct From {
    Store& store;
    int64_t conversation;  // here
  };
  bool takes_over(const StoredMessage& in_memory, const Unsaved::Known& known, bool grew);
  void take_over_message(const From& from, const OutlineMessage& node, Unsaved::Known* known,
                         std::unordered_map<int64_t, Unsaved::Known>& messages);
  bool remove(int64_t conversation, const char* left_to_do);
  void note_unfinished(std::string_view work);
  std::optional<int64_t> unfinished(std::string_view work);
  void remove_backups(int64_t made_before);
  int64_t add_whole_rows(const WholeConversation& whole);
  void touch(int64_t conversation);
  void refuse_other_text(int64_t message, std::optional<std::string_view> shown);
  // Rows of turns; within a transaction.
  int64_t add_turn_row(const StoredTurn& turn);
  void update_turn_row(const StoredTurn& turn);
  void add_token_run(int64_t turn, const std::vector<StoredToken>& tokens);

  static constexpr int kWait = 5000;  // milliseconds, for other programs

  std::string wanted_;  // the path that open() was given
  std::string path_;    // empty: in memory, or not known
  bool in_memory_ = false;
  std::unique_ptr<Database> db_;
  std::vector<uint64_t> file_;
  std::string owner_;  // names this process in drafts
  std::set<int64_t> given_up_;
};

constexpr int kTrashDays = 30;
constexpr int64_t kTrashMilliseconds = int64_t{kTrashDays} * 24 * 60 * 60 * 1000;

// The path of the default database. Throws Error(database) if no home is known.
std::string default_database_path();

// This process as a draft's owner, and whether such an owner still runs.
std::string process_mark();
bool process_runs(const std::string& mark);

}  // namespace bitnet
