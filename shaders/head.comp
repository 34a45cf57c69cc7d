// The LM head: logits[t][row] = table[row] . y[t], with rows of F32, F16 or BF16 and sums in f32. A subgroup
// takes a row, its lanes stride over the row eight features at a time, and the workgroups stride over the
// rows.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#include "params.h"

layout(local_size_x = 64) in;

layout(push_constant) uniform Push { HeadPush push; };
layout(binding = 0) readonly buffer Table { uvec4 table[]; };
layout(binding = 1) readonly buffer Y { vec4 y[]; };            // [n_tokens][n_embd / 4]
layout(binding = 2) writeonly buffer Logits { float logits[]; };  // [n_tokens][n_vocab]

#include "common/subgroup.glsl"
#define TABLE_QUADS table
#include "common/table.glsl"

// The dot product of row `row` with the vector that begins at `vector`; every lane of the subgroup gets it.
float row_dot(uint row, uint vector) {
  float sum = 0.0;
  for (uint i = LANE; i < push.n_embd / 8; i += SUBGROUP_SIZE) {
    vec4 low, high;
    decode_eight(row * (push.n_embd / 8) + i, low, high);
    sum += dot(low, y[vector + 2 * i]) + dot(high, y[vector + 2 * i + 1]);
  }
  return subgroup_add(sum);
}

void main() {
  uint t = gl_WorkGroupID.y;
  for (uint first = gl_WorkGroupID.x * N_SUBGROUPS; first < push.n_rows;
       first += gl_NumWorkGroups.x * N_SUBGROUPS) {
    uint row = first + SUBGROUP;  // past the end the last row again
    float logit = row_dot(min(row, push.n_rows - 1), t * (push.n_embd / 4));
    if (LANE == 0 && row < push.n_rows) logits[t * push.n_vocab + push.row_begin + row] = logit;
  }
}
