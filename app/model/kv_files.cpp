#include "kv_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <ctime>
#include <filesystem>
#include <string_view>

#include "app/base/descriptor.h"
#include "engine/hash_text.h"

namespace bitnet {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kEnding = ".kv";
constexpr std::string_view kUnfinished = ".part";
constexpr char kCleared[] = ".cleared";
constexpr int64_t kUnfinishedFor = 3600;  // seconds; a program left older ones behind when it died

std::string hash_of(std::span<const int32_t> tokens) {
  return text_of_hash(XXH3_128bits(tokens.data(), tokens.size_bytes()));
}

bool write_all(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
  return true;
}

int64_t nanoseconds(const struct timespec& time) {
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

void make_parent(const std::string& folder) {
  std::error_code error;
  fs::create_directories(fs::path(folder).parent_path(), error);
}

bool make_folder(const std::string& folder) {
  make_parent(folder);
  return mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST;
}

}  // namespace

KvFiles::KvFiles(std::string folder, uint64_t most_bytes)
    : folder_(std::move(folder)), most_bytes_(most_bytes) {}

std::vector<KvFiles::Entry> KvFiles::entries() const {
  std::vector<Entry> found;
  std::error_code error;
  for (fs::directory_iterator at(folder_, error), end; !error && at != end; at.increment(error)) {
    Entry entry;
    entry.name = at->path().filename().string();
    struct stat status {};
    if (lstat(at->path().c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    entry.bytes = static_cast<uint64_t>(status.st_size);
    entry.used = nanoseconds(status.st_mtim);
    const std::string_view name = entry.name;
    if (name.ends_with(kUnfinished) && status.st_mtim.tv_sec < std::time(nullptr) - kUnfinishedFor) {
      unlink(at->path().c_str());
    }
    if (!name.ends_with(kEnding)) continue;
    const size_t first = name.find('-');
    const size_t second = name.find('-', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view count = name.substr(first + 1, second - first - 1);
    const auto [stop, problem] = std::from_chars(count.data(), count.data() + count.size(), entry.tokens);
    if (problem != std::errc() || stop != count.data() + count.size()) continue;
    entry.model = name.substr(0, first);
    entry.hash = name.substr(second + 1, name.size() - second - 1 - kEnding.size());
    found.push_back(std::move(entry));
  }
  return found;
}

std::optional<KvFiles::File> KvFiles::find(const std::string& model, std::span<const int32_t> tokens,
                                           size_t more_than) const {
  if (most_bytes() == 0) return std::nullopt;
  std::vector<Entry> all = entries();
  std::sort(all.begin(), all.end(), [](const Entry& a, const Entry& b) { return a.tokens > b.tokens; });
  for (const Entry& entry : all) {
    if (entry.tokens <= more_than) break;
    if (entry.model != model || entry.tokens > tokens.size()) continue;
    if (entry.hash == hash_of(tokens.first(entry.tokens)))
      return File{folder_ + "/" + entry.name, entry.tokens};
  }
  return std::nullopt;
}

std::vector<std::byte> KvFiles::read(const File& file) const {
  const Descriptor in{open(file.path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)};
  struct stat status {};
  if (in.fd < 0 || fstat(in.fd, &status) != 0) return {};
  if (static_cast<uint64_t>(status.st_size) > most_bytes_) return {};
  std::vector<std::byte> bytes(static_cast<size_t>(status.st_size));
  size_t at = 0;
  while (at < bytes.size()) {
    const ssize_t n = ::read(in.fd, bytes.data() + at, bytes.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return {};
    at += static_cast<size_t>(n);
  }
  futimens(in.fd, nullptr);
  return bytes;
}

void KvFiles::remove(const File& file) const { unlink(file.path.c_str()); }

std::optional<KvFiles::File> KvFiles::write(const std::string& model, std::span<const int32_t> tokens,
                                            std::span<const std::byte> payload) const {
  if (payload.size() > most_bytes() || !make_folder(folder_)) return std::nullopt;
  const std::string path =
      fmt::format("{}/{}-{}-{}{}", folder_, model, tokens.size(), hash_of(tokens), kEnding);
  const std::string unfinished = fmt::format("{}.{}{}", path, getpid(), kUnfinished);
  {
    unlink(unfinished.c_str());
    const Descriptor out{
        open(unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600)};
    // It is not synced: what a power cut leaves of it does not pass the checksum.
    if (out.fd < 0) return std::nullopt;
    if (!write_all(out.fd, payload) || rename(unfinished.c_str(), path.c_str()) != 0) {
      unlink(unfinished.c_str());
      return std::nullopt;
    }
  }
  for (const Entry& entry : entries()) {
    const bool beginning = entry.model == model && entry.tokens < tokens.size() &&
                           entry.hash == hash_of(tokens.first(entry.tokens));
    if (beginning) unlink((folder_ + "/" + entry.name).c_str());
  }
  make_room();
  return File{path, tokens.size()};
}

void KvFiles::make_room() const {
  std::vector<Entry> all = entries();
  std::sort(all.begin(), all.end(), [](const Entry& a, const Entry& b) { return a.used > b.used; });
  uint64_t sum = 0;
  for (const Entry& entry : all) {
    sum += entry.bytes;
    if (sum > most_bytes_) unlink((folder_ + "/" + entry.name).c_str());
  }
}

void KvFiles::clear() const {
  if (folder_.empty()) return;
  note_clear();  // first, so that who looks at it behind what he wrote knows whether this may have missed it
  std::error_code error;
  for (fs::directory_iterator at(folder_, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path();  // who still writes one finds that it has no name, and gives it up
    if (name.ends_with(kEnding) || name.ends_with(kUnfinished)) unlink(name.c_str());
  }
}

void KvFiles::note_clear() const {
  make_parent(folder_);
  const Descriptor mark{
      open((folder_ + kCleared).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600)};
  struct timespec now {};
  clock_gettime(CLOCK_REALTIME, &now);  // the file system's own clock may tick 250 times a second
  const struct timespec times[] = {now, now};
  if (mark.fd >= 0) futimens(mark.fd, times);
}

int64_t KvFiles::last_clear() const {
  struct stat status {};
  if (folder_.empty() || lstat((folder_ + kCleared).c_str(), &status) != 0) return 0;
  return nanoseconds(status.st_mtim);
}

}  // namespace bitnet
