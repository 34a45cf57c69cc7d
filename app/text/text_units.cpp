#include "text_units.h"

#include <algorithm>

#include "text_width.h"

namespace bitnet {
namespace {

constexpr char32_t kFirstMark = 0x10E000;

size_t find_mark(std::string_view text, size_t from) {
  while ((from = text.find('\xF4', from)) != std::string_view::npos) {
    if (mark_at(text.substr(from))) return from;
    ++from;
  }
  return from;
}

}  // namespace

std::string mark(size_t number) {
  const char32_t c = kFirstMark + static_cast<char32_t>(number);
  return {static_cast<char>(0xF0 | (c >> 18)), static_cast<char>(0x80 | ((c >> 12) & 0x3F)),
          static_cast<char>(0x80 | ((c >> 6) & 0x3F)), static_cast<char>(0x80 | (c & 0x3F))};
}

std::optional<size_t> mark_at(std::string_view text) {
  if (text.size() < kMarkBytes || text[0] != '\xF4') return std::nullopt;
  char32_t c = 4;
  for (size_t i = 1; i < kMarkBytes; ++i) {
    if ((text[i] & 0xC0) != 0x80) return std::nullopt;
    c = (c << 6) | (static_cast<unsigned char>(text[i]) & 0x3F);
  }
  if (c < kFirstMark || c >= kFirstMark + kMarks) return std::nullopt;
  return c - kFirstMark;
}

bool has_mark(std::string_view text) { return find_mark(text, 0) != std::string_view::npos; }

size_t first_unit(std::string_view text) {
  if (mark_at(text)) return kMarkBytes;
  const size_t cluster = first_cluster(text).bytes;
  return std::min(cluster, find_mark(text.substr(0, cluster), 0));
}

size_t unit_begin(std::string_view text, size_t at) {
  // Every line begins with a new unit.
  const size_t line = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
  size_t begin = line == std::string_view::npos ? 0 : line + 1;
  for (size_t end = begin; (end += first_unit(text.substr(begin))) <= at;) begin = end;
  return begin;
}

size_t unit_end(std::string_view text, size_t at) {
  const size_t begin = unit_begin(text, at);
  return begin + first_unit(text.substr(begin));
}

size_t word_step_forward(std::string_view text, size_t from, size_t to) {
  const size_t found = find_mark(text.substr(0, to), from);
  return found == std::string_view::npos ? to : found + kMarkBytes;
}

size_t word_step_back(std::string_view text, size_t from, size_t to) {
  size_t last = to;
  for (size_t at = to; (at = find_mark(text.substr(0, from), at)) != std::string_view::npos; ++at) last = at;
  return last;
}

}  // namespace bitnet
