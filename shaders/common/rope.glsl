// RoPE (Su et al. 2021, NeoX pairing: feature i with i + rope_dim / 2). Expects feature(at, i), the value of
// feature `i` of the head that begins at `at`, the buffer `rotation` ([n_ctx][rope_dim / 2] of cos, sin) and
// `rope_dim` among the push constants.

// Feature `i` of the head that begins at `at`, rotated where RoPE reaches it.
float rotated(uint at, uint i, uint position) {
  uint n = push.rope_dim / 2;
  if (i >= push.rope_dim) return feature(at, i);
  uint pair = i < n ? i : i - n;
  vec2 r = rotation[position * n + pair];
  float low = feature(at, pair), high = feature(at, pair + n);
  precise float first = i < n ? low * r.x : high * r.x;
  precise float second = i < n ? high * r.y : low * r.y;
  precise float result = i < n ? first - second : first + second;
  return result;
}
