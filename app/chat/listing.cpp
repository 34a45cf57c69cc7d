#include "listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "app/base/clock.h"
#include "app/base/counted.h"
#include "app/text/text_safe.h"
#include "app/text/text_width.h"
#include "engine/error.h"
#include "front_end.h"

namespace bitnet {
namespace {

constexpr int64_t kMostListed = 1000;
constexpr int64_t kFound = 50;

// A snippet with its marks, on one line. The index marks code points, and a mark within a cluster would tear
// it apart on the screen, so whole clusters are marked. The text may hold the bytes of the marks too, so this
// makes sure that every mark that begins also ends.
std::string marked_line(std::string_view snippet) {
  std::string plain;
  std::vector<bool> hit;  // each byte of it
  bool on = false;
  while (!snippet.empty()) {
    const size_t mark = std::min(snippet.find_first_of("\x02\x03"), snippet.size());
    plain += one_line(snippet.substr(0, mark));
    hit.resize(plain.size(), on);
    snippet.remove_prefix(mark);
    if (snippet.empty()) break;
    on = snippet.front() == kMarkOn;
    snippet.remove_prefix(1);
  }
  std::string line;
  on = false;
  for (size_t at = 0, end = 0; at < plain.size(); at = end) {
    end = at + first_cluster(std::string_view(plain).substr(at)).bytes;
    bool is_hit = false;
    for (size_t i = at; i < end; ++i) is_hit = is_hit || hit[i];
    if (is_hit != on) line += is_hit ? kMarkOn : kMarkOff;
    on = is_hit;
    line.append(plain, at, end - at);
  }
  if (on) line += kMarkOff;
  return line;
}

}  // namespace

std::string_view first_characters(std::string_view text, size_t most) {
  size_t at = 0, count = 0;
  for (; at < text.size(); ++at) {
    const bool begins_one = (static_cast<uint8_t>(text[at]) & 0xC0) != 0x80;
    if (begins_one && count++ == most) break;
  }
  return text.substr(0, at);
}

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
    const int64_t end = *row.deleted + kTrashMilliseconds;
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

std::string list_text(Store& store, int64_t current, bool archived, bool asked_once) {
  std::string text;
  std::vector<StoredConversation> rows = store.conversations(kMostListed + 1, archived, asked_once);
  const bool has_more = std::ssize(rows) > kMostListed;
  if (has_more) rows.pop_back();
  for (const StoredConversation& row : rows) {
    text += fmt::format("{}{:>5}  {}  {:>4}  {}{}{}\n", row.id == current ? '*' : ' ', row.id,
                        local_time(row.updated), row.messages, row.archived ? "(archived) " : "",
                        row.once ? "(-p) " : "", one_line(row.title));
  }
  if (has_more)
    text += fmt::format("There are more than these {}; {} has them all.\n", kMostListed,
                        store.command(archived ? "list --all --json" : "list --json"));
  return text;
}

std::string other_lists(Store& store) {
  std::vector<std::string_view> others;
  const std::vector<StoredConversation> all = store.conversations(kMostListed, /*archived=*/true);
  if (std::ranges::any_of(all, [](const auto& row) { return !row.archived; }))
    others.emplace_back("/list shows what -p asked");
  if (std::ranges::any_of(all, &StoredConversation::archived))
    others.emplace_back("/list all shows what is archived");
  if (!store.trash().empty()) others.emplace_back("/list deleted shows the trash");
  return fmt::format("{}", fmt::join(others, ", "));
}

std::string search_text(Store& store, std::string_view words) {
  std::string text;
  std::vector<SearchHit> hits = store.search(words, kFound + 1);
  const bool has_more = hits.size() > kFound;
  if (has_more) hits.pop_back();
  for (const SearchHit& hit : hits) {
    text += fmt::format("{:>6}  {}{}, message {}\n        {} {}\n", hit.conversation, one_line(hit.title),
                        hit.archived ? " (archived)" : "", hit.number, hit.from_user ? "›" : " ",
                        marked_line(hit.snippet));
  }
  if (has_more)
    text += fmt::format(
        "There are more than these {}; another word beside them makes them fewer, and 'bitnet-chat search "
        "--json' has them all.\n",
        kFound);
  return text;
}

}  // namespace bitnet
