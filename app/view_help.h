// What the screen says about itself: the keys, the first screen, the choices of a completion.
//
// Thread rule: free functions; no terminal in them.
#pragma once

#include <string>
#include <vector>

#include "styled_text.h"

namespace bitnet {

// At most `rows` rows of at most `columns`.
std::vector<Row> help_rows(int columns, int rows);
std::vector<Row> welcome_rows(int columns, int rows);
std::vector<Row> candidate_rows(const std::vector<std::string>& candidates, int columns, int rows);

}  // namespace bitnet
