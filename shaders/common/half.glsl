// Converts f32 to F16, rounded half to even. packHalf2x16 leaves the rounding to the device, but the cache
// must not depend on it.

uint to_half(float f) {
  uint bits = floatBitsToUint(f);
  uint sign = bits >> 16 & 0x8000u;
  uint magnitude = bits & 0x7FFFFFFFu;
  if (magnitude >= 0x47800000u)  // NaN, or too large
    return sign | (magnitude > 0x7F800000u ? 0x7E00u : 0x7C00u);
  if (magnitude < 0x38800000u) {  // subnormal: in units of 2^-24, rounded by the addition of 0.5 in f32
    return sign | (floatBitsToUint(uintBitsToFloat(magnitude) + 0.5) - 0x3F000000u);
  }
  uint odd = magnitude >> 13 & 1u;
  return sign | (magnitude - 0x38000000u + 0xFFFu + odd) >> 13;
}

uint pack_half2(float low, float high) { return to_half(low) | to_half(high) << 16; }
