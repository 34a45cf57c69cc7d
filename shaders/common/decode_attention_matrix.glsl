// As decode_attention_dot.glsl, on a device that multiplies matrices of F16, in the order of
// attention_matrix.glsl. The rows of a matrix are the high halves of what the heads have, and from kLowRow on
// the low ones, so that one product serves both. The rows between them hold anything. Requires: kLowRow heads
// at most.

const uint kLowRow = 8;
const uint kSteps = kHeadDim / HALF_SIDE, kKeySteps = kChunk / HALF_SIDE;
const uint kKeyLoads = kValueLoads;  // an invocation brings keys as it does values
const bool kLoadsLate = false;

// What `tile` holds, in uvec4: keys and then values, [key][feature] of F16, with a gap that keeps eight rows
// out of each other's banks; the queries, [row][feature]; the scores, [row][key] of f32, and then the weights
// in their place, of F16; the sums of values, [row][feature] of f32, and behind those of the features that of
// the weights.
const uint kStride = kUnits + 1, kScoreStride = kChunk / 4 + 2, kWeightStride = kChunk / 8 + 1;
const uint kSumStride = (kHeadDim + HALF_SIDE) / 4 + 1;
const uint kQueriesAt = kChunk * kStride, kScoresAt = kQueriesAt + HALF_SIDE * kStride;
const uint kSumsAt = kScoresAt + HALF_SIDE * kScoreStride;

// Where the cache has what this invocation brings of a chunk at load `i`, in uvec4, if it has it.
uint place_in_cache(uint i, uint chunk, uint kv_head) {
  uint item = gl_LocalInvocationID.x + i * kSize;
  return (cache_row(chunk * kChunk + item / kUnits) * push.n_head_kv + kv_head) * kUnits + item % kUnits;
}
bool is_in_cache(uint i, uint chunk, uint position, uint first_new) {
  uint base = chunk * kChunk, key = (gl_LocalInvocationID.x + i * kSize) / kUnits;
  return key >= max(first_of_window(position), base) - base && key < old_keys(base, first_new);
}

// As load_chunk() of the other file. The cache is no parameter of one function for both, since llvmpipe of
// Mesa 22.3 then loads keys where the values are.
void load_keys(uint chunk, uint kv_head, uint position, uint first_new, out uvec4 keys[kKeyLoads]) {
  Codes k_cache = Codes(push.k_cache);
  UNROLL for (uint i = 0; i < kKeyLoads; ++i) {
    keys[i] = uvec4(0);
    if (is_in_cache(i, chunk, position, first_new)) keys[i] = k_cache.at[place_in_cache(i, chunk, kv_head)];
  }
}
void load_values(uint chunk, uint kv_head, uint position, uint first_new, out uvec4 values[kValueLoads]) {
  Codes v_cache = Codes(push.v_cache);
  UNROLL for (uint i = 0; i < kValueLoads; ++i) {
    values[i] = uvec4(0);
    if (is_in_cache(i, chunk, position, first_new)) values[i] = v_cache.at[place_in_cache(i, chunk, kv_head)];
  }
}
void load_chunk(uint chunk, uint kv_head, uint position, uint first_new, out uvec4 keys[kKeyLoads],
                out uvec4 values[kValueLoads]) {
  load_keys(chunk, kv_head, position, first_new, keys);
  load_values(chunk, kv_head, position, first_new, values);
}

// Neighbouring invocations have neighbouring features, or keys, of the same head: this one's half of the
// pair.
uint split_with_neighbour(float value) {
  float other = shuffle_xor(value, 1);
  bool is_second = (LANE & 1) != 0;
  uvec2 halves = split_pair(is_second ? vec2(other, value) : vec2(value, other));
  return is_second ? halves.y : halves.x;
}

void keep_query(uint item, float value) {
  uint half_ = split_with_neighbour(value);
  if (item >= kHeads * kHeadDim) return;
  uint row = item / kHeadDim + (LANE & 1) * kLowRow, word = item % kHeadDim / 2;
  tile[kQueriesAt + row * kStride + word / 4][word % 4] = half_;
}

void keep_new_key(uint i, uint word) {}  // whoever has it brings it into each chunk

