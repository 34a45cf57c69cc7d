// The input of a BitLinear: y = rms_norm(x) * weight, then int8 by the row's largest magnitude (BitNet b1.58,
// section 2):   s = 127 / max(1e-5, max|y|),  q = clamp(round_half_even(y * s), -128, 127) With y =
// inverse_rms * (x * weight), one pass over the row finds what both steps need. All kernels that include this
// give the same bits, since the order of operations is written out and `precise` keeps it. Expects
// reduce.glsl and push constants `n_in` and `epsilon`.

struct RowScale {
  float s;
  float factor;  // q = round(x * weight * factor)
};

precise float add_squares(vec4 v, float sum) {
  return fma(v.x, v.x, fma(v.y, v.y, fma(v.z, v.z, fma(v.w, v.w, sum))));
}

float largest_of(vec4 y, float largest) {
  y = abs(y);
  return max(largest, max(max(y.x, y.y), max(y.z, y.w)));
}

// `squares` and `largest` are an invocation's share of the row: sum of x^2, largest |x * weight|.
RowScale row_scale(float squares, float largest) {
  vec2 row = workgroup_add_max(squares, largest);
  precise float inverse = 1.0 / sqrt(row.x / float(push.n_in) + push.epsilon);
  precise float s = 127.0 / max(1e-5, row.y * inverse);
  precise float factor = inverse * s;
  return RowScale(s, factor);
}

// Four int8 in a word; their sum is added to `sum`.
uint quantised(vec4 y, float factor, inout int sum) {
  precise vec4 scaled = y * factor;
  ivec4 q = ivec4(clamp(roundEven(scaled), -128.0, 127.0));
  sum += q.x + q.y + q.z + q.w;
  q &= 0xFF;
  return uint(q.x | q.y << 8 | q.z << 16 | q.w << 24);
}
