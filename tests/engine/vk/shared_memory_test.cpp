// Tests that what a kernel takes of shared memory is read from what it declares.
#include "engine/vk/shared_memory.h"

#include <gtest/gtest.h>

#include "shaders/params.h"
#include "shaders/shaders.h"

namespace bitnet::vk {
namespace {

SharedMemory memory_of(Shader shader) { return SharedMemory(embedded(shader).spirv); }

TEST(SharedMemory, IsWhatTheKernelDeclares) {
  EXPECT_EQ(memory_of(Shader::argmax).bytes({}), 64 * 16U);  // a partial result of each invocation
  EXPECT_EQ(memory_of(Shader::copy).bytes({}), 0U);
}

TEST(SharedMemory, GrowsWithConstants) {
  const SharedMemory decode = memory_of(Shader::decode_groups_dot_unrolled);
  const auto bytes = [&](uint32_t tile) { return decode.bytes({{CONSTANT_TILE, tile}, {CONSTANT_REST, 1}}); };
  // With each uvec4 of the tile the sum and the largest of the half of a unit, as 32 words in two planes are
  // one.
  EXPECT_EQ(bytes(2048) - bytes(1024), 1024 * 16 + 1024 * 2 * 4 / 8U);
}

TEST(SharedMemory, OfAScanIsThatOfItsTokens) {
  constexpr uint32_t kVector = 4 * (8 + 1) * 16, kValues = 32 * 4,
                     kGates = 2 * 4;  // k and q in four parts with gaps
  EXPECT_EQ(memory_of(Shader::delta_scan_unrolled).bytes({{CONSTANT_DELTA_DIM, 128}, {CONSTANT_TOKENS, 16}}),
            16 * (2 * kVector + kValues + kGates));
}

TEST(SharedMemory, OfEveryKernelCanBeRead) {
  for (const EmbeddedShader& shader : kShaders)
    EXPECT_LT(SharedMemory(shader.spirv).bytes({}), 48U << 10) << shader.name;
}

}  // namespace
}  // namespace bitnet::vk
