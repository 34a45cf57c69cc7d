// Reductions over a workgroup, at any subgroup size. Every invocation calls them and gets the result; the
// order of the additions depends on the sizes alone, so a device repeats itself bit for bit.

shared float reduce_float[gl_WorkGroupSize.x];
shared int reduce_int[gl_WorkGroupSize.x];

float workgroup_add(float v) {
  v = subgroupAdd(v);
  if (subgroupElect()) reduce_float[gl_SubgroupID] = v;
  barrier();
  float sum = 0.0;
  for (uint i = 0; i < gl_NumSubgroups; ++i) sum += reduce_float[i];
  barrier();
  return sum;
}

float workgroup_max(float v) {
  v = subgroupMax(v);
  if (subgroupElect()) reduce_float[gl_SubgroupID] = v;
  barrier();
  float largest = reduce_float[0];
  for (uint i = 1; i < gl_NumSubgroups; ++i) largest = max(largest, reduce_float[i]);
  barrier();
  return largest;
}

int workgroup_add(int v) {
  v = subgroupAdd(v);
  if (subgroupElect()) reduce_int[gl_SubgroupID] = v;
  barrier();
  int sum = 0;
  for (uint i = 0; i < gl_NumSubgroups; ++i) sum += reduce_int[i];
  barrier();
  return sum;
}
