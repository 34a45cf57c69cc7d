// Gates of a Gated DeltaNet that are a product of floats, W norm(x), a row by a whole workgroup. All kernels
// that include this give the same bits: an invocation multiplies every gl_WorkGroupSize.x-th vec4 of the row,
// and what it has is summed by subgroup and then in the order of subgroups. Expects quantise.glsl.
#include "inverse.glsl"

float add_four(vec4 w, vec4 y, float sum) {
  precise float more = fma(w.w, y.w, fma(w.z, y.z, fma(w.y, y.y, fma(w.x, y.x, sum))));
  return more;
}

// Four floats of a row from the words of them, of which 16-bit types have two.
vec4 four_floats(uint type, uvec4 v) {
  if (type == TABLE_F32) return uintBitsToFloat(v);
  if (type == TABLE_F16) return vec4(unpackHalf2x16(v.x), unpackHalf2x16(v.y));
  return uintBitsToFloat(uvec4(v.x << 16, v.x & 0xFFFF0000u, v.y << 16, v.y & 0xFFFF0000u));
}
