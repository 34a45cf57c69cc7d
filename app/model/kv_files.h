// Keeps keys and values of timelines on disk, so that a long conversation goes on without being read again.
//
// Thread rule: any thread, one at a time. Several processes may share a folder.
//
// A file is what Session::save gave, under the name MODEL-COUNT-TOKENS.kv: a hash of what computed it (the
// model's fingerprint, the device's arithmetic, this program's version), how many tokens it holds and the
// XXH3-128 of their ids. So the longest one that a prompt begins with is found by names alone, and what is
// inside is checked by Session::load. Everything here can be lost without harm: nothing throws, and what
// cannot be written is not there the next time. Beside the folder lies an empty file, FOLDER.cleared, whose
// time of change is that of the last clear().
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace bitnet {

class KvFiles {
 public:
  KvFiles() = default;  // keeps nothing
  // The folder is made, 0700, when it is first needed. It keeps at most `most_bytes`, of the files that were
  // used last; 0 keeps nothing.
  KvFiles(std::string folder, uint64_t most_bytes);

  uint64_t most_bytes() const { return folder_.empty() ? 0 : most_bytes_; }

  struct File {
    std::string path;
    size_t tokens = 0;
  };
  // Finds the longest file whose tokens `tokens` begins with, where those are more than `more_than`.
  std::optional<File> find(const std::string& model, std::span<const int32_t> tokens, size_t more_than) const;
  std::vector<std::byte> read(const File& file) const;  // empty where that fails; the file counts as used now
  void remove(const File& file) const;

  // Writes a file, 0600, whole or not at all, and returns it, or nothing where it could not be. It replaces
  // files that hold a beginning of the same timeline.
  std::optional<File> write(const std::string& model, std::span<const int32_t> tokens,
                            std::span<const std::byte> payload) const;
  void clear() const;
  // Another number after each clear() of any program: who has a timeline in memory since before that does not
  // write it afterwards.
  int64_t last_clear() const;

 private:
  struct Entry {
    std::string name;
    std::string model;
    size_t tokens = 0;
    std::string hash;
    uint64_t bytes = 0;
    int64_t used = 0;  // nanoseconds since 1970
  };
  std::vector<Entry> entries() const;
  void make_room() const;
  void note_clear() const;

  std::string folder_;
  uint64_t most_bytes_ = 0;
};

// Clears the files at its end, also where what was done meanwhile was broken off.
class ClearedKvFiles {
 public:
  explicit ClearedKvFiles(KvFiles files) : files_(std::move(files)) {}
  ~ClearedKvFiles() { files_.clear(); }
  ClearedKvFiles(const ClearedKvFiles&) = delete;
  ClearedKvFiles& operator=(const ClearedKvFiles&) = delete;

 private:
  const KvFiles files_;
};

}  // namespace bitnet
