// How many lanes the subgroups of kernels have.
//
// Lanes share rows, and loops go on by gl_SubgroupSize, so all lanes have to be there. Where a driver may
// choose how many it gives a kernel, they need not be: gl_SubgroupSize is subgroupSize of the device all the
// same, and those beyond what was chosen are missing. Mesa's driver for Intel says 32 and makes kernels of 8
// (https://github.com/google/uVkCompute/issues/43); MoltenVK says 64 for some GPUs of AMD and has 32
// (https://github.com/KhronosGroup/MoltenVK/issues/1553). So a kernel asks for its size and for full
// subgroups (VkPipelineShaderStageRequiredSubgroupSizeCreateInfo) where a driver may choose, and for these
// alone where not.
//
// Thread rule: values.
#pragma once

#include <cstdint>

namespace bitnet::vk {

// What a device says of its subgroups.
struct SubgroupSupport {
  uint32_t size = 0;    // lanes, where a kernel asks for nothing
  uint32_t fewest = 0;  // lanes that a driver may give a kernel
  uint32_t most = 0;
  bool operations = false;   // kernels may add up and shuffle
  bool can_require = false;  // a kernel may ask for a size
  bool can_be_full = false;  // and for lanes that are all there
};

struct Subgroups {
  uint32_t size = 0;      // lanes
  bool usable = false;    // adds up and shuffles, with all lanes; if not, kernels use shared memory for it
  bool required = false;  // kernels ask for this size
  bool full = false;      // and that no lane is missing
};

Subgroups choose_subgroups(const SubgroupSupport& s);

}  // namespace bitnet::vk
