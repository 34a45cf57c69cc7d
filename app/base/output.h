// Bytes to a file descriptor, with a closed pipe as a state instead of a death.
//
// Thread rule: belongs to one thread.
#pragma once

#include <string_view>

namespace bitnet {

class Output {
 public:
  explicit Output(int fd);  // -1: goes nowhere

  // Written at once. After the other end was closed, nothing happens any more.
  void write(std::string_view bytes);
  bool closed() const { return closed_; }
  bool is_terminal() const { return is_terminal_; }

 private:
  int fd_;
  bool is_terminal_;
  bool closed_ = false;
};

}  // namespace bitnet
