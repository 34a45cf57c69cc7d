// Whether the driver of a GPU computes a model right.
//
// A driver can compile a kernel wrongly, for one model of many, and say nothing (bench/SPEED.md, "Integers
// that a driver adds up wrongly"). Tokens one by one and together are computed by other kernels, which give
// the same bits. So where their logits are far apart, some of them are wrong.
//
// Thread rule: as the engine.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "engine/engine.h"

namespace bitnet {

// What to tell the user of a device that computes a model wrongly, or an empty text. The first time that a
// model meets a driver and a version of this program, ten tokens are computed in both ways by a session of
// their own; `cache_folder` keeps that they agreed. Nothing is computed on a CPU, in front of Vulkan or not,
// without the folder, where weights lie in host memory or in the file, since each of these tokens would read
// them again, or where there is no memory for it.
std::string driver_warning(const Engine& engine,
                           const std::function<std::unique_ptr<Session>(uint32_t n_ctx)>& create_session,
                           const std::string& cache_folder);

}  // namespace bitnet
