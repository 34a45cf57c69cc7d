// What the screen says about itself: the keys, the first screen, the choices of a completion.
//
// Thread rule: free functions; no terminal in them.
#pragma once

#include <string>
#include <vector>

#include "app/text/keymap.h"
#include "app/text/styled_text.h"

namespace bitnet {

// The keys as they are bound, from row `top` on. At most `rows` rows of at most `columns`, as everywhere
// here.
std::vector<Row> help_rows(const Keymap& keymap, int columns, int rows, int top = 0);
std::string help_keys(const Keymap& keymap);  // the same as lines of plain text
int help_height(const Keymap& keymap, int columns);
std::vector<Row> welcome_rows(int columns, int rows);
std::vector<Row> candidate_rows(const std::vector<std::string>& candidates, int columns, int rows);

}  // namespace bitnet
