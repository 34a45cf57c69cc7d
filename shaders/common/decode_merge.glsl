// How attention in decode.comp merges what workgroups find in chunks of keys. Part of decode_attention.glsl.

// Of one token the results of chunks are handed over tagged (decode.comp), and others merge them. Of several
// they lie in memory that other kernels use too, and of the workgroups that share the chunks of some heads
// the last one merges all: workgroups for that alone would be many, each of which takes two microseconds
// where there is nothing to merge.
const bool kTagged = kTokens == 1;

uint tagged_result_of(uint head, uint place) { return (head * push.max_chunks + place) * (1 + kPairs); }

// Whether this workgroup is the last of n_active that have chunks of the heads of a group, of this token.
// Those who are count together, and the last one clears the count for the next stage.
bool comes_last(uint head_group, uint n_active) {
  memoryBarrierBuffer();
  barrier();
  if (gl_LocalInvocationID.x == 0) {
    Words count = Words(push.finished);
    uint own = this_token * (push.n_head / kHeads) + head_group;
    merges_all = atomicAdd(count.at[own], 1) == n_active - 1;
    if (merges_all) atomicExchange(count.at[own], 0);
  }
  barrier();
  memoryBarrierBuffer();
  return merges_all;
}

// What is there of a chunk: the largest score and the sum of the weights, and behind them the pairs of
// features.
uint result_of(uint head, uint chunk) { return (counted_head(head) * push.max_chunks + chunk) * (1 + kPairs); }

// Gives number `i` of that of the chunk, the one at `place` of those that are seen.
void give_result(uint head, uint chunk, uint place, uint i, vec2 values) {
  uvec2 bits = floatBitsToUint(values);
  if (kTagged)
    TaggedPairs(push.finished).at[tagged_result_of(head, place) + i] = uvec4(bits, bits ^ tag_of(this_stage)).xzyw;
  else
    Pairs(push.chunks).at[result_of(head, chunk) + i] = values;
}

uvec4 load_result(uint head, uint place, uint i) {
  return TaggedPairs(push.finished).at[tagged_result_of(head, place) + i];
}

bool is_wrong(uvec4 result) {
  uint tag = tag_of(this_stage);
  return ((result.x ^ result.y ^ tag) | (result.z ^ result.w ^ tag)) != 0;
}

// What this invocation takes of the kMergeChunks chunks from `first` on, of n, where they are there.
void load_results(uint head, uint part, uint first, uint n, out uvec4 some[kMergeLoads]) {
  UNROLL for (uint i = 0; i < kMergeLoads; ++i) {
    uint item = gl_LocalInvocationID.x + i * kSize, place = min(first + item / kMergePairs, n - 1);
    some[i] = load_result(head, place, 1 + part * kMergePairs + item % kMergePairs);
  }
}

// Of so few chunks the workgroup that has the last one merges all: it waits for what the others find, which
// have started before it, and nobody waits for what it finds itself. With more, workgroups that only merge
// are faster. The code for two planes, which has no registers left, is slower with it on an H200
// (../../bench/speed/decode.md).
#ifdef TWO_PLANES
bool merges_few(uint n_seen, uint n_splits) { return false; }
vec2 merge_few(uint head, uint pair, uint n_seen, float m, float l, vec2 o) { return o; }
#else
const uint kFewChunks = 4;
bool merges_few(uint n_seen, uint n_splits) {
  return kTagged && chain.chained != 0 && n_seen > 1 && n_seen <= min(kFewChunks, n_splits);
}

