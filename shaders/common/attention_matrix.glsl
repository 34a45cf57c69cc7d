// What kernels of attention that multiply matrices of F16 (cooperative matrices) share beside attention.glsl, so that
// decode and prefill give the same bits on one device. A value that is not F16 is kept as two that are: `high`, its first
// 11 bits, and `low`, what these leave, in steps of 1/2048, since devices may take subnormal numbers for 0. The products
// of both with keys, or with values, have sums of their own, each over 16 features, or keys, at a time in order, by one
// instruction:
//   score_k = high . k + (low . k) / 2048
//   o = sum(high(weight_k) v_k) + sum(low(weight_k) v_k) / 2048
//   l = sum(high(weight_k)) + sum(low(weight_k)) / 2048, as if 1 were one more feature of each value
// An element of a product depends on its own row and column alone, so the other rows may hold anything.
// Requires: heads of whole 16 features, subgroups of 32 lanes, and `tile`, the shared memory, where matrices lie.

const float kLargestHalf = 65504.0;

const float kLowSteps = 2048.0;

const float kLeastNormalHalf = 6.103515625e-5;

// As words of two F16, high and low. The bits are cut, since a compiler may take a value that was packed and
// unpacked for the value itself.
uvec2 split_pair(vec2 values) {
  values = clamp(values, -kLargestHalf, kLargestHalf);
  vec2 high = uintBitsToFloat(floatBitsToUint(values) & 0xFFFFE000u);
  high = mix(high, vec2(0.0), lessThan(abs(values), vec2(kLeastNormalHalf)));
  precise vec2 low = (values - high) * kLowSteps;
  return uvec2(packHalf2x16(high), packHalf2x16(clamp(low, -kLargestHalf, kLargestHalf)));
}

// What products of both are together.
float whole_of(float high, float low) {
  precise float sum = fma(low, 1.0 / kLowSteps, high);
  return sum;
}

// The matrices of a subgroup, A by B into C. With EMULATED_MATRICES the same in plain arithmetic, for tests
// on devices that have none: a lane has a row of A and half a row of C, and B is read where it lies when it
// is multiplied.
layout(constant_id = CONSTANT_MATRIX_M) const uint kM = HALF_SIDE;
layout(constant_id = CONSTANT_MATRIX_N) const uint kN = HALF_SIDE;
layout(constant_id = CONSTANT_MATRIX_K) const uint kK = HALF_SIDE;
const uint kElements = HALF_SIDE / 2;  // of C that a lane has

#ifndef EMULATED_MATRICES
#define MatrixA fcoopmatNV<16, gl_ScopeSubgroup, kM, kK>
#define MatrixB fcoopmatNV<16, gl_ScopeSubgroup, kK, kN>
#define MatrixC fcoopmatNV<32, gl_ScopeSubgroup, kM, kN>
#define ELEMENT(matrix, e) matrix[e]
#define LOAD_MATRIX(matrix, at, stride, columns) coopMatLoadNV(matrix, tile, at, stride, columns)
#define STORE_MATRIX(matrix, at, stride) coopMatStoreNV(matrix, tile, at, stride, false)
#define multiply_add coopMatMulAddNV
MatrixB ones() { return MatrixB(1.0); }
MatrixC zeros() { return MatrixC(0.0); }
#else
struct MatrixA { float at[16]; };
struct MatrixB { uint at, stride; bool columns, is_ones; };
struct MatrixC { float at[8]; };
#define ELEMENT(matrix, e) matrix.at[e]
#define LOAD_MATRIX(matrix, at, stride, columns) load_matrix(matrix, at, stride, columns)
#define STORE_MATRIX(matrix, at, stride) store_matrix(matrix, at, stride)
MatrixB ones() { return MatrixB(0, 0, false, true); }
MatrixC zeros() {
  MatrixC zero;
  [[unroll]] for (uint e = 0; e < kElements; ++e) zero.at[e] = 0.0;
  return zero;
}

float half_of_tile(uint at, uint i) { return unpackHalf2x16(tile[at + i / 8][i % 8 / 2])[i % 2]; }

void load_matrix(out MatrixA m, uint at, uint stride, bool columns) {
  [[unroll]] for (uint k = 0; k < HALF_SIDE; ++k) m.at[k] = half_of_tile(at + LANE / 2 * stride, k);
}
void load_matrix(out MatrixB m, uint at, uint stride, bool columns) { m = MatrixB(at, stride, columns, false); }
void load_matrix(out MatrixC m, uint at, uint stride, bool columns) {  // columns that are all the same
  [[unroll]] for (uint e = 0; e < kElements; ++e) m.at[e] = uintBitsToFloat(tile[at + LANE / 8][LANE / 2 % 4]);
}
void store_matrix(MatrixC m, uint at, uint stride) {
  [[unroll]] for (uint e = 0; e < kElements; ++e) {
    uint column = LANE % 2 * kElements + e;
    tile[at + LANE / 2 * stride + column / 4][column % 4] = floatBitsToUint(m.at[e]);
  }
}
MatrixC multiply_add(MatrixA a, MatrixB b, MatrixC c) {
  [[unroll]] for (uint e = 0; e < kElements; ++e) {
    uint column = LANE % 2 * kElements + e;
    [[unroll]] for (uint k = 0; k < HALF_SIDE; ++k) {
      uint row = b.columns ? column : k, i = b.columns ? k : column;
      precise float sum = fma(a.at[k], b.is_ones ? 1.0 : half_of_tile(b.at + row * b.stride, i), c.at[e]);
      c.at[e] = sum;
    }
  }
  return c;
}
#endif

MatrixC whole_matrix(MatrixC high, MatrixC low) {
  UNROLL for (uint e = 0; e < kElements; ++e) ELEMENT(high, e) = whole_of(ELEMENT(high, e), ELEMENT(low, e));
  return high;
}
