// A file descriptor that is closed when it goes out of scope.
//
// Thread rule: belongs to one thread.
#pragma once

#include <unistd.h>

namespace bitnet {

struct Descriptor {
  explicit Descriptor(int opened) : fd(opened) {}
  ~Descriptor() {
    if (fd >= 0) close(fd);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  const int fd;  // negative: nothing is open
};

}  // namespace bitnet
