// Tests what is read from the SPIR-V of kernels, and what is written into it for devices whose lanes
// reconverge.
#include "engine/vk/spirv.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "tests/shaders/instructions.h"

namespace bitnet::vk {
namespace {

std::string text_of(std::span<const uint32_t> words) {
  std::string text(words.size_bytes(), '\0');
  std::memcpy(text.data(), words.data(), words.size_bytes());
  return text.c_str();
}

std::span<const uint32_t> spirv_of(std::string_view name) {
  return std::ranges::find(kShaders, name, &EmbeddedShader::name)->spirv;
}

// The layout of a module: capabilities, extensions, imports, memory model, entry points, execution modes, all
// else.
TEST(Reconverging, AddsTheExtensionAndTheModeInTheirPlacesAndNothingElse) {
  constexpr uint32_t kExtension = 10, kEntryPoint = 15, kExecutionMode = 16, kCapability = 17;
  for (const EmbeddedShader& shader : kShaders) {
    SCOPED_TRACE(shader.name);
    const std::vector<uint32_t> module = reconverging(shader.spirv);
    ASSERT_TRUE(read_shape(module));
    std::vector<uint32_t> others(module.begin(), module.begin() + kSpirvHeaderWords);
    uint32_t main = 0, extensions = 0, modes = 0, last = 0;
    for (const auto& [opcode, args] : instructions(module)) {
      if (opcode == kEntryPoint) main = args[1];
      if (opcode == kExtension && text_of(args) == "SPV_KHR_subgroup_uniform_control_flow") {
        ++extensions;
        EXPECT_EQ(last, kCapability);
      } else if (opcode == kExecutionMode && args[1] == 4421) {
        ++modes;
        EXPECT_EQ(args[0], main);
        EXPECT_EQ(last, kEntryPoint);
      } else {
        others.push_back(static_cast<uint32_t>(args.size() + 1) << 16 | opcode);
        others.insert(others.end(), args.begin(), args.end());
      }
      last = opcode;
    }
    EXPECT_EQ(extensions, 1U);
    EXPECT_EQ(modes, 1U);
    EXPECT_TRUE(std::ranges::equal(others, shader.spirv));
  }
}

TEST(Shape, SaysWhichKernelsUseSubgroupsAndHowManyInvocationsTheyHave) {
  EXPECT_TRUE(read_shape(spirv_of("head"))->subgroups);
  EXPECT_FALSE(read_shape(spirv_of("head_shared"))->subgroups);
  EXPECT_TRUE(read_shape(spirv_of("ternary_matmul_matrix"))->subgroups);
  EXPECT_EQ(read_shape(spirv_of("head"))->invocations, 64U);
  EXPECT_EQ(read_shape(spirv_of("delta_scan"))->invocations, 128U);
  EXPECT_EQ(read_shape(spirv_of("norm"))->invocations, 0U);            // by CONSTANT_WORKGROUP_SIZE
  EXPECT_EQ(read_shape(spirv_of("rope_store_kv"))->invocations, 64U);  // another size is a constant there
}

}  // namespace
}  // namespace bitnet::vk
