// The third step of sampling: one workgroup a row makes the same choice from the candidates that Sampler
// (engine/sampler.h) makes from all logits. That of a single row makes its token the input of the next
// program; the tokens behind which several rows choose are in the history already. Sums are 64-bit integers,
// (low, high), and floats are only added and multiplied, so the choice is the same everywhere.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "params.h"

layout(local_size_x_id = CONSTANT_WORKGROUP_SIZE) in;

layout(push_constant) uniform Push { SamplePush push; };
#include "common/sampling.glsl"
layout(binding = 1) buffer Settings {
  SampleSettings settings;
  // The token of position p is at p % SAMPLE_HISTORY. Without a size here, since glslang gives arrays of one size in buffers
  // and in shared memory one type, which is invalid.
  uint history[];
};
layout(binding = 2) readonly buffer Randoms { uvec2 randoms[SAMPLE_RANDOMS]; };  // of position p: likewise
layout(binding = 3) writeonly buffer Result { uvec4 result[]; };  // ArgmaxResult of each row, ChoiceResult
layout(binding = 4) buffer Params { uint params[]; };

shared uint key[SAMPLE_CANDIDATES];  // of the logit, penalised
shared uint id[SAMPLE_CANDIDATES];
shared uint weight[SAMPLE_CANDIDATES];
shared uint kept[SAMPLE_CANDIDATES];  // its weight, or 0 for what top-p or min-p cut

uvec2 add(uvec2 a, uint b) {
  uint carry;
  uint low = uaddCarry(a.x, b, carry);
  return uvec2(low, a.y + carry);
}

bool less(uvec2 a, uvec2 b) { return a.y != b.y ? a.y < b.y : a.x < b.x; }

// (a * b) >> 32
uvec2 scaled(uvec2 a, uint b) {
  uint high, low, high_of_low, unused;
  umulExtended(a.x, b, high_of_low, unused);
  umulExtended(a.y, b, high, low);
  return add(uvec2(low, high), high_of_low);
}

// (a * b) >> 64
uvec2 high_product(uvec2 a, uvec2 b) {
  uint unused, low, high, carry;
  umulExtended(a.x, b.x, high, unused);
  uvec2 middle = uvec2(high, 0u);
  umulExtended(a.x, b.y, high, low);
  middle = add(middle, low);
  uint above = high;
  umulExtended(a.y, b.x, high, low);
  middle = add(middle, low);
  uvec2 rest = add(uvec2(above, 0u), high);
  umulExtended(a.y, b.y, high, low);
  rest = add(rest, low);
  rest = add(rest, middle.y);
  return uvec2(rest.x, rest.y + high);
}

// 2^31 * 2^-a, as weight_of in sampler.cpp
uint weight_at(float a) {
  if (!(a < 31.0)) return 0u;
  float whole = floor(a);
  precise float f = a - whole;
  precise float m = -0.0018898058915510774;
  m = m * f;
  m = m + 0.01841159351170063;
  m = m * f;
  m = m + -0.11059471219778061;
  m = m * f;
  m = m + 0.4803602993488312;
  m = m * f;
  m = m + -1.3862874507904053;
  m = m * f;
  m = m + 2.0;
  return uint(m * 1073741824.0) >> uint(whole);
}

uint penalised(uint bits, uint token, uint position) {
  bool repeated = false;
  for (uint i = 1u; i <= min(settings.n_recent, position); ++i) {
    repeated = repeated || history[(position - i) % SAMPLE_HISTORY] == token;
  }
  if (!repeated || (bits & 0x7F800000u) == 0x7F800000u) return bits;
  float logit = uintBitsToFloat(bits);
  precise float changed = logit * (logit > 0.0 ? settings.inverse : settings.penalty);
  return floatBitsToUint(clamp(changed, -3.40282347e38, 3.40282347e38));
}

// Whether i comes before j; equal values are in the order of their ids.
bool before(uint i, uint j, uint value_i, uint value_j) {
  return value_i != value_j ? value_i > value_j : id[i] < id[j];
}

void main() {
  uint lane = gl_LocalInvocationID.x, step = gl_WorkGroupSize.x;
  uint n = own.count, row = gl_WorkGroupID.y, rows = gl_NumWorkGroups.y;
  uint position = params[PARAMS_POSITION] + row;
  uvec2 random = randoms[position % SAMPLE_RANDOMS];
  bool undecided = n > SAMPLE_CANDIDATES;
  n = min(n, SAMPLE_CANDIDATES);
  for (uint i = lane; i < n; i += step) {
    id[i] = own.candidates[i].y;
    key[i] = key_of(penalised(own.candidates[i].x, id[i], position));
  }
  barrier();

  for (uint i = lane; i < n; i += step) {
    uint rank = 0u, top = 0u;
    for (uint j = 0u; j < n; ++j) {
      rank += uint(before(j, i, key[j], key[i]));
      top = max(top, key[j]);
    }
    precise float below = uintBitsToFloat(bits_of(top)) - uintBitsToFloat(bits_of(key[i]));
    precise float a = below * settings.scale;
    bool chance = rank < settings.top_k && bits_of(key[i]) != 0xFF800000u;
    weight[i] = chance ? weight_at(a) : 0u;
  }
  barrier();

  for (uint i = lane; i < n; i += step) {
    uvec2 total = uvec2(0u), likelier = uvec2(0u);
    for (uint j = 0u; j < n; ++j) {
      total = add(total, weight[j]);
      if (before(j, i, weight[j], weight[i])) likelier = add(likelier, weight[j]);
    }
    uvec2 enough = scaled(total, settings.top_p);
    if (enough == uvec2(0u)) enough.x = 1u;
    bool in_top_p = settings.top_p == 0u || less(likelier, enough);
    kept[i] = in_top_p && weight[i] >= settings.min_weight ? weight[i] : 0u;
  }
  barrier();

  for (uint i = lane; i < n; i += step) {
    uvec2 total = uvec2(0u), earlier = uvec2(0u);
    for (uint j = 0u; j < n; ++j) {
      total = add(total, kept[j]);
      if (id[j] < id[i]) earlier = add(earlier, kept[j]);
    }
    uvec2 point = high_product(random, total);
    if (less(point, earlier) || !less(point, add(earlier, kept[i]))) continue;
    result[rows + row] = uvec4(id[i], own.candidates[i].x, uint(undecided), 0u);
    if (rows != 1u) continue;
    params[PARAMS_TOKENS] = id[i];
    history[position % SAMPLE_HISTORY] = id[i];
  }

  for (uint i = lane; i < SAMPLE_BINS; i += step) own.histogram[i] = 0u;
  if (lane == 0u) own.count = 0u;
}
