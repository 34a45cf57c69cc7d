// What the tests of a CPU backend share: it is opened once for each set of kernels that can run here.
#pragma once

#include <gtest/gtest.h>

#include "engine/backend.h"
#include "engine/cpu/kernels.h"
#include "engine/kernel_options.h"

namespace bitnet {

// Calls `check` with a backend of 3 threads for each set.
template <typename Check>
void for_each_kernel_set(Check check) {
  for (const cpu::KernelChoice& choice : cpu::kernel_choices()) {
    if (!choice.supported) continue;
    SCOPED_TRACE(choice.kernels->name);
    EngineOptions options;
    options.kernels = share({.cpu_kernels = choice.kernels->name});
    options.threads = 3;
    const auto backend = open_cpu(options);
    check(*backend);
  }
}

}  // namespace bitnet
