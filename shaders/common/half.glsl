// Converts f32 to F16, rounded half to even, and F16 to f32. packHalf2x16 leaves the rounding to the device,
// but the cache must not depend on it. unpackHalf2x16 may take a subnormal number for 0, but many scales are
// that small.

uint to_half(float f) {
  uint bits = floatBitsToUint(f);
  uint sign = bits >> 16 & 0x8000u;
  uint magnitude = bits & 0x7FFFFFFFu;
  if (magnitude >= 0x47800000u)  // NaN, or too large
    return sign | (magnitude > 0x7F800000u ? 0x7E00u : 0x7C00u);
  if (magnitude < 0x38800000u) {  // subnormal: in units of 2^-24, rounded by the addition of 0.5 in f32
    precise float sum = uintBitsToFloat(magnitude) + 0.5;
    return sign | (floatBitsToUint(sum) - 0x3F000000u);
  }
  uint odd = magnitude >> 13 & 1u;
  return sign | (magnitude - 0x38000000u + 0xFFFu + odd) >> 13;
}

uint pack_half2(float low, float high) { return to_half(low) | to_half(high) << 16; }

// The number in the lower 16 bits.
float from_half(uint h) {
  uint sign = h << 16 & 0x80000000u, magnitude = h & 0x7FFFu;
  float value = magnitude < 0x400u ? float(magnitude) * 5.9604644775390625e-8  // 2^-24
                                   : uintBitsToFloat((magnitude << 13) +
                                                     (magnitude < 0x7C00u ? 0x38000000u : 0x70000000u));
  return uintBitsToFloat(floatBitsToUint(value) | sign);
}
