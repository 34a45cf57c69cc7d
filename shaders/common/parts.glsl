// For products of matrices where kParts subgroups divide the inputs of a tile among them. In the end each
// part has its sums in kPartSums uvec4 of the array `tile`, and they are added. Expects these three.

// What number `at` behind the uvec4 `sums` is in all parts together.
int sum_of_parts(uint sums, uint at) {
  int sum = 0;
  UNROLL for (uint p = 0; p < kParts; ++p) sum += int(tile[sums + p * kPartSums + at / 4][at % 4]);
  return sum;
}

// What the subgroups of a tile stored before can be read by all of them after it.
void barrier_of_parts() {
  if (kParts > 1)
    barrier();
  else
    subgroupBarrier();
}
