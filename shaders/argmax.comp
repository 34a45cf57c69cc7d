// Finds the first of the largest logits of each row, and what its probability needs. Each workgroup reduces a
// stripe of a row to a partial result: (largest, its index, sum of exp(logit - largest), 1 if there was a NaN or +Inf). Compiled
// with MERGE, one workgroup reduces those of a row to one, and that of the first row makes its token the input
// of the next program.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "params.h"

layout(local_size_x = 64) in;

layout(push_constant) uniform Push { ArgmaxPush push; };
#ifdef MERGE
layout(binding = 0) readonly buffer Partials { uvec4 partials[]; };
#else
layout(binding = 0) readonly buffer Logits { float logits[]; };
#endif
layout(binding = 1) writeonly buffer Result { uvec4 result[]; };  // as pack() writes it
#ifdef MERGE
layout(binding = 2) buffer Params { uint params[]; };
#endif

struct Partial {
  float largest;
  uint index;
  float sum;
  uint broken;
};
shared Partial best[gl_WorkGroupSize.x];

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

void main() {
  uint lane = gl_LocalInvocationID.x, row = gl_WorkGroupID.y * push.n;
  Partial mine = Partial(-3.4e38, 0x7FFFFFFFu, 0.0, 0);
  for (uint i = gl_GlobalInvocationID.x; i < push.n; i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) {
#ifdef MERGE
    mine = merge(mine, unpack(partials[row + i]));
#else
    mine = merge(mine, of_logit(floatBitsToUint(logits[row + i]), i));
#endif
  }
  best[lane] = mine;
  for (uint step = gl_WorkGroupSize.x / 2; step > 0; step /= 2) {
    barrier();
    if (lane < step) best[lane] = merge(best[lane], best[lane + step]);
  }
  if (lane != 0) return;
  result[gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x] = pack(best[0]);
#ifdef MERGE
  if (row != 0) return;
  params[PARAMS_POSITION] += 1;
  params[PARAMS_TOKENS] = best[0].index;
#endif
}
