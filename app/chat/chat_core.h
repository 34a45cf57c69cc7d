// What is inside Chat: the branch that is shown, the turn that runs, and what the commands do to them.
// Only chat*.cpp and commands*.cpp include this.
//
// Thread rule: lives on the loop's thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/base/wake_timer.h"
#include "app/chat/chat.h"
#include "app/chat/front_end.h"
#include "app/model/prompt.h"
#include "app/model/worker.h"
#include "app/store/store.h"
#include "engine/error.h"
#include "replay_player.h"
#include "settings.h"

namespace bitnet {

struct BranchMessage {
  StoredMessage stored;
  std::vector<int32_t> tokens;  // of an answer
  int64_t number = 0;           // these three as ShownMessage has them
  uint32_t sibling = 1;
  uint32_t siblings = 1;
};

// The answer that is being made.
struct RunningTurn {
  uint64_t job;
  StoredTurn stored;
  StreamDecoder decoder;
  std::string held;        // text that may be the beginning of a stop text
  std::string batch_text;  // shown but not stored yet
  std::vector<StoredToken> batch;
  std::chrono::steady_clock::time_point last_flush;
  uint32_t tokens = 0;
  double first_token = 0;  // seconds after decoding began
  std::string reason;      // why we stopped it ourselves; empty: as the worker says
};

// Work of the model beside the conversation: /tokens, /alt, /compact, a context of another size.
struct ModelTask {
  uint64_t job = 0;
  std::function<void(const SampledToken&)> on_token;  // may be empty
  std::function<void(const Finished&)> on_finish;     // throws Error for what the person should read
};

// An answer's tokens with what else was likely in their places (chat_look.cpp).
struct LookedAnswer {
  int64_t message = 0;
  std::vector<int32_t> tokens;
  std::vector<Looked> looked;  // one for each token once complete
};

struct Compaction;  // chat_compact.cpp

// A file that /read put into the next turn.
struct ReadFile {
  std::string name;
  std::string text;
  size_t tokens = 0;  // 0 where the model was not there to ask
};

// A file to be written, as a person names it.
struct NamedFile {
  std::string name;
  bool forced = false;  // by a ! behind it
};

// What /private changes and /private off puts back, so that nothing typed in between is stored later.
struct PublicSettings {
  std::string system;
  std::vector<std::string> stop;
};

class ChatCore final : public Chat {
 public:
  ChatCore(Store& store, Worker& worker, ChatSettings settings, FrontEnd& front_end);
  ~ChatCore() override;  // an answer that is being made is stored as it stands, as interrupted
  ChatCore(const ChatCore&) = delete;
  ChatCore& operator=(const ChatCore&) = delete;

  // chat.cpp: what Chat offers
  void submit(std::string_view text) override;
  void handle_events() override;
  void interrupt() override;
  void interrupt_after(uint32_t tokens) override;
  void show_all() override;
  int wake_fd() const override { return wake_.fd(); }
  bool is_command(std::string_view typed) const override;
  bool loading() const override { return !model_ && !failure_; }
  bool quit_requested() const override { return quit_; }
  int64_t conversation() const override { return stored_conversation(); }
  std::optional<std::string> take_error() override;
  const std::optional<Error>& failure() const override { return failure_; }
  std::vector<std::string> complete(std::string_view line) override;
  void tell_error(std::string_view text);  // of a command or a turn; a script ends with it
  bool busy() const override { return running_.has_value() || turn_waits_ || task_.has_value() || player_; }

  // chat_turns.cpp: a turn's way
  void add_user_turn(std::string_view text);
  void start_answer();  // to the last message of the branch; a last answer is continued
  void finish_answer(const Finished& finished);
  void take_token(const Token& token);
  void take_back_turn();  // the last message, of the user and not answered, goes back to the input line

  // chat_commands.cpp: what commands do. Throw Error for what the person should read.
  void new_conversation() override;
  void open_conversation(int64_t id) override;
  void take_conversation(int64_t id);  // the same, not shown yet
  void forget_figures();
  void continue_answer();
  void reopen(const std::string& device);      // empty: where the model is or was
  void change_settings(ChatSettings changed);  // another context size begins a task
  void set_system(std::string_view text);
  void delete_conversation(std::optional<int64_t> id, bool now);
  void undelete_conversation(std::optional<int64_t> id);
  void set_title(std::string_view title);
  void archive(std::optional<int64_t> id, bool archived);
  void copy(std::string_view which);  // chat_copy.cpp: "", a code block's number, or "answer"
  void choose_conversation();         // chat_copy.cpp
  std::string list_text(bool archived);
  std::string trash_text();
  std::string search_text(std::string_view words);
  std::string settings_text(std::string_view name) const;
  std::string show_model() const;
  std::string show_prompt() const;
  std::string show_context() const;
  std::string show_stats();

  // chat_tree.cpp: moving between the branches
  void regenerate();
  void undo();
  void redo();
  void edit(std::string_view text);  // empty: the last turn goes back to the input line
  void fork(std::optional<int64_t> number);
  void go_to(int64_t number);
  std::string branches_text();
  std::string numbers_text();  // the messages shown, with the numbers that /goto takes

