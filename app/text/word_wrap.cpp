#include "word_wrap.h"

#include <cstdint>
#include <utility>

#include "text_safe.h"
#include "text_width.h"

namespace bitnet {
namespace {

constexpr size_t kMostLine = kLongestStyledLine + 1;  // a longer line is no part of a paragraph
constexpr size_t kMostWord = 4096;  // most bytes held back, so that an answer without spaces still streams

}  // namespace

void WordWrap::put_word(std::string& out, int columns) {
  const std::string word = std::exchange(word_, {});
  std::string spaces = std::exchange(spaces_, {});
  const int width = columns_of(make_safe(word));
  const int before = static_cast<int>(spaces.size());
  // Spaces at the edge would only start an empty row. In code a word may follow them.
  if (!code_ && word.empty() && columns > 0 && column_ + before >= columns) return;
  const bool breaks = !code_ && !goes_on_ && columns > 0 && column_ > 0 && column_ + before + width > columns;
  if (breaks && !word.empty()) {
    out += '\n';
    column_ = 0;
    spaces.clear();
  }
  out += spaces + word;
  column_ += static_cast<int>(spaces.size()) + width;
  if (columns > 0 && column_ > columns) column_ = (column_ - 1) % columns + 1;  // the terminal has broken it
  goes_on_ = false;
}

std::string WordWrap::add(std::string_view text, int columns) {
  std::string out;
  for (const char c : text) {
    if (c == '\n') {
      put_word(out, columns);
      out += '\n';
      read_line(make_safe(line_), markdown_);
      code_ = markdown_.fence != 0;
      new_row();
      continue;
    }
    if (line_.size() < kMostLine) line_ += c;
    if (c == ' ' || c == '\t') {
      if (!word_.empty()) put_word(out, columns);
      spaces_ += c;
    } else {
      if (word_.size() >= kMostWord && (static_cast<uint8_t>(c) & 0xC0) != 0x80) {
        put_word(out, columns);
        goes_on_ = true;
      }
      word_ += c;
    }
  }
  if (code_) {
    put_word(out, columns);
    goes_on_ = true;
  }
  return out;
}

std::string WordWrap::finish(int columns) {
  std::string out;
  put_word(out, columns);
  return out;
}

void WordWrap::new_row() {
  line_.clear();
  column_ = 0;
  goes_on_ = false;
}

}  // namespace bitnet
