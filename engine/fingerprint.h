// The fingerprint by which a model is known: a hash over every byte of its file and over the options that
// change its numbers.
//
// Thread rule: a FileHash belongs to one thread; it reads the file on threads of its own.
//
// A file is hashed in pieces on a few threads, while it is being loaded. The hash of the pieces' hashes is
// that of the file, so it does not depend on the number of threads. It is kept in the cache folder, where the
// next start finds it as long as the file at that path has the same device, inode, size and times of change,
// to the nanosecond. A model of several files is hashed likewise, and its line has the states of all.
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
  // Begins to read, unless the cache knows the file. `file` must outlive this. Nothing is kept where the
  // folder is an empty string or is not writable.
  FileHash(const Checkpoint& file, std::string cache_folder);
  ~FileHash();  // stops what still reads
  FileHash(const FileHash&) = delete;
  FileHash& operator=(const FileHash&) = delete;

  // Waits for the hash: 32 hex digits of XXH3-128.
  const std::string& wait();
  bool was_known() const { return was_known_; }

 private:
  struct Piece {
    uint64_t low = 0, high = 0;
  };
  void read_pieces();

  const Checkpoint& file_;
  const std::string cache_file_;
  const std::string key_;  // the beginning of this file's line in the cache
  const bool settled_;     // a later change cannot have the same times
  bool was_known_ = false;
  std::string hash_;
  std::vector<std::span<const std::byte>> parts_;  // of all files, what is hashed at once
  std::vector<Piece> pieces_;
  std::atomic<size_t> next_ = 0;
  std::atomic<bool> stop_ = false;
  std::vector<std::thread> threads_;
};

// The hash of the file's hash and of every option that changes the keys, values and logits of a file.
std::string fingerprint(const std::string& file_hash, const EngineOptions& options);

}  // namespace bitnet
