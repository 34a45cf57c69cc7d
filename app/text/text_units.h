// Units: what the cursor of the input line passes in one step. A unit is a grapheme cluster (text_width.h) or
// a mark, a single character that stands for a folded paste.
//
// Thread rule: free functions; safe anywhere.
//
// Marks are the last code points of the last private plane. An editor that knows nothing about pastes moves
// over, deletes and restores a mark as one character. Text from outside may contain such characters, too;
// has_mark() tells.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace bitnet {

constexpr size_t kMarks = 8190;  // they are numbered from 0 to kMarks - 1

std::string mark(size_t number);
std::optional<size_t> mark_at(std::string_view text);  // the number of the mark that `text` begins with
constexpr size_t kMarkBytes = 4;
bool has_mark(std::string_view text);

// Returns the length of the first unit of `text`, which must not be empty.
size_t first_unit(std::string_view text);
// Return where the unit begins that contains byte `at` of `text`, and where the next one begins.
size_t unit_begin(std::string_view text, size_t at);
size_t unit_end(std::string_view text, size_t at);

// Return where a step over words really ends that readline takes from `from` to `to`: forward it ends after
// the first mark on its way, backward before the last one. A mark is thus a word of its own.
size_t word_step_forward(std::string_view text, size_t from, size_t to);
size_t word_step_back(std::string_view text, size_t from, size_t to);

}  // namespace bitnet
