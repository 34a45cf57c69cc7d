// What the tools write: byte for byte into a file or a pipe, made safe for a terminal.
//
// Thread rule: inline functions; any thread.
#pragma once

#include <string>

#include "app/base/output.h"
#include "app/text/text_safe.h"

namespace bitnet {

inline std::string safe_for(const Output& out, const std::string& text) {
  return out.is_terminal() ? make_safe(text) : text;
}

inline void print_safe(Output& out, const std::string& text) { out.write(safe_for(out, text)); }

}  // namespace bitnet
