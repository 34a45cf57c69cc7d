// The inner loops of the CPU backend, built once for each instruction set and chosen at run time.
//
// Thread rule: free functions; the tables are constant.
//
// All builds give the same integers. Floats are summed in 16 lanes (element i in lane i % 16, and in
// kFloatSums such rows of lanes where a sum is long) with a fused multiply-add, and the lanes are added up as
// a tree. So all builds but sse4, which has no fused multiply-add, give the same bits, and a token gets the
// same bits in whatever batch it is.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/layouts/layout.h"

namespace bitnet::cpu {

// Rows of a ternary matrix that prefill unpacks and multiplies at a time.
constexpr uint32_t kTileRows = 32;

// The queries of some heads that share keys, for one token. The rows of the cache are a ring: behind the last
// one comes the first.
struct AttentionWork {
  const uint16_t* keys;    // F16 of this key head: row i of the cache begins at i * row
  const uint16_t* values;  // likewise
  size_t row;              // F16 from a row to the next
  uint32_t rows;           // of the cache, at least n_keys
  uint32_t first;          // the row of the first key; the others follow
  uint32_t n_keys;
  uint32_t head_dim;     // a multiple of 8
  uint32_t n_heads;      // up to kMostHeads
  const float* queries;  // [n_heads][head_dim]
  float scale;           // of the scores
  float* out;            // [n_heads][head_dim]
  float* scratch;        // attention_scratch() floats
};
constexpr uint32_t kMostHeads = 4;
constexpr uint32_t kMostHeadDim = 512;
inline size_t attention_scratch(uint32_t n_keys) {
  return kMostHeads * ((size_t{n_keys} + 15) / 16 * 16 + kMostHeadDim);
}

// The causal convolution of some channels of a DeltaNet, and its activation, for n_tokens.
struct ConvolutionWork {
  const float* x;  // [n_tokens][n_channels]
  size_t x_row;    // floats from a token to the next
  uint32_t n_tokens;
  uint32_t n_channels;   // a multiple of 16
  const float* weights;  // [n_channels][n_conv]
  uint32_t n_conv;       // up to kMostConv
  const float* before;   // the n_conv - 1 inputs before the first one, the oldest first
  float* after;          // those before the next one; may be `before`
  size_t state_row;      // floats from one of these to the next
  float* out;            // as x
  size_t out_row;
};
constexpr uint32_t kMostConv = 8;

// One head of a DeltaNet, for n_tokens one after the other.
struct DeltaWork {
  const float* before;  // [head_dim of k][head_dim of v]
  float* after;         // likewise; may be `before`
  uint32_t head_dim;    // a multiple of 32
  uint32_t n_tokens;
  const float *q, *k, *v;  // of the first token; `row` floats to the next
  size_t row;
  const float* gates;  // {e^decay, strength}; gates_row floats to the next
  size_t gates_row;
  float* out;  // out_row floats to the next
  size_t out_row;
  float* scratch;  // [head_dim][kDeltaColumns]
};
constexpr uint32_t kDeltaColumns = 32;  // of a head that are computed at a time

constexpr float kRestSteps = 254;  // of Input::int16_units, in a step of int8

// The rounded inputs of one token, or of some one after the other. A unit is 64 inputs for ternary rows, 32
// for blocks.
struct UnitInputs {
  const int8_t* q;               // [n_in], -127 to 127; with Input::int8_row also -128
  const int32_t* sums;           // of the inputs: [n_in / 64] for ternary rows, [n_in / 16] for blocks
  const float* factors;          // [n_in / unit], by which what a unit gives is multiplied
  const int8_t* rest = nullptr;  // [n_in]: an input of a ternary row is kRestSteps * q + rest; null: it is q
};

// The same from a token on.
inline UnitInputs inputs_from(const UnitInputs& in, size_t token, uint32_t n_in, uint32_t sum_every,
                              uint32_t unit) {
  return {in.q + token * n_in, in.sums + token * (n_in / sum_every), in.factors + token * (n_in / unit),
          in.rest ? in.rest + token * n_in : nullptr};
}

// Rows of a ternary matrix of layout groups16 or fives16: bands of kBandRows rows that lie side by side.
constexpr uint32_t kBandRows = 16;
constexpr uint32_t kTableRows = 4;  // of float_tokens
struct GroupRows {
  const uint8_t* codes;    // [bands], as CpuKernels::group_layout says
  const uint16_t* scales;  // F16 [bands][n_in / scale_every][kBandRows]
  uint32_t n_in;
  uint32_t scale_every;
  float fixed;  // a power of 2, by which each scale is multiplied
};

// Two bands that are unpacked for the tokens of a batch.
struct GroupTile {
  const uint8_t* codes;  // a byte each, as [n_in / 4][kTileRows][4]
  const float* scales;   // times `fixed`, [n_in / scale_every][kTileRows]
  uint32_t n_in;
  uint32_t scale_every;
};

// Rows of a dense matrix of layout blocks16, in bands of kBandRows rows that lie side by side.
struct BlockBands {
  const uint8_t* codes;   // as layouts/layout.h has them
  const uint8_t* scales;  // likewise
  uint32_t n_in;
  uint32_t bits;  // of a code: 8, 6, 5 or 4; those of 6 have units of 16 inputs, the others of 32
  bool has_min;   // Q4_K and Q5_K
  float fixed;    // a power of 2, by which each scale is multiplied