// Keeps of a chunk what comes from the cache, and the pair that this invocation has of what does not.
void keep_chunk(uvec4 from_cache, uint item, uint n_old, uint n_keys) {
  uint key = item / kUnits;
  if (key < n_old || key >= n_keys && key < kChunk) tile[key * kStride + item % kUnits] = from_cache;
}
void keep_new(uint key, uint pair, uint word) { tile[key * kStride + pair / 4][pair % 4] = word; }

// Loads the next chunk's keys, and then its values, as soon as there is room for them.
void score_keys(inout uvec4 keys[kKeyLoads], inout uvec4 values[kValueLoads], Chunk chunk, NewPair pair) {
  uint lane = gl_LocalInvocationID.x;
  UNROLL for (uint i = 0; i < kValueLoads; ++i) keep_chunk(keys[i], lane + i * kSize, chunk.n_old, chunk.n_keys);
  if (pair.key < chunk.n_keys) keep_new(pair.key, pair.pair, pair.key_word);
  barrier();
  if (chunk.next < chunk.end) load_keys(chunk.next, chunk.kv_head, chunk.position, chunk.first_new, keys);
  for (uint part = SUBGROUP; part < kKeySteps; part += N_SUBGROUPS) {
    MatrixC sum = zeros();
    UNROLL for (uint i = 0; i < kSteps; ++i) {
      MatrixA rows;
      MatrixB some;
      LOAD_MATRIX(rows, kQueriesAt + i * (HALF_SIDE / 8), kStride, false);
      LOAD_MATRIX(some, part * HALF_SIDE * kStride + i * (HALF_SIDE / 8), kStride, true);
      sum = multiply_add(rows, some, sum);
    }
    STORE_MATRIX(sum, kScoresAt + part * (HALF_SIDE / 4), kScoreStride);
  }
  barrier();
  UNROLL for (uint i = 0; i < kValueLoads; ++i) keep_chunk(values[i], lane + i * kSize, chunk.n_old, chunk.n_keys);
  if (pair.key < chunk.n_keys) keep_new(pair.key, pair.pair, pair.value_word);
  if (chunk.next < chunk.end) load_values(chunk.next, chunk.kv_head, chunk.position, chunk.first_new, values);
}

float float_of_tile(uint at, uint i) { return uintBitsToFloat(tile[at + i / 4][i % 4]); }

float score_of(uint h, uint key) {
  uint row = kScoresAt + h * kScoreStride;
  return whole_of(float_of_tile(row, key), float_of_tile(row + kLowRow * kScoreStride, key));
}

void keep_weight(uint h, uint key, float weight) {
  uint half_ = split_with_neighbour(weight);
  if (h >= kHeads) return;
  uint row = h + (LANE & 1) * kLowRow;
  tile[kScoresAt + row * kWeightStride + key / 8][key % 8 / 2] = half_;
}

void sum_values() {
  for (uint part = SUBGROUP; part <= kSteps; part += N_SUBGROUPS) {
    MatrixC sum = zeros();
    UNROLL for (uint i = 0; i < kKeySteps; ++i) {
      MatrixA rows;
      MatrixB some = ones();  // behind the last feature
      LOAD_MATRIX(rows, kScoresAt + i * (HALF_SIDE / 8), kWeightStride, false);
      if (part < kSteps) LOAD_MATRIX(some, i * HALF_SIDE * kStride + part * (HALF_SIDE / 8), kStride, false);
      sum = multiply_add(rows, some, sum);
    }
    STORE_MATRIX(sum, kSumsAt + part * (HALF_SIDE / 4), kSumStride);
  }
  barrier();
}

vec2 values_of(uint h, uint pair, out float l) {
  uint row = kSumsAt + h * kSumStride, low = row + kLowRow * kSumStride;
  l = whole_of(float_of_tile(row, kHeadDim), float_of_tile(low, kHeadDim));
  return vec2(whole_of(float_of_tile(row, 2 * pair), float_of_tile(low, 2 * pair)),
              whole_of(float_of_tile(row, 2 * pair + 1), float_of_tile(low, 2 * pair + 1)));
}
