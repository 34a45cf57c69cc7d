#include "text_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "engine/error.h"
#include "text_safe.h"

namespace bitnet {
namespace {

struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) close(fd);
  }
};

std::string expand_home(const std::string& path) {
  const char* home = std::getenv("HOME");
  return path.starts_with("~/") && home != nullptr ? home + path.substr(1) : path;
}

}  // namespace

std::string read_text_file(const std::string& path, size_t most_bytes) {
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorKind::usage, fmt::format("{}: {}", printable(path), why));
  };
  const Descriptor file{open(expand_home(path).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
  struct stat about {};
  if (file.fd < 0 || fstat(file.fd, &about) != 0) refuse(std::strerror(errno));
  if (S_ISDIR(about.st_mode)) refuse("is a folder");
  if (!S_ISREG(about.st_mode)) refuse("is no regular file");
  std::string text;
  char bytes[1 << 16];
  // The size is not asked for beforehand: files of /proc have none.
  while (true) {
    const ssize_t n = read(file.fd, bytes, sizeof bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) refuse(std::strerror(errno));
    if (n == 0) break;
    text.append(bytes, static_cast<size_t>(n));
    if (text.size() > most_bytes) refuse(fmt::format("is longer than {} bytes", most_bytes));
  }
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
  if (text.find('\0') != std::string::npos) refuse("is no text: there is a zero byte in it");
  if (text.find("\uFFFD") == std::string::npos && make_safe(text).find("\uFFFD") != std::string::npos) {
    refuse("is no UTF-8 text");
  }
  std::string lines;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') continue;
    lines += text[i];
  }
  lines.erase(lines.find_last_not_of(" \t\n") + 1);
  return lines;
}

}  // namespace bitnet
