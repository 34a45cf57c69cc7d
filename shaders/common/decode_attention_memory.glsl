// Where attention as a stage of decode.comp (decode_attention.glsl) has in shared memory what its invocations share:
// in arrays of its own, or in `tile`, by how many features heads have and how many tokens there are.

shared vec4 query[kHeads * kHeadDim / 4];
shared vec4 weights[kHeads][kChunk / 4];
shared float maxima[kHeads][kChunk];  // of each subgroup's keys
shared float largest_score[kHeads];
shared float merge_largest, merged_l;  // when chunks are merged
// Where heads are normed: the shares of their squares, and at last of the new keys'. Until these are summed `query`
// and raw_key hold the heads as they come.
shared vec4 shares[kHeads + kTokens][kShares / 4];
shared uvec4 new_key[kTokens == 1 ? kUnits : 1];
shared float raw_key[kTokens == 1 && kHasNorm ? kHeadDim : 1];
// `tile` holds the chunk's values, [key][pair]. Heads of few features leave room for arrays of the sums of quarters
// of keys. Those of more features have them in `tile`, and so have several tokens: the sums behind the values, and
// behind these the new keys, which `tile` also holds as they come. When chunks are merged it holds their shares, and
// behind them the largest score and the sum of the weights of each, and what it and those before it are multiplied by.
const bool kApart = kTokens == 1 && kHeadDim <= ATTENTION_APART;
const uint kQuarterSums = kChunk * kUnits, kNewKeys = kQuarterSums + kHeads * kChunk;
shared float quarter_sums[kApart ? 4 * kHeads * kChunk : 1];

void keep_raw(uint i, float value) {
  if (kTokens == 1) raw_key[i] = value;
  else tile[i / 4][i % 4] = floatBitsToUint(value);
}
float raw_at(uint i) {
  if (kTokens == 1) return raw_key[i];
  return uintBitsToFloat(tile[i / 4][i % 4]);
}

void keep_new_key(uint i, uint word) {
  if (kTokens == 1) new_key[i / 4][i % 4] = word;
  else tile[kNewKeys + i / 4][i % 4] = word;
}
uvec4 new_key_unit(uint i) {
  if (kTokens == 1) return new_key[i];
  return tile[kNewKeys + i];
}

void keep_quarter(uint quarter, uint h, uint key, float sum) {
  uint at = (quarter * kHeads + h) * kChunk + key;
  if (kApart) quarter_sums[at] = sum;
  else tile[kQuarterSums + at / 4][at % 4] = floatBitsToUint(sum);
}
float quarter_sum(uint quarter, uint h, uint key) {
  uint at = (quarter * kHeads + h) * kChunk + key;
  if (kApart) return quarter_sums[at];
  return uintBitsToFloat(tile[kQuarterSums + at / 4][at % 4]);
}

const uint kMergeSums = kChunk * kMergePairs, kMergeFactors = kMergeSums + kChunk;
void keep_share(uint at, vec2 share) {
  tile[at / 2][at % 2 * 2] = floatBitsToUint(share.x);
  tile[at / 2][at % 2 * 2 + 1] = floatBitsToUint(share.y);
}
vec2 share_at(uint at) {
  return uintBitsToFloat(uvec2(tile[at / 2][at % 2 * 2], tile[at / 2][at % 2 * 2 + 1]));
}
