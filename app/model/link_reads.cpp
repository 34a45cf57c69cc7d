#include "link_reads.h"

namespace bitnet {

uint64_t read_in_host(const Placement& p, const ExpertReads& reads) {
  if (p.expert_places == 0 || reads.uses == 0) return p.read_in_host;
  uint64_t used = 0,
           on_device = 0;  // of experts: all that a token reads, and what is counted as read on the device
  for (const WeightPiece& piece : p.pieces) {
    if (piece.n_expert == 0) continue;
    used += piece.read;
    on_device += piece.read * p.expert_places / piece.n_expert;
  }
  const double over_link =
      static_cast<double>(reads.uses - reads.hits + reads.copies) / static_cast<double>(reads.uses);
  return p.read_in_host - (used - on_device) + static_cast<uint64_t>(over_link * static_cast<double>(used));
}

}  // namespace bitnet
