#include "part_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <system_error>
#include <vector>

#include "app/base/descriptor.h"
#include "app/base/places.h"
#include "app/base/sha256.h"
#include "app/text/text_file.h"
#include "engine/error.h"
#include "engine/json_reader.h"

namespace bitnet {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr size_t kHashBlock = size_t{1} << 20;
constexpr uint64_t kSpareRoom = 64 << 20;  // bytes that stay free for other programs
constexpr uint64_t kRoomStep = 8 << 20;    // bytes between two checks of the room that is left
constexpr size_t kMostState = 64 << 10;
constexpr int kMostTurns = 100;

[[noreturn]] void fail_at(const fs::path& path, const char* doing, int error) {
  throw Error(ErrorKind::runtime,
              fmt::format("{}: {}: {}", printable(path.string(), 300), doing, std::strerror(error)));
}

fs::path with_ending(const fs::path& file, const char* ending) { return fs::path(file.string() + ending); }

PartState read_state(const fs::path& file) {
  try {
    const json j = read_json(read_file(file, kMostState));
    if (!j.at("size").is_number_unsigned()) return {};
    return {j.at("url"), j.at("etag"), j.at("size"), j.at("sha256")};
  } catch (const std::exception&) {  // missing, or not written by us: then nothing is known of the part
    return {};
  }
}

std::string hash_descriptor(int fd, const fs::path& name, const std::function<bool(uint64_t)>& keep_going) {
  Sha256 hash;
  std::vector<char> block(kHashBlock);
  uint64_t done = 0;
  while (true) {
    if (!keep_going(done)) return "";
    const ssize_t got = pread(fd, block.data(), block.size(), static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_at(name, "cannot be read", errno);
    if (got == 0) break;
    hash.add(std::string_view(block.data(), static_cast<size_t>(got)));
    done += static_cast<uint64_t>(got);
  }
  return hash.digits();
}

}  // namespace

PartFile::PartFile(const fs::path& file)
    : file_(file), part_(with_ending(file, ".part")), state_file_(with_ending(file, ".part.json")) {
  if (const auto problem = make_private_folders(file.parent_path())) {
    fail_at(problem->folder, "the folder cannot be made", problem->reason);
  }
  for (int turn = 0; !open_locked(); ++turn) {
    if (turn >= kMostTurns) fail_at(part_, "is removed again and again", EAGAIN);
  }
  state_ = read_state(state_file_);
}

// Between open and flock the process that had the lock may have renamed its part to the finished file, or
// removed it. What we hold then is no part any more: this returns false, and the caller tries again.
bool PartFile::open_locked() {
  fd_ = open(part_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
  if (fd_ < 0) fail("cannot be written");
  const bool locked = flock(fd_, LOCK_EX | LOCK_NB) == 0;
  struct stat held = {};
  struct stat named = {};
  const bool same = fstat(fd_, &held) == 0 && lstat(part_.c_str(), &named) == 0 &&
                    held.st_dev == named.st_dev && held.st_ino == named.st_ino;
  if (locked && same && S_ISREG(held.st_mode)) {
    size_ = static_cast<uint64_t>(held.st_size);
    return true;
  }
  close(fd_);
  fd_ = -1;
  if (!locked) {
    throw Error(ErrorKind::runtime,
                fmt::format("{}: another bitnet-chat is fetching this file", printable(file_.string(), 300)));
  }
  if (same) fail_at(part_, "is no regular file", EINVAL);
  return false;
}

PartFile::~PartFile() {
  if (fd_ >= 0) close(fd_);
}

void PartFile::fail(const char* doing) const { fail_at(part_, doing, errno); }

void PartFile::write_state() const {
  const json j = {
      {"url", state_.url}, {"etag", state_.etag}, {"size", state_.size}, {"sha256", state_.sha256}};
  const std::string text = j.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
  const Descriptor out{
      open(state_file_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600)};
  if (out.fd < 0 || write(out.fd, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    fail_at(state_file_, "cannot be written", errno);
  }
}

void PartFile::begin(const PartState& state) {
  if (ftruncate(fd_, 0) != 0) fail("cannot be emptied");
  size_ = room_checked_ = 0;
  set_state(state);
}

void PartFile::set_state(const PartState& state) {
  state_ = state;
  write_state();
}

void PartFile::append(std::string_view bytes) {
  // The server may not have said how much it will send, and other programs write too.
  if (size_ == 0 || size_ - room_checked_ >= kRoomStep) {
    room_checked_ = size_;
    if (const uint64_t left = room(); left < kSpareRoom + bytes.size()) {
      throw Error(
          ErrorKind::runtime,
          fmt::format("{}: the file system has {} MB left after {} MB of the file; XDG_CACHE_HOME can "
                      "name a folder on another",
                      printable(file_.parent_path().string(), 300), left / 1000000, size_ / 1000000));
    }
  }
  while (!bytes.empty()) {
    const ssize_t written = pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(size_));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail("cannot be written");
    size_ += static_cast<uint64_t>(written);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

// Bytes that the file system has left; the largest number if that cannot be known.
uint64_t PartFile::room() const {
  struct statvfs info = {};
  if (statvfs(part_.c_str(), &info) != 0) return std::numeric_limits<uint64_t>::max();
  return uint64_t{info.f_bavail} * info.f_frsize;
}

void PartFile::need_room(uint64_t bytes) const {
  const uint64_t left = room();
  if (left >= kSpareRoom && left - kSpareRoom >= bytes) return;
  throw Error(
      ErrorKind::runtime,
      fmt::format(
          "{}: {} MB are still to come, and the file system has {} MB left; XDG_CACHE_HOME can name a "
          "folder on another",
          printable(file_.parent_path().string(), 300), bytes / 1000000, left / 1000000));
}

std::string PartFile::sha256(const std::function<bool(uint64_t)>& keep_going) const {
  return hash_descriptor(fd_, part_, keep_going);
}

void PartFile::finish() {
  if (fsync(fd_) != 0) fail("cannot be written");
  if (rename(part_.c_str(), file_.c_str()) != 0) fail("cannot be renamed");
  const Descriptor folder{open(file_.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (folder.fd >= 0) fsync(folder.fd);
  unlink(state_file_.c_str());
}

void PartFile::remove() {
  unlink(part_.c_str());
  unlink(state_file_.c_str());
}

std::string sha256_of_file(const fs::path& file, const std::function<bool(uint64_t)>& keep_going) {
  const Descriptor in{open(file.c_str(), O_RDONLY | O_CLOEXEC)};
  if (in.fd < 0) fail_at(file, "cannot be read", errno);
  return hash_descriptor(in.fd, file, keep_going);
}

}  // namespace bitnet
