// A stack of its own for the signal handlers of one thread, so that they also run where the thread's stack is
// what ran out. The handlers must be installed with SA_ONSTACK (screen.cpp).
//
// Thread rule: belongs to the thread that makes it, and goes before that thread does.
#pragma once

#include <csignal>
#include <vector>

namespace bitnet {

class SignalStack {
 public:
  // Does nothing where the thread has one already, as under AddressSanitizer, or where there is no memory.
  SignalStack();
  ~SignalStack();
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

 private:
  std::vector<char> memory_;
};

}  // namespace bitnet
