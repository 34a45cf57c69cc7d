// A file that is mapped, and what tells one state of it from another.
//
// Thread rule: immutable once opened; any number of threads may read it.
//
// The bytes are those of the file on disk. If somebody shortens the file while it is open, reading them ends
// the process (SIGBUS).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "engine/error.h"

namespace bitnet {

// Which file this is and when it was changed. A file has another state after every change.
struct FileState {
  uint64_t device = 0, inode = 0, bytes = 0;
  int64_t modified = 0, changed = 0;  // mtime and ctime, nanoseconds since 1970
  bool operator==(const FileState&) const = default;
};
FileState file_state(const std::string& path);  // all 0 where there is none

class MappedFile {
 public:
  // Never blocks on a FIFO. Throws Error(model) that names the file where it cannot be read, is empty or is
  // none; `kind` says what was wanted: "GGUF file". `in_place_of_folder` ends the message about a folder.
  MappedFile(const std::string& path, std::string_view kind, std::string_view in_place_of_folder = "");
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::string& path() const { return path_; }
  const FileState& state() const { return state_; }  // when it was opened
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::string path_;
  FileState state_;
  std::span<const std::byte> bytes_;
};

// Whether somebody has written to the file since it was opened. A file that was put in its place is another
// one.
bool was_changed(const MappedFile& file);

// Whether these bytes lie in the file.
inline bool is_in(const MappedFile& file, std::span<const std::byte> bytes) {
  const auto all = file.bytes();
  return bytes.data() >= all.data() && bytes.data() + bytes.size() <= all.data() + all.size();
}

}  // namespace bitnet
