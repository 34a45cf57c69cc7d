// What the tools write: byte for byte into a file or a pipe, made safe for a terminal.
//
// Thread rule: inline functions; any thread.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "app/base/output.h"
#include "app/text/text_safe.h"

namespace bitnet {

inline std::string safe_for(const Output& out, const std::string& text) {
  return out.is_terminal() ? make_safe(text) : text;
}

inline void print_safe(Output& out, const std::string& text) { out.write(safe_for(out, text)); }

// JSON on one line, or with `indent` columns a level. It escapes C0 controls by itself, but no other
// characters that a terminal obeys.
inline void print_json(Output& out, const nlohmann::ordered_json& value, int indent = -1) {
  print_safe(out, value.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

}  // namespace bitnet
