#include "own_terminal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pty.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "engine/error.h"

namespace bitnet {

OwnTerminal::OwnTerminal(int columns, int rows) {
  winsize size{};
  size.ws_col = static_cast<unsigned short>(columns);
  size.ws_row = static_cast<unsigned short>(rows);
  int slave = -1;
  if (openpty(&master_, &slave, nullptr, nullptr, &size) != 0) {
    throw Error(ErrorKind::runtime, fmt::format("there is no terminal to draw on, and none can be made: {}",
                                                std::strerror(errno)));
  }
  fcntl(master_, F_SETFD, FD_CLOEXEC);
  former_in_ = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
  former_out_ = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  dup2(slave, STDIN_FILENO);
  dup2(slave, STDOUT_FILENO);
  close(slave);
  const char* term = std::getenv("TERM");
  if (term == nullptr || *term == '\0' || std::string_view(term) == "dumb")
    setenv("TERM", "xterm-256color", 1);
  // This ends when nobody has the other end open any more.
  drain_ = std::thread([master = master_] {
    char bytes[4096];
    while (true) {
      const ssize_t n = read(master, bytes, sizeof bytes);
      if (n <= 0 && errno != EINTR) return;
    }
  });
}

OwnTerminal::~OwnTerminal() {
  dup2(former_in_, STDIN_FILENO);
  dup2(former_out_, STDOUT_FILENO);
  close(former_in_);
  close(former_out_);
  drain_.join();
  close(master_);
}

}  // namespace bitnet
