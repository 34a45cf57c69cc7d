// /new /open /list /search /title /archive /delete /undelete: which conversation is open, and what is stored.
#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "app/base/clock.h"
#include "app/base/counted.h"
#include "app/text/fold_case.h"
#include "app/text/text_safe.h"
#include "arguments.h"
#include "do.h"
#include "listing.h"
#include "model_menu.h"
#include "refuse.h"

namespace bitnet {
namespace {

constexpr int64_t kMostMatched = 1000;
constexpr size_t kLongestTitle = 200;       // characters
constexpr size_t kWordsWorthSearching = 3;  // bytes of a filter from which on the messages are searched too
constexpr size_t kMostWorthSearching = 60;  // and up to which: what is longer was pasted by mistake

bool has_all_words(const std::string& text, const std::string& words) {
  std::istringstream list(words);
  std::string word;
  while (list >> word) {
    if (text.find(word) == std::string::npos) return false;
  }
  return true;
}

// Whose title or whose messages have the words of `filter`.
std::vector<Choice> conversations_with(Store& database, std::string_view filter) {
  const std::string words = fold_case(filter);
  std::vector<Choice> found;
  const auto add = [&](const StoredConversation& row) {
    found.push_back({row.id, row.title.empty() ? "(no title)" : row.title,
                     fmt::format("{}  {:>13}", local_time(row.updated),
                                 counted(static_cast<size_t>(row.messages), "message"))});
  };
  const bool asked_once = !words.empty();  // what -p asked is there for who looks for it
  for (const StoredConversation& row : database.conversations(kMostMatched, /*archived=*/false, asked_once)) {
    if (has_all_words(fold_case(row.title), words)) add(row);
  }
  if (filter.size() < kWordsWorthSearching || filter.size() > kMostWorthSearching) return found;
  for (const SearchHit& hit : database.search(filter, 50)) {
    const auto known = [&](const Choice& choice) { return choice.id == hit.conversation; };
    if (std::any_of(found.begin(), found.end(), known)) continue;
    if (const auto row = database.conversation(hit.conversation)) add(*row);
  }
  return found;
}

// While the database cannot be used, nothing that is stored is found: `text` with the reason behind it.
std::string with_reason(const Storage& storage, const std::string& text) {
  const std::string* why = storage.unsaved_because();
  return why == nullptr ? text : fmt::format("{}; only what is in memory was looked at: {}", text, *why);
}

std::string stored_text(ChatParts& chat, bool archived, bool asked_once) {
  Storage& storage = chat.storage;
  const std::string text = list_text(storage.database(), storage.number_in_database(), archived, asked_once);
  if (const std::string* why = storage.unsaved_because()) {
    return fmt::format("Nothing is saved for now: {}.\n{}{}", *why,
                       text.empty() ? "Nothing was said since." : "In memory meanwhile:\n", text);
  }
  if (!text.empty()) return text;
  const std::string others = other_lists(storage.database());
  return others.empty() ? "Nothing is stored yet." : fmt::format("This list is empty; {}.", others);
}

std::string deleted_text(ChatParts& chat) {
  const std::string text = trash_text(chat.storage.database());
  if (text.empty()) return with_reason(chat.storage, "The trash is empty") + ".";
  return text + "/undelete ID brings one back; /delete ID now takes it out for good.";
}

void choose_conversation(ChatParts& chat) {
  Store& database = chat.storage.database();
  if (database.conversations(1).empty()) {
    const std::string others = other_lists(database);
    refuse(
        with_reason(chat.storage, others.empty() ? "nothing is stored yet" : "the list is empty; " + others));
  }
  Choices choices;
  choices.title = "Open a conversation";
  choices.find = [&chat](std::string_view filter) {
    return conversations_with(chat.storage.database(), filter);
  };
  choices.chosen = [&chat](int64_t number) { chat.submit(fmt::format("/open {}", number)); };
  if (chat.front_end().choose(std::move(choices))) return;
  chat.front_end().command_output("open", stored_text(chat, /*archived=*/false, /*asked_once=*/false) +
                                              "\n/open ID goes on with one of them.");
}

// Throws Error(usage) where the open conversation cannot be left.
void check_may_leave(const ChatParts& chat) {
  if (!chat.queue.empty() && !chat.from_queue)
    refuse("a message waits here to be answered; Esc takes it back");
  if (chat.tasks.busy() || chat.answer.waits()) refuse("an answer is being made");
  if (chat.answer.is_shown() && !chat.storage.in_database())
    refuse("an answer is being made that would be lost; Esc stops it");
}

void delete_conversation(ChatParts& chat, std::optional<int64_t> number, bool now) {
  Storage& storage = chat.storage;
  if (!number && storage.is_private()) {
    new_conversation(chat);
    return chat.front_end().command_output("delete", "This conversation was not stored, and it is gone.");
  }
  const int64_t which = number.value_or(storage.number());
  if (which == 0) refuse("this conversation is not stored yet");
  storage.refuse_while_unsaved(which);
  find_conversation(storage.database(), which, "/list shows them");
  if (which == chat.answer.elsewhere() || (which == storage.number() && chat.answer.is_shown()))
    refuse(fmt::format("conversation {} is being answered; Esc stops that where it is shown", which));
  const bool is_open = which == storage.number_in_database();
  if (is_open) check_may_leave(chat);
  std::string text;
  if (now) {
    text = fmt::format("Conversation {} is deleted {}.", which, purge_text(storage.database(), which));
    chat.worker.forget_timelines();  // one of them may be its
    storage.forget_left(which);
  } else if (storage.database().set_deleted(which, true)) {
    text = fmt::format(
        "Conversation {0} is deleted. /undelete {0} brings it back within {1} days; /delete {0} now "
        "takes it out for good.",
        which, kTrashDays);
  } else {
    refuse(fmt::format("conversation {0} is in the trash already; /delete {0} now takes it out for good",
                       which));
  }
  if (is_open) new_conversation(chat);
  chat.front_end().command_output("delete", text);
}

}  // namespace

void leave_conversation(ChatParts& chat) {
  check_may_leave(chat);
  if (chat.answer.is_shown()) chat.answer.put_aside();
}

void new_conversation(ChatParts& chat) {
  leave_conversation(chat);
  chat.conversation.begin_new();
  chat.answer.forget_figures();
  chat.conversation.show_all();
  chat.read_files.drop();
}

void take_conversation(ChatParts& chat, int64_t number) {
  if (chat.answer.is_shown() && number == chat.storage.number_in_database()) return;
  find_conversation(chat.storage.database(), number, "/list shows them");
  const StoredConversation row = conversation_to_open(chat.storage.database(), number);
  leave_conversation(chat);
  chat.conversation.open(row);
  chat.answer.forget_figures();
  chat.answer.take_in();
}

void open_conversation(ChatParts& chat, int64_t number) {
  take_conversation(chat, number);
  chat.conversation.show_all();
  chat.read_files.drop();
  const std::vector<BranchMessage>& branch = chat.conversation.branch();
  if (!branch.empty() && branch.back().stored.role == Role::user) {
    chat.front_end().notice("The last turn has no answer yet; /regen answers it.");
  }
  if (const std::string text = chat.conversation.before_first_turn(); !text.empty())
    chat.front_end().notice(text + ".");
  if (chat.settings.now.think != chat.settings.new_think) {
    chat.front_end().notice(fmt::format("think is {} again, as in the last answer; /think changes it.",
                                        setting_named("think").show(chat.settings.now)));
  }
  offer_model_of_conversation(chat);
}

void do_new(ChatParts& chat, std::string_view) { new_conversation(chat); }

void do_open(ChatParts& chat, std::string_view arguments) {
  if (arguments.empty()) return choose_conversation(chat);
  open_conversation(chat, conversation_number(arguments));
}

void do_list(ChatParts& chat, std::string_view arguments) {
  if (!arguments.empty() && arguments != "all" && arguments != "deleted") {
    refuse(fmt::format("/list wants all, deleted or nothing, found '{}'", printable(arguments, 40)));
  }
  chat.front_end().command_output(
      "list", arguments == "deleted" ? deleted_text(chat)
                                     : stored_text(chat, !arguments.empty(), /*asked_once=*/true));
}

void do_search(ChatParts& chat, std::string_view arguments) {
  if (arguments.empty()) refuse("/search wants words to look for");
  std::string text = search_text(chat.storage.database(), arguments);
  const bool found = !text.empty();
  if (!found || chat.storage.unsaved_because() != nullptr)
    text += with_reason(chat.storage, found ? "There may be more" : "Nothing found") + ".";
  chat.front_end().marked_output("search", text);
}

void do_title(ChatParts& chat, std::string_view arguments) {
  if (!arguments.empty()) {
    if (chat.storage.number() == 0)
      refuse("this conversation is not stored yet: it is once you have said something");
    chat.conversation.set_title(first_characters(arguments.substr(0, arguments.find('\n')), kLongestTitle));
    chat.reporter.send_status();
  }
  chat.front_end().command_output("title", one_line(chat.conversation.title()));
}

void do_archive(ChatParts& chat, std::string_view arguments) {
  const auto [word, rest] = split(arguments);
  const bool archived = word != "off";
  Storage& storage = chat.storage;
  const int64_t which =
      optional_conversation(archived ? arguments : rest).value_or(storage.number_in_database());
  if (which == 0) refuse("this conversation is not stored");
  storage.refuse_while_unsaved(which);
  const bool leaves = archived && which == storage.number_in_database();
  if (leaves) check_may_leave(chat);
  if (!storage.database().set_archived(which, archived)) {
    throw Error(ErrorKind::runtime, fmt::format("there is no conversation {}; /list all shows them", which));
  }
  if (leaves) new_conversation(chat);
  chat.front_end().command_output(
      "archive", archived ? fmt::format("Conversation {0} is put away: /list all shows it, /open {0} "
                                        "opens it, /archive off {0} takes it back.",
                                        which)
                          : fmt::format("Conversation {} is in /list again.", which));
}

void do_delete(ChatParts& chat, std::string_view arguments) {
  auto [first, second] = split(arguments);
  if (first == "now") std::swap(first, second);
  if (!second.empty() && second != "now") {
    refuse(fmt::format("/delete wants a conversation's number, now, or both, found '{}'",
                       printable(arguments, 40)));
  }
  delete_conversation(chat, optional_conversation(first), !second.empty());
}

// Without a number, the one that was deleted last. It is opened where nothing was said since.
void do_undelete(ChatParts& chat, std::string_view arguments) {
  Storage& storage = chat.storage;
  std::optional<int64_t> number = optional_conversation(arguments);
  if (!number) {
    const auto trash = storage.database().trash();
    if (trash.empty()) refuse(with_reason(storage, "the trash is empty"));
    number = trash.front().id;
  }
  find_conversation(storage.database(), *number, "/list deleted shows the trash");
  if (!storage.database().set_deleted(*number, false))
    refuse(fmt::format("conversation {} is not in the trash", *number));
  if (!chat.conversation.branch().empty() || storage.is_private()) {
    return chat.front_end().command_output(
        "undelete", fmt::format("Conversation {0} is back; /open {0} goes on with it.", *number));
  }
  open_conversation(chat, *number);
  chat.front_end().command_output("undelete", fmt::format("Conversation {} is back.", *number));
}

}  // namespace bitnet
