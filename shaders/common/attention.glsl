// The arithmetic that all kernels of attention share, so that decode and prefill give the same bits. Those that multiply
// matrices of F16 have other sums within a chunk (attention_matrix.glsl), for all batches of a model or for none. Keys
// come in chunks of kChunk from position 0 on; a chunk is reduced against its own largest score m:
//   score_k = q . k   (the features in four quarters, each summed in order, then the quarters in order)
//   weight_k = 2^(score_k - m),  l = sum(weight_k),  o = sum(weight_k v_k)   (keys in order)
// and chunks are merged in order (online softmax, Milakov & Gimelshein 2018). q carries log2(e) /
// sqrt(head_dim).

layout(constant_id = CONSTANT_WINDOW) const uint kWindow = 0;

const uint kChunk = 64;
const float kLowest = -3.4e38;

// The first position that a token sees.
uint first_seen(uint position) { return kWindow == 0 ? 0 : position - min(position, kWindow - 1); }

// Features [begin, end) of quarter `i` of a head, whole uvec4 of eight F16.
uvec2 quarter_of(uint i, uint head_dim) {
  uint units = head_dim / 8, each = (units + 3) / 4;
  return min(uvec2(i, i + 1) * each, uvec2(units)) * 8;
}

struct Merged {
  float m;
  float l;
};

// The factors of what was merged before (x), with the largest score `largest`, and of a new chunk (y). Then
// `largest` is that of both.
vec2 chunk_factors(inout float largest, float m) {
  float before = largest;
  largest = max(before, m);
  precise vec2 factors = vec2(exp2(before - largest), exp2(m - largest));
  return factors;
}

// The same, and adds the chunk to `merged`.
vec2 merge_factors(inout Merged merged, float m, float l) {
  vec2 factors = chunk_factors(merged.m, m);
  precise float share = l * factors.y;
  precise float sum = fma(merged.l, factors.x, share);
  merged.l = sum;
  return factors;
}
vec2 merge_values(vec2 o, vec2 chunk, vec2 factors) {
  precise vec2 share = chunk * factors.y;
  precise vec2 sum = fma(o, vec2(factors.x), share);
  return sum;
}
vec4 merge_values(vec4 o, vec4 chunk, vec2 factors) {
  precise vec4 share = chunk * factors.y;
  precise vec4 sum = fma(o, vec4(factors.x), share);
  return sum;
}
