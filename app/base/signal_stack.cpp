#include "signal_stack.h"

namespace bitnet {
namespace {

constexpr size_t kBytes = 64 << 10;  // more than SIGSTKSZ, which the registers of newer CPUs outgrow

}  // namespace

SignalStack::SignalStack() {
  stack_t stack = {};
  if (sigaltstack(nullptr, &stack) != 0 || (stack.ss_flags & SS_DISABLE) == 0) return;
  memory_.resize(kBytes);
  stack = {};
  stack.ss_sp = memory_.data();
  stack.ss_size = memory_.size();
  if (sigaltstack(&stack, nullptr) != 0) memory_.clear();
}

SignalStack::~SignalStack() {
  if (memory_.empty()) return;
  stack_t none = {};
  none.ss_flags = SS_DISABLE;
  sigaltstack(&none, nullptr);
}

}  // namespace bitnet
