// What a hub and other servers answer, as values. Servers are not trusted: they may answer anything.
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

// The files of a repository, from the JSON list that a hub gives of them. Everything else in the list is
// ignored. Throws Error(runtime) if it is no list, or passes the bounds of json_reader.h.
std::vector<HubFile> read_hub_listing(std::string_view body);

// "bytes 5-9/10": where the range begins, and the size of the whole file (0 = not said).
struct ContentRange {
  uint64_t begin = 0;
  uint64_t size = 0;
};
std::optional<ContentRange> read_content_range(std::string_view text);

std::optional<uint64_t> read_whole_number(std::string_view text);  // decimal digits and nothing else

// Reads 64 hexadecimal digits of either case, in quotes or not, as an entity tag or a name has them. Returns
// them in lower case; empty for anything else.
std::string read_sha256(std::string_view text);

}  // namespace bitnet
