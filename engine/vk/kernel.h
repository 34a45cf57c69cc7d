// A kernel: SPIR-V made into a pipeline. Its bindings (storage buffers 0..n-1 of set 0) and the size of its
// push constants are read from the SPIR-V, so that a dispatch that does not fit is refused at once.
//
// Thread rule: immutable once constructed.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "vk/device.h"

namespace bitnet::vk {

struct KernelShape {
  uint32_t n_bindings = 0;
  uint32_t push_bytes = 0;
  bool full_subgroups = false;  // multiplies cooperative matrices, so that every lane must be there
};

// Of a compute shader of this project: storage buffers in set 0, push constants of 4-byte scalars.
KernelShape read_shape(std::span<const uint32_t> spirv);

// The specialisation constants of the shaders, in the order of their numbers; a shader ignores what it does
// not use.
struct Specialisation {
  uint32_t workgroup_size = 64;  // 0: invocations
  uint32_t table_f32 = 0;        // 1: the table's rows are F32, not F16
  uint32_t heads = 1;            // 2: heads that one workgroup of attention takes
  uint32_t rows = 1;             // 3: rows of a matrix that one subgroup takes at a time
  uint32_t lanes = 8;            // 4: lanes that share a row in decode
  uint32_t loads = 1;            // 5: uvec4 of a row that each of them takes
  uint32_t norm_loads = 1;       // 6: vec4 of its vector that an invocation norms
  uint32_t features = 1;         // 7: head_dim / 64 in attention, rounded up
  uint32_t slab = 1;             // 8: features of a step of attention's scores
  uint32_t key_slab = 1;         // 9: keys of a step of attention's values
  uint32_t head_dim = 128;       // 10
  uint32_t lanes_long = 8;       // 11, 12, 13: as 4, 5, 6, for the longest rows
  uint32_t loads_long = 1;
  uint32_t norm_loads_long = 1;
  uint32_t tile = 1;            // 14: uvec4 of decode's shared memory
  uint32_t subgroup_size = 32;  // 15: of subgroups in shared memory (common/subgroup.glsl)
  uint32_t matrix_m = 16;  // 20: of a multiplication of cooperative matrices; 21, 22
  uint32_t matrix_n = 16;
  uint32_t matrix_k = 32;
  uint32_t row_tiles = 2;  // 23: such matrices that a subgroup has side by side; 24
  uint32_t token_tiles = 2;
  uint32_t subgroup_rows = 2;  // 25: subgroups of a workgroup, side by side; 26
  uint32_t subgroup_tokens = 2;

  auto operator<=>(const Specialisation&) const = default;
};

class Kernel {
 public:
  Kernel(const Device& device, VkPipelineCache cache, const char* name, std::span<const uint32_t> spirv,
         const Specialisation& constants);
  ~Kernel();
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  const char* name() const { return name_; }
  const Specialisation& constants() const { return constants_; }
  const KernelShape& shape() const { return shape_; }
  VkPipeline pipeline() const { return pipeline_; }
  VkPipelineLayout layout() const { return layout_; }
  VkDescriptorSetLayout set_layout() const { return set_layout_; }

 private:
  void release();

  VkDevice device_;
  const char* name_;
  Specialisation constants_;
  KernelShape shape_;
  VkDescriptorSetLayout set_layout_ = VK_NULL_HANDLE;
  VkPipelineLayout layout_ = VK_NULL_HANDLE;
  VkPipeline pipeline_ = VK_NULL_HANDLE;
};

}  // namespace bitnet::vk
