#include "text_safe.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <cstdint>

namespace bitnet {
namespace {

void append_code_point(std::string& out, int32_t code_point) {
  utf8proc_uint8_t bytes[4];
  const utf8proc_ssize_t length = utf8proc_encode_char(code_point, bytes);
  out.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(length));
}

// Those of ASCII, for which there are pictures.
bool is_control(int32_t c) { return c == 0x7F || (c < 0x20 && c != '\n' && c != '\t'); }

bool is_hidden_command(int32_t c) {
  return (c >= 0x80 && c < 0xA0) || (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069) ||
         c == 0x061C || c == 0xFEFF || (c >= 0xFFF9 && c <= 0xFFFB) || (c >= 0xE0000 && c <= 0xE007F);
}

// Returns the length of the ill-formed sequence at the front: the lead byte and those continuation bytes that
// could have followed it (Unicode 15, 3.9, "maximal subpart"). A character that is cut short is then one
// U+FFFD.
size_t ill_formed_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  if (lead < 0xC2 || lead > 0xF4) return 1;
  const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  for (size_t i = 1; i < length; ++i) {
    if (i >= text.size() || (byte(i) & 0xC0) != 0x80) return i;
    const bool overlong = i == 1 && ((lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xF0 && byte(1) < 0x90));
    const bool too_large = i == 1 && ((lead == 0xED && byte(1) > 0x9F) || (lead == 0xF4 && byte(1) > 0x8F));
    if (overlong || too_large) return 1;
  }
  return length;
}

// Returns `text` with what put_sign(result, code point) appends for each character that a terminal would
// obey.
template <typename PutSign>
std::string with_signs(std::string_view text, PutSign put_sign) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto lead = static_cast<uint8_t>(text[0]);
    if (lead < 0x80 && !is_control(lead)) {
      out += text[0];
      text.remove_prefix(1);
      continue;
    }
    int32_t code_point = 0;
    const utf8proc_ssize_t length =
        utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                         static_cast<utf8proc_ssize_t>(text.size() < 4 ? text.size() : 4), &code_point);
    if (length <= 0) {
      append_code_point(out, 0xFFFD);
      text.remove_prefix(ill_formed_length(text));
      continue;
    }
    if (is_control(code_point) || is_hidden_command(code_point)) {
      put_sign(out, code_point);
    } else {
      out += text.substr(0, static_cast<size_t>(length));
    }
    text.remove_prefix(static_cast<size_t>(length));
  }
  return out;
}

}  // namespace

std::string make_safe(std::string_view text) {
  return with_signs(text, [](std::string& out, int32_t c) {
    if (is_control(c)) {
      append_code_point(out, c == 0x7F ? 0x2421 : 0x2400 + c);
    } else {
      out += fmt::format("<U+{:04X}>", c);
    }
  });
}

std::string without_controls(std::string_view text) {
  return with_signs(text, [](std::string&, int32_t) {});
}

std::string one_line(std::string_view text) {
  std::string safe = make_safe(text);
  std::replace_if(
      safe.begin(), safe.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
  return safe;
}

}  // namespace bitnet
