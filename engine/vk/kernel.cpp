#include "vk/kernel.h"

#include <cstddef>
#include <map>

namespace bitnet::vk {
namespace {

// The opcodes and numbers of the SPIR-V specification that the reading needs.
enum : uint32_t {
  kOpCapability = 17,
  kOpTypeStruct = 30,
  kOpTypePointer = 32,
  kOpVariable = 59,
  kOpDecorate = 71,
  kDecorationBinding = 33,
  kStoragePushConstant = 9,
  kCapabilityCooperativeMatrix = 6022,
};

// Bytes of a push constant type: a struct of structs of 4-byte scalars.
uint32_t bytes_of(uint32_t type, const std::map<uint32_t, std::span<const uint32_t>>& structs) {
  const auto found = structs.find(type);
  if (found == structs.end()) return 4;
  uint32_t bytes = 0;
  for (uint32_t member : found->second) bytes += bytes_of(member, structs);
  return bytes;
}

}  // namespace

KernelShape read_shape(std::span<const uint32_t> spirv) {
  KernelShape shape;
  std::map<uint32_t, std::span<const uint32_t>> structs;
  std::map<uint32_t, uint32_t> pointee;
  constexpr size_t kHeaderWords = 5;
  for (size_t at = kHeaderWords; at < spirv.size();) {
    const uint32_t opcode = spirv[at] & 0xFFFF, words = spirv[at] >> 16;
    const auto args = spirv.subspan(at + 1, words - 1);
    if (opcode == kOpDecorate && args[1] == kDecorationBinding) ++shape.n_bindings;
    if (opcode == kOpCapability && args[0] == kCapabilityCooperativeMatrix) shape.full_subgroups = true;
    if (opcode == kOpTypeStruct) structs[args[0]] = args.subspan(1);
    if (opcode == kOpTypePointer) pointee[args[0]] = args[2];
    if (opcode == kOpVariable && args[2] == kStoragePushConstant)
      shape.push_bytes = bytes_of(pointee.at(args[0]), structs);
    at += words;
  }
  return shape;
}

Kernel::Kernel(const Device& device, VkPipelineCache cache, const char* name, std::span<const uint32_t> spirv,
               const Specialisation& constants)
    : device_(device.handle()), name_(name), constants_(constants), shape_(read_shape(spirv)) {
  constants_.subgroup_size = device.subgroup_size();
  try {
    std::vector<VkDescriptorSetLayoutBinding> bindings(shape_.n_bindings);
    for (uint32_t i = 0; i < shape_.n_bindings; ++i)
      bindings[i] = {i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr};
    VkDescriptorSetLayoutCreateInfo set{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
    set.bindingCount = shape_.n_bindings;
    set.pBindings = bindings.data();
    VK_CHECK(vkCreateDescriptorSetLayout(device_, &set, nullptr, &set_layout_));

    const VkPushConstantRange push{VK_SHADER_STAGE_COMPUTE_BIT, 0, shape_.push_bytes};
    VkPipelineLayoutCreateInfo layout{VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
    layout.setLayoutCount = 1;
    layout.pSetLayouts = &set_layout_;
    layout.pushConstantRangeCount = 1;
    layout.pPushConstantRanges = &push;
    VK_CHECK(vkCreatePipelineLayout(device_, &layout, nullptr, &layout_));

    VkShaderModuleCreateInfo module_info{VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
    module_info.codeSize = spirv.size_bytes();
    module_info.pCode = spirv.data();
    VkShaderModule module = VK_NULL_HANDLE;
    VK_CHECK(vkCreateShaderModule(device_, &module_info, nullptr, &module));

    const VkSpecializationMapEntry entries[] = {
        {0, offsetof(Specialisation, workgroup_size), sizeof(uint32_t)},
        {1, offsetof(Specialisation, table_f32), sizeof(uint32_t)},
        {2, offsetof(Specialisation, heads), sizeof(uint32_t)},
        {3, offsetof(Specialisation, rows), sizeof(uint32_t)},
        {4, offsetof(Specialisation, lanes), sizeof(uint32_t)},
        {5, offsetof(Specialisation, loads), sizeof(uint32_t)},
        {6, offsetof(Specialisation, norm_loads), sizeof(uint32_t)},
        {7, offsetof(Specialisation, features), sizeof(uint32_t)},
        {8, offsetof(Specialisation, slab), sizeof(uint32_t)},
        {9, offsetof(Specialisation, key_slab), sizeof(uint32_t)},
        {10, offsetof(Specialisation, head_dim), sizeof(uint32_t)},
        {11, offsetof(Specialisation, lanes_long), sizeof(uint32_t)},
        {12, offsetof(Specialisation, loads_long), sizeof(uint32_t)},
        {13, offsetof(Specialisation, norm_loads_long), sizeof(uint32_t)},
        {14, offsetof(Specialisation, tile), sizeof(uint32_t)},
        {15, offsetof(Specialisation, subgroup_size), sizeof(uint32_t)},
        {20, offsetof(Specialisation, matrix_m), sizeof(uint32_t)},
        {21, offsetof(Specialisation, matrix_n), sizeof(uint32_t)},
        {22, offsetof(Specialisation, matrix_k), sizeof(uint32_t)},
        {23, offsetof(Specialisation, row_tiles), sizeof(uint32_t)},
        {24, offsetof(Specialisation, token_tiles), sizeof(uint32_t)},
        {25, offsetof(Specialisation, subgroup_rows), sizeof(uint32_t)},
        {26, offsetof(Specialisation, subgroup_tokens), sizeof(uint32_t)},
    };
    const VkSpecializationInfo specialisation{std::size(entries), entries, sizeof constants, &constants};
    VkComputePipelineCreateInfo info{VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
    info.stage = {VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO};
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    if (shape_.full_subgroups) info.stage.flags = VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT;
    info.stage.module = module;
    info.stage.pName = "main";
    info.stage.pSpecializationInfo = &specialisation;
    info.layout = layout_;
    const VkResult result = vkCreateComputePipelines(device_, cache, 1, &info, nullptr, &pipeline_);
    vkDestroyShaderModule(device_, module, nullptr);
    check(result, name_);
  } catch (...) {
    release();
    throw;
  }
}

Kernel::~Kernel() { release(); }

void Kernel::release() {
  vkDestroyPipeline(device_, pipeline_, nullptr);
  vkDestroyPipelineLayout(device_, layout_, nullptr);
  vkDestroyDescriptorSetLayout(device_, set_layout_, nullptr);
}

}  // namespace bitnet::vk
