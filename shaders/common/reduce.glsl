// Reductions over a workgroup, at any subgroup size. Every invocation calls each of them at most once and
// gets the result. The order of the additions depends on the sizes alone, so a device gives the same bits
// every time. Expects subgroup.glsl.

const uint kMostSubgroups = gl_WorkGroupSize.x / 4;  // no device's are smaller
const uint kMostFours = (kMostSubgroups + 3) / 4;  // of subgroups
shared float reduce_float[kMostSubgroups];
shared vec4 reduce_sum[kMostFours], reduce_largest[kMostFours];
shared int reduce_int[kMostSubgroups];

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

// The sum of the first values and the largest of the second.
vec2 workgroup_add_max(float v, float candidate) {
  v = subgroup_add(v);
  candidate = subgroup_max(candidate);
  if (LANE == 0) {
    reduce_sum[SUBGROUP / 4][SUBGROUP % 4] = v;
    reduce_largest[SUBGROUP / 4][SUBGROUP % 4] = candidate;
  }
  barrier();
  precise float sum = 0.0;
  for (uint i = 0; i < N_SUBGROUPS; ++i) sum += reduce_sum[i / 4][i % 4];
  vec4 four = reduce_largest[0];
  float largest = four.x;
  if (N_SUBGROUPS % 4 == 0) {  // four are read together, without waiting for each other
    for (uint i = 1; i < N_SUBGROUPS / 4; ++i) four = max(four, reduce_largest[i]);
    largest = max(max(four.x, four.y), max(four.z, four.w));
  } else {
    for (uint i = 1; i < N_SUBGROUPS; ++i) largest = max(largest, reduce_largest[i / 4][i % 4]);
  }
  return vec2(sum, largest);
}

int workgroup_add(int v) {
  v = subgroup_add(v);
  if (LANE == 0) reduce_int[SUBGROUP] = v;
  barrier();
  int sum = 0;
  for (uint i = 0; i < N_SUBGROUPS; ++i) sum += reduce_int[i];
  return sum;
}
