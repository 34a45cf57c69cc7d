// What the sets of kernels with AVX-512 VBMI share: tiles of prefill from rows in Layout::fives16.
#pragma once

#include <cstdint>

namespace bitnet::cpu {

// Two bands as unpack_bands of kernels.h has them, where a byte is the code less `less`: 0, or 1 to have the
// weight itself. Requires AVX-512 VBMI.
void unpack_fives(const uint8_t* const* bands, uint32_t n_in, int8_t less, uint8_t* tile);

}  // namespace bitnet::cpu
