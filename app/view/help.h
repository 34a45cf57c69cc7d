// What the screen says about itself: the keys, the first screen, the choices of a completion.
//
// Thread rule: lives on the loop's thread; no terminal in it.
#pragma once

#include <string>
#include <vector>

#include "app/text/keymap.h"
#include "app/text/styled_text.h"
#include "overlay.h"

namespace bitnet {

// The keys over the whole transcript, until one is pressed that does not scroll.
class HelpOverlay : public Overlay {
 public:
  explicit HelpOverlay(const Keymap& keymap) : keymap_(keymap) {}

  Outcome press(const KeyPress& key, int columns, int rows) override;
  bool closes_for_line() const override { return true; }
  std::optional<std::vector<Row>> rows(int columns, int rows) override;

 private:
  const Keymap& keymap_;
  int top_ = 0;  // the first visible row
};

// The keys as they are bound, from row `top` on. At most `rows` rows of at most `columns`, as everywhere
// here.
std::vector<Row> help_rows(const Keymap& keymap, int columns, int rows, int top = 0);
std::string help_keys(const Keymap& keymap);  // the same as lines of plain text
std::vector<Row> welcome_rows(int columns, int rows);
std::vector<Row> candidate_rows(const std::vector<std::string>& candidates, int columns, int rows);

}  // namespace bitnet
