// Tools on what is stored: list, show, search, export, import, delete, undelete.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "app/base/clock.h"
#include "app/base/output_file.h"
#include "app/chat/front_end.h"
#include "app/chat/listing.h"
#include "app/store/exchange.h"
#include "app/store/message_tree.h"
#include "app/text/text_file.h"
#include "app/text/thinking.h"
#include "engine/error.h"
#include "safe_output.h"
#include "tools.h"

namespace bitnet {
namespace {

using nlohmann::ordered_json;

constexpr int64_t kListed = 1'000'000;

[[noreturn]] void refuse(const std::string& why) { throw Error(ErrorKind::runtime, why); }

ordered_json described(const StoredConversation& row) {
  ordered_json object = {{"id", row.id},           {"title", row.title},       {"created", row.created},
                         {"updated", row.updated}, {"messages", row.messages}, {"archived", row.archived},
                         {"once", row.once}};
  if (row.deleted) {
    object["deleted"] = *row.deleted;
    object["until"] = *row.deleted + kTrashMilliseconds;
  }
  return object;
}

std::string marked(std::string_view snippet, std::string_view on, std::string_view off) {
  std::string text;
  for (const char c : snippet) {
    if (c == kMarkOn || c == kMarkOff) {
      text += c == kMarkOn ? on : off;
    } else {
      text += c;
    }
  }
  return text;
}

// The branch that is shown, as a program reads it.
ordered_json shown_branch(Store& store, const StoredConversation& row) {
  ordered_json object = described(row);
  object["system"] = row.system;
  const MessageTree tree(store.outline(row.id));
  ordered_json branch = ordered_json::array();
  for (const StoredMessage& message : store.branch(row.leaf)) {
    const MessageTree::Place place = tree.place(message.id);
    ShownMessage shown{message.id, message.role, message.text};
    if (message.role == Role::assistant) split_thought(shown);
    ordered_json entry = {{"id", message.id},         {"role", name_of(message.role)},
                          {"text", shown.text},       {"created", message.created},
                          {"sibling", place.sibling}, {"siblings", place.siblings}};
    if (!shown.thought.empty()) entry["thought"] = shown.thought;
    if (!message.finish.empty()) entry["finish"] = message.finish;
    branch.push_back(std::move(entry));
  }
  object["branch"] = std::move(branch);
  return object;
}

// Whoever is given no message is told that there are some.
void warn_of_nothing(const StoredConversation& row, std::string_view where, Output& err) {
  const std::string before = before_first_turn(fmt::format("conversation {}", row.id), row);
  if (!before.empty()) err.write(fmt::format("bitnet-chat: {}{}\n", before, where));
}

}  // namespace

void tool_list(Store& store, const Options& options, Output& out) {
  if (options.json) {
    ordered_json list = ordered_json::array();
    for (const StoredConversation& row :
         options.deleted ? store.trash() : store.conversations(kListed, options.all))
      list.push_back(described(row));
    return print_json(out, list, 1);
  }
  print_safe(out, options.deleted ? trash_text(store) : list_text(store, 0, options.all));
}

// Where a program asks, finding nothing is an empty list too.
int search_as_json(Store& store, const Options& options, Output& out) {
  ordered_json list = ordered_json::array();
  for (const SearchHit& hit : store.search(options.words, kListed))
    list.push_back({{"conversation", hit.conversation},
                    {"title", hit.title},
                    {"archived", hit.archived},
                    {"message", hit.message},
                    {"number", hit.number},
                    {"role", name_of(hit.from_user ? Role::user : Role::assistant)},
                    {"snippet", marked(hit.snippet, "", "")},
                    {"marked", marked(hit.snippet, "[", "]")}});
  print_json(out, list, 1);
  return list.empty() ? 1 : 0;
}

int tool_search(Store& store, const Options& options, Output& out, Output& err) {
  if (options.json) return search_as_json(store, options, out);
  const bool bold = out.is_terminal() && !wants_no_color(options);
  std::string text;
  std::string part;
  const auto flush = [&] {
    text += safe_for(out, part);
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

void tool_show(Store& store, const Options& options, Output& out, Output& err) {
  const int64_t id = *options.conversation;
  const StoredConversation row = conversation_to_open(store, id);
  warn_of_nothing(row, "", err);
  if (options.json) return print_json(out, shown_branch(store, row), 1);
  std::string s = fmt::format("{} ({})\n", one_line(row.title), local_time(row.created));
  if (!row.system.empty()) s += fmt::format("[system] {}\n", row.system);
  const MessageTree tree(store.outline(id));
  for (const StoredMessage& message : store.branch(row.leaf)) {
    const MessageTree::Place place = tree.place(message.id);
    const std::string sibling =
        place.siblings > 1 ? fmt::format(" {}/{}", place.sibling, place.siblings) : std::string();
    ShownMessage shown{message.id, message.role, message.text};
    if (message.role == Role::assistant) split_thought(shown);
    const std::string thought =
        shown.thought.empty() ? "" : fmt::format("({}) ", thought_label(message.thought_tokens));
    s += fmt::format("\n[{}{}] {}{}\n", name_of(message.role), sibling, thought, shown.text);
    if (!message.finish.empty() && message.finish != "stop")
      s += fmt::format("[{}]\n", one_line(message.finish));
  }
  print_safe(out, s);
}

void tool_export(Store& store, const Options& options, Output& out, Output& err) {
  const StoredConversation row = conversation_to_open(store, *options.conversation);
  const ChatFormat format = chat_format(options.format);
  const std::string text = write_chat(*store.whole(row.id), format);
  if (format != ChatFormat::json) warn_of_nothing(row, "; --format json has them all", err);
  if (options.out.empty() || options.out == "-") {
    print_safe(out, text);
  } else {
    write_text_file(options.out, text, {.overwrite = options.force});
  }
}

void tool_import(Store& store, const Options& options, Output& out) {
  for (const int64_t id : import_file(store, options.file, Pipes::of_the_shell)) {
    print_safe(
        out, fmt::format("imported conversation {}: {}\n", id, one_line(find_conversation(store, id).title)));
  }
}

// All of them are looked up before the first is deleted.
void tool_delete(Store& store, const Options& options, Output& out) {
  std::vector<StoredConversation> rows;
  for (const int64_t id : options.conversations) {
    const auto same = [&](const StoredConversation& row) { return row.id == id; };
    if (std::any_of(rows.begin(), rows.end(), same)) continue;
    rows.push_back(find_conversation(store, id));
    if (!options.now && rows.back().deleted)
      refuse(fmt::format("conversation {} is in the trash already; {} takes it out of the database", id,
                         store.command(fmt::format("delete {} --now", id))));
  }
  for (const StoredConversation& row : rows) {
    if (options.now) {
      print_safe(out, fmt::format("deleted conversation {} {}\n", row.id, purge_text(store, row.id)));
      continue;
    }
    store.set_deleted(row.id, true);
    print_safe(
        out, fmt::format("deleted conversation {}: {}\n{} brings it back within {} days\n", row.id,
                         one_line(row.title), store.command(fmt::format("undelete {}", row.id)), kTrashDays));
  }
}

void tool_undelete(Store& store, int64_t id, Output& out) {
  const StoredConversation row = find_conversation(store, id);
  if (!store.set_deleted(id, false)) refuse(fmt::format("conversation {} is not in the trash", id));
  print_safe(out, fmt::format("conversation {} is back: {}\n", id, one_line(row.title)));
}

}  // namespace bitnet
