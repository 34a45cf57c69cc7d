// What the invocations of attention as a stage of decode.comp (decode_attention.glsl) share, beside what
// decode_attention_dot.glsl and decode_attention_matrix.glsl have.

#ifdef HALF_MATRICES
const uint kMostMaxima = kChunk / 32;  // of subgroups of 32 lanes
#else
const uint kMostMaxima = kChunk;
#endif
shared vec4 query[kHeads * kHeadDim / 4];
shared float maxima[kHeads][kMostMaxima];  // of each subgroup's keys
shared float largest_score[kHeads];
shared float merge_largest, merged_l;  // when chunks are merged
shared bool merges_all;
// Where heads are normed: the shares of their squares, and at last of the new keys'. Until these are summed
// `query` and raw_key hold the heads as they come.
shared vec4 shares[kHeads + kTokens][kShares / 4];
shared float raw_key[kTokens == 1 && kHasNorm ? kHeadDim : 1];
// When chunks are merged `tile` holds their shares, and behind them the largest score and the sum of the
// weights of each, and what it and those before it are multiplied by. The heads of several tokens lie there
// as they come, before it holds anything else.

void keep_raw(uint i, float value) {
  if (kTokens == 1) raw_key[i] = value;
  else tile[i / 4][i % 4] = floatBitsToUint(value);
}
float raw_at(uint i) {
  if (kTokens == 1) return raw_key[i];
  return uintBitsToFloat(tile[i / 4][i % 4]);
}

const uint kMergeSums = kMergeChunks * kMergePairs, kMergeFactors = kMergeSums + kMergeChunks;
void keep_share(uint at, vec2 share) {
  tile[at / 2][at % 2 * 2] = floatBitsToUint(share.x);
  tile[at / 2][at % 2 * 2 + 1] = floatBitsToUint(share.y);
}
vec2 share_at(uint at) {
  return uintBitsToFloat(uvec2(tile[at / 2][at % 2 * 2], tile[at / 2][at % 2 * 2 + 1]));
}
