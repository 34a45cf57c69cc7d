// Finds the texts that end an answer in what has come of it so far.
//
// Thread rule: free functions; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bitnet {

// Where the first stop text begins; npos where there is none.
size_t first_stop(std::string_view text, const std::vector<std::string>& stops);

// How many bytes at the end of `text` could become one of the stop texts. Requires that none is empty.
size_t open_stop(std::string_view text, const std::vector<std::string>& stops);

}  // namespace bitnet
