#include "piped_input.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "app/text/text_file.h"
#include "engine/error.h"

namespace bitnet {
namespace {

constexpr int kPatienceMilliseconds = 3000;

}  // namespace

std::string piped_text(const std::function<void()>& waiting) {
  struct stat about {};
  if (fstat(STDIN_FILENO, &about) != 0) return {};
  if (!S_ISFIFO(about.st_mode) && !S_ISSOCK(about.st_mode) && !S_ISREG(about.st_mode)) return {};
  pollfd input = {STDIN_FILENO, POLLIN, 0};
  if (poll(&input, 1, kPatienceMilliseconds) == 0) waiting();
  std::string text;
  char buffer[1 << 16];
  while (true) {
    const ssize_t n = read(STDIN_FILENO, buffer, sizeof buffer);
    if (n > 0) {
      text.append(buffer, static_cast<size_t>(n));
    } else if (n < 0 && errno == EAGAIN) {
      poll(&input, 1, -1);  // another user of the pipe made it non-blocking
    } else if (n == 0 || errno != EINTR) {
      break;  // a descriptor that cannot be read, such as one open for writing only, holds nothing
    }
    if (text.size() > kMostNamedBytes) {
      throw Error(ErrorKind::usage,
                  fmt::format("standard input: is longer than {} MiB, more than any model reads",
                              kMostNamedBytes >> 20));
    }
  }
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  return text;
}

}  // namespace bitnet
