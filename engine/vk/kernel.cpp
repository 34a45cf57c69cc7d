#include "kernel.h"

#include <fmt/format.h>

#include <cassert>
#include <vector>

namespace bitnet::vk {
namespace {

void check_made(VkResult result, const char* shader) try {
  check(result, shader);
} catch (const Error& error) {
  throw KernelFailed(ErrorKind::device, fmt::format("{}; try --device cpu", error.what()));
}

}  // namespace

Kernel::Kernel(const Device& device, VkPipelineCache cache, Shader shader, const Specialisation& constants)
    : device_(device.handle()), constants_(constants) {
  constants_[CONSTANT_SUBGROUP_SIZE] = device.subgroup_size();
  const Spirv spirv(shader, device.reconverges());
  shape_ = spirv.shape();
  try {
    assert(shape_.n_bindings <= kMostBindings);
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
    module_info.codeSize = spirv.words().size_bytes();
    module_info.pCode = spirv.words().data();
    VkShaderModule module = VK_NULL_HANDLE;
    check_made(vkCreateShaderModule(device_, &module_info, nullptr, &module), spirv.name());

    std::vector<VkSpecializationMapEntry> entries;
    std::vector<uint32_t> values;
    for (const auto& [number, value] : constants_) {
      entries.push_back({number, static_cast<uint32_t>(values.size() * sizeof value), sizeof value});
      values.push_back(value);
    }
    const VkSpecializationInfo specialisation{static_cast<uint32_t>(entries.size()), entries.data(),
                                              values.size() * sizeof(uint32_t), values.data()};
    VkComputePipelineCreateInfo info{VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
    info.stage = {VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO};
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    const Subgroups& subgroups = device.own_subgroups();
    const VkPipelineShaderStageRequiredSubgroupSizeCreateInfo size{
        VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO, nullptr, subgroups.size};
    if (shape_.subgroups && subgroups.required) info.stage.pNext = &size;
    const uint32_t invocations =
        shape_.invocations != 0 ? shape_.invocations : constants_.at(CONSTANT_WORKGROUP_SIZE);
    if (shape_.subgroups && subgroups.full && invocations % subgroups.size == 0)
      info.stage.flags = VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT;
    info.stage.module = module;
    info.stage.pName = "main";
    info.stage.pSpecializationInfo = &specialisation;
    info.layout = layout_;
    const VkResult result = vkCreateComputePipelines(device_, cache, 1, &info, nullptr, &pipeline_);
    vkDestroyShaderModule(device_, module, nullptr);
    check_made(result, spirv.name());
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
