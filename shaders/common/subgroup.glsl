// Subgroups are the device's own or, with SHARED_SUBGROUPS, kSubgroupSize neighbouring invocations that
// exchange values through shared memory, for devices without subgroup arithmetic and for tests of sizes that
// no device at hand has. All lanes of the first kind are there, since kernels ask for that
// (../../engine/vk/subgroups.h). All invocations of a workgroup call these functions together, since the
// second kind meets at barriers.
#ifndef SHARED_SUBGROUPS
#define SUBGROUP_SIZE gl_SubgroupSize
#define SUBGROUP gl_SubgroupID
#define N_SUBGROUPS gl_NumSubgroups
#define LANE gl_SubgroupInvocationID
// The number of an invocation by subgroups and lanes, for those whose neighbours have to be neighbouring
// lanes. Where drivers divide a workgroup in order, as every one that was tried does, it is
// gl_LocalInvocationID.x.
#define INVOCATION (SUBGROUP * SUBGROUP_SIZE + LANE)
#define subgroup_max subgroupMax
#define shuffle_xor subgroupShuffleXor
#define meet_in_subgroup subgroupBarrier

float subgroup_add(float v) { return subgroupAdd(v); }

// Not subgroupAdd: NVIDIA's driver 580.159 makes a wrong sum of that where it compiles some chains of decode
// for an H200, the same each time (../../bench/speed/decode.md).
int subgroup_add(int v) {
  UNROLL for (uint step = gl_SubgroupSize / 2; step > 0; step /= 2) v += subgroupShuffleXor(v, step);
  return v;
}
#else
layout(constant_id = CONSTANT_SUBGROUP_SIZE) const uint kSubgroupSize = 32;
#define SUBGROUP_SIZE kSubgroupSize
#define SUBGROUP (gl_LocalInvocationID.x / kSubgroupSize)
#define N_SUBGROUPS (gl_WorkGroupSize.x / kSubgroupSize)
#define LANE (gl_LocalInvocationID.x % kSubgroupSize)
#define INVOCATION gl_LocalInvocationID.x

#define meet_in_subgroup barrier

shared uint exchanged[gl_WorkGroupSize.x];

uint shuffle_xor(uint v, uint mask) {
  exchanged[gl_LocalInvocationID.x] = v;
  barrier();
  v = exchanged[gl_LocalInvocationID.x ^ mask];
  barrier();
  return v;
}

int shuffle_xor(int v, uint mask) { return int(shuffle_xor(uint(v), mask)); }
float shuffle_xor(float v, uint mask) { return uintBitsToFloat(shuffle_xor(floatBitsToUint(v), mask)); }

// Both lanes of a pair add the same two numbers, so that every lane ends with the same bits.
float subgroup_add(float v) {
  for (uint step = 1; step < kSubgroupSize; step *= 2) v += shuffle_xor(v, step);
  return v;
}

int subgroup_add(int v) {
  for (uint step = 1; step < kSubgroupSize; step *= 2) v += shuffle_xor(v, step);
  return v;
}

float subgroup_max(float v) {
  for (uint step = 1; step < kSubgroupSize; step *= 2) v = max(v, shuffle_xor(v, step));
  return v;
}
#endif
