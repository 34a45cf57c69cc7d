#include "subgroups.h"

#include <algorithm>

namespace bitnet::vk {

Subgroups choose_subgroups(const SubgroupSupport& s) {
  // Of 16 lanes or more, the fewest: 16 lanes of Intel's GPUs have twice the registers each that 32 have,
  // AMD's of 32 run as one and those of 64 as two halves. No kernel here is for more than 64, and each has
  // room for what as many subgroups leave as a workgroup has of 4.
  constexpr uint32_t kWanted = 16, kFewest = 4, kMost = 64;
  const bool fixed = s.fewest == s.most;
  Subgroups chosen{s.size, s.operations, false, s.can_be_full};
  chosen.required = !fixed && s.can_require && s.can_be_full;
  if (chosen.required) chosen.size = std::clamp(kWanted, s.fewest, s.most);
  chosen.usable &= (fixed || chosen.required) && chosen.size >= kFewest && chosen.size <= kMost;
  return chosen;
}

}  // namespace bitnet::vk