  size_t band_codes() const { return size_t{n_in} * bits / 8 * kBandRows; }  // bytes
  size_t band_scales() const {
    if (bits == 6) return size_t{n_in} / 256 * 18 * kBandRows;
    return (has_min ? size_t{n_in} / 256 * 20 : size_t{n_in} / 16) * kBandRows;
  }
};

// Two bands that are unpacked for the tokens of a batch. What codes are is for the kernels to know.
struct BlockTile {
  const uint8_t* codes;  // a byte each, as [n_in / 4][kTileRows][4]
  const float* scales;   // times `fixed`, [n_in / unit][kTileRows]
  const float* minima;   // likewise; null where there are none
  uint32_t n_in;
  uint32_t bits;
};

// The least that a unit's largest magnitude counts as.
constexpr float kLeastMagnitude = 1e-30F;

struct LargestLogit {
  float largest;
  uint32_t index;  // the first that has it
  float sum_exp;   // sum of exp(logit - largest)
  bool non_finite;
};

// Of a row: the largest magnitude of its units, and the sum of all squares.
struct UnitTotals {
  float largest, squares;
};

// What cpu/shortlist.h needs to know of a row in 8 bits. The norms are rounded up; they are infinite where
// the row is not finite.
struct Int8Row {
  float scale;
  float norm;   // of the row
  float error;  // of what the codes leave out
};

// Sixteen bytes, with the operators of C on each.
using Byte16 = uint8_t __attribute__((vector_size(16)));

using RowFloats = void (*)(const std::byte* row, uint32_t n, float* out);

// The loops of one instruction set. n and n_in are multiples of 128 where codes of trits are concerned, of 64
// in int8_rows, and of 16 elsewhere, except where it says otherwise.
struct CpuKernels {
  const char* name;
  Layout group_layout = Layout::groups16;  // or fives16: what group_rows and unpack_bands read

  // sums[t * stride + r] = codes of row r . q of token t; rows of n_in / 4 bytes lie one after the other, and
  // tokens too
  void (*ternary_rows)(const uint8_t* codes, uint32_t n_in, uint32_t n_rows, const int8_t* q,
                       uint32_t n_tokens, size_t stride, int32_t* sums);
  // The codes of kTileRows rows, a byte each, as [n_in / 4][kTileRows][4]
  void (*unpack_tile)(const uint8_t* const* rows, uint32_t n_in, uint8_t* tile);
  // sums [n_tokens][kTileRows] = tile . q [n_tokens][n_in]
  void (*tile_product)(const uint8_t* tile, uint32_t n_in, const int8_t* q, uint32_t n_tokens, int32_t* sums);

