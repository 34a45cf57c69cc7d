// What the cursor of the input line passes in one step: a grapheme cluster (text_width.h), or a mark, which
// is one character that stands for a folded paste.
//
// Thread rule: free functions; safe anywhere.
//
// Marks are the last code points of the last private plane. An editor that knows nothing of pastes still
// moves, deletes and undoes each as the one character it is. Text that comes from outside may hold such
// characters: has_mark() says so.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace bitnet {

constexpr size_t kMarks = 8190;  // 0 to kMarks - 1

std::string mark(size_t number);
std::optional<size_t> mark_at(std::string_view text);  // the number of the mark that `text` begins with
constexpr size_t kMarkBytes = 4;
bool has_mark(std::string_view text);

// Bytes of the unit that `text`, which must not be empty, begins with.
size_t first_unit(std::string_view text);
// Where the unit begins that holds byte `at`, which is in `text`; where the one after it begins.
size_t unit_begin(std::string_view text, size_t at);
size_t unit_end(std::string_view text, size_t at);

// A step over words from `from` to `to` ends behind the first mark between them, and one back to `to` before
// the last: so a mark is a word of its own.
size_t word_step_forward(std::string_view text, size_t from, size_t to);
size_t word_step_back(std::string_view text, size_t from, size_t to);

}  // namespace bitnet
