// The shortlist of a dense LM head on a GPU, as on the CPU (cpu/shortlist.h has the proof): a copy in 8 bits
// tells which rows cannot have the largest logits, so that decode reads the copy and the rows of a few
// candidates. shaders/common/shortlist.glsl has the bounds.
//
// Thread rule: as the Device.
#pragma once

#include "engine/backend.h"
#include "memory.h"

namespace bitnet::vk {

struct Shortlist {
  Shortlist(const Device& device, const Table& table);
  // Whether it can be made of the table, as a head.
  static bool is_possible(const Device& device, const Table& table);

  VulkanBuffer codes;    // int8 [n_vocab][n_embd]
  VulkanBuffer rows;     // ShortlistRow [n_vocab]
  VulkanBuffer parts;    // int8 [kMaxLogitRows][2][n_embd]: the vectors of the head, rounded
  VulkanBuffer vectors;  // ShortlistVector [kMaxLogitRows]
  VulkanBuffer borders;  // [kMaxLogitRows][SHORTLIST_BORDERS]
  VulkanBuffer found;    // ShortlistFound
};

}  // namespace bitnet::vk
