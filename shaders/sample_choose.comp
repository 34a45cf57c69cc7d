// The third step of sampling: one workgroup a row chooses from the candidates. That of a single row makes its
// token the input of the next program; the tokens behind which several rows choose are in the history
// already.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "params.h"

layout(local_size_x_id = CONSTANT_WORKGROUP_SIZE) in;

layout(push_constant) uniform Push { SamplePush push; };
#include "common/sampling.glsl"
layout(binding = 1) buffer Settings {
  SampleSettings settings;
  // Without a size here, since glslang gives arrays of one size in buffers
  // and in shared memory one type, which is invalid.
  uint history[];
};
layout(binding = 2) readonly buffer Randoms { uvec2 randoms[SAMPLE_RANDOMS]; };  // of position p: likewise
layout(binding = 3) writeonly buffer Result { uvec4 result[]; };  // ArgmaxResult of each row, ChoiceResult
layout(binding = 4) buffer Params { uint params[]; };

#include "common/sample_choice.glsl"

void main() {
  uint lane = gl_LocalInvocationID.x, step = gl_WorkGroupSize.x;
  uint n = own.count, row = gl_WorkGroupID.y, rows = gl_NumWorkGroups.y;
  uint position = params[PARAMS_POSITION] + row;
  uvec2 random = randoms[position % SAMPLE_RANDOMS];
  bool undecided = n > SAMPLE_CANDIDATES;
  n = min(n, SAMPLE_CANDIDATES);
  for (uint i = lane; i < n; i += step) {
    logit_bits[i] = own.candidates[i].x;
    id[i] = own.candidates[i].y;
  }
  barrier();
  uint chosen;
  if (choose(n, position, random, chosen)) {
    result[rows + row] = uvec4(id[chosen], logit_bits[chosen], uint(undecided), 0u);
    if (rows == 1u) {
      params[PARAMS_TOKENS] = id[chosen];
      history[position % SAMPLE_HISTORY] = id[chosen];
    }
  }

  for (uint i = lane; i < SAMPLE_BINS; i += step) own.histogram[i] = 0u;
  if (lane == 0u) own.count = 0u;
}
