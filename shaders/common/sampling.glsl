// What the three kernels of sampling share: the scratch buffer, and floats as integers of the same order.

layout(binding = 0) buffer Scratch {
  uint count;  // of candidates; may be more than fit
  uint largest_key;
  uint histogram[SAMPLE_BINS];
  uvec2 candidates[SAMPLE_CANDIDATES];  // bits of the logit, token id
};

// Larger for larger logits; -0 and 0 are one.
uint key_of(uint bits) {
  if (bits == 0x80000000u) bits = 0u;
  return (bits & 0x80000000u) != 0u ? ~bits : bits | 0x80000000u;
}

uint bits_of(uint key) { return (key & 0x80000000u) != 0u ? key & 0x7FFFFFFFu : ~key; }

// Bins of the distance to the largest logit, 64 an octave from 2^-16 to 2^16: whatever the scale of the logits, a
// bin is narrow beside its distance.
uint bin_of(uint largest_key, uint bits) {
  if ((bits & 0x7F800000u) == 0x7F800000u) return SAMPLE_BINS - 1u;
  precise float distance = uintBitsToFloat(bits_of(largest_key)) - uintBitsToFloat(bits);
  return uint(clamp(int(floatBitsToUint(distance) >> 17) - (127 - 16) * 64, 0, SAMPLE_BINS - 1));
}
