// Reductions over a workgroup, at any subgroup size. Every invocation calls each of them at most once and
// gets the result. The order of the additions depends on the sizes alone, so a device gives the same bits
// every time. Expects subgroup.glsl.

const uint kMostSubgroups = gl_WorkGroupSize.x / 4;  // no device's are smaller
shared float reduce_float[kMostSubgroups];
shared vec2 reduce_pair[kMostSubgroups];
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
  if (LANE == 0) reduce_pair[SUBGROUP] = vec2(v, candidate);
  barrier();
  precise float sum = 0.0;
  float largest = reduce_pair[0].y;
  for (uint i = 0; i < N_SUBGROUPS; ++i) {
    sum += reduce_pair[i].x;
    largest = max(largest, reduce_pair[i].y);
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
