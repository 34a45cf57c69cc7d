// Text with looks but no terminal: what the views produce and the painter draws.
//
// Thread rule: plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bitnet {

// What a piece of text is, not how it looks; the painter has the one table of looks.
enum class Tone : uint8_t { text, accent, heading, code, quiet, notice, error };

struct Face {
  Tone tone = Tone::text;
  bool bold = false;
  bool italic = false;

  bool operator==(const Face&) const = default;
};

struct Span {
  std::string text;  // safe for a terminal, no newline and no tab
  Face face;

  bool operator==(const Span&) const = default;
};

// One row of the screen.
struct Row {
  std::vector<Span> spans;
  size_t source = 0;  // where in its source text the row begins, in bytes

  // Neighbours of one face become one span, so equal looks are equal values.
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
