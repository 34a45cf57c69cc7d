// As ternary_matmul.comp, for a matrix of groups (common/groups.glsl). A step is one unit of each row
// and token. CONSTANT_OUT says where the result goes, as in ternary_matvec_groups.comp; with
// OUT_GATE the first half of an invocation's rows is gate, the second the same rows of up.
#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require
#ifdef INTEGER_DOT
#extension GL_EXT_spirv_intrinsics : require
#endif
#ifdef EXPERTS
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#endif
#include "params.h"

layout(local_size_x = 64) in;
layout(constant_id = CONSTANT_INPUT_UNITS) const uint kInputUnits = 0;
layout(constant_id = CONSTANT_OUT) const uint kOut = OUT_STORE;
#ifdef EXPERTS
#define REST_AT(i) uvec4(0)
const uint kRest = 0;
#else
#define REST_AT(i) rest_q[i]
layout(constant_id = CONSTANT_REST) const uint kRest = 0;
#endif

layout(push_constant) uniform Push { GroupsPush push; };
#ifndef EXPERTS
layout(binding = 0) readonly buffer W { uvec4 w[]; };          // [rows][n_in / 64]
layout(binding = 4) readonly buffer Scales { uint scales[]; };  // F16 [rows][n_in / 64 / kScaleGroups]
layout(binding = 7) readonly buffer RestQ { uvec4 rest_q[]; };  // as q, with kRest
#endif
layout(binding = 1) readonly buffer Q { uvec4 q[]; };          // [n_tokens][n_in / 16]
layout(binding = 2) readonly buffer QInfo { uvec2 q_info[]; };  // [n_tokens]: bits of s, sum(q)
layout(binding = 3) buffer Y { float y[]; };                   // [n_tokens][n_out]
layout(binding = 5) readonly buffer Sums { int sums[]; };      // [n_tokens][n_in / kUnit]: sum of a unit's inputs
layout(binding = 6) readonly buffer Shares { float shares[]; };  // with kInputUnits, of a unit

#include "common/ternary.glsl"
#include "common/groups.glsl"
#include "common/activation.glsl"
#include "common/experts.glsl"

const uint kRows = 8, kTokens = 4;            // of an invocation
const uint kSome = 4;                         // rows whose products it has in registers at a time
const uint kTileRows = 64, kTileTokens = 32;  // of a workgroup: 8 x 8 invocations
const uint kOutRows = kOut == OUT_GATE ? kTileRows / 2 : kTileRows;
const uint kPlaneQuads = 4 * kUnitGroups;       // uvec4 of a token's unit
const uint kQuads = kRest != 0 ? 2 * kPlaneQuads : kPlaneQuads;  // of q, then of the rest
const uint kFetch = kTileTokens * kQuads / 64;  // of which an invocation brings as many

shared uvec4 tile_w[kUnitGroups][kTileRows];
shared float tile_scales[kTileRows];
shared uvec4 tile_q[kTileTokens][kQuads];
shared int tile_sums[kTileTokens];
shared float tile_shares[kTileTokens];

// What an invocation brings, on its way into registers.
uvec4 next_w[kUnitGroups], next_q[kFetch];
float next_scale, next_share;
int next_sum;

// The row of the stacked matrix that is row `r` of the tile.
uint matrix_row(uint r) {
  uint row = gl_WorkGroupID.x * kOutRows + r % kOutRows;
  return r < kOutRows ? row : push.n_out + row;
}

// Rows and tokens past the end repeat the last one; their sums are never written.
void fetch(uint unit) {
  uint lane = gl_LocalInvocationID.x, groups = push.n_in / 64, g = unit * kUnitGroups;
  uint row = min(matrix_row(lane), push.n_out * (kOut == OUT_GATE ? 2 : 1) - 1);
  uint scale = row * (groups / kScaleGroups) + g / kScaleGroups;
  uint first_token = FIRST_TOKEN(kTileTokens), last_token = END_TOKEN - 1;
  UNROLL for (uint h = 0; h < kUnitGroups; ++h) next_w[h] = w[row * groups + g + h];
  next_scale = half_of(scales[scale / 2], scale) * push.fixed_point;
  uint own = min(first_token + lane, last_token) * (push.n_in / kUnit) + unit;
  next_sum = sums[own];
  next_share = kInputUnits != 0 ? shares[own] : 1.0;
  UNROLL for (uint i = 0; i < kFetch; ++i) {
    uint quad = lane + 64 * i, t = min(first_token + quad / kQuads, last_token);
    uint at = (t * groups + g) * 4 + quad % kPlaneQuads;
    next_q[i] = quad % kQuads < kPlaneQuads ? q[at] : REST_AT(at);
  }
}

