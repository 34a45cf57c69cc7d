// How much shared memory a kernel takes, read from where its SPIR-V declares it: the lengths of arrays are
// expressions of specialisation constants.
//
// Thread rule: immutable once constructed.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace bitnet::vk {

class SharedMemory {
 public:
  // Requires: the SPIR-V of a kernel of this project.
  explicit SharedMemory(std::span<const uint32_t> spirv);

  // With these values of specialisation constants, by their numbers; the others have those that the shader
  // gives them.
  uint64_t bytes(const std::map<uint32_t, uint32_t>& constants) const;

 private:
  // A constant, or the size of a type. The operands are numbers of expressions before it.
  struct Expression {
    uint32_t op = 0;       // of SPIR-V
    uint32_t value = 0;    // where it is a constant
    uint32_t spec_id = 0;  // where it is a specialisation constant
    std::array<uint32_t, 3> operands{};
  };

  std::vector<Expression> expressions_;
  std::vector<uint32_t> variables_;  // the expression of the size of each
};

}  // namespace bitnet::vk
