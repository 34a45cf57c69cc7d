#include "menu.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "app/text/text_safe.h"
#include "app/text/text_width.h"

namespace bitnet {

void Menu::show(std::vector<MenuEntry> entries) {
  entries_ = std::move(entries);
  chosen_.reset();
}

void Menu::move(int by) {
  if (entries_.empty()) return;
  const auto count = static_cast<std::ptrdiff_t>(entries_.size());
  const std::ptrdiff_t from = chosen_ ? static_cast<std::ptrdiff_t>(*chosen_) : by > 0 ? -1 : 0;
  chosen_ = static_cast<size_t>((from + by % count + count) % count);
}

std::vector<Row> Menu::rows(int columns, int most) const {
  std::vector<Row> out;
  if (most <= 0 || entries_.empty()) return out;
  const auto room = std::min(static_cast<size_t>(most), entries_.size());
  const size_t top = chosen_ && *chosen_ >= room ? *chosen_ - room + 1 : 0;
  int widest = 0;
  for (const MenuEntry& entry : entries_) widest = std::max(widest, columns_of(one_line(entry.label)));
  widest = std::min(widest, std::max(columns / 2, 8));
  for (size_t i = top; i < top + room; ++i) {
    const bool here = chosen_ == i;
    const bool is_last = i + 1 == top + room;
    const std::string more =
        is_last && entries_.size() > room ? fmt::format("  {} of {}", i + 1, entries_.size()) : "";
    const std::string label = shortened(one_line(entries_[i].label), std::min(widest, columns - 2));
    Row& row = out.emplace_back();
    row.add(prefix_of_columns(here ? "› " : "  ", columns), {Tone::accent, true});
    row.add(label, here ? Face{Tone::match_here} : Face{Tone::accent});
    const int left = columns - 2 - widest - 2 - columns_of(more);
    if (left < 8) continue;
    row.add(std::string(static_cast<size_t>(widest - columns_of(label) + 2), ' '), {});
    const std::string help = shortened(one_line(entries_[i].help), left);
    row.add(help, {Tone::quiet});
    if (more.empty()) continue;
    row.add(std::string(static_cast<size_t>(left - columns_of(help)), ' ') + more, {Tone::quiet});
  }
  return out;
}

}  // namespace bitnet
