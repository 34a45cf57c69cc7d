// Text without a difference between capital and small letters, for searches.
//
// Thread rule: free function; any thread.
#pragma once

#include <string>
#include <string_view>

namespace bitnet {

// Returns `text` with each code point in lower case; bytes that are no UTF-8 stay as they are. Of names in
// ASCII engine/lower.h is enough.
std::string fold_case(std::string_view text);

}  // namespace bitnet
