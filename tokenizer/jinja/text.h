// The strings of the template language: UTF-8 that knows of each byte who wrote it.
//
// A byte is trusted if it stems from the template or a trusted variable, and untrusted if it stems from a
// message. Every string operation uses append and substr, which keep these marks.
//
// Thread rule: Text is a plain value; the functions are pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bitnet::jinja {

class Text {
 public:
  struct Run {
    size_t end;  // one past the last byte of the run; it begins where the run before it ends
    bool trusted;
  };

  Text() = default;
  Text(std::string_view bytes, bool trusted) { append(bytes, trusted); }

  void append(std::string_view bytes, bool trusted);
  void append(const Text& other) { append(other, 0, other.size()); }
  // Requires: [from, from + length) lies in other.
  void append(const Text& other, size_t from, size_t length);

  Text substr(size_t from, size_t length) const;  // clipped to the end
  bool trusted_at(size_t i) const;
  bool all_trusted() const { return runs_.empty() || (runs_.size() == 1 && runs_[0].trusted); }

  const std::string& bytes() const { return bytes_; }
  size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }
  // Trusted and untrusted runs alternate; the last ends at size().
  const std::vector<Run>& runs() const { return runs_; }

 private:
  size_t run_at(size_t i) const;

  std::string bytes_;
  std::vector<Run> runs_;
};

// Tells who wrote each byte of a text that is read from front to back. The text must outlive it.
class Writers {
 public:
  explicit Writers(const Text& text) : run_(text.runs().begin()) {}
  // Requires: `i` is not smaller than in the call before.
  bool trusted_at(size_t i) {
    while (run_->end <= i) ++run_;
    return run_->trusted;
  }

 private:
  std::vector<Text::Run>::const_iterator run_;
};

// One character: a code point or, if the bytes are not UTF-8, a single byte as 0xDC00 + byte.
struct Char {
  uint32_t code;
  size_t length;  // bytes
};
Char char_at(std::string_view s, size_t at);       // requires: at < s.size()
Char char_before(std::string_view s, size_t end);  // the last one of s[:end]; requires: 0 < end <= s.size()
size_t char_count(std::string_view s);
std::vector<size_t> char_starts(std::string_view s);  // byte offset of each character, then s.size()
void append_utf8(std::string& out, uint32_t code);    // the inverse of char_at

// What Python's str and re modules mean by these words.
bool is_space(uint32_t code);
bool is_line_break(uint32_t code);
bool is_word(uint32_t code);  // \w of re
bool is_printable(uint32_t code);
bool is_upper(uint32_t code);
bool is_lower(uint32_t code);
std::string to_upper(uint32_t code);  // UTF-8; one character may become two
std::string to_lower(uint32_t code);

// Returns the first occurrence at or after `from`, or npos, in time linear in both lengths.
size_t find_bytes(std::string_view haystack, std::string_view needle, size_t from);

}  // namespace bitnet::jinja