  // The same of codes in Layout::fives16, where the group_layout is that; null elsewhere: sums
  // [n_bands][kBandRows] of each token, and the codes of two bands as unpack_tile gives them.
  void (*fives_rows)(const uint8_t* codes, uint32_t n_in, uint32_t n_bands, const int8_t* q,
                     uint32_t n_tokens, size_t stride, int32_t* sums) = nullptr;
  void (*unpack_fives)(const uint8_t* const* bands, uint32_t n_in, uint8_t* tile) = nullptr;
  // Up to so many tokens fives_rows is faster than tile_product.
  uint32_t fives_row_tokens = 16;

  // The group_layout (n_in is a multiple of 64). The sums are those of rounded(codes . inputs - sum of
  // inputs, scale * fixed * factor) over the groups of 64 inputs, where rounded(t, f) is
  // round_half_even(float(t) * f).
  //
  // sums [n_bands][kBandRows] of each token, `stride` of them from one to the next
  void (*group_rows)(const GroupRows& w, uint32_t n_bands, const UnitInputs& in, uint32_t n_tokens,
                     size_t stride, int32_t* sums);
  // The codes and the n scales a row of two bands, as GroupTile has them
  void (*unpack_bands)(const uint8_t* const* bands, uint32_t n_in, uint8_t* tile);
  void (*unpack_scales)(const uint16_t* const* bands, uint32_t n, float fixed, float* scales);
  // sums [n_tokens][kTileRows]
  void (*group_tile)(const GroupTile& w, const UnitInputs& in, uint32_t n_tokens, int32_t* sums);

  // Layout blocks16 (n_in is a multiple of 32, or of 256 in the K types). The sums are those of
  // rounded(codes . q, d * fixed * factor) - rounded(sum of q, m * fixed * factor) over the units of the
  // codes, of which two of 16 inputs share a factor.
  //
  // sums [n_bands][kBandRows] of one token
  void (*block_rows)(const BlockBands& w, uint32_t n_bands, const UnitInputs& in, int32_t* sums);
  // Half `half` (0 or 1) of a BlockTile from the first band of w. minima may be null where there are none.
  void (*unpack_block_band)(const BlockBands& w, uint32_t half, uint8_t* codes, float* scales, float* minima);
  // sums [n_tokens][kTileRows]
  void (*block_tile)(const BlockTile& w, const UnitInputs& in, uint32_t n_tokens, int32_t* sums);
  // y = act(x), times `times` where that is not null. Any n; y may be x.
  void (*relu2)(const float* x, const float* times, uint32_t n, float* y);
  void (*silu)(const float* x, const float* times, uint32_t n, float* y);
  void (*gelu)(const float* x, const float* times, uint32_t n, float* y);

  // y *= 1 / (1 + e^-x). Any n.
  void (*times_sigmoid)(const float* x, uint32_t n, float* y);

  // y = (sums - q_sum) * factor; y += that; y = relu(gate)^2 * up. Any n.
  void (*scale_sums)(const int32_t* sums, uint32_t n, int32_t q_sum, float factor, float* y);
  void (*add_sums)(const int32_t* sums, uint32_t n, int32_t q_sum, float factor, float* y);
  void (*gate_sums)(const int32_t* gate, const int32_t* up, uint32_t n, int32_t q_sum, float gate_factor,
                    float up_factor, float* y);
  // The same with silu(gate) = gate / (1 + e^-gate) in place of relu(gate)^2
  void (*silu_sums)(const int32_t* gate, const int32_t* up, uint32_t n, int32_t q_sum, float gate_factor,
                    float up_factor, float* y);

  // out[r] = row r . y, for n_rows rows one after the other
  void (*half_rows)(const uint16_t* rows, uint32_t n, uint32_t n_rows, const float* y, float* out);
  void (*bf16_rows)(const uint16_t* rows, uint32_t n, uint32_t n_rows, const float* y, float* out);
  void (*float_rows)(const float* rows, uint32_t n, uint32_t n_rows, const float* y, float* out);
  // out[t * stride + r] = row r . y[t] in the same order, for rows [n_rows][n] and y [n_tokens][n]. It takes
  // kTableRows rows at a time where there are as many.
  void (*float_tokens)(const float* rows, uint32_t n, uint32_t n_rows, const float* y, uint32_t n_tokens,
                       size_t stride, float* out);
  // The same of F16, for rows that stay in the first cache; null where converting them for some tokens after
  // the other takes longer than once for all.
  void (*half_tokens)(const uint16_t* rows, uint32_t n, uint32_t n_rows, const float* y, uint32_t n_tokens,
                      size_t stride, float* out);
  // F16 to f32 and back, half to even. Any n.
  void (*to_floats)(const uint16_t* from, uint32_t n, float* to);
  void (*to_halves)(const float* from, uint32_t n, uint16_t* to);

