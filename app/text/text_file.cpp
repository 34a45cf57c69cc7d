#include "text_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "app/base/descriptor.h"
#include "app/base/output_file.h"
#include "app/base/places.h"
#include "engine/error.h"
#include "text_safe.h"

namespace bitnet {
namespace {

[[noreturn]] void refuse(const std::string& name, const std::string& why) {
  throw Error(ErrorKind::usage, fmt::format("{}: {}", printable(name), why));
}

std::string size_text(size_t bytes) {
  return bytes % (1 << 20) == 0 ? fmt::format("{} MiB", bytes >> 20) : fmt::format("{} bytes", bytes);
}

bool is_null_device(const struct stat& about) {
  struct stat null {};
  return S_ISCHR(about.st_mode) && stat("/dev/null", &null) == 0 && about.st_rdev == null.st_rdev;
}

// Whether the path names a descriptor that was passed to us; whoever named it opened it.
bool is_of_the_shell(const std::string& path) {
  return path == "/dev/stdin" || path.starts_with("/dev/fd/") || path.starts_with("/proc/self/fd/");
}

// We do not ask for the size first, because files of /proc have none.
std::string read_descriptor(int fd, const std::string& name, size_t most_bytes) {
  std::string text;
  char bytes[1 << 16];
  while (true) {
    const ssize_t n = read(fd, bytes, sizeof bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) {  // who made the pipe does not wait for it; we do
      pollfd pipe{fd, POLLIN, 0};
      poll(&pipe, 1, -1);
      continue;
    }
    if (n < 0) refuse(name, fmt::format("cannot be read: {}", std::strerror(errno)));
    if (n == 0) return text;
    text.append(bytes, static_cast<size_t>(n));
    if (text.size() > most_bytes)
      refuse(name, fmt::format("is longer than {}, the most that is read here", size_text(most_bytes)));
  }
}

}  // namespace

std::string read_file(const std::string& path, size_t most_bytes, Pipes pipes) {
  const Descriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
  struct stat about {};
  if (file.fd < 0 || fstat(file.fd, &about) != 0)
    refuse(path, fmt::format("cannot be read: {}", std::strerror(errno)));
  if (S_ISDIR(about.st_mode)) refuse(path, "is a folder");
  if (is_null_device(about)) return {};
  const bool pipe = S_ISFIFO(about.st_mode) && pipes == Pipes::of_the_shell && is_of_the_shell(path);
  if (!S_ISREG(about.st_mode) && !pipe) refuse(path, "is no regular file");
  if (pipe) fcntl(file.fd, F_SETFL, 0);  // from here on reading waits for the writer
  return read_descriptor(file.fd, path, most_bytes);
}

std::string read_standard_input(size_t most_bytes) {
  return read_descriptor(STDIN_FILENO, "standard input", most_bytes);
}

std::string read_text_file(const std::string& path, size_t most_bytes) {
  std::string text = read_file(expand_home(path), most_bytes);
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
  if (text.find('\0') != std::string::npos) refuse(path, "is not text: it has a zero byte in it");
  if (text.find("\uFFFD") == std::string::npos && make_safe(text).find("\uFFFD") != std::string::npos) {
    refuse(path, "is no UTF-8 text");
  }
  std::string lines;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') continue;
    lines += text[i];
  }
  lines.erase(lines.find_last_not_of(" \t\n") + 1);
  return lines;
}

void write_text_file(const std::string& path, std::string_view text, const WriteRules& rules) {
  write_file(path, is_terminal(path) ? make_safe(text) : text, rules);
}

}  // namespace bitnet
