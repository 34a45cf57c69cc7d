#include "output.h"

#include <fmt/format.h>
#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "engine/error.h"
#include "event_loop.h"

namespace bitnet {
namespace {

constexpr int kLookAgain = 250;  // milliseconds, for a reader to take something

bool is_read_by_a_program(int fd) {
  struct stat about {};
  return fstat(fd, &about) == 0 && (S_ISFIFO(about.st_mode) || S_ISSOCK(about.st_mode));
}

}  // namespace

Output::Output(int fd, OnFailure on_failure)
    : fd_(fd),
      on_failure_(on_failure),
      is_terminal_(isatty(fd) == 1),
      has_reader_(is_read_by_a_program(fd)) {}

bool Output::takes_more(int wait_milliseconds) const {
  pollfd output = {fd_, POLLOUT, 0};
  return fd_ < 0 || poll(&output, 1, wait_milliseconds) > 0;
}

void Output::write(std::string_view bytes) {
  if (fd_ < 0) return;
  while (!closed_ && !bytes.empty()) {
    // A reader that has stopped does not keep a program from ending. The signal cuts the wait short in which
    // it comes, so a whole one follows it.
    const bool ends = has_reader_ && is_to_end();
    if (has_reader_ && !takes_more(kLookAgain)) {
      closed_ = ends;
      continue;
    }
    // Where a pipe takes more, it takes so much without waiting.
    const size_t at_once = has_reader_ ? std::min<size_t>(bytes.size(), PIPE_BUF) : bytes.size();
    const ssize_t n = ::write(fd_, bytes.data(), at_once);
    if (n >= 0) {
      bytes.remove_prefix(static_cast<size_t>(n));
    } else if (errno == EPIPE) {
      closed_ = true;
    } else if (errno == EAGAIN) {
      // Another user of the terminal, which is shared, made the descriptor non-blocking.
      pollfd wait = {fd_, POLLOUT, 0};
      poll(&wait, 1, -1);
    } else if (errno != EINTR && on_failure_ == OnFailure::drop) {
      return;
    } else if (errno != EINTR) {
      throw Error(ErrorKind::runtime, fmt::format("output cannot be written: {}", std::strerror(errno)));
    }
  }
}

}  // namespace bitnet
