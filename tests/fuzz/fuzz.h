// Helpers that the fuzz targets share.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "engine/error.h"

namespace bitnet::fuzz {

// Ends the process, as a crash does, if `kept` is false.
inline void promise(bool kept) {
  if (!kept) std::abort();
}

inline bool has_control(std::string_view text, bool lines = false) {
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    if ((byte < 0x20 && !(lines && (c == '\n' || c == '\t'))) || byte == 0x7F) return true;
  }
  return false;
}

// What a person is told of an input that is refused: one line that a terminal only shows.
inline void check_message(const Error& error) {
  const std::string_view what = error.what();
  promise(!what.empty() && !has_control(what));
}

// The input as a file that costs no disk.
class MemoryFile {
 public:
  MemoryFile(const uint8_t* data, size_t size) : fd_(memfd_create("input", MFD_CLOEXEC)) {
    promise(fd_ >= 0 && write(fd_, data, size) == static_cast<ssize_t>(size));
  }
  ~MemoryFile() { close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

// Cuts an input into parts: a byte for a choice, a part up to the next zero byte.
struct Input {
  std::string_view left;
  Input(const uint8_t* data, size_t size) : left(reinterpret_cast<const char*>(data), size) {}
  uint8_t byte() {
    if (left.empty()) return 0;
    const auto value = static_cast<uint8_t>(left[0]);
    left.remove_prefix(1);
    return value;
  }
  std::string_view part() {
    const size_t end = std::min(left.find('\0'), left.size());
    const std::string_view found = left.substr(0, end);
    left.remove_prefix(std::min(end + 1, left.size()));
    return found;
  }
};

}  // namespace bitnet::fuzz
