// The conversation that is open: the branch that is shown, moving in its tree, and the answer that is written
// to its end.
//
// A move only sets which leaf is shown. The next prompt then differs from the cached timeline from some token
// on, and Session::sync keeps what stands before it.
//
// Thread rule: it lives on the loop's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "answer_place.h"
#include "app/chat/front_end.h"
#include "app/model/prompt.h"
#include "app/model/worker.h"
#include "app/store/store.h"
#include "model_state.h"
#include "reporter.h"
#include "settings.h"
#include "storage.h"

namespace bitnet {

std::vector<PromptMessage> prompt_messages(std::span<const BranchMessage> messages);

class Conversation final : public AnswerPlace, private StoredBranch {
 public:
  // A new one, with nothing in it. All of these must live as long as it does.
  Conversation(Store& file, SettingsInUse& settings, const ModelState& model, Reporter& reporter);
  Conversation(const Conversation&) = delete;
  Conversation& operator=(const Conversation&) = delete;

  Storage& storage() { return storage_; }
  const Storage& storage() const { return storage_; }

  const std::vector<BranchMessage>& branch() const { return branch_; }
  std::optional<int64_t> leaf() const override;  // id of the last message of the branch
  const std::string& title() const { return title_; }
  int64_t template_now() const { return created_ / 1000 + settings_.now.utc_offset; }  // build_prompt's `now`
  ShownMessage shown(const BranchMessage& message) const;
  void describe(Status& status) const;
  // The prompt of the first `count` messages of the branch. Requires a model; throws what build_prompt does.
  std::vector<int32_t> prompt_of(size_t count) const;

  // What the branch's last answer may be like: the tokens of this model's answers in other conversations,
  // never of private ones, and then of those here that are not on the branch; the oldest first, but the
  // latest to the same turn last.
  OtherAnswers other_answers();

  void show_all();        // the branch and the status, as they are
  void update_context();  // how many tokens the branch takes, into the status

  void begin_new();                          // not shown yet
  void open(const StoredConversation& row);  // of storage().database(), sound; not shown yet
  void set_title(std::string_view title);
  // Says that the branch is empty although something was said, as /undo leaves it; else empty.
  std::string before_first_turn();
  bool title_is_first_line() const;    // nobody has given it another one
  int64_t step_back_to(size_t count);  // less messages of the branch; returns the leaf that is left
  // Anywhere in the tree. Throws Error(usage) for another branch where the database, which alone has that,
  // fails now.
  void move_to(std::optional<int64_t> leaf);
  void step_back_from_answer();  // in which the branch ends; redo() brings it back
  bool undo();                   // false where there is no turn to step back from
  bool redo();                   // false where there is nothing to bring back

  // To the end of the branch, stored and shown. The first message makes the conversation, with this title.
  void add_user_message(const std::string& text, const std::string& title);
  void add_answer(StoredMessage answer, const std::vector<StoredToken>& tokens);
  // Reads the last message again where another program has gone on with it. Throws Error(usage) while one
  // does.
  void catch_up();
  bool is_followed();  // whether messages follow the last one of the branch
  // Another answer takes the place of the last one, with the same words: what followed was said to that one.
  void copy_answer();
  std::string take_back();  // removes the last message, which nothing follows; returns its text

  // The answer that is being written. It begins empty, or goes on with the answer that the branch ends in.
  void begin_answer(StoredTurn turn, bool continues);
  void grow_answer(std::string_view text, const SampledToken& token) override;  // shown
  void store_answer(std::string_view text, const std::vector<StoredToken>& tokens) override;
  void finish_answer(const std::string& reason, const JobStats& stats) override;
  void leave_answer(uint32_t tokens) noexcept override;
  // It goes on out of sight, because another conversation is opened next. Requires storage().in_database().
  AnswerAside put_answer_aside();
  // The branch ends in that answer, which goes on here; false: it does not.
  bool take_in_answer(AnswerAside& aside);
  bool thinks() const { return pieces_ && pieces_->thinks(); }  // the answer has not begun
  uint32_t thought_tokens() const;                              // of the last message

 private:
  int64_t number() const { return storage_.number(); }
  Store& store() { return storage_.store(); }
  void keep(const std::function<void()>& write) { storage_.keep(write); }
  void go_to(std::optional<int64_t> leaf);
  void copy_to(Store& memory, int64_t number, Unsaved* unsaved) override;
  void reload(std::optional<int64_t> leaf) override;
  std::vector<BranchMessage> read_branch(Store& store, int64_t number, std::optional<int64_t> leaf) const;
  void push_message(StoredMessage message);
  void show_branch();
  std::optional<uint32_t> used_then();
  const std::vector<std::vector<int32_t>>& answers_elsewhere();
  std::string settings_then();
  void settle_branch();

  SettingsInUse& settings_;
  const ModelState& model_;
  Reporter& reporter_;
  Storage storage_;
  std::string title_;
  std::optional<std::string> first_title_;  // the one that it began with, here
  int64_t created_ = 0;                     // milliseconds since 1970
  bool once_ = false;                       // as it was opened
  std::vector<BranchMessage> branch_;
  std::vector<int64_t> undone_;  // ends of branches that undo() has left, for redo(); the last one last
  std::optional<StoredTurn> open_turn_;  // of the answer that is being written
  std::optional<AnswerPieces> pieces_;   // likewise
  struct Elsewhere {
    int64_t number = 0;  // of the conversation for which they were read
    std::string model;
    std::vector<std::vector<int32_t>> answers;
  };
  Elsewhere elsewhere_;  // read with the first answer of a conversation
};

}  // namespace bitnet
