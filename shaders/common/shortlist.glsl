// What the kernels of the shortlist share: bounds of a logit from an approximation in 8 bits. A row is
// w = s c + e with int8 c, a vector y = t p + f with whole numbers p = 128 high + low. cpu/shortlist.h proves
//   |w . y - s t (c . p)| <= (|w| + |e|) |f| + |e| |y| + r |w| |y|
// where r is what the sums of the whole head and the approximation itself round. Norms are enlarged by more
// than they are rounded.

const float kEnlarged = 1.001, kUlp = 5.97e-8;  // a little over 2^-24
const float kAlways = 1e30;  // of a row without a bound: no logit is as large as kAlways times a usable |y|

// Of a largest value: so that no square that matters is rounded to nothing or to infinity.
bool is_usable(float largest) { return largest > 1e-10 && largest < 1e10; }

bool is_finite(float v) { return (floatBitsToUint(v) & 0x7F800000u) != 0x7F800000u; }

ShortlistRow shortlist_row(float scale, float squares, float errors, bool usable, uint n) {
  if (!usable || !is_finite(squares)) return ShortlistRow(0.0, kAlways, kAlways, 0.0);
  float w = sqrt(squares) * kEnlarged, e = sqrt(errors) * kEnlarged + kUlp * w;
  float rounded = (float(n) / 32.0 + 16.0) * 1.1 * kUlp;
  return ShortlistRow(scale, w + e, e + rounded * w, 0.0);
}

float bound_of(ShortlistRow row, ShortlistVector y) { return kEnlarged * (row.of_f * y.f + row.of_y * y.norm); }

uint pack_int8(ivec4 v) {
  uvec4 u = uvec4(v) & 255u;
  return u.x | u.y << 8 | u.z << 16 | u.w << 24;
}
