// Units of rounded inputs, of which the norm of their row comes from (CpuKernels::unit_factors). Written once
// and included by each kernels_*.cpp after float_loops.h. It needs besides:
//   div(Vec, Vec)
//   min(Vec, Vec)   of which the second is taken where the first is no number

// The sum of squares of a unit of 32 or 64.
inline float squares_of_unit(const float* x, uint32_t unit) {
  Floats squares = all(0);
  for (uint32_t i = 0; i < unit; i += kLanes) {
    const Floats v = load16(x + i);
    squares = fma(v, v, squares);
  }
  return add_lanes(squares);
}

inline UnitTotals unit_factors(const float* m, const float* squares, uint32_t n, float* e) {
  Floats most = all(kLeastMagnitude), sum = all(0);
  for (uint32_t i = 0; i < n; i += kLanes) {
    most = max(load_some(m + i, n - i), most);
    sum = add(sum, load_some(squares + i, n - i));
  }
  const float largest = largest_lane(most);
  for (uint32_t i = 0; i < n; i += kLanes) {
    Floats v = load_some(m + i, n - i);
    for (Vec& w : v.vec) w = min(div(w, set1(largest)), set1(1));
    store_some(e + i, v, n - i);
  }
  return {largest, add_lanes(sum)};
}
