// One file from a server into its part file, over as many requests as that takes.
//
// Thread rule: main's thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "part_file.h"
#include "pull_progress.h"

namespace bitnet {

// What to fetch, and what is known of it.
struct PullSource {
  std::string url;
  std::filesystem::path file;
  std::string sha256;
  uint64_t size = 0;
  bool on_hub = false;
};

// Until the part file is whole: goes on where an earlier call was cut if that was the same file, and begins
// again where the server has another one. Learns the checksum and the size on the way. Throws Error(runtime),
// or Stopped (pull_request.h).
void download(PullSource& source, PartFile& part, PullProgress& progress, const std::string& name);

}  // namespace bitnet