// The result of a pair of features, of which the last of n_seen chunks gives m, l and o.
vec2 merge_few(uint head, uint pair, uint n_seen, float m, float l, vec2 o) {
  uvec4 sums[kFewChunks - 1], values[kFewChunks - 1];
  for (uint polls = 0;; ++polls) {
    bool wrong = false;
    UNROLL for (uint c = 0; c < kFewChunks - 1; ++c) {
      uint at = tagged_result_of(head, min(c, n_seen - 2));
      sums[c] = TaggedPairs(push.finished).at[at];
      values[c] = TaggedPairs(push.finished).at[at + 1 + pair];
    }
    UNROLL for (uint c = 0; c < kFewChunks - 1; ++c) wrong = wrong || is_wrong(sums[c]) || is_wrong(values[c]);
    if (!wrong || !look_again(polls)) break;
  }
  Merged merged = Merged(kLowest, 0.0);
  vec2 sum = vec2(0.0);
  UNROLL for (uint c = 0; c < kFewChunks - 1; ++c) {
    if (c + 1 >= n_seen) break;
    vec2 factors = merge_factors(merged, uintBitsToFloat(sums[c].x), uintBitsToFloat(sums[c].z));
    sum = merge_values(sum, uintBitsToFloat(values[c].xz), factors);
  }
  vec2 factors = merge_factors(merged, m, l);
  return merge_values(sum, o, factors) / merged.l;
}
#endif

// Of several tokens: merges the results of all chunks from `begin` on of the heads from first_head on, in the
// order of the chunks, as merge_factors() and merge_values() do. What these are multiplied by is computed for
// kChunk chunks at a time, each by an invocation: `tile` holds the largest score and the sum of the weights,
// [head][chunk], and then in their place the two factors and the share of the sum.
const uint kMergeItems = (kHeads * kPairs + kSize - 1) / kSize;  // pairs of features of an invocation
const uint kFactorItems = (kHeads * kChunk + kSize - 1) / kSize;

vec4 factors_of_chunk(uint h, uint c, inout float largest) {
  for (uint j = 0; j < c; j += 8)
    UNROLL for (uint k = 0; k < 8; ++k)
      largest = max(largest, uintBitsToFloat(tile[h * kChunk + min(j + k, c - 1)].x));
  vec2 chunk = uintBitsToFloat(tile[h * kChunk + c].xy);
  vec2 factors = chunk_factors(largest, chunk.x);
  precise float share = chunk.y * factors.y;
  return vec4(factors, share, 0.0);
}

void merge_all(uint first_head, uint begin, uint n_chunks) {
  const uint kTogether = 16;  // chunks whose values are loaded together
  GivenPairs results = GivenPairs(push.chunks);  // volatile, so that loads stay in front of what adds them
  uint lane = gl_LocalInvocationID.x;
  vec3 sum[kMergeItems];  // of the pair, and of the weights
  UNROLL for (uint i = 0; i < kMergeItems; ++i) sum[i] = vec3(0.0);
  for (uint first = begin; first < n_chunks; first += kChunk) {
    uint n = min(kChunk, n_chunks - first);
    UNROLL for (uint i = 0; i < kFactorItems; ++i) {
      uint item = lane + i * kSize, h = item / kChunk, c = item % kChunk;
      if (h < kHeads && c < n) tile[item].xy = results.at[result_of(first_head + h, first + c)];
    }
    barrier();
    vec4 factors[kFactorItems];
    float largest[kFactorItems];
    UNROLL for (uint i = 0; i < kFactorItems; ++i) {
      uint item = lane + i * kSize, h = item / kChunk, c = item % kChunk;
      if (h >= kHeads || c >= n) continue;
      largest[i] = first == begin ? kLowest : largest_score[h];
      factors[i] = factors_of_chunk(h, c, largest[i]);
    }
    barrier();
    UNROLL for (uint i = 0; i < kFactorItems; ++i) {
      uint item = lane + i * kSize, h = item / kChunk, c = item % kChunk;
      if (h >= kHeads || c >= n) continue;
      tile[item] = floatBitsToUint(factors[i]);
      if (c == n - 1) largest_score[h] = largest[i];
    }
    barrier();
    UNROLL for (uint i = 0; i < kMergeItems; ++i) {
      uint h = min((lane + i * kSize) / kPairs, kHeads - 1), pair = (lane + i * kSize) % kPairs;
      for (uint c = 0; c < n; c += kTogether) {
        vec2 values[kTogether];
        UNROLL for (uint k = 0; k < kTogether; ++k)
          values[k] =
              uintBitsToFloat(results.at[result_of(first_head + h, first + min(c + k, n - 1)) + 1 + pair]);
        UNROLL for (uint k = 0; k < kTogether; ++k) {  // without branches, so that nothing is waited for by itself
          vec3 by = uintBitsToFloat(tile[h * kChunk + min(c + k, n - 1)].xyz);
          precise float l = fma(sum[i].z, by.x, by.z);
          vec3 with_chunk = vec3(merge_values(sum[i].xy, values[k], by.xy), l);
          sum[i] = c + k < n ? with_chunk : sum[i];
        }
      }
    }
    if (first + kChunk < n_chunks) barrier();
  }
  UNROLL for (uint i = 0; i < kMergeItems; ++i) {
    uint item = lane + i * kSize;
    if (item < kHeads * kPairs) give_features(first_head * kPairs, item, sum[i].xy / sum[i].z);
  }
}

