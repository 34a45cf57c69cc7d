#include "output.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "engine/error.h"

namespace bitnet {

Output::Output(int fd) : fd_(fd), is_terminal_(isatty(fd) == 1) {}

void Output::write(std::string_view bytes) {
  if (fd_ < 0) return;
  while (!closed_ && !bytes.empty()) {
    const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
    if (n >= 0) {
      bytes.remove_prefix(static_cast<size_t>(n));
    } else if (errno == EPIPE) {
      closed_ = true;
    } else if (errno == EAGAIN) {
      // Another user of the terminal, which is shared, made the descriptor non-blocking.
      pollfd wait = {fd_, POLLOUT, 0};
      poll(&wait, 1, -1);
    } else if (errno != EINTR) {
      throw Error(ErrorKind::runtime, fmt::format("output cannot be written: {}", std::strerror(errno)));
    }
  }
}

}  // namespace bitnet
