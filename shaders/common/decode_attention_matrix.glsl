// As decode_attention_dot.glsl, on a device that multiplies matrices of F16, in the order of
// attention_matrix.glsl. The rows of a matrix are the high halves of what the heads have, and from kLowRow on
// the low ones, so that one product serves both. The rows between them hold anything. Requires: kLowRow heads
// at most.

const uint kLowRow = 8;
const uint kSteps = kHeadDim / HALF_SIDE, kKeySteps = kChunk / HALF_SIDE;

// What `tile` holds, in uvec4: keys and then values, [key][feature] of F16, with a gap that keeps eight rows
// out of each other's banks; the queries, [row][feature]; the scores, [row][key] of f32, and then the weights
// in their place, of F16; the sums of values, [row][feature] of f32, and behind those of the features that of
// the weights.
const uint kStride = kUnits + 1, kScoreStride = kChunk / 4 + 2, kWeightStride = kChunk / 8 + 1;
const uint kSumStride = (kHeadDim + HALF_SIDE) / 4 + 1;
const uint kQueriesAt = kChunk * kStride, kScoresAt = kQueriesAt + HALF_SIDE * kStride;
const uint kSumsAt = kScoresAt + HALF_SIDE * kScoreStride;

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

void multiply_keys() {
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
