// Writes bytes to a file descriptor. A closed pipe is a state here, not the death of the process. So is a
// pipe that nobody reads once the program was told to end (is_to_end in event_loop.h).
//
// Thread rule: belongs to one thread.
#pragma once

#include <string_view>

namespace bitnet {

class Output {
 public:
  // What happens where bytes cannot be written: for what a program is run for, and for what it says beside
  // that.
  enum class OnFailure { raise, drop };
  explicit Output(int fd, OnFailure on_failure = OnFailure::raise);  // -1: what is written goes nowhere

  // Writes at once. Does nothing any more after the other end was closed. Throws Error(runtime) unless
  // failures are dropped, with what could not be written.
  void write(std::string_view bytes);
  // Whether up to PIPE_BUF bytes can be written without waiting, or can be so within that time.
  bool takes_more(int wait_milliseconds = 0) const;
  bool closed() const { return closed_; }
  bool is_terminal() const { return is_terminal_; }

 private:
  int fd_;
  OnFailure on_failure_;
  bool is_terminal_;
  bool has_reader_;  // another program, which may stop reading
  bool closed_ = false;
};

}  // namespace bitnet
