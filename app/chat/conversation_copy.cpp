// What Storage asks of a conversation: a copy in memory where the database fails, and the branch as it is
// stored now.
#include "conversation.h"

namespace bitnet {

void Conversation::copy_to(Store& memory, int64_t number, Unsaved* unsaved) {
  undone_.clear();
  memory.add_conversation(settings_.now.system, settings_.now.once, number, created_);
  memory.set_title(number, title_);
  if (unsaved != nullptr) {
    unsaved->conversations[number] = number;
    unsaved->as_copied[number] = *memory.conversation(number);
  }
  std::optional<int64_t> parent;
  for (size_t i = 0; i < branch_.size(); ++i) {
    StoredMessage& message = branch_[i].stored;
    Unsaved::Known known{message.id, 0, {}};
    if (open_turn_ && open_turn_->message == message.id) {
      known.open_turn = open_turn_->id;
      open_turn_->message = 0;
      open_turn_ = memory.begin_turn(number, parent, *open_turn_);
      memory.append(*open_turn_, message.text, {});
      message.id = open_turn_->message;
    } else if (message.role == Role::assistant) {
      std::vector<StoredToken> tokens;
      for (const int32_t id : branch_[i].tokens) tokens.push_back({id, 0, 0});
      known.turns = tokens.empty() ? 0 : 1;
      message.id = memory.add_answer(number, parent, message.text, message.finish, tokens,
                                     to_json(settings_.now, 0), message.thought_tokens);
    } else {
      message.id = memory.add_message(number, parent, message.role, message.text);
    }
    if (unsaved != nullptr) unsaved->messages[message.id] = known;
    message.parent = parent;
    branch_[i].number = static_cast<int64_t>(i) + 1;
    branch_[i].sibling = branch_[i].siblings = 1;
    parent = message.id;
  }
}

void Conversation::reload(std::optional<int64_t> leaf) {
  if (number() == 0) begin_new();
  undone_.clear();
  branch_ = read_branch(store(), number(), leaf);
  show_all();
}

}  // namespace bitnet
