// What attention as a stage of decode.comp does with a chunk of keys, in products of single values: the
// scores and the sums of values in the order of attention.glsl. An invocation has quarters of keys in
// registers, and the values lie in shared memory. Part of decode_attention.glsl; decode_attention_matrix.glsl
// does the same in matrices.

const uint kQuarter = (kUnits + 3) / 4;                   // uvec4 of the longest quarter of a head
const uint kQuarters = (4 * kChunk + kSize - 1) / kSize;  // that an invocation takes
const uint kKeyLoads = kQuarters * kQuarter;
const bool kLoadsLate = true;  // the next chunk, behind the weights of this one

// `tile` holds the chunk's values, [key][pair]. Heads of few features leave room for arrays of the sums of
// quarters of keys. Those of more features have them in `tile`, and so have several tokens: the sums behind
// the values, and behind these the new keys.
shared vec4 weights[kHeads][kChunk / 4];
shared uvec4 new_key[kTokens == 1 ? kUnits : 1];
const bool kApart = kTokens == 1 && kHeadDim <= ATTENTION_APART;
const uint kQuarterSums = kChunk * kUnits, kNewKeys = kQuarterSums + kHeads * kChunk;
shared float quarter_sums[kApart ? 4 * kHeads * kChunk : 1];

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

// Loads what the cache holds of a chunk, and zeros in place of what it does not hold yet or no longer, where
// it may be NaN.
void load_chunk(uint chunk, uint kv_head, uint position, uint first_new, out uvec4 keys[kKeyLoads],
                out uvec4 values[kValueLoads]) {
  Codes k_cache = Codes(push.k_cache), v_cache = Codes(push.v_cache);
  uint base = chunk * kChunk, n_old = old_keys(base, first_new);
  uint n_gone = max(first_of_window(position), base) - base;
  UNROLL for (uint i = 0; i < kQuarters; ++i) {
    uint item = gl_LocalInvocationID.x + i * kSize, key = item % kChunk;
    uvec2 range = quarter_of(item / kChunk, kHeadDim) / 8;
    uint at = (cache_row(base + key) * push.n_head_kv + kv_head) * kUnits;
    UNROLL for (uint unit = 0; unit < kQuarter; ++unit) {
      keys[i * kQuarter + unit] = uvec4(0);
      if (key >= n_gone && key < n_old && range.x + unit < range.y) keys[i * kQuarter + unit] = k_cache.at[at + range.x + unit];
    }
  }
  UNROLL for (uint i = 0; i < kValueLoads; ++i) {
    uint item = gl_LocalInvocationID.x + i * kSize, key = item / kUnits;
    values[i] = uvec4(0);
    if (key >= n_gone && key < n_old)
      values[i] = v_cache.at[(cache_row(base + key) * push.n_head_kv + kv_head) * kUnits + item % kUnits];
  }
}

// keep_query() and keep_weight() are called by all invocations; those that have none are behind the last one.
void keep_query(uint item, float value) {
  if (item < kHeads * kHeadDim) query[item / 4][item % 4] = value;
}

float dot8(uvec4 key, uint at, float sum) {
  UNROLL for (uint i = 0; i < 2; ++i) {
    vec4 four = query[at / 4 + i];
    vec2 first = unpackHalf2x16(key[2 * i]), second = unpackHalf2x16(key[2 * i + 1]);
    sum = fma(four.w, second.y, fma(four.z, second.x, fma(four.y, first.y, fma(four.x, first.x, sum))));
  }
  return sum;
}

// Computes the scores of a chunk and keeps its values.
void score_keys(uvec4 keys[kKeyLoads], uvec4 values[kValueLoads], Chunk chunk, NewPair pair) {
  uint lane = gl_LocalInvocationID.x;
  UNROLL for (uint i = 0; i < kValueLoads; ++i)
    if (lane + i * kSize < kChunk * kUnits) tile[lane + i * kSize] = values[i];
  barrier();
  if (pair.key < chunk.n_keys) tile[pair.key * kUnits + pair.pair / 4][pair.pair % 4] = pair.value_word;
  UNROLL for (uint i = 0; i < kQuarters; ++i) {
    uint item = lane + i * kSize, key = item % kChunk, quarter = item / kChunk;
    if (quarter >= 4) break;
    uvec2 range = quarter_of(quarter, kHeadDim) / 8;
    float sum[kHeads];
    UNROLL for (uint h = 0; h < kHeads; ++h) sum[h] = 0.0;
    UNROLL for (uint unit = 0; unit < kQuarter; ++unit) {
      if (range.x + unit >= range.y) break;
      uvec4 bits = keys[i * kQuarter + unit];
      if (kTokens == 1 ? key == chunk.n_old : key >= chunk.n_old)
        bits = new_key_unit(min(chunk.base + key - chunk.first_new, kTokens - 1) * kUnits + range.x + unit);
      UNROLL for (uint h = 0; h < kHeads; ++h)
        sum[h] = dot8(bits, h * kHeadDim + 8 * (range.x + unit), sum[h]);
    }
    UNROLL for (uint h = 0; h < kHeads; ++h) keep_quarter(quarter, h, key, sum[h]);
  }
  barrier();
}

float score_of(uint h, uint key) {
  precise float sum = 0.0;
  UNROLL for (uint quarter = 0; quarter < 4; ++quarter) sum += quarter_sum(quarter, h, key);
  return sum;
}

void keep_weight(uint h, uint key, float weight) {
  if (h < kHeads) weights[h][key / 4][key % 4] = weight;
}

void sum_values() {}

// The sums of values of a pair of features, and that of the weights.
vec2 values_of(uint h, uint pair, out float l) {
  vec2 sum = vec2(0.0);
  precise float of_weights = 0.0;
  for (uint some = 0; some < kChunk; some += 16) {  // outside a weight and a value of 0
    UNROLL for (uint key = some; key < some + 16; ++key) {
      float weight = weights[h][key / 4][key % 4];
      sum = fma(vec2(weight), unpackHalf2x16(tile[key * kUnits + pair / 4][pair % 4]), sum);
      of_weights += weight;
    }
  }
  l = of_weights;
  return sum;
}
