// The key that clients have to show.
//
// Thread rule: free functions; any thread.
#pragma once

#include <string>

namespace bitnet {

// Reads the key of a file that only its owner may read. Where there is no such file, it is made, with a new
// key of 256 random bits. Throws Error(usage) for a file of another mode or owner, or with something else in
// it.
std::string key_from_file(const std::string& path);

// The file of a server that listens on more than loopback and was given none: serve-key in the config folder.
std::string usual_key_file();

}  // namespace bitnet
