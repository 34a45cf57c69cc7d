#include "engine/error.h"

#include <fmt/format.h>

#include <cstdint>

namespace bitnet {
namespace {

struct Decoded {
  uint32_t code_point;
  size_t length;  // bytes taken; 0 when the bytes are no UTF-8
};

// One code point of well-formed UTF-8 (Unicode 15, table 3-7): no overlong forms, no surrogates.
Decoded decode_utf8(std::string_view s) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(s[i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || s.size() < length) return {0, 0};
  uint32_t code = lead & (0x7F >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {0, 0};
    code = code << 6 | (byte(i) & 0x3F);
  }
  constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kSmallest[length] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return {0, 0};
  return {code, length};
}

bool is_unsafe_on_a_terminal(uint32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || (c >= 0x200E && c <= 0x200F) ||
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069) || c == 0x061C || c == 0xFEFF ||
         (c >= 0xFFF9 && c <= 0xFFFB) || (c >= 0xE0000 && c <= 0xE007F);
}

}  // namespace

std::string printable(std::string_view bytes, size_t max_bytes) {
  std::string out;
  size_t at = 0;
  while (at < bytes.size() && at < max_bytes) {
    const Decoded d = decode_utf8(bytes.substr(at));
    if (d.length == 0) {
      out += fmt::format("<0x{:02X}>", static_cast<uint8_t>(bytes[at]));
      at += 1;
      continue;
    }
    if (is_unsafe_on_a_terminal(d.code_point)) {
      out += fmt::format("<U+{:04X}>", d.code_point);
    } else {
      out += bytes.substr(at, d.length);
    }
    at += d.length;
  }
  if (at < bytes.size()) out += "...";
  return out;
}

}  // namespace bitnet
