// Lets only a few threads at a time do what takes much memory and processor time; others wait for their turn.
//
// Thread rule: any thread.
#pragma once

#include <atomic>
#include <cstddef>

#include "connection.h"

namespace bitnet {

class Turns {
 public:
  Turns(unsigned at_once, size_t most_waiting);
  ~Turns();
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  // Lasts until it is destroyed.
  class Turn {
   public:
    // Waits for a turn. Throws ApiError(503) where too many wait, or where the client went away meanwhile.
    Turn(Turns& turns, Connection& connection);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    Turns& turns_;
  };

 private:
  const int free_fd_;  // a semaphore that one can wait for beside a socket
  const size_t most_waiting_;
  std::atomic<size_t> waiting_ = 0;
};

}  // namespace bitnet
