// Reductions over a workgroup, at any subgroup size. Every invocation calls each of them at most once and
// gets the result. The order of the additions depends on the sizes alone, so a device gives the same bits
// every time. In workgroup_add_max(), for which each product of decode waits, as little as possible waits for
// anything else. Expects subgroup.glsl.

const uint kMostSubgroups = gl_WorkGroupSize.x / 4;  // smaller ones are not used
const uint kMostFours = (kMostSubgroups + 3) / 4;  // of subgroups
shared float reduce_float[kMostSubgroups];
shared vec4 reduce_sum[kMostFours], reduce_largest[kMostFours];
shared ivec4 reduce_int[kMostFours];

precise float add_squares(vec4 v, float sum) {
  return fma(v.x, v.x, fma(v.y, v.y, fma(v.z, v.z, fma(v.w, v.w, sum))));
}

float workgroup_add(float v) {
  v = subgroup_add(v);
  if (LANE == 0) reduce_float[SUBGROUP] = v;
  barrier();
  precise float sum = 0.0;
  for (uint i = 0; i < N_SUBGROUPS; ++i) sum += reduce_float[i];
  return sum;
}

uint fours_of_subgroups() { return (N_SUBGROUPS + 3) / 4; }

// Whether this invocation fills the last four of the subgroups up with zeros.
bool fills_up() { return N_SUBGROUPS % 4 != 0 && SUBGROUP == 0 && LANE == 0; }

float sum_of_fours(vec4 v) {
  precise float sum = (v.x + v.y) + (v.z + v.w);
  return sum;
}

// What workgroup_add_max() does with sums, for decode_row_scale.glsl: behind a barrier sum_of_parts() has
// that of all subgroups. There it stays written out, so that the kernel for two planes is the one that was
// measured (../../bench/speed/decode.md).
void share_part(float v) {
  if (LANE == 0) reduce_sum[SUBGROUP / 4][SUBGROUP % 4] = v;
  if (fills_up())
    for (uint i = N_SUBGROUPS; i < 4 * fours_of_subgroups(); ++i) reduce_sum[i / 4][i % 4] = 0.0;
}

float sum_of_parts() {
  precise vec4 sum = reduce_sum[0];
  for (uint i = 1; i < fours_of_subgroups(); ++i) sum += reduce_sum[i];
  return sum_of_fours(sum);
}

// The sum of the first values and the largest of the second, which are not negative.
vec2 workgroup_add_max(float v, float candidate) {
  precise float own = v;
  UNROLL for (uint step = 1; step < SUBGROUP_SIZE; step *= 2) {
    own += shuffle_xor(own, step);
    candidate = max(candidate, shuffle_xor(candidate, step));
  }
  if (LANE == 0) {
    reduce_sum[SUBGROUP / 4][SUBGROUP % 4] = own;
    reduce_largest[SUBGROUP / 4][SUBGROUP % 4] = candidate;
  }
  if (fills_up())
    for (uint i = N_SUBGROUPS; i < 4 * fours_of_subgroups(); ++i)
      reduce_sum[i / 4][i % 4] = reduce_largest[i / 4][i % 4] = 0.0;
  barrier();
  precise vec4 sum = reduce_sum[0];
  vec4 largest = reduce_largest[0];
  for (uint i = 1; i < fours_of_subgroups(); ++i) sum += reduce_sum[i];
  for (uint i = 1; i < fours_of_subgroups(); ++i) largest = max(largest, reduce_largest[i]);
  return vec2(sum_of_fours(sum), max(max(largest.x, largest.y), max(largest.z, largest.w)));
}

// The first half of workgroup_add(): behind a barrier sum_of_shares() has the sum.
void share_sum(int v) {
  v = subgroup_add(v);
  if (LANE == 0) reduce_int[SUBGROUP / 4][SUBGROUP % 4] = v;
  if (fills_up())
    for (uint i = N_SUBGROUPS; i < 4 * fours_of_subgroups(); ++i) reduce_int[i / 4][i % 4] = 0;
}

int sum_of_shares() {
  ivec4 sum = reduce_int[0];
  for (uint i = 1; i < fours_of_subgroups(); ++i) sum += reduce_int[i];
  return sum.x + sum.y + sum.z + sum.w;
}

int workgroup_add(int v) {
  share_sum(v);
  barrier();
  return sum_of_shares();
}
