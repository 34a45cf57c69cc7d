#include "find.h"

#include <algorithm>
#include <cstdint>

#include "app/text/fold_case.h"
#include "app/text/text_units.h"

namespace bitnet {
namespace {

// A line as it was before wrapping, of fold_case(), with the place of each of its bytes in the rows.
struct SearchedLine {
  std::string text;
  std::vector<std::pair<uint32_t, uint32_t>> places;  // row, byte in it

  void clear() {
    text.clear();
    places.clear();
  }
  void add(std::string_view original, size_t row, size_t at) {
    size_t i = 0;
    while (i < original.size()) {
      const auto byte = static_cast<unsigned char>(original[i]);
      size_t length = 1;
      if (byte < 0x80) {
        text += static_cast<char>(byte >= 'A' && byte <= 'Z' ? byte + 32 : byte);
      } else {
        length = 1;
        while (i + length < original.size() && (original[i + length] & 0xC0) == 0x80) ++length;
        text += fold_case(original.substr(i, length));
      }
      places.resize(text.size(), {static_cast<uint32_t>(row), static_cast<uint32_t>(at + i)});
      i += length;
    }
  }
};

void find_in_line(const SearchedLine& line, const std::vector<Row>& rows, std::string_view words,
                  std::vector<Match>& out) {
  for (size_t at = line.text.find(words); at != std::string::npos;
       at = line.text.find(words, at + words.size())) {
    Match match;
    for (size_t i = at; i < at + words.size(); ++i) {
      const auto [row, byte] = line.places[i];
      // The match extends to where the next character begins.
      size_t next = i + 1;
      while (next < line.places.size() && line.places[next] == line.places[i]) ++next;
      const bool same_row = next < line.places.size() && line.places[next].first == row;
      size_t end = byte + 1;
      if (same_row) {
        end = line.places[next].second;
      } else {
        size_t length = 0;
        for (const Span& span : rows[row].spans) length += span.text.size();
        end = length;
      }
      if (match.rows.empty() || match.rows.back().row != row) {
        match.rows.push_back({row, byte, end});
      } else {
        match.rows.back().end = std::max(match.rows.back().end, end);
      }
    }
    // The space at a break has a place, but no bytes in the row.
    std::erase_if(match.rows, [](const Match::InRow& in_row) { return in_row.begin >= in_row.end; });
    if (!match.rows.empty()) out.push_back(std::move(match));
  }
}

}  // namespace

std::vector<Match> find_in_rows(const std::vector<Row>& rows, size_t count, std::string_view words) {
  std::vector<Match> found;
  SearchedLine line;
  for (size_t i = 0; i < count; ++i) {
    const Row& row = rows[i];
    if (row.join == Join::none) {
      find_in_line(line, rows, words, found);
      line.clear();
    } else if (row.join == Join::at_space && !line.text.empty()) {
      line.text += ' ';
      const auto [last, at] = line.places.back();
      line.places.emplace_back(last, at);
    }
    size_t at = 0;
    for (const Span& span : row.spans) {
      const size_t skip = at < row.lead ? std::min(row.lead - at, span.text.size()) : 0;
      line.add(std::string_view(span.text).substr(skip), i, at + skip);
      at += span.text.size();
    }
  }
  find_in_line(line, rows, words, found);
  return found;
}

void bring_out(Row& row, size_t begin, size_t end, Tone tone) {
  std::vector<Span> spans;
  const auto put = [&](std::string_view text, Face face) {
    if (!text.empty()) spans.push_back({std::string(text), face});
  };
  size_t at = 0;
  for (const Span& span : row.spans) {
    const std::string_view text = span.text;
    size_t from = std::clamp(begin, at, at + text.size()) - at;
    size_t to = std::clamp(end, at, at + text.size()) - at;
    if (from < to) {
      from = unit_begin(text, from);
      to = unit_end(text, to - 1);
    }
    Face face = span.face;
    face.tone = tone;
    put(text.substr(0, from), span.face);
    put(text.substr(from, to - from), face);
    put(text.substr(to), span.face);
    at += text.size();
  }
  row.spans = std::move(spans);
}

}  // namespace bitnet
