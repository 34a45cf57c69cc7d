// How many terminal columns text takes, by grapheme cluster.
//
// Thread rule: free functions; safe anywhere.
//
// A cluster is what a person sees as one character (Unicode UAX #29, by libutf8proc). Its columns:
// an emoji with VS16, a ZWJ sequence, an emoji with a skin tone, a flag and a keycap take 2; anything else
// takes the sum of its code points' East Asian widths, with combining marks and format characters as 0. One
// that would take more than 8 ends there. Text is expected to have passed make_safe (text_safe.h); a byte
// that is no UTF-8 counts as one column.
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

// What of a cluster is written anywhere: its first 32 code points, more than any script or emoji has. Without
// a limit an answer of combining marks alone would make each redraw as long as itself.
std::string_view shown_part(std::string_view cluster);

int columns_of(std::string_view text);

// The longest prefix of whole clusters that takes at most `columns`.
std::string_view prefix_of_columns(std::string_view text, int columns);

// At most `columns`, with "…" in place of what is missing.
std::string shortened(std::string_view text, int columns);

// Columns of one code point where it stands alone: 0, 1 or 2.
int columns_of_code_point(int32_t code_point);

}  // namespace bitnet
