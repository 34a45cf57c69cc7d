// What the three kernels of sampling share. gl_WorkGroupID.y is the row of logits.

struct SampleScratch {
  uint count;  // of candidates; may be more than fit
  uint largest_key;
  uint histogram[SAMPLE_BINS];
  uvec2 candidates[SAMPLE_CANDIDATES];  // bits of the logit, token id
};
layout(binding = 0) buffer Scratch { SampleScratch scratch[]; };
#define own scratch[gl_WorkGroupID.y]  // that of the row

#include "common/float_key.glsl"

// The bin of a logit by its distance to the largest one, 64 bins an octave from 2^-16 to 2^16, so that a bin
// is narrow in proportion to its distance, whatever the scale of the logits.
uint bin_of(uint largest_key, uint bits) {
  if ((bits & 0x7F800000u) == 0x7F800000u) return SAMPLE_BINS - 1u;
  precise float distance = uintBitsToFloat(bits_of(largest_key)) - uintBitsToFloat(bits);
  return uint(clamp(int(floatBitsToUint(distance) >> 17) - (127 - 16) * 64, 0, SAMPLE_BINS - 1));
}
