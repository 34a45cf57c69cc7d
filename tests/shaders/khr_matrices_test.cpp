// Tests word by word what khr_matrices made of the kernels that multiply cooperative matrices, because no
// validator of Debian 12 knows the extension and no device there has it. The numbers are those of
// SPV_KHR_cooperative_matrix.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "tests/shaders/instructions.h"

namespace bitnet::vk {
namespace {

struct MatrixCase {
  Shader shader;
  int loads, products, stores = 1;  // how many instructions of each
  bool halves = false;  // multiplies F16, which have no signs to tell; its matrices lie as rows, too
};
class MatrixShader : public testing::TestWithParam<MatrixCase> {
 protected:
  const std::span<const uint32_t> spirv_ = embedded(GetParam().shader).spirv;
};

INSTANTIATE_TEST_SUITE_P(Kernels, MatrixShader,
                         testing::Values(MatrixCase{Shader::ternary_matmul_matrix, 2, 1},
                                         MatrixCase{Shader::ternary_matmul_add_matrix, 2, 1},
                                         MatrixCase{Shader::ternary_matmul_gate_up_matrix, 2, 1},
                                         MatrixCase{Shader::ternary_matmul_groups_matrix, 4, 2},
                                         MatrixCase{Shader::ternary_matmul_groups_large, 4, 2},
                                         MatrixCase{Shader::blocks_matmul_matrix, 6, 1},
                                         MatrixCase{Shader::attention_matrix, 8, 4, 4, true},
                                         MatrixCase{Shader::decode_halves, 4, 2, 2, true},
                                         MatrixCase{Shader::decode_groups_halves, 4, 2, 2, true}),
                         [](const auto& info) { return std::string(embedded(info.param.shader).name); });

TEST_P(MatrixShader, SpeaksKhrAlone) {
  std::set<uint32_t> capabilities;
  std::set<std::string> extensions;
  for (const auto& [opcode, args] : instructions(spirv_)) {
    if (opcode == 17) capabilities.insert(args[0]);
    if (opcode == 10) extensions.insert(reinterpret_cast<const char*>(args.data()));
    const uint32_t does = opcode == 52 ? args[2] : opcode;  // what OpSpecConstantOp calculates with
    EXPECT_TRUE(does < 5358 || does > 5362) << "an instruction of the NV extension";
  }
  EXPECT_EQ(capabilities.count(6022), 1U) << "CooperativeMatrixKHR";
  EXPECT_EQ(capabilities.count(5345), 1U) << "VulkanMemoryModel, which it requires";
  EXPECT_EQ(capabilities.count(5357), 0U) << "CooperativeMatrixNV";
  EXPECT_EQ(extensions.count("SPV_KHR_cooperative_matrix"), 1U);
  EXPECT_EQ(extensions.count("SPV_NV_cooperative_matrix"), 0U);
}

TEST_P(MatrixShader, InstructionsHaveTheirOperands) {
  std::map<uint32_t, uint32_t> number, use, type_of;  // constants; uses of types; types of results
  std::set<uint32_t> uses;
  int loads = 0, stores = 0, products = 0;
  for (const auto& [opcode, args] : instructions(spirv_)) {
    if (opcode == 43) number[args[1]] = args[2];
    if (opcode == 4456) {  // OpTypeCooperativeMatrixKHR: result, component, scope, rows, columns, use
      ASSERT_EQ(args.size(), 6U);
      EXPECT_EQ(number.at(args[2]), 3U) << "subgroup";
      use[args[0]] = number.at(args[5]);
      EXPECT_TRUE(uses.insert(use[args[0]]).second) << "one type a use";
    }
    if (args.size() > 1 && use.count(args[0]) != 0 && opcode != 4456) type_of[args[1]] = args[0];
    if (opcode == 4457) {  // Load: type, result, pointer, layout, stride, memory operands, scope
      ++loads;
      ASSERT_EQ(args.size(), 7U);
      EXPECT_LE(number.at(args[3]), 1U);
      if (use.at(args[0]) != 2 &&
          !GetParam().halves) {  // sums are also loaded from rows or columns that are all the same
        EXPECT_EQ(number.at(args[3]), use.at(args[0])) << "rows of weights, columns of tokens";
      }
      EXPECT_EQ(args[5], 0x30U) << "MakePointerVisible, NonPrivatePointer";
      EXPECT_EQ(number.at(args[6]), 2U) << "workgroup";
    }
    if (opcode == 4458) {  // Store: pointer, object, layout, stride, memory operands, scope
      ++stores;
      ASSERT_EQ(args.size(), 6U);
      EXPECT_EQ(number.at(args[2]), GetParam().halves ? 0U : 1U);
      EXPECT_EQ(args[4], 0x28U) << "MakePointerAvailable, NonPrivatePointer";
    }
    if (opcode == 4459) {  // MulAdd: type, result, A, B, C, signed operands
      ++products;
      ASSERT_EQ(args.size(), 6U);
      EXPECT_EQ(use.at(type_of.at(args[2])), 0U);
      EXPECT_EQ(use.at(type_of.at(args[3])), 1U);
      EXPECT_EQ(use.at(type_of.at(args[4])), 2U);
      EXPECT_EQ(use.at(args[0]), 2U);
      EXPECT_EQ(args[5], GetParam().halves ? 0U : 15U) << "all signed";
    }
  }
  EXPECT_EQ(loads, GetParam().loads);
  EXPECT_EQ(stores, GetParam().stores);
  EXPECT_EQ(products, GetParam().products);
}

}  // namespace
}  // namespace bitnet::vk
