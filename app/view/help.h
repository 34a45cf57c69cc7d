// What the screen says about itself: its keys, the first screen, and the candidates of a completion.
//
// Thread rule: lives on the loop's thread; it knows no terminal.
#pragma once

#include <string>
#include <vector>

#include "app/text/keymap.h"
#include "app/text/styled_text.h"
#include "overlay.h"

namespace bitnet {

// Shows the keys in place of the transcript, until a key is pressed that does not scroll.
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

// Returns the keys as they are bound, from row `top` on. Every function here returns at most `rows` rows,
// each of at most `columns`.
std::vector<Row> help_rows(const Keymap& keymap, int columns, int rows, int top = 0);
std::string help_keys(const Keymap& keymap);  // the keys as lines of plain text
std::vector<Row> welcome_rows(int columns, int rows);
std::vector<Row> candidate_rows(const std::vector<std::string>& candidates, int columns, int rows);

}  // namespace bitnet
