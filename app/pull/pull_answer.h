// What a hub and other servers answer, as values. They may answer anything.
//
// Thread rule: free functions; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bitnet {

struct HubFile {
  std::string path;    // in the repository, as the hub gave it
  uint64_t size = 0;   // 0 = not said
  std::string sha256;  // in lower case; empty = not said
};

// The files of a repository, from the JSON list that a hub gives of them. What else is in the list is passed
// over. Throws Error(runtime) where it is no list, or past the bounds of json_reader.h.
std::vector<HubFile> read_hub_listing(std::string_view body);

// "bytes 5-9/10": where it begins, and the size of the whole (0 = not said).
struct ContentRange {
  uint64_t begin = 0;
  uint64_t size = 0;
};
std::optional<ContentRange> read_content_range(std::string_view text);

std::optional<uint64_t> read_whole_number(std::string_view text);  // decimal digits and nothing else

// Of an entity tag or a name: 64 hexadecimal digits of either case, in quotes or not. In lower case; empty
// for anything else.
std::string read_sha256(std::string_view text);

}  // namespace bitnet