void store() {
  uint lane = gl_LocalInvocationID.x;
  UNROLL for (uint h = 0; h < kUnitGroups; ++h) tile_w[h][lane] = next_w[h];
  tile_scales[lane] = next_scale;
  if (lane < kTileTokens) {
    tile_sums[lane] = next_sum;
    tile_shares[lane] = next_share;
  }
  UNROLL for (uint i = 0; i < kFetch; ++i) {
    uint quad = lane + 64 * i;
    tile_q[quad / kQuads][quad % kQuads] = next_q[i];
  }
}

void main() {
  BEGIN_TILE
  uint tile_row = gl_LocalInvocationID.x % 8;  // an invocation's rows are tile_row + 8 i
  uint tile_token = gl_LocalInvocationID.x / 8, first_token = FIRST_TOKEN(kTileTokens);

  int acc[kRows][kTokens];
  UNROLL for (uint i = 0; i < kRows; ++i)
    UNROLL for (uint j = 0; j < kTokens; ++j) acc[i][j] = 0;

  fetch(0);
  uint units = push.n_in / kUnit;
  for (uint unit = 0; unit < units; ++unit) {
    barrier();
    store();
    barrier();
    if (unit + 1 < units) fetch(unit + 1);
    UNROLL for (uint some = 0; some < kRows; some += kSome) {
      uvec4 bits[kSome][kUnitGroups];
      int dots[kSome][kTokens];
      UNROLL for (uint i = 0; i < kSome; ++i) {
        UNROLL for (uint h = 0; h < kUnitGroups; ++h) bits[i][h] = tile_w[h][tile_row + 8 * (some + i)];
        UNROLL for (uint j = 0; j < kTokens; ++j) dots[i][j] = 0;
      }
      UNROLL for (uint quad = 0; quad < kQuads; ++quad) {
        uvec4 qs[kTokens];
        UNROLL for (uint j = 0; j < kTokens; ++j) qs[j] = tile_q[tile_token + 8 * j][quad];
        UNROLL for (uint i = 0; i < kSome; ++i)
          UNROLL for (uint j = 0; j < kTokens; ++j) {
            if (quad == kPlaneQuads) dots[i][j] *= REST_STEPS;
            dots[i][j] = dot_codes(bits[i][quad / 4 % kUnitGroups], 6 - quad % 4 * 2, qs[j], dots[i][j]);
          }
      }
      UNROLL for (uint j = 0; j < kTokens; ++j) {
        int q_sum = tile_sums[tile_token + 8 * j];
        float share = tile_shares[tile_token + 8 * j];
        UNROLL for (uint i = 0; i < kSome; ++i)
          acc[some + i][j] +=
              rounded_share(dots[i][j] - q_sum, tile_scales[tile_row + 8 * (some + i)], share);
      }
    }
  }

  for (uint j = 0; j < kTokens; ++j) {
    uint t = first_token + tile_token + 8 * j;
    if (t >= END_TOKEN) break;
    float s = uintBitsToFloat(q_info[t].x);
    for (uint i = 0; i < kOutRows / 8; ++i) {
      uint out_row = gl_WorkGroupID.x * kOutRows + tile_row + 8 * i;
      if (out_row >= push.n_out) break;
      uint at = t * push.n_out + out_row;
      if (kOut == OUT_GATE) {
        y[at] = gated(ternary_result(acc[i][j], 0, s, push.scale0),
                      ternary_result(acc[(kTileRows - kOutRows) / 8 + i][j], 0, s, push.scale1));
      } else {
        precise float result = ternary_result(acc[i][j], 0, s, scale_of_row(out_row));
        if (kOut == OUT_ADD) result = y[at] + result;
        y[at] = result;
      }
    }
  }
}
