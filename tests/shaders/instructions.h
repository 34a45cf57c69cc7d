// What the tests of SPIR-V share: the instructions of a module.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "shaders/shaders.h"

namespace bitnet::vk {

struct Instruction {
  uint32_t opcode;
  std::span<const uint32_t> args;
};

inline std::vector<Instruction> instructions(std::span<const uint32_t> module) {
  std::vector<Instruction> all;
  for (size_t at = 5; at < module.size(); at += module[at] >> 16)
    all.push_back({module[at] & 0xFFFF, module.subspan(at + 1, (module[at] >> 16) - 1)});
  return all;
}

}  // namespace bitnet::vk
