// What is known of some logits: the first of the largest, and what its probability needs. An ArgmaxResult of
// engine/kernel_operands.h as a uvec4.
struct Partial {
  float largest;
  uint index;
  float sum;    // of exp(logit - largest)
  uint broken;  // 1 if there was a NaN or +Inf
};
const Partial kNoLogits = Partial(-3.4e38, 0x7FFFFFFFu, 0.0, 0);

uvec4 pack(Partial p) { return uvec4(floatBitsToUint(p.largest), p.index, floatBitsToUint(p.sum), p.broken); }
Partial unpack(uvec4 p) { return Partial(uintBitsToFloat(p.x), p.y, uintBitsToFloat(p.z), p.w); }

Partial merge(Partial a, Partial b) {
  bool second = b.largest > a.largest || (b.largest == a.largest && b.index < a.index);
  float largest = max(a.largest, b.largest);
  return Partial(largest, second ? b.index : a.index,
              a.sum * exp(a.largest - largest) + b.sum * exp(b.largest - largest), a.broken | b.broken);
}

// NaN and Inf are recognised by their bits, since a compiler may assume that floats are finite.
Partial of_logit(uint bits, uint index) {
  if ((bits & 0x7F800000u) == 0x7F800000u) return Partial(-3.4e38, index, 0.0, uint(bits != 0xFF800000u));
  return Partial(uintBitsToFloat(bits), index, 1.0, 0);
}

shared Partial best[gl_WorkGroupSize.x];

// What the first `n` invocations of a workgroup found, a power of two, together, in best[0].
void reduce_best(Partial mine, uint n) {
  uint lane = gl_LocalInvocationID.x;
  best[lane] = mine;
  for (uint step = n / 2; step > 0; step /= 2) {
    barrier();
    if (lane < step) best[lane] = merge(best[lane], best[lane + step]);
  }
}
