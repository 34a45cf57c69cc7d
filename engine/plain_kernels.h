// The CPU's kernels in plain C++, which no instruction set has a part in: a reference for all others.
//
// Thread rule: a free function; any thread.
#pragma once

#include <memory>

namespace bitnet {

struct KernelOptions;
std::shared_ptr<const KernelOptions> plain_kernels();  // for EngineOptions::kernels

}  // namespace bitnet
