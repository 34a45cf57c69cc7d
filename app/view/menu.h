// The menu above the status line: what the word that is being typed could become.
//
// It opens while a person types and narrows with each key. Nothing in it is chosen before Up or Down is
// pressed, so that Enter sends exactly what was typed.
//
// Thread rule: lives on the loop's thread; it knows no terminal.
#pragma once

#include <optional>
#include <vector>

#include "app/chat/front_end.h"
#include "app/text/styled_text.h"

namespace bitnet {

class Menu {
 public:
  void show(std::vector<MenuEntry> entries);  // closes it where there are none; nothing is chosen
  void close() { show({}); }
  bool is_open() const { return !entries_.empty(); }
  void move(int by);  // from the last entry on to the first
  const MenuEntry* chosen() const { return chosen_ ? &entries_[*chosen_] : nullptr; }

  // At most `most` rows, the chosen one among them.
  std::vector<Row> rows(int columns, int most) const;

 private:
  std::vector<MenuEntry> entries_;
  std::optional<size_t> chosen_;
};

}  // namespace bitnet
