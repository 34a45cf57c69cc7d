// Finds the first of the largest logits of each row, and what its probability needs. Each workgroup reduces a
// stripe of a row to a partial result (common/argmax.glsl). Compiled with MERGE, one workgroup reduces those
// of a row to one, and that of the first row makes its token the input of the next program.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "params.h"

#ifdef MERGE
layout(local_size_x = MERGE_INVOCATIONS) in;
#else
layout(local_size_x = 64) in;
#endif

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

#include "common/argmax.glsl"

void main() {
  uint lane = gl_LocalInvocationID.x, row = gl_WorkGroupID.y * push.n;
  Partial mine = kNoLogits;
  for (uint i = gl_GlobalInvocationID.x; i < push.n; i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) {
#ifdef MERGE
    mine = merge(mine, unpack(partials[row + i]));
#else
    mine = merge(mine, of_logit(floatBitsToUint(logits[row + i]), i));
#endif
  }
  reduce_best(mine, gl_WorkGroupSize.x);
  if (lane != 0) return;
  result[gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x] = pack(best[0]);
#ifdef MERGE
  if (row != 0) return;
  params[PARAMS_POSITION] += 1;
  params[PARAMS_TOKENS] = best[0].index;
#endif
}
