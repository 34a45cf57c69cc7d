// Tests that kernels compute what their sources say. In the optimised ones `precise` becomes the decoration
// NoContraction: a pass of spirv-opt that loses it lets another, or a driver, fuse a product and a sum, which
// is rounded once and not twice, so that a token would have other bits than a batch.
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>

#include "tests/shaders/instructions.h"

namespace bitnet::vk {
namespace {

TEST(OptimisedKernels, NoSumIsFused) {
  constexpr uint32_t kDecorate = 71, kAdd = 129, kSubtract = 131, kNoContraction = 42;
  size_t kernels = 0;
  for (const EmbeddedShader& shader : kShaders) {
    const std::string name = shader.name;
    if (!name.starts_with("decode") || !(name.ends_with("_unrolled") || name.ends_with("_halves"))) continue;
    ++kernels;
    const auto all = instructions(shader.spirv);
    std::set<uint32_t> kept;
    for (const auto& [opcode, args] : all)
      if (opcode == kDecorate && args[1] == kNoContraction) kept.insert(args[0]);
    for (const auto& [opcode, args] : all)
      if (opcode == kAdd || opcode == kSubtract) {
        EXPECT_TRUE(kept.contains(args[1])) << name << ": %" << args[1];
      }
  }
  EXPECT_EQ(kernels, 9U);
}

// A driver made wrong sums of it (shaders/common/subgroup.glsl).
TEST(Kernels, NoneAddsUpIntegersOfASubgroupInOneInstruction) {
  constexpr uint32_t kGroupNonUniformIAdd = 349;
  for (const EmbeddedShader& shader : kShaders)
    for (const auto& [opcode, args] : instructions(shader.spirv))
      EXPECT_NE(opcode, kGroupNonUniformIAdd) << shader.name;
}

}  // namespace
}  // namespace bitnet::vk
