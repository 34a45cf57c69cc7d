#include "overlay.h"

#include <algorithm>

#include "app/text/text_width.h"
#include "engine/error.h"

namespace bitnet {

std::optional<std::vector<Row>> Overlay::rows(int, int) { return std::nullopt; }
std::optional<Row> Overlay::input_row(int, int&) { return std::nullopt; }

void OverlayStack::close_for_line() {
  std::erase_if(overlays_, [](const auto& overlay) { return overlay->closes_for_line(); });
}

std::optional<KeyPress> OverlayStack::press(const KeyPress& key, int columns, int rows) {
  std::optional<KeyPress> rest = key;
  for (size_t i = overlays_.size(); rest && i-- > 0;) {
    const auto here = overlays_.begin() + static_cast<std::ptrdiff_t>(i);
    try {
      Overlay::Outcome outcome = overlays_[i]->press(*rest, columns, rows);
      rest = std::move(outcome.passed_on);
      if (outcome.closes) overlays_.erase(here);
    } catch (const Error&) {
      overlays_.erase(here);
      throw;
    }
  }
  return rest;
}

std::optional<std::vector<Row>> OverlayStack::rows(int columns, int rows) {
  for (size_t i = overlays_.size(); i-- > 0;) {
    if (auto shown = overlays_[i]->rows(columns, rows)) return shown;
  }
  return std::nullopt;
}

std::optional<Row> OverlayStack::input_row(int columns, int& cursor_column) {
  for (size_t i = overlays_.size(); i-- > 0;) {
    if (auto shown = overlays_[i]->input_row(columns, cursor_column)) return shown;
  }
  return std::nullopt;
}

namespace {

// Returns where the last character ends that is whole: the text may have been cut inside of one.
size_t end_of_whole_characters(std::string_view text) {
  size_t begin = text.size();
  while (begin > 0 && (text[begin - 1] & 0xC0) == 0x80) --begin;
  if (begin == 0) return text.size();
  const auto first = static_cast<unsigned char>(text[--begin]);
  const size_t length = first < 0xC0 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  return begin + length > text.size() ? begin : text.size();
}

}  // namespace

bool edit_short_line(std::string& line, std::string_view bytes) {
  constexpr size_t kMostBytes = 1000;
  const std::string before = line;
  if (bytes.starts_with('\x1b')) return false;
  for (const char c : bytes.substr(0, bytes.find_first_of("\r\n"))) {
    if (c == 0x7F || c == 0x08) {
      size_t last = 0;
      for (size_t at = 0; at < line.size(); at += first_cluster(std::string_view(line).substr(at)).bytes)
        last = at;
      line.resize(last);
    } else if (c == 0x15) {
      line.clear();
    } else if (c == 0x17) {
      while (line.ends_with(' ')) line.pop_back();
      line.resize(line.find_last_of(' ') + 1);
    } else if (static_cast<unsigned char>(c) >= 0x20 && line.size() < kMostBytes) {
      line += c;
    }
  }
  if (line.size() == kMostBytes) line.resize(end_of_whole_characters(line));
  return line != before;
}

}  // namespace bitnet
