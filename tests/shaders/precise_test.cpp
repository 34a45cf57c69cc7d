// Tests that the optimised kernels round as their sources say. `precise` becomes the decoration
// NoContraction. A pass of spirv-opt that loses it lets another, or a driver, fuse a product and a sum, which
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

}  // namespace
}  // namespace bitnet::vk
