// A file a person names, as text for the model.
//
// Thread rule: free function; any thread. Never blocks on a pipe or a device, as it reads regular files only.
#pragma once

#include <cstddef>
#include <string>

namespace bitnet {

// The whole file as UTF-8, without a byte order mark, lines ended by \n, and nothing but text at its end.
// "~/" is the home folder. Throws Error(usage) that names the file and what is wrong: not there, no regular
// file, longer than `most_bytes`, or no UTF-8 text.
std::string read_text_file(const std::string& path, size_t most_bytes);

}  // namespace bitnet