// Of one token: merges the results of chunks of some features of a head in the order of the chunks, as
// merge_factors() and merge_values() do. But the factors of kMergeChunks chunks are computed at a time, and the
// products with these by all invocations, so that only additions wait for each other. These are taken eight
// at a time, so that what they add is loaded together.
void merge_chunks(uint head, uint part, uint n_seen) {
  uint lane = gl_LocalInvocationID.x;
  vec2 sum = vec2(0.0);
  uvec4 some[kMergeLoads];
  float largest_before = kLowest, l = 0.0;
  for (uint first = 0; first < n_seen; first += kMergeChunks) {
    uint n = min(kMergeChunks, n_seen - first);
    if (lane < n) {
      uvec4 result = load_result(head, first + lane, 0);
      for (uint polls = 0; is_wrong(result) && look_again(polls); ++polls) result = load_result(head, first + lane, 0);
      keep_share(kMergeSums + lane, uintBitsToFloat(result.xz));
    }
    barrier();
    load_results(head, part, first, n_seen, some);
    if (lane < n) {
      float before = largest_before, m = share_at(kMergeSums + lane).x;
      for (uint j = 0; j < lane; j += 8)
        UNROLL for (uint k = 0; k < 8; ++k) before = max(before, share_at(kMergeSums + min(j + k, lane - 1)).x);
      float largest = max(before, m);
      precise vec2 by = vec2(exp2(before - largest), exp2(m - largest));
      keep_share(kMergeFactors + lane, by);
      if (lane == n - 1) merge_largest = largest;
    }
    barrier();
    for (uint polls = 0;; ++polls) {
      bool wrong = false;
      UNROLL for (uint i = 0; i < kMergeLoads; ++i) wrong = wrong || is_wrong(some[i]);
      if (!wrong || !look_again(polls)) break;
      load_results(head, part, first, n_seen, some);
    }
    UNROLL for (uint i = 0; i < kMergeLoads; ++i) {
      uint item = lane + i * kSize, chunk = item / kMergePairs;
      if (chunk >= n) break;
      precise vec2 share = uintBitsToFloat(some[i].xz) * share_at(kMergeFactors + chunk).y;
      keep_share(item, share);
    }
    largest_before = merge_largest;
    barrier();
    if (lane < kMergePairs) {
      for (uint c = 0; c < n; c += 8)
        UNROLL for (uint k = 0; k < 8; ++k) {
          uint own = min(c + k, n - 1);
          vec2 share = share_at(own * kMergePairs + lane);
          precise vec2 total = fma(sum, vec2(share_at(kMergeFactors + own).x), share);
          if (c + k < n) sum = total;
        }
    } else if (lane == kSize - 1) {
      for (uint c = 0; c < n; c += 8)
        UNROLL for (uint k = 0; k < 8; ++k) {
          uint own = min(c + k, n - 1);
          vec2 by = share_at(kMergeFactors + own);
          precise float share = share_at(kMergeSums + own).y * by.y;
          precise float total = fma(l, by.x, share);
          if (c + k < n) l = total;
        }
      merged_l = l;
    }
    barrier();
  }
  uint first_pair = head * kPairs + part * kMergePairs;
  if (lane < kMergePairs) give_features(first_pair, lane, sum / merged_l);
#ifdef HAS_UNITS
  give_heads(first_pair, kMergePairs);
#endif
}
