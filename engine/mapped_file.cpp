#include "mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace bitnet {
namespace {

FileState state_of(const struct stat& info) {
  const auto nanoseconds = [](const timespec& t) { return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec; };
  return {info.st_dev, info.st_ino, static_cast<uint64_t>(info.st_size), nanoseconds(info.st_mtim),
          nanoseconds(info.st_ctim)};
}

}  // namespace

FileState file_state(const std::string& path) {
  struct stat info = {};
  return stat(path.c_str(), &info) == 0 ? state_of(info) : FileState();
}

bool was_changed(const MappedFile& file) {
  const FileState now = file_state(file.path()), &then = file.state();
  return now.device == then.device && now.inode == then.inode &&
         (now.bytes != then.bytes || now.modified != then.modified);
}

MappedFile::MappedFile(const std::string& path, std::string_view kind, std::string_view in_place_of_folder)
    : path_(path) {
  const auto fail = [&](const std::string& problem) {
    throw Error(ErrorKind::model, fmt::format("{}: {}", printable(path), problem));
  };
  const auto why = [] { return std::generic_category().message(errno); };
  // O_NONBLOCK: opening a FIFO that nobody writes to must not wait.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) fail(fmt::format("cannot open the model file: {}", why()));
  struct Closer {
    int fd;
    ~Closer() { close(fd); }
  } closer{fd};

  struct stat info = {};
  if (fstat(fd, &info) != 0) fail(fmt::format("cannot read the model file: {}", why()));
  if (S_ISDIR(info.st_mode)) fail(fmt::format("wanted a {}, got a folder{}", kind, in_place_of_folder));
  if (!S_ISREG(info.st_mode)) fail(fmt::format("wanted a {}, got a pipe, device or socket", kind));
  if (info.st_size == 0) fail(fmt::format("wanted a {}, got an empty file", kind));
  state_ = state_of(info);
  const auto size = static_cast<size_t>(info.st_size);
  void* mapped = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (mapped == MAP_FAILED) fail(fmt::format("cannot map the model file of {} bytes: {}", size, why()));
  bytes_ = {static_cast<const std::byte*>(mapped), size};
  // What comes from the disk now comes in pages of 2 MB where that can be.
  madvise(mapped, size, MADV_HUGEPAGE);
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace bitnet
