// What a model is known by: a hash over every byte of its file and over the options that change its numbers.
//
// Thread rule: a FileHash belongs to one thread; it reads the file on threads of its own.
//
// A file is hashed in pieces, on a few threads, beside whatever else is done with it; the hash of the pieces'
// hashes is the file's, so it does not depend on how many threads there were. It is kept in the cache folder,
// so that the next start finds it there: as long as the file at that path has the same device, inode, size
// and times of change, to the nanosecond.
#pragma once

#include <atomic>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "engine/engine.h"

namespace bitnet {

class FileHash {
 public:
  // Begins to read, unless the cache knows the file. `file` must outlive this. An empty folder keeps nothing,
  // and neither does one that cannot be written.
  FileHash(const GgufFile& file, std::string cache_folder);
  ~FileHash();  // stops what still reads
  FileHash(const FileHash&) = delete;
  FileHash& operator=(const FileHash&) = delete;

  // 32 hex digits of XXH3-128; waits for them.
  const std::string& wait();
  bool was_known() const { return was_known_; }

 private:
  struct Piece {
    uint64_t low = 0, high = 0;
  };
  void read_pieces();

  const GgufFile& file_;
  const std::string cache_file_;
  const std::string key_;  // of this state of the file, as a line of the cache begins
  const bool settled_;     // no later change can have the same times
  bool was_known_ = false;
  std::string hash_;
  std::vector<Piece> pieces_;
  std::atomic<size_t> next_ = 0;
  std::atomic<bool> stop_ = false;
  std::vector<std::thread> threads_;
};

// Of the file's hash and of every option that makes other keys, values and logits of the same file.
std::string fingerprint(const std::string& file_hash, const EngineOptions& options);

}  // namespace bitnet
