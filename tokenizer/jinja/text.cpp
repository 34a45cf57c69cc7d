#include "text.h"

#include <locale.h>
#include <string.h>
#include <wctype.h>

#include <algorithm>

namespace bitnet::jinja {
namespace {

// Gives glibc's Unicode tables, so that the locale of the process does not change what a template gives.
locale_t unicode_locale() {
  static const locale_t locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  return locale;
}

bool is_class(uint32_t code, int (*test)(wint_t, locale_t), bool (*ascii)(uint32_t)) {
  if (code < 0x80 || unicode_locale() == nullptr) return code < 0x80 && ascii(code);
  return test(code, unicode_locale()) != 0;
}

}  // namespace

void Text::append(std::string_view bytes, bool trusted) {
  if (bytes.empty()) return;
  bytes_ += bytes;
  if (!runs_.empty() && runs_.back().trusted == trusted) {
    runs_.back().end = bytes_.size();
  } else {
    runs_.push_back({bytes_.size(), trusted});
  }
}

size_t Text::run_at(size_t i) const {
  const auto after = [](size_t at, const Run& run) { return at < run.end; };
  return static_cast<size_t>(std::upper_bound(runs_.begin(), runs_.end(), i, after) - runs_.begin());
}

void Text::append(const Text& other, size_t from, size_t length) {
  const size_t stop = from + length;
  for (size_t run = other.run_at(from); from < stop; ++run) {
    const size_t end = std::min(stop, other.runs_[run].end);
    append(std::string_view(other.bytes_).substr(from, end - from), other.runs_[run].trusted);
    from = end;
  }
}

Text Text::substr(size_t from, size_t length) const {
  Text out;
  if (from < size()) out.append(*this, from, std::min(length, size() - from));
  return out;
}

bool Text::trusted_at(size_t i) const { return runs_[run_at(i)].trusted; }

Char char_at(std::string_view s, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(s[at + i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || s.size() - at < length) return {0xDC00u + lead, 1};
  uint32_t code = lead & (0x7Fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {0xDC00u + lead, 1};
    code = code << 6 | (byte(i) & 0x3Fu);
  }
  constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kSmallest[length] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) {
    return {0xDC00u + lead, 1};
  }
  return {code, length};
}

Char char_before(std::string_view s, size_t end) {
  for (size_t length = 2; length <= std::min<size_t>(4, end); ++length) {
    if (const Char c = char_at(s.substr(0, end), end - length); c.length == length) return c;
  }
  return char_at(s, end - 1);
}

size_t char_count(std::string_view s) {
  size_t count = 0;
  for (size_t at = 0; at < s.size(); at += char_at(s, at).length) ++count;
  return count;
}

std::vector<size_t> char_starts(std::string_view s) {
  std::vector<size_t> starts;
  starts.reserve(s.size() + 1);
  for (size_t at = 0; at < s.size(); at += char_at(s, at).length) starts.push_back(at);
  starts.push_back(s.size());
  return starts;
}

void append_utf8(std::string& out, uint32_t code) {
  const auto put = [&](uint32_t byte) { out += static_cast<char>(byte); };
  if (code >= 0xDC80 && code <= 0xDCFF) {
    put(code - 0xDC00);
  } else if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | code >> 6), put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | code >> 12), put(0x80 | (code >> 6 & 0x3F)), put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | code >> 18), put(0x80 | (code >> 12 & 0x3F));
    put(0x80 | (code >> 6 & 0x3F)), put(0x80 | (code & 0x3F));
  }
}

bool is_space(uint32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

bool is_line_break(uint32_t c) {
  return (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 || c == 0x2029;
}

bool is_word(uint32_t code) {
  return code == '_' || is_class(code, iswalnum_l, [](uint32_t c) {
           return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
         });
}

bool is_printable(uint32_t c) {
  if (c < 0x20 || (c >= 0x7F && c <= 0xA0) || c == 0xAD) return false;
  if (c < 0x100 || (c > 0x3000 && c < 0xD800)) return true;
  if (is_space(c) || (c >= 0x200B && c <= 0x200F) || (c >= 0x202A && c <= 0x202E)) return false;
  return !(c >= 0x2060 && c <= 0x206F) && !(c >= 0xD800 && c <= 0xF8FF) && c != 0xFEFF && c < 0xE0000;
}

bool is_upper(uint32_t code) {
  return is_class(code, iswupper_l, [](uint32_t c) { return c >= 'A' && c <= 'Z'; });
}

bool is_lower(uint32_t code) {
  return is_class(code, iswlower_l, [](uint32_t c) { return c >= 'a' && c <= 'z'; });
}

std::string to_upper(uint32_t code) {
  std::string out;
  if (code == 0xDF) return "SS";  // the one letter in common use whose upper case is two letters
  if (code < 0x80 || unicode_locale() == nullptr) {
    append_utf8(out, code >= 'a' && code <= 'z' ? code - 32 : code);
  } else {
    append_utf8(out, towupper_l(code, unicode_locale()));
  }
  return out;
}

std::string to_lower(uint32_t code) {
  std::string out;
  if (code < 0x80 || unicode_locale() == nullptr) {
    append_utf8(out, code >= 'A' && code <= 'Z' ? code + 32 : code);
  } else {
    append_utf8(out, towlower_l(code, unicode_locale()));
  }
  return out;
}

size_t find_bytes(std::string_view haystack, std::string_view needle, size_t from) {
  if (from > haystack.size()) return std::string_view::npos;
  if (needle.empty()) return from;
  const void* hit = memmem(haystack.data() + from, haystack.size() - from, needle.data(), needle.size());
  return hit ? static_cast<size_t>(static_cast<const char*>(hit) - haystack.data()) : std::string_view::npos;
}

}  // namespace bitnet::jinja
