// Files of the cache folder, each of which only saves time: what cannot be read or is damaged is made again,
// and nothing is written where that cannot be.
//
// Thread rule: free functions; any thread. Several processes may share a folder: a file is replaced as a
// whole.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace bitnet {

// The bytes of a file, or none where it is no regular file (a link is none), has more than `most_bytes`, or
// cannot be read. It never waits for a writer.
std::string read_cache_file(const std::string& path, uint64_t most_bytes);

// Writes the parts one behind the other, in a file of mode 0600; folders that are missing are made with mode
// 0700. False where that could not be done; then the file is as it was.
bool write_cache_file(const std::string& path, std::initializer_list<std::string_view> parts);

}  // namespace bitnet
