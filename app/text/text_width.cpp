#include "text_width.h"

#include <utf8proc.h>

namespace bitnet {
namespace {

constexpr int32_t kVariationSelector16 = 0xFE0F;
constexpr int32_t kKeycap = 0x20E3;
constexpr int32_t kZeroWidthJoiner = 0x200D;

// A letter may carry any number of marks that take columns, but a row has an end.
constexpr int kMostColumns = 8;

bool is_regional_indicator(int32_t c) { return c >= 0x1F1E6 && c <= 0x1F1FF; }
bool is_skin_tone(int32_t c) { return c >= 0x1F3FB && c <= 0x1F3FF; }

bool is_pictographic(int32_t c) {
  return utf8proc_get_property(c)->boundclass == UTF8PROC_BOUNDCLASS_EXTENDED_PICTOGRAPHIC;
}

// Reads one code point. A byte that does not begin one is read alone, as U+FFFD.
size_t decode(std::string_view text, int32_t& code_point) {
  const auto size = static_cast<utf8proc_ssize_t>(text.size() < 4 ? text.size() : 4);
  const utf8proc_ssize_t length =
      utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()), size, &code_point);
  if (length > 0) return static_cast<size_t>(length);
  code_point = 0xFFFD;
  return 1;
}

bool is_plain(char c) { return c >= 0x20 && c < 0x7F; }

}  // namespace

int columns_of_code_point(int32_t c) {
  if (c == '\t') return 1;
  // Here the tables of libutf8proc and of the C library differ, and terminals follow the C library.
  if ((c >= 0x1160 && c <= 0x11FF) || (c >= 0xD7B0 && c <= 0xD7FB))
    return 0;  // vowels and finals of a Hangul syllable
  if ((c >= 0x3248 && c <= 0x324F) || (c >= 0x4DC0 && c <= 0x4DFF)) return 2;
  if (c == 0xAD) return 1;
  const utf8proc_property_t* property = utf8proc_get_property(c);
  if (property->category == UTF8PROC_CATEGORY_MC) return 1;
  if (property->boundclass == UTF8PROC_BOUNDCLASS_PREPEND) return 1;
  return utf8proc_charwidth(c);
}

Cluster first_cluster(std::string_view text) {
  if (is_plain(text[0]) && (text.size() == 1 || is_plain(text[1]))) return {1, 1};
  if (static_cast<unsigned char>(text[0]) < 0x20) return {1, text[0] == '\t' ? 1 : 0};
  int32_t previous = 0;
  size_t at = decode(text, previous);
  const bool picture = is_pictographic(previous);
  bool wide_emoji = false;
  int flags = is_regional_indicator(previous) ? 1 : 0;
  int columns = columns_of_code_point(previous);
  utf8proc_int32_t state = 0;
  while (at < text.size()) {
    int32_t next = 0;
    const size_t length = decode(text.substr(at), next);
    if (utf8proc_grapheme_break_stateful(previous, next, &state)) break;
    const int width = columns_of_code_point(next);
    const bool of_emoji = picture && (is_pictographic(next) || is_skin_tone(next));
    if (width > 0 && !of_emoji && columns + width > kMostColumns) break;
    columns += width;
    flags += is_regional_indicator(next) ? 1 : 0;
    wide_emoji =
        wide_emoji ||
        (picture && (next == kVariationSelector16 || next == kZeroWidthJoiner || is_skin_tone(next))) ||
        (previous == kVariationSelector16 && next == kKeycap);
    previous = next;
    at += length;
  }
  if (wide_emoji || flags == 2) columns = 2;
  return {at, columns};
}

std::string_view shown_part(std::string_view cluster) {
  constexpr size_t kMostCodePoints = 32;
  if (cluster.size() <= kMostCodePoints) return cluster;
  size_t code_points = 0;
  for (size_t at = 0; at < cluster.size(); ++at) {
    const bool begins_one = (static_cast<unsigned char>(cluster[at]) & 0xC0) != 0x80;
    if (begins_one && code_points++ == kMostCodePoints) return cluster.substr(0, at);
  }
  return cluster;
}

int columns_of(std::string_view text) {
  int columns = 0;
  while (!text.empty()) {
    const Cluster cluster = first_cluster(text);
    columns += cluster.columns;
    text.remove_prefix(cluster.bytes);
  }
  return columns;
}

std::string_view prefix_of_columns(std::string_view text, int columns) {
  size_t at = 0;
  while (at < text.size()) {
    const Cluster cluster = first_cluster(text.substr(at));
    if (cluster.columns > columns) break;
    columns -= cluster.columns;
    at += cluster.bytes;
  }
  return text.substr(0, at);
}

std::string_view suffix_of_columns(std::string_view text, int columns) {
  for (int excess = columns_of(text) - columns; excess > 0 && !text.empty();) {
    const Cluster cluster = first_cluster(text);
    excess -= cluster.columns;
    text.remove_prefix(cluster.bytes);
  }
  return text;
}

std::string shortened(std::string_view text, int columns) {
  if (columns_of(text) <= columns) return std::string(text);
  return columns < 1 ? std::string() : std::string(prefix_of_columns(text, columns - 1)) + "…";
}

}  // namespace bitnet
