// What attention as a stage of decode.comp does with a chunk of keys, in products of single values: the
// scores and the sums of values in the order of attention.glsl. decode_attention_matrix.glsl does the same in
// matrices.

const uint kQuarter = (kUnits + 3) / 4;                   // uvec4 of the longest quarter of a head
const uint kQuarters = (4 * kChunk + kSize - 1) / kSize;  // of keys, that an invocation multiplies

// What `tile` holds, in uvec4: keys and then values, [key][feature] of F16, with a gap that keeps eight rows
// out of each other's banks; the sums of quarters of keys, [quarter][head][key] of f32, and then the weights in
// their place, [head][key].
const uint kStride = kUnits + 1, kSumsAt = kChunk * kStride;

void keep_sum(uint at, float sum) { tile[kSumsAt + at / 4][at % 4] = floatBitsToUint(sum); }
float kept_sum(uint at) { return uintBitsToFloat(tile[kSumsAt + at / 4][at % 4]); }

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

void multiply_keys() {
  UNROLL for (uint i = 0; i < kQuarters; ++i) {
    uint item = gl_LocalInvocationID.x + i * kSize, key = item % kChunk, quarter = item / kChunk;
    if (quarter >= 4) break;
    uvec2 range = quarter_of(quarter, kHeadDim) / 8;
    float sum[kHeads];
    UNROLL for (uint h = 0; h < kHeads; ++h) sum[h] = 0.0;
    UNROLL for (uint unit = 0; unit < kQuarter; ++unit) {
      if (range.x + unit >= range.y) break;
      uvec4 bits = tile[key * kStride + range.x + unit];
      UNROLL for (uint h = 0; h < kHeads; ++h)
        sum[h] = dot8(bits, h * kHeadDim + 8 * (range.x + unit), sum[h]);
    }
    UNROLL for (uint h = 0; h < kHeads; ++h) keep_sum((quarter * kHeads + h) * kChunk + key, sum[h]);
  }
}

float score_of(uint h, uint key) {
  precise float sum = 0.0;
  UNROLL for (uint quarter = 0; quarter < 4; ++quarter) sum += kept_sum((quarter * kHeads + h) * kChunk + key);
  return sum;
}

void keep_weight(uint h, uint key, float weight) {
  if (h < kHeads) keep_sum(h * kChunk + key, weight);
}

void sum_values() {}

// The sums of values of a pair of features, and that of the weights.
vec2 values_of(uint h, uint pair, out float l) {
  vec2 sum = vec2(0.0);
  precise float of_weights = 0.0;
  for (uint some = 0; some < kChunk; some += 16) {  // outside a weight and a value of 0
    UNROLL for (uint key = some; key < some + 16; ++key) {
      float weight = kept_sum(h * kChunk + key);
      sum = fma(vec2(weight), unpackHalf2x16(tile[key * kStride + pair / 4][pair % 4]), sum);
      of_weights += weight;
    }
  }
  l = of_weights;
  return sum;
}
