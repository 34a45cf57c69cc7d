#include "key.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "app/base/descriptor.h"
#include "app/base/places.h"
#include "engine/error.h"

namespace bitnet {
namespace {

constexpr size_t kLeast = 16;
constexpr size_t kMost = 512;

[[noreturn]] void refuse_key(const std::string& path, const std::string& why) {
  throw Error(ErrorKind::usage, fmt::format("key file {}: {}", printable(path), why));
}

std::string new_key() {
  uint8_t random[32];
  if (getrandom(random, sizeof random, 0) != sizeof random)
    throw Error(ErrorKind::runtime, "the system gives no random numbers for a key");
  std::string key;
  for (const uint8_t byte : random) key += fmt::format("{:02x}", byte);
  return key;
}

std::string make_file(const std::string& path) {
  const std::string key = new_key();
  const Descriptor out{open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600)};
  const std::string line = key + "\n";
  if (out.fd < 0) refuse_key(path, fmt::format("it cannot be made: {}", std::strerror(errno)));
  if (write(out.fd, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    const int reason = errno;
    unlink(path.c_str());
    refuse_key(path, fmt::format("it cannot be written: {}", std::strerror(reason)));
  }
  return key;
}

}  // namespace

std::string usual_key_file() {
  const std::string folder = config_folder();
  if (folder.empty())
    throw Error(ErrorKind::usage,
                "neither XDG_CONFIG_HOME nor HOME names a folder for the key; use --key-file FILE");
  if (const auto problem = make_private_folders(folder))
    throw Error(ErrorKind::usage,
                fmt::format("folder {} cannot be made: {}; use --key-file FILE",
                            printable(problem->folder.string()), std::strerror(problem->reason)));
  return folder + "/serve-key";
}

std::string key_from_file(const std::string& path) {
  const Descriptor in{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (in.fd < 0 && errno == ENOENT) return make_file(path);
  struct stat status {};
  if (in.fd < 0 || fstat(in.fd, &status) != 0) refuse_key(path, std::strerror(errno));
  if (!S_ISREG(status.st_mode)) refuse_key(path, "it is no regular file");
  if (status.st_uid != geteuid()) refuse_key(path, "it belongs to somebody else, who may read it");
  if ((status.st_mode & 077) != 0)
    refuse_key(path, "others may read it; 'chmod 600' it, and give it a new key if they may have");
  char bytes[kMost + 2];
  const ssize_t n = read(in.fd, bytes, sizeof bytes);
  std::string_view key(bytes, static_cast<size_t>(std::max<ssize_t>(n, 0)));
  while (!key.empty() && (key.back() == '\n' || key.back() == '\r')) key.remove_suffix(1);
  const bool plain = std::all_of(key.begin(), key.end(), [](char c) { return c > ' ' && c <= '~'; });
  if (!plain || key.size() < kLeast || key.size() > kMost)
    refuse_key(path, fmt::format("wanted one line of {} to {} characters without spaces", kLeast, kMost));
  return std::string(key);
}

}  // namespace bitnet
