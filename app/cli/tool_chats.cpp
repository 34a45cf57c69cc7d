// Tools on what is stored: list, show, search, export, import, delete, undelete.
#include <fmt/format.h>

#include <cstdlib>

#include "app/base/clock.h"
#include "app/base/output_file.h"
#include "app/chat/front_end.h"
#include "app/chat/listing.h"
#include "app/store/exchange.h"
#include "app/store/message_tree.h"
#include "app/text/thinking.h"
#include "engine/error.h"
#include "safe_output.h"
#include "tools.h"

namespace bitnet {
namespace {

[[noreturn]] void refuse(const std::string& why) { throw Error(ErrorKind::runtime, why); }

}  // namespace

void tool_list(Store& store, const Options& options, Output& out) {
  print_safe(out, options.deleted ? trash_text(store) : list_text(store, 0, options.all));
}

int tool_search(Store& store, const Options& options, Output& out, Output& err) {
  const bool bold = out.is_terminal() && !options.no_color && std::getenv("NO_COLOR") == nullptr;
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

void tool_show(Store& store, int64_t id, Output& out) {
  const StoredConversation row = conversation_to_open(store, id);
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

void tool_export(Store& store, const Options& options, Output& out) {
  const StoredConversation row = conversation_to_open(store, *options.conversation);
  const std::string text = write_chat(*store.whole(row.id), chat_format(options.format));
  if (options.out.empty() || options.out == "-") {
    print_safe(out, text);
  } else {
    write_file(options.out, text, {.overwrite = options.force});
  }
}

void tool_import(Store& store, const Options& options, Output& out) {
  for (const int64_t id : import_file(store, options.file)) {
    print_safe(
        out, fmt::format("imported conversation {}: {}\n", id, one_line(find_conversation(store, id).title)));
  }
}

void tool_delete(Store& store, const Options& options, Output& out) {
  const int64_t id = *options.conversation;
  const StoredConversation row = find_conversation(store, id);
  if (options.now) {
    return print_safe(out, fmt::format("deleted conversation {} {}\n", id, purge_text(store, id)));
  }
  if (!store.set_deleted(id, true)) {
    refuse(fmt::format(
        "conversation {0} is in the trash already; 'bitnet-chat delete {0} --now' takes it out of "
        "the database",
        id));
  }
  print_safe(
      out, fmt::format("deleted conversation {0}: {1}\n'bitnet-chat undelete {0}' brings it back within {2} "
                       "days\n",
                       id, one_line(row.title), kTrashDays));
}

void tool_undelete(Store& store, int64_t id, Output& out) {
  const StoredConversation row = find_conversation(store, id);
  if (!store.set_deleted(id, false)) refuse(fmt::format("conversation {} is not in the trash", id));
  print_safe(out, fmt::format("conversation {} is back: {}\n", id, one_line(row.title)));
}

}  // namespace bitnet
