// Writes bytes to a file descriptor. A closed pipe is a state here, not the death of the process.
//
// Thread rule: belongs to one thread.
#pragma once

#include <string_view>

namespace bitnet {

class Output {
 public:
  explicit Output(int fd);  // -1: what is written goes nowhere

  // Writes at once. Does nothing any more after the other end was closed. Throws Error(runtime).
  void write(std::string_view bytes);
  bool closed() const { return closed_; }
  bool is_terminal() const { return is_terminal_; }

 private:
  int fd_;
  bool is_terminal_;
  bool closed_ = false;
};

}  // namespace bitnet
