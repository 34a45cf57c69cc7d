// Strings of the template language: UTF-8 that remembers, byte by byte, who wrote it.
//
// Thread rule: Text is a plain value; the functions are pure.
//
// A byte is trusted when the template (or the name of a special token) wrote it and untrusted when it stems
// from a message. Every string operation goes through append and substr, so the mark survives them all.
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
  void append(const Text& other, size_t from, size_t length);  // [from, from + length) lies in other

  Text substr(size_t from, size_t length) const;  // clipped to the end
  bool trusted_at(size_t i) const;
  bool all_trusted() const { return runs_.empty() || (runs_.size() == 1 && runs_[0].trusted); }

  const std::string& bytes() const { return bytes_; }
  size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }
  const std::vector<Run>& runs() const { return runs_; }  // kinds alternate, the last ends at size()

 private:
  size_t run_at(size_t i) const;

  std::string bytes_;
  std::vector<Run> runs_;
};

// One character: a code point, or a single byte (0xDC00 + byte) where the bytes are no UTF-8.
struct Char {
  uint32_t code;
  size_t length;  // bytes
};
Char char_at(std::string_view s, size_t at);  // at < s.size()
size_t char_count(std::string_view s);
std::vector<size_t> char_starts(std::string_view s);  // byte offset of each character, then s.size()
void append_utf8(std::string& out, uint32_t code);    // the inverse of char_at

// What Python's str calls them (Unicode 14).
bool is_space(uint32_t code);
bool is_line_break(uint32_t code);
bool is_word(uint32_t code);  // \w of the re module
bool is_printable(uint32_t code);
bool is_upper(uint32_t code);
bool is_lower(uint32_t code);
std::string to_upper(uint32_t code);  // UTF-8; one character may become two
std::string to_lower(uint32_t code);

// First occurrence at or after `from`, npos where there is none; linear in both lengths.
size_t find_bytes(std::string_view haystack, std::string_view needle, size_t from);

}  // namespace bitnet::jinja
