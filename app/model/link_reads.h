// What comes over the link to a device's memory for each token of an answer.
//
// Thread rule: pure functions.
#pragma once

#include "engine/engine.h"

namespace bitnet {

// Bytes of host memory that a token reads where experts were read as `reads` says. A Placement counts those
// that have no place on the device as if all were used alike; in truth those that are used most have one, and
// a copy is read too.
uint64_t read_in_host(const Placement& placement, const ExpertReads& reads);

}  // namespace bitnet
