#include "expert_trace.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <set>
#include <utility>

namespace bitnet {
namespace {

// Whether this process has made the file that is open here. A file that it makes is noted.
bool is_of_this_process(int fd, bool made) {
  static std::mutex mutex;
  static std::set<std::pair<dev_t, ino_t>> all;
  struct stat about {};
  if (fstat(fd, &about) != 0) return false;
  const std::lock_guard lock(mutex);
  if (made) all.emplace(about.st_dev, about.st_ino);
  return all.contains({about.st_dev, about.st_ino});
}

// Opens a new file, or the one of an earlier session of this process (a model that is opened again), which
// gives way. No other file is overwritten, and no link followed. Negative: it cannot be, and errno says why.
int open_new(const char* path) {
  int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd >= 0) {
    is_of_this_process(fd, /*made=*/true);
    return fd;
  }
  if (errno != EEXIST) return -1;
  fd = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd >= 0 && is_of_this_process(fd, /*made=*/false) && ftruncate(fd, 0) == 0) return fd;
  if (fd >= 0) close(fd);
  errno = EEXIST;
  return -1;
}

}  // namespace

ExpertTrace::ExpertTrace(Backend& backend, const std::string& path, const Config& config, uint32_t max_batch,
                         size_t places)
    : path_(path),
      n_layer_(config.n_layer),
      used_(config.n_expert_used),
      buffer_(backend.allocate(offset(std::max<size_t>(max_batch, places)), BufferUse::shared)) {
  const int fd = open_new(path.c_str());
  if (fd >= 0) file_.reset(fdopen(fd, "w"));
  if (file_) return;
  const int reason = errno;
  if (fd >= 0) close(fd);
  throw Error(
      ErrorKind::runtime,
      reason == EEXIST
          ? fmt::format("{}: is there already; name a new file for the trace", printable(path))
          : fmt::format("{}: {}; name a file that can be written", printable(path), std::strerror(reason)));
}

void ExpertTrace::write(uint32_t position, uint32_t n, size_t place) {
  const auto* ids = reinterpret_cast<const uint32_t*>(buffer_->mapped().data() + offset(place));
  std::string lines;
  for (uint32_t t = 0; t < n; ++t)
    for (uint32_t layer = 0; layer < n_layer_; ++layer) {
      lines += fmt::format("{} {}", position + t, layer);
      for (uint32_t i = 0; i < used_; ++i)
        lines += fmt::format(" {}", ids[(size_t{layer} * n + t) * used_ + i]);
      lines += '\n';
    }
  if (std::fwrite(lines.data(), 1, lines.size(), file_.get()) != lines.size() ||
      std::fflush(file_.get()) != 0)
    throw Error(ErrorKind::runtime, fmt::format("{}: {}", printable(path_), std::strerror(errno)));
}

}  // namespace bitnet
