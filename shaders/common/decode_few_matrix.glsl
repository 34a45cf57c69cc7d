// Ternary products of a few tokens as stages of decode.comp on a device that multiplies matrices of int8, where rows have
// one scale: a matrix is 16 rows of codes by kByteN tokens, so that eight tokens take as long as one. A stage of its own
// rounds the vectors (decode_few.glsl). A workgroup takes kTiles matrices of rows, of gate and up one each, and its
// subgroups divide the features among them: each takes every so many blocks of 128, from its codes, which it loads before
// it waits, and from the vectors, and keeps them in a part of `tile` of its own. In the end the sums of the subgroups are
// added; all are of integers, so they are those of every other kernel.
layout(constant_id = CONSTANT_BYTE_N) const uint kByteN = 8;
layout(constant_id = CONSTANT_BYTE_K) const uint kByteK = 32;

const uint kTiles = 2, kTileRows = 16;
const uint kBlockQuads = 8;  // uvec4 of int8 of a block: numbers 2s and 2s + 1 meet the halves of its codes at shift 6 - 2s
const uint kMostBlocks = kLoads < kLoadsLong ? kLoadsLong : kLoads;  // of a subgroup

// A subgroup's part of `tile`, in uvec4: the codes at one shift as [matrix][row][half], then what they meet of the vectors
// as [token][half], with gaps that keep eight rows out of each other's banks; in the end its sums as [matrix][token][row].
// Where a matrix has more tokens than there are, these hold anything: they are of no result.
const uint kByteStride = 3, kSumsStride = kTileRows / 4;
const uint kVectorsAt = kTiles * kTileRows * kByteStride;
const uint kOfProducts = kVectorsAt + kByteN * kByteStride, kOfSums = kTiles * kByteN * kSumsStride;
const uint kPart = kOfProducts < kOfSums ? kOfSums : kOfProducts;

// uvec4 of a block of the vectors that a lane brings.
const uint kVectorLoads = (kTokens * kBlockQuads + 2 * kTileRows - 1) / (2 * kTileRows);

// The matrices of a subgroup. With EMULATED_MATRICES the same in plain arithmetic, where A and B are read where they lie.
#ifndef EMULATED_MATRICES
#define BytesA icoopmatNV<8, gl_ScopeSubgroup, kM, kByteK>
#define BytesB icoopmatNV<8, gl_ScopeSubgroup, kByteK, kByteN>
#define BytesC icoopmatNV<32, gl_ScopeSubgroup, kM, kByteN>
#define LOAD_BYTES(matrix, at, stride, columns) coopMatLoadNV(matrix, tile, at, stride, columns)
#define STORE_SUMS(matrix, at, stride) coopMatStoreNV(matrix, tile, at, stride, true)
#define multiply_bytes coopMatMulAddNV
BytesC no_sums() { return BytesC(0); }
#else
struct BytesA { uint at, stride; };
struct BytesB { uint at, stride; };
struct BytesC { int at[8]; };  // a lane has half of a row, of 16 tokens at most
#define LOAD_BYTES(matrix, place, distance, columns) matrix.at = place, matrix.stride = distance
#define STORE_SUMS store_sums
int byte_of_tile(uint at, uint i) { return bitfieldExtract(int(tile[at + i / 16][i % 16 / 4]), int(i % 4 * 8), 8); }
BytesC no_sums() {
  BytesC none;
  for (uint e = 0; e < 8; ++e) none.at[e] = 0;
  return none;
}
void store_sums(BytesC c, uint at, uint stride) {
  for (uint e = 0; e < kByteN / 2; ++e)
    tile[at + (LANE % 2 * (kByteN / 2) + e) * stride + LANE / 8][LANE / 2 % 4] = uint(c.at[e]);
}
BytesC multiply_bytes(BytesA a, BytesB b, BytesC c) {
  for (uint k = 0; k < kByteK; ++k) {
    int code = byte_of_tile(a.at + LANE / 2 * a.stride, k);
    for (uint e = 0; e < kByteN / 2; ++e)
      c.at[e] += code * byte_of_tile(b.at + (LANE % 2 * (kByteN / 2) + e) * b.stride, k);
  }
  return c;
}
#endif

uint block_of(uint i) { return SUBGROUP + i * N_SUBGROUPS; }

// A lane has every second half of a row of each matrix. Past the end of a row codes are 0, which add nothing.
void load_blocks(uint first_row, uint blocks, bool gates) {
  uint units = push.n_in / 64, row = first_row + LANE / 2;
  Codes codes = Codes(push.w);
  UNROLL for (uint i = 0; i < kMostBlocks; ++i) {
    if (i >= blocks) break;
    uint unit = 2 * block_of(i) + LANE % 2;
    UNROLL for (uint k = 0; k < kTiles; ++k) {
      uint of_tile = gates ? min(row, push.n_out - 1) + k * push.n_out : min(row + k * kTileRows, push.n_out - 1);
      bits[k * kMostBlocks + i] = uvec4(0);
      if (unit < units) bits[k * kMostBlocks + i] = codes.at[of_tile * units + unit];
    }
  }
}

uvec4 own_quads[kMostBlocks * kVectorLoads];

