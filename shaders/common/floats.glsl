// A step of a product of floats: eight features of a row of the matrix and of the input. All kernels that
// include this sum in the same order.
float add_eight(vec4 low, vec4 high, vec4 a, vec4 b, float sum) {
  precise float all = fma(low.w, a.w, fma(low.z, a.z, fma(low.y, a.y, fma(low.x, a.x, sum))));
  all = fma(high.w, b.w, fma(high.z, b.z, fma(high.y, b.y, fma(high.x, b.x, all))));
  return all;
}
