// /regen /continue /undo /redo /edit /fork /branches /goto: answers made again, and moving between branches.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "app/base/blank.h"
#include "app/store/message_tree.h"
#include "app/text/text_safe.h"
#include "app/text/text_width.h"
#include "app/text/thinking.h"
#include "arguments.h"
#include "command_line.h"
#include "do.h"
#include "listing.h"
#include "read_files.h"
#include "refuse.h"

namespace bitnet {
namespace {

constexpr size_t kNumbered = 40;    // messages that /goto lists
constexpr int kBranchColumns = 23;  // of the turn and of the answer in a row of /branches
constexpr int kTextColumns = 60;

// The beginning of a text on one line, padded to `columns`.
std::string beginning(std::string_view text, int columns) {
  constexpr size_t kMostCharacters = 2000;  // so that a long text costs no more than a short one
  text = trim(text);
  const std::string_view looked_at = first_characters(text, kMostCharacters);
  std::string line = one_line(looked_at);
  if (looked_at.size() < text.size()) line += "…";
  line = shortened(line, columns);
  return line + std::string(static_cast<size_t>(std::max(columns - columns_of(line), 0)), ' ');
}

// A message without what the model thought before it answered.
std::string said(const StoredMessage& message) {
  if (message.role != Role::assistant) return message.text;
  return std::string(split_answer(message.text).answer);
}

// Null where the branch has no turn of the user.
const BranchMessage* last_user_turn(const Conversation& conversation) {
  const std::vector<BranchMessage>& branch = conversation.branch();
  const auto last = std::find_if(branch.rbegin(), branch.rend(),
                                 [](const BranchMessage& m) { return m.stored.role == Role::user; });
  return last == branch.rend() ? nullptr : &*last;
}

void go_to(ChatParts& chat, int64_t number) {
  if (chat.storage.number() == 0) refuse("there is no message yet");
  const MessageTree tree(chat.storage.store().outline(chat.storage.number()));
  const OutlineMessage* message = tree.numbered(number);
  if (message == nullptr) {
    refuse(fmt::format("wanted the number of a message, 1 to {}, found {}; /goto and /branches list them",
                       tree.size(), number));
  }
  chat.conversation.move_to(tree.answer_below(message->id));
}

std::string branches_text(ChatParts& chat) {
  if (chat.storage.number() == 0) return "Nothing was said yet.";
  const std::optional<int64_t> leaf = chat.conversation.leaf();
  const MessageTree tree(chat.storage.store().outline(chat.storage.number()));
  const std::vector<int64_t> shown_path = leaf ? tree.path(*leaf) : std::vector<int64_t>();
  std::string text;
  std::vector<int64_t> ends = tree.ends();
  // Where /undo or /goto stepped back to is no end, but the person is there.
  if (leaf && std::find(ends.begin(), ends.end(), *leaf) == ends.end()) ends.push_back(*leaf);
  for (const int64_t end : ends) {
    const std::vector<int64_t> path = tree.path(end);
    const auto apart = std::mismatch(path.begin(), path.end(), shown_path.begin(), shown_path.end());
    std::string user;
    std::string answer;
    for (size_t i = path.size(); i > 0 && user.empty(); --i) {
      const auto message = chat.storage.store().message(path[i - 1]);
      if (!message) continue;
      (message->role == Role::user ? user : answer) = said(*message);
    }
    std::string where;
    if (leaf == end) {
      where = "  (here)";
    } else if (apart.first == path.begin()) {
      where = "  (from the start)";
    } else if (apart.first != path.end()) {
      where = fmt::format("  (leaves at {})", tree.place(*(apart.first - 1)).number);
    }
    text += fmt::format("{}{:>5}  › {}  {}{}\n", leaf == end ? '*' : ' ', tree.place(end).number,
                        beginning(user, kBranchColumns), beginning(answer, kBranchColumns), where);
  }
  return text + "/goto N goes to one of them.";
}

std::string numbers_text(Conversation& conversation) {
  const std::vector<BranchMessage>& branch = conversation.branch();
  if (const std::string before = conversation.before_first_turn(); !before.empty())
    return before + "; /branches lists them.";
  if (branch.empty()) return "Nothing was said yet.";
  std::string text;
  const size_t first = branch.size() > kNumbered ? branch.size() - kNumbered : 0;
  if (first > 0) text += fmt::format("({} earlier messages)\n", first);
  for (size_t i = first; i < branch.size(); ++i) {
    const BranchMessage& m = branch[i];
    text += fmt::format("{:>5}  {}{}{}\n", m.number, m.stored.role == Role::user ? "› " : "  ",
                        beginning(said(m.stored), kTextColumns), sibling_mark(conversation.shown(m)));
  }
  return text + "/goto N goes back to one of them; /branches shows what lies off this branch.";
}

// In place of the one that was undone, which is there again where this one is not sent.
void rewrite_turn(ChatParts& chat, std::string_view text) {
  try {
    add_user_turn(chat, text, {.taken_back = true, .redone = true});
  } catch (const Error&) {
    chat.conversation.redo();
    throw;
  }
}

}  // namespace

void do_regen(ChatParts& chat, std::string_view) {
  Conversation& conversation = chat.conversation;
  const std::vector<BranchMessage>& branch = conversation.branch();
  if (chat.model.failure()) refuse("the model cannot be used");
  if (branch.empty()) refuse("there is no turn to answer again");
  const bool has_answer = branch.back().stored.role == Role::assistant;
  if (has_answer) {
    if (branch.size() < 2) refuse("there is no turn to answer again");
    conversation.step_back_from_answer();
    if (chat.settings.now.sampler.temperature == 0)
      chat.front_end().notice("At temp 0 the likeliest answer comes again; /set temp 0.7 gives others.");
  }
  chat.answer.begin_or_wait({.taken_back = false, .redone = has_answer});
}

void do_continue(ChatParts& chat, std::string_view) {
  Conversation& conversation = chat.conversation;
  const std::vector<BranchMessage>& branch = conversation.branch();
  chat.model.require();
  conversation.catch_up();
  if (branch.empty() || branch.back().stored.role != Role::assistant)
    refuse("there is no answer to go on with");
  if (branch.back().stored.finish == name_of(Finish::stop)) {
    refuse("the last answer is finished, so there is nothing to continue; /regen gives another one");
  }
  chat.answer.begin();
}

void do_undo(ChatParts& chat, std::string_view) {
  if (!chat.conversation.undo()) refuse("there is no turn to step back from");
}

void do_redo(ChatParts& chat, std::string_view) {
  if (!chat.conversation.redo()) refuse("there is nothing to bring back");
}

void do_edit(ChatParts& chat, std::string_view text) {
  const BranchMessage* last = last_user_turn(chat.conversation);
  if (last == nullptr) refuse("there is no turn to rewrite");
  if (chat.model.failure()) refuse("the model cannot be used");
  const std::string old = last->stored.text;
  chat.conversation.undo();
  if (!text.empty()) return rewrite_turn(chat, text);
  chat.front_end().notice(
      "Your last turn is in the input line: change it and send it. /redo brings it back as it was.");
  chat.front_end().return_input(typed_form(chat.settings.now.asks ? without_named_files(old) : old));
}

void do_fork(ChatParts& chat, std::string_view arguments) {
  const std::vector<BranchMessage>& branch = chat.conversation.branch();
  if (branch.empty() && arguments.empty()) refuse("there is nothing to branch off from yet");
  const int64_t old_end = branch.empty() ? 0 : branch.back().number;
  if (!arguments.empty()) go_to(chat, message_number(arguments));
  const int64_t from = branch.back().number;
  if (from == old_end) {
    chat.storage.keep([&] { chat.storage.store().set_kept(branch.back().stored.id, true); });
  }
  std::string text = fmt::format("What you say now begins a new branch after message {}.", from);
  if (old_end != 0)
    text += fmt::format(" The one up to message {0} is kept: /goto {0} goes back to it.", old_end);
  chat.front_end().command_output("fork", text);
}

void do_branches(ChatParts& chat, std::string_view) {
  chat.front_end().command_output("branches", branches_text(chat));
}

void do_goto(ChatParts& chat, std::string_view arguments) {
  if (!arguments.empty()) return go_to(chat, message_number(arguments));
  chat.front_end().command_output("goto", numbers_text(chat.conversation));
}

}  // namespace bitnet