// Takes what the vectors have in this subgroup's blocks.
void take_blocks(uint blocks) {
  GivenQuads input_ = GivenQuads(push.from);
  uint stride = rounded_stride() / 4, last_block = push.n_in / 128 - 1;
  for (uint polls = 0;; ++polls) {
    bool missing = false;
    UNROLL for (uint i = 0; i < kMostBlocks; ++i) {
      if (i >= blocks) break;
      UNROLL for (uint j = 0; j < kVectorLoads; ++j) {
        uint item = LANE + j * SUBGROUP_SIZE, token = min(item / kBlockQuads, n_tokens() - 1);
        uint quad = min(block_of(i), last_block) * kBlockQuads + item % kBlockQuads;
        own_quads[i * kVectorLoads + j] = input_.at[token * stride + quad];
      }
    }
    UNROLL for (uint i = 0; i < kMostBlocks; ++i) {
      if (i >= blocks) break;
      UNROLL for (uint j = 0; j < kVectorLoads; ++j) missing = missing || is_missing(own_quads[i * kVectorLoads + j]);
    }
    if (!missing || !look_again(polls)) break;
  }
}

// Leaves the sums of this subgroup's blocks in its part of `tile`.
void multiply_blocks(uint blocks) {
  uint part = SUBGROUP * kPart;
  BytesC sums[kTiles];
  UNROLL for (uint k = 0; k < kTiles; ++k) sums[k] = no_sums();
  UNROLL for (uint i = 0; i < kMostBlocks; ++i) {
    if (i >= blocks) break;
    UNROLL for (uint s = 0; s < 4; ++s) {
      meet_in_subgroup();  // nobody needs any more what lies there
      UNROLL for (uint j = 0; j < kVectorLoads; ++j) {
        uint token = (LANE + j * SUBGROUP_SIZE) / kBlockQuads, quad = LANE % kBlockQuads;
        if (quad / 2 == s && token < kTokens)
          tile[part + kVectorsAt + token * kByteStride + quad % 2] = own_quads[i * kVectorLoads + j];
      }
      UNROLL for (uint k = 0; k < kTiles; ++k)
        tile[part + (k * kTileRows + LANE / 2) * kByteStride + LANE % 2] =
            bits[k * kMostBlocks + i] >> 6 - 2 * s & 0x03030303u;
      meet_in_subgroup();
      UNROLL for (uint h = 0; h < 2; h += kByteK / 16) {
        BytesB vectors;
        LOAD_BYTES(vectors, part + kVectorsAt + h, kByteStride, true);
        UNROLL for (uint k = 0; k < kTiles; ++k) {
          BytesA codes;
          LOAD_BYTES(codes, part + k * kTileRows * kByteStride + h, kByteStride, false);
          sums[k] = multiply_bytes(codes, vectors, sums[k]);
        }
      }
    }
  }
  meet_in_subgroup();
  UNROLL for (uint k = 0; k < kTiles; ++k) STORE_SUMS(sums[k], part + k * kByteN * kSumsStride, kSumsStride);
}

int sum_of_subgroups(uint matrix, uint token, uint row) {
  uint at = (matrix * kByteN + token) * kSumsStride + row / 4;
  int sum = 0;
  for (uint g = 0; g < N_SUBGROUPS; ++g) sum += int(tile[g * kPart + at][row % 4]);
  return sum;
}

// Requires: an invocation for each result of a set of rows.
void linear_in_matrices(uint group, bool gates, bool long_rows) {
  uint blocks = gates ? kLoadsGate : long_rows ? kLoadsLong : kLoads;
  uint rows = gates ? kTileRows : kTiles * kTileRows, first_row = group * rows;
  uint token = INVOCATION / rows, row = INVOCATION % rows;
  load_blocks(first_row, blocks, gates);
  this_token = min(token, n_tokens() - 1);
  if (push.kind == STAGE_LINEAR_ADD) {
    uint at = first_result() + min(first_row + row, push.n_out - 1);
    residual = (push.flow & FLOW_RESIDUAL) != 0 ? Given(push.residual).at[at] : floatBitsToUint(Floats(push.y).at[at]);
  }
  take_blocks(blocks);
  uint scale_at = this_token * rounded_stride() + push.n_in / 4;
  float q_scale = taken_value(push.from, scale_at);
  int q_sum = int(taken_word(push.from, scale_at + 1, NOT_GIVEN));
  meet_behind_polls();
  for (uint pass = 0;; ++pass) {
    multiply_blocks(blocks);
    bool goes_on = pass + 1 < push.n_passes;
    uint next_row = first_row + push.n_groups * rows;
    if (goes_on) load_blocks(next_row, blocks, gates);
    barrier();
    if (token < n_tokens() && first_row + row < push.n_out) {
      if (gates) {
        give(first_row + row,
             gated(ternary_result(sum_of_subgroups(0, token, row), q_sum, q_scale, push.scale0),
                   ternary_result(sum_of_subgroups(1, token, row), q_sum, q_scale, push.scale1)));
      } else {
        int sum = sum_of_subgroups(row / kTileRows, token, row % kTileRows);
        precise float result = ternary_result(sum, q_sum, q_scale, scale_of_row(first_row + row));
        if (push.kind == STAGE_LINEAR_ADD) {
          if ((push.flow & FLOW_RESIDUAL) != 0)
            residual = taken_word(push.residual, first_result() + first_row + row, residual);
          result = uintBitsToFloat(residual) + result;
        }
        give(first_row + row, result);
      }
    }
    if (!goes_on) break;
    barrier();  // everyone has what he needs of the sums
    first_row = next_row;
  }
  finish_stage();
}
