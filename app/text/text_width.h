// Counts the terminal columns of text by grapheme cluster.
//
// Thread rule: free functions; safe anywhere.
//
// A cluster is what a person sees as one character (Unicode UAX #29, by libutf8proc). An emoji with VS16, a
// ZWJ sequence, an emoji with a skin tone, a flag and a keycap take 2 columns. Any other cluster takes the
// sum of the East Asian widths of its code points, in which combining marks and format characters count as 0.
// A cluster that would take more than 8 columns ends there. The text should have passed make_safe
// (text_safe.h); a byte that is not UTF-8 counts as one column.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace bitnet {

struct Cluster {
  size_t bytes;
  int columns;
};

// The first cluster of `text`, which must not be empty. A newline is a cluster of 0 columns, a tab of 1.
Cluster first_cluster(std::string_view text);

// Returns the part of a cluster that is shown: its first 32 code points, which is more than any script or
// emoji needs. Without a limit, an answer of combining marks alone would make each redraw as long as the
// answer.
std::string_view shown_part(std::string_view cluster);

int columns_of(std::string_view text);

// Return the longest prefix and suffix of whole clusters that take at most `columns`.
std::string_view prefix_of_columns(std::string_view text, int columns);
std::string_view suffix_of_columns(std::string_view text, int columns);

// Returns `text` cut to at most `columns`, with "…" in place of what is missing.
std::string shortened(std::string_view text, int columns);

// Returns the columns of a code point that stands alone: 0, 1 or 2.
int columns_of_code_point(int32_t code_point);

}  // namespace bitnet
