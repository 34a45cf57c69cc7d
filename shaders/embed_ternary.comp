// As embed.comp for a table of ternary weights in groups of 64 (engine/layouts/layout.h), whose values are
// -1, 0 or +1 times a scale of F16 times the scale of the table. An invocation takes a word of a group: four
// neighbours at each shift.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "params.h"
#include "common/half.glsl"

layout(local_size_x = 64) in;
layout(constant_id = CONSTANT_POSITIONS) const uint kPositions = 0;

layout(push_constant) uniform Push { EmbedTernaryPush push; };
layout(binding = 0) readonly buffer Params { uint params[]; };
layout(binding = 1) readonly buffer Codes { uint codes[]; };    // [n_rows][n_embd / 64][4]
layout(binding = 2) readonly buffer Scales { uint scales[]; };  // [n_rows][n_embd / scale_every] F16
layout(binding = 3) writeonly buffer X { vec4 x[]; };           // [n_tokens][n_embd / 4]
layout(binding = 4) readonly buffer Positions { vec4 positions[]; };  // [n_ctx][n_embd / 4]

void main() {
  uint t = gl_WorkGroupID.y;
  uint i = gl_GlobalInvocationID.x;  // word
  uint row = params[PARAMS_TOKENS + t] - push.row_begin, words = push.n_embd / 16;
  if (row >= push.n_rows || i >= words) return;  // a row below the chunk wraps to a large number
  uint group = i / 4, at = row * (push.n_embd / push.scale_every) + group * 64 / push.scale_every;
  float scale = from_half(scales[at / 2] >> at % 2 * 16) * push.scale;
  uint word = codes[row * words + i];
  for (uint s = 0; s < 4; ++s) {
    ivec4 code = ivec4(uvec4(word, word >> 8, word >> 16, word >> 24) >> (6 - 2 * s) & 3u);
    uint quads = push.n_embd / 4, to = group * 16 + 4 * s + i % 4;
    precise vec4 value = vec4(code - 1) * scale;
    if (kPositions != 0) value += positions[(params[PARAMS_POSITION] + t) * quads + to];
    x[t * quads + to] = value;
  }
}
