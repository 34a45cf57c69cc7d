// A kernel: SPIR-V made into a pipeline. Its bindings (storage buffers 0..n-1 of set 0) and the size of its
// push constants are read from the SPIR-V, so that an assertion finds a dispatch that does not fit.
//
// Thread rule: immutable once constructed.
#pragma once

#include <cstdint>
#include <map>

#include "device.h"
#include "engine/error.h"
#include "shaders/params.h"
#include "spirv.h"

namespace bitnet::vk {

// The values of a shader's specialisation constants by their numbers (CONSTANT_... in shaders/params.h). A
// shader ignores numbers that it does not declare.
using Specialisation = std::map<uint32_t, uint32_t>;

// The driver could not make a kernel.
class KernelFailed : public Error {
 public:
  using Error::Error;
};

class Kernel {
 public:
  // Throws KernelFailed, of kind device, that names the shader.
  Kernel(const Device& device, VkPipelineCache cache, Shader shader, const Specialisation& constants);
  ~Kernel();
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  // Requires: the kernel was made with this constant.
  uint32_t constant(uint32_t number) const { return constants_.at(number); }
  const KernelShape& shape() const { return shape_; }
  VkPipeline pipeline() const { return pipeline_; }
  VkPipelineLayout layout() const { return layout_; }
  VkDescriptorSetLayout set_layout() const { return set_layout_; }

 private:
  void release();

  VkDevice device_;
  Specialisation constants_;
  KernelShape shape_;
  VkDescriptorSetLayout set_layout_ = VK_NULL_HANDLE;
  VkPipelineLayout layout_ = VK_NULL_HANDLE;
  VkPipeline pipeline_ = VK_NULL_HANDLE;
};

}  // namespace bitnet::vk
