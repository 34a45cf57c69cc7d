// Lays a table out as rows of the screen.
//
// Thread rule: free functions; safe anywhere.
#pragma once

#include <vector>

#include "spans.h"

namespace bitnet {

// Returns the width of each column of the table on a screen of `columns`, without the borders. Returns
// nothing if the screen is too narrow for columns side by side.
std::vector<int> table_columns(const StyledBlock& table, int columns);

// Appends the rows of the table from `first` on; row 0 is the header, which gets a rule under it. Every row
// of the screen begins with `lead`, and each cell is wrapped in its column. If `widths` is empty, a row of
// the table becomes a list of "header: cell" lines. `sources` are the places of the table's rows in the
// text, which the rows of the screen get.
void lay_out_table(const StyledBlock& table, size_t first, const std::vector<int>& widths, const Span& lead,
                   int columns, const std::vector<size_t>& sources, std::vector<Row>& out);

}  // namespace bitnet
