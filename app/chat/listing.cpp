#include "listing.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/base/clock.h"
#include "app/base/counted.h"
#include "app/text/text_safe.h"
#include "engine/error.h"
#include "front_end.h"

namespace bitnet {
namespace {

constexpr int64_t kMostListed = 1000;
constexpr int64_t kFound = 50;

// A snippet with its marks, on one line. The text may hold the bytes of the marks too, so this makes sure
// that every mark that begins also ends.
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

}  // namespace

StoredConversation find_conversation(Store& store, int64_t id, std::string_view hint) {
  const auto row = store.conversation(id);
  if (!row) {
    throw Error(ErrorKind::runtime,
                fmt::format("there is no conversation {}; {}", id,
                            hint.empty() ? store.command("list") + " shows them" : std::string(hint)));
  }
  return *row;
}

StoredConversation conversation_to_open(Store& store, int64_t id) {
  const StoredConversation row = find_conversation(store, id);
  if (row.deleted) {
    throw Error(ErrorKind::runtime,
                fmt::format("conversation {0} is in the trash; /undelete {0} or {1} brings it back", id,
                            store.command(fmt::format("undelete {}", id))));
  }
  store.check_tree(row);
  return row;
}

std::string before_first_turn(std::string_view which, const StoredConversation& row) {
  if (row.leaf || row.messages == 0) return {};
  return fmt::format("{} stands before its first turn; in the chat /redo brings its {} back, turn by turn",
                     which, counted(static_cast<size_t>(row.messages), "message"));
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
  for (const StoredConversation& row : store.conversations(kMostListed, archived)) {
    text += fmt::format("{}{:>5}  {}  {:>4}  {}{}{}\n", row.id == current ? '*' : ' ', row.id,
                        local_time(row.updated), row.messages, row.archived ? "(archived) " : "",
                        row.once ? "(-p) " : "", one_line(row.title));
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

}  // namespace bitnet
