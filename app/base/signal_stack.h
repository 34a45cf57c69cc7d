// A stack for the signal handlers of one thread, so that they can run even if the thread's own stack has run
// out. The handlers must be installed with SA_ONSTACK (app/screen/terminal.cpp).
//
// Thread rule: belongs to the thread that makes it, and must end before that thread does.
#pragma once

#include <csignal>
#include <vector>

namespace bitnet {

class SignalStack {
 public:
  // Does nothing if the thread has such a stack already, as under AddressSanitizer.
  SignalStack();
  ~SignalStack();
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

 private:
  std::vector<char> memory_;
};

}  // namespace bitnet
