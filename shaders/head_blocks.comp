// The LM head for the block types of table.glsl: logits[t][row] = table[row] . y[t], with sums in f32. A
// workgroup takes kRows rows at a time. It brings their bytes into shared memory, because the loads of blocks
// of 18 to 210 bytes would be narrow ones. Every invocation takes the same units of each of the rows, so that
// it loads its part of y once. The workgroups stride over the rows.
#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "params.h"
#include "common/half.glsl"

layout(local_size_x = 64) in;
layout(constant_id = CONSTANT_ROWS) const uint kRows = 4;
layout(constant_id = CONSTANT_TILE) const uint kTile = 1024;

layout(push_constant) uniform Push { HeadPush push; };
layout(binding = 0) readonly buffer Table { uvec4 table[]; };
layout(binding = 1) readonly buffer Y { vec4 y[]; };              // [n_tokens][n_embd / 4]
layout(binding = 2) writeonly buffer Logits { float logits[]; };  // [n_tokens][n_vocab]

const uint kLoads = (kTile + gl_WorkGroupSize.x - 1) / gl_WorkGroupSize.x;
const uint kMostSubgroups = gl_WorkGroupSize.x / 4;  // smaller ones are not used
shared uvec4 tile[kTile];  // the rows from the uvec4 on in which they begin, and a word behind them
shared float sums[kRows][kMostSubgroups];

#include "common/subgroup.glsl"
#define TABLE_WORD(i) tile[(i) / 4][(i) % 4]
#include "common/table.glsl"

// Returns the share of a unit in the dot product of a row and y, which is `some`, run by run, with the sums
// `total` of its runs.
float unit_dot(uint byte, uint unit, vec4 some[8], vec4 total) {
  vec4 f[8], scale, minimum;
  decode_unit(byte, unit, f, scale, minimum);
  vec4 sum;
  UNROLL for (uint run = 0; run < 4; ++run)
    sum[run] = dot(f[2 * run], some[2 * run]) + dot(f[2 * run + 1], some[2 * run + 1]);
  return dot(scale, sum - kBias * total) - dot(minimum, total);
}

void main() {
  uint lane = gl_LocalInvocationID.x, vector = gl_WorkGroupID.y * push.n_embd;
  uint bytes = row_bytes(push.n_embd);
  for (uint first = gl_WorkGroupID.x * kRows; first < push.n_rows; first += gl_NumWorkGroups.x * kRows) {
    uint begin = first * bytes, from = begin / 16;
    uint n_quads = (min(first + kRows, push.n_rows) * bytes + 15) / 16 - from;
    uvec4 loads[kLoads];  // all on their way together
    UNROLL for (uint i = 0; i < kLoads; ++i)
      loads[i] = table[from + min(lane + i * gl_WorkGroupSize.x, n_quads - 1)];
    barrier();  // everyone is done with the rows before
    UNROLL for (uint i = 0; i < kLoads; ++i)
      if (lane + i * gl_WorkGroupSize.x < n_quads) tile[lane + i * gl_WorkGroupSize.x] = loads[i];
    barrier();
    float sum[kRows];
    UNROLL for (uint row = 0; row < kRows; ++row) sum[row] = 0.0;
    for (uint unit = lane; unit < push.n_embd / 32; unit += gl_WorkGroupSize.x) {
      vec4 some[8], total;
      UNROLL for (uint run = 0; run < 4; ++run) {
        uint at = (vector + feature_of_run(unit, run)) / 4;
        some[2 * run] = y[at];
        some[2 * run + 1] = y[at + 1];
        total[run] = dot(some[2 * run] + some[2 * run + 1], vec4(1.0));
      }
      UNROLL for (uint row = 0; row < kRows; ++row)  // past the end whatever lies there, for nobody
        sum[row] += unit_dot(begin % 16 + row * bytes, unit, some, total);
    }
    UNROLL for (uint row = 0; row < kRows; ++row) {
      float of_subgroup = subgroup_add(sum[row]);
      if (LANE == 0) sums[row][SUBGROUP] = of_subgroup;
    }
    barrier();
    if (lane < kRows && first + lane < push.n_rows) {
      float logit = 0.0;
      for (uint i = 0; i < N_SUBGROUPS; ++i) logit += sums[lane][i];
      logits[gl_WorkGroupID.y * push.n_vocab + push.row_begin + first + lane] = logit;
    }
  }
}
