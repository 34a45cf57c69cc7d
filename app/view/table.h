// A table as rows of the screen.
//
// Thread rule: free functions; safe anywhere.
#pragma once

#include <vector>

#include "spans.h"

namespace bitnet {

// Columns of each column of the table when `columns` are there for all, borders not counted. Empty where the
// screen is too narrow for columns side by side.
std::vector<int> table_columns(const StyledBlock& table, int columns);

// Appends the table's rows from `first` on (0: the header, with a rule under it), each cell wrapped in its
// column, behind `lead`. Without `widths` each row is a list of "header: cell" lines. `source`: of the block
// in its text.
void lay_out_table(const StyledBlock& table, size_t first, const std::vector<int>& widths, const Span& lead,
                   int columns, size_t source, std::vector<Row>& out);

}  // namespace bitnet
