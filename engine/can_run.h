// What the engine has a row for, without a file.
//
// Thread rule: a free function; any thread.
#pragma once

#include <string>
#include <string_view>

namespace bitnet {

// Why no model of this architecture (general.architecture) whose projections have this type ("i2_s", as ggml
// writes it) can be run; empty where the engine knows both. A file may have reasons of its own.
std::string why_not_run(std::string_view architecture, std::string_view type);

}  // namespace bitnet
