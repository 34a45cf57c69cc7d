#include "app/text/fold_case.h"

#include <utf8proc.h>

namespace bitnet {

std::string fold_case(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    int32_t c = 0;
    const utf8proc_ssize_t length = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                                     static_cast<utf8proc_ssize_t>(text.size()), &c);
    if (length <= 0) {
      out += text[0];
      text.remove_prefix(1);
      continue;
    }
    utf8proc_uint8_t bytes[4];
    const utf8proc_ssize_t n = utf8proc_encode_char(utf8proc_tolower(c), bytes);
    out.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(n));
    text.remove_prefix(static_cast<size_t>(length));
  }
  return out;
}

}  // namespace bitnet