  // chat_look.cpp: the probabilities behind the last answer
  void show_tokens(size_t from);
  void show_alternatives();
  void show_alternatives(size_t token);
  void go_on_from(size_t token, size_t candidate);

  // chat_compact.cpp
  void compact();

  // chat_read.cpp
  void read_file(const std::string& path);
  void forget_files();
  void drop_read_files();         // because the conversation changes: says so
  void count_read_files();        // their tokens, once the model is there
  void tell_read_files();         // to the front end, where they have changed
  std::string read_text() const;  // what is in the next turn
  std::string with_read_files(std::string_view typed);

  // chat_saving.cpp
  bool save_again();
  void look_after_database();
  bool may_quit();
  void refuse_while_unsaved(int64_t conversation) const;
  std::string close() override;  // the end; for people, what is not saved

  // chat_private.cpp
  void go_private(bool on);

  // chat_io.cpp: files. `file` empty: shown instead.
  void export_chat(std::string_view format, const NamedFile& file);
  void import_chats(const std::string& file);
  void replay(std::optional<int64_t> id, double speed);
  void advance_replay();
  WriteRules rules_for(const NamedFile& file) const;
  void record(const NamedFile& file);  // empty: ends the recording

  // Small steps shared by the files above.
  Store& store() { return private_store_ ? *private_store_ : database(); }
  Store& database();  // where conversations are looked up: what is stored, also while this one is private
  int64_t stored_conversation() const;  // its id in the file; 0: not in it
  int64_t listed_conversation() const { return private_ ? 0 : conversation_; }  // its id in database()
  std::optional<int64_t> leaf() const;
  std::vector<PromptMessage> prompt_messages(size_t count) const;
  std::vector<int32_t> prompt_for(size_t count) const;  // of the first `count` messages of the branch
  void keep(const std::function<void()>& write);        // does it again in memory where the database fails
  void load_branch(std::optional<int64_t> leaf);
  void show_branch();
  void step_back_to(std::optional<int64_t> leaf);  // an ancestor of leaf()
  void move_to(std::optional<int64_t> leaf);       // anywhere in the tree
  bool works_on(uint64_t job) const;
  void start_task(AnyJob job, ModelTask task);
  void finish_task(const Finished& finished);
  void push_message(StoredMessage message);  // to the end of the branch, numbered
  void send_status();
  void update_context();
  ShownMessage shown(const BranchMessage& message) const;

  FrontEnd& front_;
  Worker& worker_;
  ChatSettings settings_;
  ChatSettings defaults_;   // what /reset goes back to; of the model's file too once it is loaded
  std::string new_system_;  // for /new; settings_.system is that of the conversation that is open
  std::optional<Loaded> model_;
  std::optional<Error> failure_;
  std::optional<std::string> error_;  // that Chat::take_error gives
  int64_t conversation_ = 0;          // 0: none stored yet
  int64_t created_ = 0;               // of the conversation, milliseconds: what templates take as "now"
  std::vector<BranchMessage> branch_;
  std::vector<int64_t> undone_;  // ends of branches that /undo has left, for /redo; the last first
  std::optional<RunningTurn> running_;
  std::optional<ModelTask> task_;
  std::unique_ptr<ReplayPlayer> player_;  // while a conversation is replayed
  WakeTimer wake_;                        // the worker has something, or the player has
  LookedAnswer looked_;
  std::vector<ReadFile> read_files_;
  bool private_ = false;             // by /private: store() is in memory, database() the file
  int64_t public_conversation_ = 0;  // the stored one that /private left
  PublicSettings public_settings_;   // those before /private
  bool rewinds_ = false;             // a step back or aside came before the next prompt
  bool turn_waits_ = false;          // the branch ends in a turn that starts when the model is there
  uint32_t interrupt_after_ = 0;
  bool quit_ = false;
  Status status_;
  JobStats last_stats_;
  uint64_t last_seed_ = 0;

 private:
  bool leave_deleted_conversation(std::string_view typed);
  void begin_waiting_turn();
  void fit_context();  // makes the session as large as the settings say
  std::optional<uint32_t> used_then();
  void with_look(std::function<void()> then);
  std::string token_text(int32_t id) const;
  size_t turn_before(size_t at) const;  // where the turn begins that ends before message `at` of the branch
  size_t tokens_of(size_t begin, size_t end) const;  // of a prompt of these messages alone
  void sum_up(const std::shared_ptr<Compaction>& work);
  void finish_compaction(const Compaction& work, size_t tokens_now);
  void put_summary(const std::string& text, const std::vector<StoredToken>& tokens, size_t cut);
  void begin_unsaved(const std::string& why);
  std::unique_ptr<Store> memory_copy(Unsaved* unsaved);
  void lose_store(const std::string& why);
  void show_text(std::string_view text, const SampledToken& token);
  void flush_batch(bool now);

  Store& store_;
  std::unique_ptr<Store> private_store_;  // in memory: /private
  std::optional<Unsaved> unsaved_;        // the database failed, and this is what it lacks
  bool quit_warned_ = false;              // /quit said what is not saved
};

}  // namespace bitnet
