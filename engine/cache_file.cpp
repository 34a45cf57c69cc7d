#include "cache_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

namespace bitnet {
namespace {

namespace fs = std::filesystem;

struct OpenFile {
  int fd;
  ~OpenFile() {
    if (fd >= 0) close(fd);
  }
};

// Whether all of `bytes` was transferred: read or written from `data` on.
template <typename Call, typename Byte>
bool transfer_all(const Call& call, int fd, Byte* data, size_t bytes) {
  while (bytes != 0) {
    const ssize_t n = call(fd, data, bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    data += n;
    bytes -= static_cast<size_t>(n);
  }
  return true;
}

void make_folders(const fs::path& folder) {
  std::error_code ignored;
  if (folder.empty() || fs::is_directory(folder, ignored)) return;
  make_folders(folder.parent_path());
  mkdir(folder.c_str(), 0700);
}

}  // namespace

std::string read_cache_file(const std::string& path, uint64_t most_bytes) {
  const OpenFile in{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW)};
  struct stat info {};
  if (in.fd < 0 || fstat(in.fd, &info) != 0 || !S_ISREG(info.st_mode) ||
      static_cast<uint64_t>(info.st_size) > most_bytes)
    return {};
  std::string bytes(static_cast<size_t>(info.st_size), '\0');
  return transfer_all(read, in.fd, bytes.data(), bytes.size()) ? bytes : std::string();
}

bool write_cache_file(const std::string& path, std::initializer_list<std::string_view> parts) {
  make_folders(fs::path(path).parent_path());
  const std::string unfinished = fmt::format("{}.{}", path, getpid());
  unlink(unfinished.c_str());
  bool written = false;
  {
    const OpenFile out{open(unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600)};
    if (out.fd < 0) return false;
    written = std::ranges::all_of(
        parts, [&](std::string_view part) { return transfer_all(write, out.fd, part.data(), part.size()); });
  }
  written = written && rename(unfinished.c_str(), path.c_str()) == 0;
  if (!written) unlink(unfinished.c_str());
  return written;
}

}  // namespace bitnet
