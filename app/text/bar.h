// A bar that shows a fraction.
//
// Thread rule: free function; safe anywhere.
#pragma once

#include <string>

namespace bitnet {

// Returns `cells` columns, filled from the left in eighths of a column. A `fraction` below 0 counts as 0, one
// above 1 as 1.
std::string bar(double fraction, int cells);

}  // namespace bitnet
