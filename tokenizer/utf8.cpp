#include "utf8.h"

namespace bitnet {

Utf8Step utf8_step(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return {Utf8::valid, 1};
  const size_t wanted = lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
  if (wanted == 0) return {Utf8::invalid, 1};
  // Only the second byte has a range of its own, which excludes overlong forms, surrogates and values past
  // U+10FFFF.
  const unsigned low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  const unsigned high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  for (size_t i = 1; i < wanted; ++i) {
    if (i == text.size()) return {Utf8::incomplete, i};
    const bool fits = i == 1 ? byte(1) >= low && byte(1) <= high : (byte(i) & 0xc0) == 0x80;
    if (!fits) return {Utf8::invalid, i};
  }
  return {Utf8::valid, wanted};
}

size_t append_repaired(std::string_view text, std::string& out) {
  size_t at = 0;
  while (at < text.size()) {
    const Utf8Step step = utf8_step(text.substr(at));
    if (step.kind == Utf8::incomplete) break;
    out += step.kind == Utf8::valid ? text.substr(at, step.length) : kReplacement;
    at += step.length;
  }
  return at;
}

}  // namespace bitnet
