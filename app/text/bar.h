// A bar for a share of something. Thread rule: free function; any thread.
#pragma once

#include <string>

namespace bitnet {

// `cells` columns, filled from the left in eighths of a column. `fraction`: 0 to 1; others count as the
// nearer end.
std::string bar(double fraction, int cells);

}  // namespace bitnet
