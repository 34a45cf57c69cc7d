// Words of commands that a message tells a person to type.
//
// Thread rule: free function; any thread.
#pragma once

#include <string>
#include <string_view>

namespace bitnet {

// The text as a shell takes it for one word: in quotes where it would take it apart.
std::string shell_word(std::string_view text);

}  // namespace bitnet
