#include "turns.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <stdexcept>

#include "api_error.h"

namespace bitnet {
namespace {

bool take_one(int semaphore) {
  uint64_t one = 0;
  return read(semaphore, &one, sizeof one) == sizeof one;
}

}  // namespace

Turns::Turns(unsigned at_once, size_t most_waiting)
    : free_fd_(eventfd(at_once, EFD_SEMAPHORE | EFD_NONBLOCK | EFD_CLOEXEC)), most_waiting_(most_waiting) {
  if (free_fd_ < 0) throw std::runtime_error("eventfd failed: no file descriptors left");
}

Turns::~Turns() { close(free_fd_); }

Turns::Turn::Turn(Turns& turns, Connection& connection) : turns_(turns) {
  if (take_one(turns_.free_fd_)) return;
  struct Waiting {
    explicit Waiting(std::atomic<size_t>& all) : count(all), before(count++) {}
    ~Waiting() { --count; }
    std::atomic<size_t>& count;
    const size_t before;
  };
  const Waiting waiting(turns_.waiting_);
  if (waiting.before >= turns_.most_waiting_)
    throw ApiError(503, "too many requests wait; try again", "", "overloaded");
  do {
    if (!connection.wait_for(turns_.free_fd_)) throw ApiError(503, "the client went away");
  } while (!take_one(turns_.free_fd_));
}

Turns::Turn::~Turn() { eventfd_write(turns_.free_fd_, 1); }

}  // namespace bitnet
