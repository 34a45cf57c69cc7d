// Text with looks but without a terminal: the views (app/view) produce it, Terminal draws it.
//
// Thread rule: plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bitnet {

// What a piece of text is, not how it looks; theme.h has the looks.
enum class Tone : uint8_t {
  text,
  accent,
  heading,
  code,
  link,
  quiet,
  notice,
  error,
  match,
  match_here,
  code_keyword,
  code_string,
  code_number,
  code_comment,
  code_extra,
};
inline constexpr int kToneCount = 15;

struct Face {
  Tone tone = Tone::text;
  bool bold = false;
  bool italic = false;
  bool underline = false;
  bool strike = false;

  bool operator==(const Face&) const = default;
};

struct Span {
  std::string text;  // safe for a terminal, no newline and no tab
  Face face;

  bool operator==(const Span&) const = default;
};

// How a row goes on from the row before it.
enum class Join : uint8_t { none, cut, at_space };

// One row of the screen.
struct Row {
  std::vector<Span> spans;
  size_t source = 0;       // where in its source text the row begins, in bytes
  size_t lead = 0;         // bytes of its indent and marker, which nobody wrote
  Join join = Join::none;  // at_space: the space at the break is not shown
  size_t code = 0;         // number of the code block that the row belongs to; 0: none

  // Joins neighbours of the same face into one span, so that rows that look equal are equal.
  void add(std::string_view text, Face face) {
    if (text.empty()) return;
    if (!spans.empty() && spans.back().face == face) {
      spans.back().text += text;
    } else {
      spans.push_back({std::string(text), face});
    }
  }
  std::string text() const {
    std::string all;
    for (const Span& span : spans) all += span.text;
    return all;
  }

  bool operator==(const Row&) const = default;
};

}  // namespace bitnet
