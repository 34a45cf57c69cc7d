// Moving between the branches of a conversation. Every move only sets which leaf is shown: the next prompt
// then differs from the cached timeline from some token on, and Session::sync keeps what stands before it.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/store/message_tree.h"
#include "app/text/text_safe.h"
#include "app/text/text_width.h"
#include "chat_core.h"
#include "commands.h"

namespace bitnet {
namespace {

constexpr size_t kNumbered = 40;    // messages that /goto lists
constexpr int kBranchColumns = 23;  // of the turn and of the answer in a row of /branches
constexpr int kTextColumns = 60;

[[noreturn]] void refuse(const std::string& why) { throw Error(ErrorKind::usage, why); }

// The beginning of a text on one line, padded to `columns`.
std::string beginning(std::string_view text, int columns) {
  std::string line = make_safe(text.substr(0, 4 * static_cast<size_t>(columns)));
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
  line.erase(0, std::min(line.find_first_not_of(' '), line.size()));
  if (columns_of(line) > columns) line = std::string(prefix_of_columns(line, columns - 1)) + "…";
  return line + std::string(static_cast<size_t>(std::max(columns - columns_of(line), 0)), ' ');
}

}  // namespace

void ChatCore::regenerate() {
  if (failure_) refuse("the model cannot be used");
  if (branch_.empty()) refuse("there is no turn to answer again");
  if (branch_.back().stored.role == Role::assistant) {
    if (branch_.size() < 2) refuse("there is no turn to answer again");
    step_back_to(branch_.back().stored.parent);
    if (settings_.sampler.temperature == 0)
      front_.notice("At temp 0 the likeliest answer comes again; /set temp 0.7 gives others.");
  }
  if (model_) {
    start_answer();
  } else {
    turn_waits_ = true;
  }
}

void ChatCore::undo() {
  const auto last_user = std::find_if(branch_.rbegin(), branch_.rend(),
                                      [](const BranchMessage& m) { return m.stored.role == Role::user; });
  if (last_user == branch_.rend()) refuse("there is no turn to step back from");
  const int64_t left = branch_.back().stored.id;
  step_back_to(last_user->stored.parent);
  undone_.push_back(left);
}

// After a restart nobody knows what was undone; the newest turn is the best guess.
void ChatCore::redo() {
  if (conversation_ == 0) refuse("there is nothing to bring back");
  if (!undone_.empty()) {
    const int64_t leaf = undone_.back();
    undone_.pop_back();
    return move_to(leaf);
  }
  const MessageTree tree(store().outline(conversation_));
  const std::vector<int64_t>& next = tree.children(leaf());
  if (next.empty()) refuse("there is nothing to bring back");
  move_to(tree.answer_below(next.back()));
}

void ChatCore::edit(std::string_view text) {
  const auto last_user = std::find_if(branch_.rbegin(), branch_.rend(),
                                      [](const BranchMessage& m) { return m.stored.role == Role::user; });
  if (last_user == branch_.rend()) refuse("there is no turn to rewrite");
  if (failure_) refuse("the model cannot be used");
  const std::string old = last_user->stored.text;
  undo();
  if (!text.empty()) return add_user_turn(text);
  front_.notice(
      "Your last turn is in the input line: change it and send it. /redo brings it back as it was.");
  front_.return_input(typed_form(old));
}

void ChatCore::fork(std::optional<int64_t> number) {
  if (branch_.empty() && !number) refuse("there is nothing to branch off from yet");
  const int64_t old_end = branch_.empty() ? 0 : branch_.back().number;
  if (number) go_to(*number);
  const int64_t from = branch_.back().number;
  if (from == old_end) {
    const int64_t id = branch_.back().stored.id;
    keep([&] { store().set_kept(id, true); });
  }
  std::string text = fmt::format("What you say now begins a new branch after message {}.", from);
  if (old_end != 0)
    text += fmt::format(" The one up to message {0} is kept: /goto {0} goes back to it.", old_end);
  front_.command_output("fork", text);
}

void ChatCore::go_to(int64_t number) {
  if (conversation_ == 0) refuse("there is no message yet");
  const MessageTree tree(store().outline(conversation_));
  const OutlineMessage* message = tree.numbered(number);
  if (message == nullptr) {
    refuse(fmt::format("wanted the number of a message, 1 to {}, found {}; /goto and /branches list them",
                       tree.size(), number));
  }
  undone_.clear();
  move_to(tree.answer_below(message->id));
}

std::string ChatCore::branches_text() {
  if (conversation_ == 0) return "Nothing was said yet.";
  const MessageTree tree(store().outline(conversation_));
  const std::vector<int64_t> shown_path = leaf() ? tree.path(*leaf()) : std::vector<int64_t>();
  std::string text;
  std::vector<int64_t> ends = tree.ends();
  // Where /undo or /goto stepped back to is no end, but the person is there.
  if (leaf() && std::find(ends.begin(), ends.end(), *leaf()) == ends.end()) ends.push_back(*leaf());
  for (const int64_t end : ends) {
    const std::vector<int64_t> path = tree.path(end);
    const auto apart = std::mismatch(path.begin(), path.end(), shown_path.begin(), shown_path.end());
    std::string user;
    std::string answer;
    for (size_t i = path.size(); i > 0 && user.empty(); --i) {
      const auto message = store().message(path[i - 1]);
      if (!message) continue;
      (message->role == Role::user ? user : answer) = message->text;
    }
    std::string where;
    if (leaf() == end) {
      where = "  (here)";
    } else if (apart.first == path.begin()) {
      where = "  (from the start)";
    } else if (apart.first != path.end()) {
      where = fmt::format("  (leaves at {})", tree.place(*(apart.first - 1)).number);
    }
    text += fmt::format("{}{:>5}  › {}  {}{}\n", leaf() == end ? '*' : ' ', tree.place(end).number,
                        beginning(user, kBranchColumns), beginning(answer, kBranchColumns), where);
  }
  return text + "/goto N goes to one of them.";
}

std::string ChatCore::numbers_text() {
  if (branch_.empty()) return "Nothing was said yet.";
  std::string text;
  const size_t first = branch_.size() > kNumbered ? branch_.size() - kNumbered : 0;
  if (first > 0) text += fmt::format("({} earlier messages)\n", first);
  for (size_t i = first; i < branch_.size(); ++i) {
    const BranchMessage& m = branch_[i];
    text += fmt::format("{:>5}  {}{}{}\n", m.number, m.stored.role == Role::user ? "› " : "  ",
                        beginning(m.stored.text, kTextColumns), sibling_mark(shown(m)));
  }
  return text + "/goto N goes back to one of them; /branches shows what lies off this branch.";
}

}  // namespace bitnet
