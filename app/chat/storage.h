// Where the open conversation is stored, and under which number: in the database, in memory while the
// database cannot be written, or in memory because the person wants it private.
//
// What fails is taken over by a store in memory that begins as a copy of what is shown. With every line that
// is typed and after every answer the database is opened anew and given what it lacks (Store::take_over);
// then the conversation goes on there. A database whose file was removed or replaced is noticed with the next
// line: what it held of this conversation is still open here, and is stored anew.
//
// A number that was shown never means another conversation. In memory a conversation of the database has the
// number that it has there, and one that the database lacks has a number that none has
// (Unsaved::kFirstNumber). In a file that replaced the database, numbers mean others: take_renumbered().
//
// Thread rule: it lives on the loop's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/store/store.h"
#include "reporter.h"

namespace bitnet {

// What a Storage stores: the messages that are shown.
class StoredBranch {
 public:
  // Writes the messages into `memory`, as the conversation `number`, which they have here too, and goes on
  // with the ids that they have there. `unsaved`, where it is given, gets what the database knows of them.
  virtual void copy_to(Store& memory, int64_t number, Unsaved* unsaved) = 0;
  // Shows the messages up to `leaf` as they are stored now; a new conversation where it has no number.
  virtual void reload(std::optional<int64_t> leaf) = 0;
  virtual std::optional<int64_t> leaf() const = 0;

 protected:
  ~StoredBranch() = default;
};

class Storage {
 public:
  // All three must live as long as this does. A `file` that is closed is tried again with the next line.
  Storage(Store& file, StoredBranch& branch, Reporter& reporter);
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  Store& store() { return private_ ? *private_ : database(); }  // where this conversation is
  // Where conversations are looked up: what is stored, also while this one is private.
  Store& database() { return unsaved_ ? *unsaved_->memory : file_; }
  int64_t number() const { return number_; }  // in store(); 0 = nothing is stored yet
  int64_t number_in_database() const { return private_ ? 0 : number_; }  // 0 = it is not there
  int64_t number_in_file() const;                                        // 0 = it is not there
  void set_number(int64_t number) { number_ = number; }
  // The branch is now that of the conversation `number` of database(), of which a private one is a copy.
  void open(int64_t number);

  bool is_private() const { return private_ != nullptr; }
  bool never_stores() const { return file_.is_private(); }     // --private: there is no database
  bool in_database() const { return !private_ && !unsaved_; }  // a conversation that is left stays there
  bool in_file() const { return in_database() && !never_stores(); }
  // The conversation that another program deleted for good while it was written to here: what is shown is in
  // memory since then, and nothing of it is stored. 0 = none.
  int64_t purged() const { return purged_; }
  const std::string* unsaved_because() const { return unsaved_ ? &unsaved_->why : nullptr; }
  // "2 messages are not saved: why"; empty where nothing waits.
  std::string unsaved_text() const;
  // How what waits is written elsewhere: "/export json FILE writes this conversation elsewhere".
  std::string way_to_keep() const;
  // Throws Error(usage) where this conversation of database() is only a copy in memory.
  void refuse_while_unsaved(int64_t number) const;

  // Runs `write`, which writes to store(). Where the database fails, or has lost the conversation, it goes on
  // in memory and runs it again.
  void keep(const std::function<void()>& write);
  // Gives the database what it lacks; true where nothing waits in memory any more. Requires that no answer is
  // being made.
  bool save_again();
  // Before what is typed is done: sees whether the database is still there. Requires that no answer is being
  // made.
  void look_after_database();
  // True once after conversations that were shown got other numbers, or their numbers other conversations.
  bool take_renumbered() { return std::exchange(renumbered_, false); }

  void go_private();  // with a copy of what is shown
  int64_t
  leave_private();  // nothing is open then; returns the conversation in database() that was left, or 0
  void forget_left(int64_t number);  // it was deleted for good: leave_private() does not go back to it

 private:
  std::unique_ptr<Store> memory_copy(Unsaved* unsaved);
  bool was_purged() const;
  void lose_conversation();
  void lose_file(const std::string& why);
  void begin_unsaved(const std::string& why);
  std::string new_numbers(const Unsaved& saved);
  void note_file();
  void store_anew(const std::optional<WholeConversation>& whole, std::string news);

  Store& file_;
  StoredBranch& branch_;
  Reporter& reporter_;
  std::unique_ptr<Store> private_;
  std::optional<Unsaved> unsaved_;  // the database failed, and this is what it lacks
  int64_t number_ = 0;
  int64_t public_number_ = 0;  // the stored one that /private left
  int64_t purged_ = 0;
  std::vector<uint64_t> numbers_of_;  // the Store::file() whose numbers were shown; empty where none were
  bool renumbered_ = false;           // and take_renumbered() has not told it
};

}  // namespace bitnet
