// Counts the words that two texts share, which tells whether one speaks of what the other does.
//
// Thread rule: free function; any thread.
#pragma once

#include <cstddef>
#include <string_view>

namespace bitnet {

struct SharedWords {
  size_t shared = 0;
  size_t of = 0;  // words of `text` that count
};

// Counts the different words of `text`, and those of them that `source` has too. English words such as "the"
// do not count, nor does any word of `ignored`. Words are compared without the case of ASCII letters and by
// their first six characters, since endings change; in scripts without spaces each character is a word.
SharedWords shared_words(std::string_view text, std::string_view source, std::string_view ignored);

}  // namespace bitnet