  // A row of each dense type as floats, for n that is a multiple of the type's block and of 32
  RowFloats f32_floats, f16_floats, bf16_floats, q8_0_floats, q4_0_floats, q5_0_floats, q4_k_floats,
      q5_k_floats, q6_k_floats;

  // A row as codes of 8 bits, and rows of such codes . p exactly: sums [n_vectors][n_rows] of p [n_vectors],
  // each of n
  Int8Row (*int8_row)(const float* row, uint32_t n, int8_t* codes);
  void (*int8_rows)(const int8_t* rows, uint32_t n, uint32_t n_rows, const int16_t* const* p,
                    uint32_t n_vectors, int32_t* sums);

  // Reads all bytes, a multiple of 256, and does nothing useful with them: for measuring how fast memory is
  uint64_t (*read)(const std::byte* from, size_t bytes);

  float (*sum_of_squares)(const float* x, uint32_t n);
  // y = x * inverse * weight, its largest magnitude alone, and round(y * s) as int8 with its sum. Without a
  // weight y is x * inverse.
  void (*normalise)(const float* x, const float* weight, uint32_t n, float inverse, float* y);
  float (*largest_normalised)(const float* x, const float* weight, uint32_t n, float inverse);
  int32_t (*quantise)(const float* x, const float* weight, uint32_t n, float inverse, float s, int8_t* q);
  // Rounds each `unit` inputs (64 or 32) by themselves, as Quantised of engine/kernel_operands.h has it: q
  // [n], m [n / unit], and the sums of the squares of x [n / unit]. The weight may be null.
  void (*quantise_units)(const float* x, const float* weight, uint32_t n, uint32_t unit, int8_t* q, float* m,
                         float* squares);
  // e [n] of m [n], which may be the same; n units of a row, any number.
  UnitTotals (*unit_factors)(const float* m, const float* squares, uint32_t n, float* e);
  // sums [n / every] of each 64 or 16 inputs of q [n]
  void (*sums_of_64)(const int8_t* q, uint32_t n, int32_t* sums);
  void (*sums_of_16)(const int8_t* q, uint32_t n, int32_t* sums);

  // x = cap * tanh(x / cap) in place; what is not finite becomes NaN. Any n.
  void (*cap)(float* x, uint32_t n, float cap);
  // head = rms_norm(head) * weight in place. Any n. The weight may be null: all are 1.
  void (*norm_head)(float* head, const float* weight, uint32_t n, float epsilon);
  // RoPE of one head in place; rotation [rope_dim / 2] of {cos, sin}
  void (*rotate)(float* head, const float* rotation, uint32_t rope_dim);
  void (*attention)(const AttentionWork& work);
  void (*convolve)(const ConvolutionWork& work);
  void (*delta)(const DeltaWork& work);
  LargestLogit (*largest_logit)(const float* logits, uint32_t n);  // any n
};

// The tables that were built for this architecture, the best first; the last is the scalar reference.
// `supported` says whether this machine can run them.
struct KernelChoice {
  const CpuKernels* kernels;
  bool supported;
};
struct KernelChoices {
  const KernelChoice* begin_;
  const KernelChoice* end_;
  const KernelChoice* begin() const { return begin_; }
  const KernelChoice* end() const { return end_; }
};
KernelChoices kernel_choices();

extern const CpuKernels kScalarKernels;
#if defined(__x86_64__)
extern const CpuKernels kSse4Kernels;
extern const CpuKernels kAvx2Kernels;
extern const CpuKernels kAvxVnniKernels;
extern const CpuKernels kAvx512Kernels;
const CpuKernels& avx512_vbmi_kernels();
const CpuKernels& amx_kernels();
#elif defined(__aarch64__)
extern const CpuKernels kNeonKernels;
#endif

}  // namespace bitnet::cpu
