// Tools on what is stored: list, show, search, export, delete.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "chat_file.h"
#include "chat_tree.h"
#include "engine/error.h"
#include "store_time.h"
#include "text_file.h"
#include "text_safe.h"
#include "tools.h"
#include "ui_line.h"

namespace bitnet {
namespace {

constexpr int64_t kListed = 1000;
constexpr int64_t kFound = 50;
constexpr size_t kMostImported = size_t{1} << 30;  // a file may hold many conversations

void print(Output& out, const std::string& text) { out.write(out.is_terminal() ? make_safe(text) : text); }

// What was found with its marks, in one row. A text may hold the bytes of the marks too, so they are put in
// order: what is begun ends.
std::string marked_line(std::string_view snippet) {
  std::string line;
  bool on = false;
  while (!snippet.empty()) {
    const size_t mark = std::min(snippet.find_first_of("\x02\x03"), snippet.size());
    line += one_line(snippet.substr(0, mark));
    snippet.remove_prefix(mark);
    if (snippet.empty()) break;
    const bool begins = snippet.front() == kMarkOn;
    if (begins != on) line += snippet.front();
    on = begins;
    snippet.remove_prefix(1);
  }
  if (on) line += kMarkOff;
  return line;
}

[[noreturn]] void refuse(const std::string& why) { throw Error(ErrorKind::runtime, why); }

StoredConversation find(Store& store, int64_t id) {
  const auto row = store.conversation(id);
  if (!row) refuse(fmt::format("there is no conversation {}; 'bitnet-chat list' shows them", id));
  return *row;
}

}  // namespace

StoredConversation conversation_to_open(Store& store, int64_t id) {
  const StoredConversation row = find(store, id);
  if (row.deleted) {
    refuse(fmt::format(
        "conversation {0} is in the trash; /undelete {0} or 'bitnet-chat undelete {0}' brings it back", id));
  }
  store.check_tree(row);
  return row;
}

std::string trash_text(Store& store) {
  std::string text;
  for (const StoredConversation& row : store.trash()) {
    const int64_t end = *row.deleted + int64_t{kTrashDays} * 24 * 60 * 60 * 1000;
    text += fmt::format("{:>6}  {}  {:>4}  (until {}) {}\n", row.id, local_time(*row.deleted), row.messages,
                        local_time(end).substr(0, 10), one_line(row.title));
  }
  return text;
}

std::string purge_text(Store& store, int64_t id) {
  store.purge(id);
  const std::string left = store.scrub();
  return left.empty() ? "for good: no word of it is in the database" : fmt::format("for good, but {}", left);
}

std::string list_text(Store& store, int64_t current, bool archived) {
  std::string text;
  for (const StoredConversation& row : store.conversations(kListed, archived)) {
    text += fmt::format("{}{:>5}  {}  {:>4}  {}{}\n", row.id == current ? '*' : ' ', row.id,
                        local_time(row.updated), row.messages, row.archived ? "(archived) " : "",
                        one_line(row.title));
  }
  return text;
}

std::string search_text(Store& store, std::string_view words) {
  std::string text;
  for (const SearchHit& hit : store.search(words, kFound)) {
    text += fmt::format("{:>6}  {}{}, message {}\n        {} {}\n", hit.conversation, one_line(hit.title),
                        hit.archived ? " (archived)" : "", hit.number, hit.from_user ? "›" : " ",
                        marked_line(hit.snippet));
  }
  return text;
}

void tool_list(Store& store, const Options& options, Output& out) {
  print(out, options.deleted ? trash_text(store) : list_text(store, 0, options.all));
}
int tool_search(Store& store, const Options& options, Output& out, Output& err) {
  const bool bold = out.is_terminal() && !options.no_color && std::getenv("NO_COLOR") == nullptr;
  std::string text;
  std::string part;
  const auto flush = [&] {
    text += out.is_terminal() ? make_safe(part) : part;
    part.clear();
  };
  const std::string found = search_text(store, options.words);
  if (found.empty()) {
    err.write("bitnet-chat: nothing found\n");
    return 1;
  }
  for (const char c : found) {
    if (c != kMarkOn && c != kMarkOff) {
      part += c;
      continue;
    }
    flush();
    text += c == kMarkOn ? (bold ? "\x1b[1m" : "[") : (bold ? "\x1b[22m" : "]");
  }
  flush();
  out.write(text);
  return 0;
}

void tool_show(Store& store, int64_t id, Output& out) {
  const StoredConversation row = conversation_to_open(store, id);
  std::string s = fmt::format("{} ({})\n", one_line(row.title), local_time(row.created));
  if (!row.system.empty()) s += fmt::format("[system] {}\n", row.system);
  const MessageTree tree(store.outline(id));
  for (const StoredMessage& message : store.branch(row.leaf)) {
    const MessageTree::Place place = tree.place(message.id);
    const std::string sibling =
        place.siblings > 1 ? fmt::format(" {}/{}", place.sibling, place.siblings) : std::string();
    s += fmt::format("\n[{}{}] {}\n", name_of(message.role), sibling, message.text);
    if (!message.finish.empty() && message.finish != "stop")
      s += fmt::format("[{}]\n", one_line(message.finish));
  }
  print(out, s);
}

void tool_export(Store& store, const Options& options, Output& out) {
  const StoredConversation row = conversation_to_open(store, *options.conversation);
  const std::string text = write_chat(*store.whole(row.id), chat_format(options.format));
  if (options.out.empty() || options.out == "-") {
    print(out, text);
  } else {
    write_file(options.out, text, {.overwrite = options.force});
  }
}

std::vector<int64_t> import_file(Store& store, const std::string& file) {
  const std::string text = file == "-" ? read_standard_input(kMostImported) : read_file(file, kMostImported);
  std::vector<WholeConversation> all = read_chats(text, file);
  for (WholeConversation& whole : all) {
    for (WholeMessage& message : whole.messages) {
      for (WholeTurn& turn : message.turns) turn.stored.imported = true;
    }
  }
  return store.add_wholes(all);
}

void tool_import(Store& store, const Options& options, Output& out) {
  for (const int64_t id : import_file(store, options.file)) {
    print(out, fmt::format("imported conversation {}: {}\n", id, one_line(find(store, id).title)));
  }
}

void tool_delete(Store& store, const Options& options, Output& out) {
  const int64_t id = *options.conversation;
  const StoredConversation row = find(store, id);
  if (options.now) {
    return print(out, fmt::format("deleted conversation {} {}\n", id, purge_text(store, id)));
  }
  if (!store.set_deleted(id, true)) {
    refuse(fmt::format(
        "conversation {0} is in the trash already; 'bitnet-chat delete {0} --now' takes it out of "
        "the database",
        id));
  }
  print(out,
        fmt::format("deleted conversation {0}: {1}\n'bitnet-chat undelete {0}' brings it back within {2} "
                    "days\n",
                    id, one_line(row.title), kTrashDays));
}

void tool_undelete(Store& store, int64_t id, Output& out) {
  const StoredConversation row = find(store, id);
  if (!store.set_deleted(id, false)) refuse(fmt::format("conversation {} is not in the trash", id));
  print(out, fmt::format("conversation {} is back: {}\n", id, one_line(row.title)));
}

}  // namespace bitnet
