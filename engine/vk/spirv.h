// The SPIR-V of a kernel, and what can be read from it. It is embedded in the program
// (shaders/kernels.cmake); for experiments the environment variable BITNET_CHAT_SHADERS names a folder whose
// NAME.spv takes the place of the embedded kernel of that name.
//
// Thread rule: values; the environment is read when a Spirv is made.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "shaders/shaders.h"

namespace bitnet::vk {

constexpr uint32_t kMostBindings = 12;  // of a kernel
constexpr size_t kSpirvHeaderWords = 5;

struct KernelShape {
  uint32_t n_bindings = 0;
  uint32_t push_bytes = 0;
  bool subgroups = false;    // counts by subgroups of the device, or multiplies matrices with them
  uint32_t invocations = 0;  // of a workgroup along x; 0: as many as CONSTANT_WORKGROUP_SIZE says
};

// The shape of a compute shader of this project, which has storage buffers in set 0 and push constants of
// 4-byte scalars; nullopt where the words are no SPIR-V.
std::optional<KernelShape> read_shape(std::span<const uint32_t> spirv);

// The same module with the execution mode SubgroupUniformControlFlowKHR
// (SPV_KHR_subgroup_uniform_control_flow): lanes of a subgroup that come to a branch or a loop together go on
// together behind it. Without it a driver may leave them apart there, and then what they add up or exchange
// is that of a part of them. Requires: read_shape() reads it.
std::vector<uint32_t> reconverging(std::span<const uint32_t> spirv);

// The folder of BITNET_CHAT_SHADERS, or an empty string where that is not set. Throws Error(runtime) where
// there is no such folder.
std::string shader_folder();

class Spirv {
 public:
  // As it is or, with `reconverges`, as reconverging() has it. Throws Error(runtime) that names the file
  // where one in the folder cannot be read, is no SPIR-V, or has other bindings or push constants than the
  // embedded kernel.
  Spirv(Shader shader, bool reconverges);

  const char* name() const { return name_; }
  std::span<const uint32_t> words() const { return own_.empty() ? embedded_ : own_; }
  const KernelShape& shape() const { return shape_; }

 private:
  void read_file(const std::string& folder);

  const char* name_;
  std::span<const uint32_t> embedded_;
  std::vector<uint32_t> own_;  // empty: the embedded one
  KernelShape shape_;
};

}  // namespace bitnet::vk
