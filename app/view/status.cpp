#include "status.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "app/base/counted.h"
#include "app/base/sizes.h"
#include "app/text/bar.h"
#include "app/text/text_safe.h"
#include "app/text/text_width.h"

namespace bitnet {
namespace {

constexpr Face kRule = {Tone::quiet};
constexpr int kBarCells = 8;

struct Item {
  Row row;
  int columns = 0;
  int rank;  // the item with the highest rank is left out first
  bool right;
  bool close = false;  // follows the item before it without a dot
};

Item item_of(std::string_view text, Face face, int rank, bool right) {
  Item item{{}, columns_of(text), rank, right};
  item.row.add(text, face);
  return item;
}

std::string percent(double fraction) {
  return fmt::format("{}%", static_cast<int>(std::clamp(fraction, 0.0, 1.0) * 100));
}

void add_state(const Status& status, std::vector<Item>& items) {
  const auto add = [&](std::string_view text, Face face) { items.push_back(item_of(text, face, 0, false)); };
  switch (status.state) {
    case ChatState::loading:
      add(fmt::format("loading {} {}", bar(status.progress, kBarCells), percent(status.progress)),
          {Tone::notice});
      break;
    case ChatState::idle:
      add(status.waits ? fmt::format("waits for {}", status.elsewhere) : "ready", {Tone::accent});
      break;
    case ChatState::prefill:
      add(fmt::format("reading {} {}", bar(status.progress, kBarCells), percent(status.progress)),
          {Tone::notice});
      break;
    case ChatState::answering:
      add(status.thinks ? fmt::format("thinking, {}", counted(status.thought_tokens, "token")) : "answering",
          {Tone::accent, true, false});
      break;
    case ChatState::failed:
      add("no model", {Tone::error, true, false});
      break;
  }
}

void add_right(const Status& status, std::vector<Item>& items) {
  if (status.full && status.prompt_tokens > 0) {
    items.push_back(
        item_of(fmt::format("reused {} of {} tokens", status.reused, status.prompt_tokens), kRule, 4, true));
  }
  if (status.full && status.drafted > 0) {
    items.push_back(item_of(fmt::format("guessed {} of {}", status.right, status.drafted), kRule, 4, true));
  }
  if (status.thought_tokens > 0 && !status.thinks)
    items.push_back(item_of(fmt::format("{} thought", status.thought_tokens), kRule, 7, true));
  if (status.tokens_per_second > 0) {
    const int digits = status.tokens_per_second < 100 ? 1 : 0;
    items.push_back(item_of(fmt::format("{:.{}f} tok/s", status.tokens_per_second, digits), {}, 3, true));
    const double rate = status.tokens_per_second * static_cast<double>(status.streamed) / 1e9;
    if (status.full && rate > 0)
      items.push_back(item_of(fmt::format("{:.{}f} GB/s", rate, rate < 10 ? 1 : 0), kRule, 6, true));
  }
  if (status.context_limit > 0) {
    const double used = static_cast<double>(status.context_used) / status.context_limit;
    const Face face = used >= 0.95 ? Face{Tone::error} : used >= 0.8 ? Face{Tone::notice} : Face{};
    items.push_back(item_of(fmt::format("{}/{}", status.context_used, status.context_limit), face, 2, true));
    Item gauge{{}, kBarCells, 6, true, true};
    const std::string cells = bar(used, kBarCells);
    const size_t empty = std::min(cells.find("░"), cells.size());
    gauge.row.add(cells.substr(0, empty), face);
    gauge.row.add(cells.substr(empty), kRule);
    items.push_back(std::move(gauge));
  }
  if (status.elsewhere != 0)
    items.push_back(item_of(fmt::format("answering in {}", status.elsewhere), {Tone::notice}, 4, true));
  if (!status.saved)
    items.push_back(item_of(status.is_private ? "private" : "not saved", {Tone::notice}, 1, true));
}

void add_fetching(const Status& status, int columns, std::vector<Item>& items) {
  constexpr int kLeastForName = 60;
  if (status.fetching.empty()) return;
  std::string text = status.fetch_is_checked ? "checking" : "fetching";
  if (columns >= kLeastForName) text += fmt::format(" {}", shortened(one_line(status.fetching), columns / 4));
  if (status.fetched > 0)
    text += fmt::format(" {}", percent(status.fetched));
  else if (status.fetched_bytes > 0)
    text += fmt::format(" {}", size_text(status.fetched_bytes));
  items.push_back(item_of(text, {Tone::notice}, 1, false));
  if (status.fetch_rate > 0)
    items.push_back(
        item_of(fmt::format("{}/s", size_text(static_cast<uint64_t>(status.fetch_rate))), kRule, 7, false));
}

// Adds what is new below, the model, the device and the state, or a hint in place of all of them.
void add_left(const Status& status, const StatusExtras& extras, int columns, std::vector<Item>& items) {
  if (!extras.hint.empty()) {
    items.push_back(
        item_of(shortened(one_line(extras.hint), std::max(columns - 6, 4)), {Tone::notice}, 0, false));
    return;
  }
  if (extras.new_rows > 0) {
    items.push_back(
        item_of(fmt::format("↓ {} new {}", extras.new_rows, extras.new_rows == 1 ? "line" : "lines"),
                {Tone::notice, true, false}, 0, false));
  } else if (extras.rows_below > 0) {
    items.push_back(item_of(fmt::format("↓ {} more", extras.rows_below), {Tone::notice}, 1, false));
  }
  const std::string model = one_line(status.model);
  // Whoever asked for all figures wants them more than the name of the model.
  const int rank = status.full ? 5 : 4;
  if (!model.empty()) items.push_back(item_of(shortened(model, std::max(columns / 3, 8)), {}, rank, false));
  // Drivers add their versions in brackets; the command `devices` prints the whole name.
  const std::string device = one_line(status.device.substr(0, status.device.find(" (")));
  if (!device.empty()) items.push_back(item_of(shortened(device, std::max(columns / 4, 8)), kRule, 8, false));
  add_state(status, items);
  add_fetching(status, columns, items);
}

// Returns the columns of one side, including the rule at its end and what stands between its items.
int columns_of_side(const std::vector<Item>& items, bool right) {
  int columns = 0;
  for (const Item& item : items) {
    if (item.right == right) columns += item.columns + (columns == 0 ? 4 : item.close ? 1 : 3);
  }
  return columns;
}

void drop_what_does_not_fit(std::vector<Item>& items, int columns) {
  while (items.size() > 1 && columns_of_side(items, false) + columns_of_side(items, true) + 1 > columns) {
    items.erase(std::max_element(items.begin(), items.end(),
                                 [](const Item& a, const Item& b) { return a.rank < b.rank; }));
  }
}

// "── left · left ─────── right · right ──"
Row lay_out(const std::vector<Item>& items, int columns) {
  Row row;
  int used = 0;
  const auto put = [&](std::string_view text, Face face) {
    const std::string_view fitting = prefix_of_columns(text, columns - used);
    row.add(fitting, face);
    used += columns_of(fitting);
  };
  const auto put_side = [&](bool right) {
    bool any = false;
    for (const Item& item : items) {
      if (item.right != right) continue;
      put(any ? (item.close ? " " : " · ") : right ? " " : "── ", kRule);
      for (const Span& span : item.row.spans) put(span.text, span.face);
      any = true;
    }
    if (any) put(right ? " ──" : " ", kRule);
  };
  put_side(false);
  const int right_columns = columns_of_side(items, true);
  while (used < columns - right_columns) put("─", kRule);
  put_side(true);
  while (used < columns) put("─", kRule);
  return row;
}

}  // namespace

Row status_row(const Status& status, const StatusExtras& extras, int columns) {
  std::vector<Item> items;
  add_left(status, extras, columns, items);
  add_right(status, items);
  drop_what_does_not_fit(items, columns);
  return lay_out(items, columns);
}

}  // namespace bitnet
