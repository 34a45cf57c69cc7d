// Fetches one file from a server into its part file, with as many requests as that takes.
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

// Fetches until the part file is whole. Goes on where an earlier call was cut if that was the same file, and
// begins again if the server has another one. Fills in the checksum and the size of `source` when the server
// tells them. Throws Error(runtime), or PullStopped (pull_progress.h).
void download(PullSource& source, PartFile& part, PullWatcher& watcher, const std::string& name);

}  // namespace bitnet
