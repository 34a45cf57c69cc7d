// What kernels work on (backend.h): memory of a device, weights and inputs of projections as they lie there,
// and the shapes and options of each kind of kernel.
//
// Thread rule: values; buffers belong to their Backend.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "engine/gguf.h"
#include "engine/layouts/layout.h"
#include "engine/sampler.h"

namespace bitnet {

// Memory on the device. `shared` memory is also mapped for the host.
class Buffer {
 public:
  virtual ~Buffer() = default;
  virtual uint64_t size() const = 0;                // bytes
  virtual std::span<std::byte> mapped() const = 0;  // empty where the host cannot see it
};
using BufferPtr = std::shared_ptr<Buffer>;  // a tied head shares the embedding
// host_weights are weights in memory of the host, which the device reads there.
enum class BufferUse { weights, device, shared, host_weights };

// How the input of a projection is rounded: to int8 by the largest magnitude of a row, as BitNet models are
// trained, or by that of each unit of some inputs; int16_units are that and what it leaves, rounded to int8
// too, in steps that are 254 times as fine. float_row is not rounded; it is for Layout::floats alone.
enum class Input { int8_row, int8_units, int16_units, float_row };

// How much larger the sum of a group of inputs may be than one of int8: a power of two, by which `fixed` of a
// matrix of groups is smaller.
constexpr double steps_of(Input input) { return input == Input::int16_units ? 256 : 1; }

constexpr uint32_t kNotInFile = UINT32_MAX;

// A Walsh-Hadamard transform that is folded into weights, as those of Bonsai 2 have it: H in Sylvester's
// order, of each `block` features that follow each other, divided by sqrt(block), and a sign for each
// feature. What is folded wants its input rotated, and a folded embedding gives rows that are to be rotated
// back.
struct Rotation {
  uint32_t block = 0;  // a power of two, kLeastRotated to kMostRotated; 0: none
  BufferPtr signs{};   // [features] f32, +1 or -1, or null: all are +1
  explicit operator bool() const { return block != 0; }
  float factor() const { return 1 / std::sqrt(static_cast<float>(block)); }
};
constexpr uint32_t kLeastRotated = 32, kMostRotated = 2048;

// One to three tensors of the same input, stacked by rows: q over k over v, or gate over up. A product of
// Layout::trits is part.scale * sum(weight * q) / s. In groups, groups16 and fives16 each unit of inputs has
// a sum t of its own, with int16_units 254 times that of q and that of the rest. It becomes the integer
// round_half_even(float(t) * (scale * fixed * e)), where `fixed` is a power of two, e is what
// Quantised::scales has for these inputs (1 for int8_row), and each product is rounded to f32. These integers
// are summed, so that their order does not matter, and part.scale undoes `fixed`. Where a GPU's scales are
// 2^k times those of the file (lift_subnormals), this `fixed` is divided by as much. Layouts blocks and
// blocks16 do the same a unit of 32 or 16 inputs (layouts/blocks.h). A product of Layout::floats is
// part.scale * sum(weight * y), in f32 and in the order of the backend's dense head.
struct Matrix {
  // In blocks, blocks16 and floats each part has a type and buffers of its own, and in blocks and blocks16 a
  // `fixed` of its own.
  struct Part {
    uint32_t rows = 0;
    float scale = 0;
    TensorType type{};
    float fixed = 0;
    BufferPtr codes{}, scales{};  // floats: the rows as in the file, and null
  };
  uint32_t n_in = 0;
  Layout layout = Layout::trits;
  Input input = Input::int8_row;
  uint32_t scale_every = 0;  // of the layouts of groups: inputs of a row that share a scale, a multiple of 64
  float fixed = 0;           // of the same
  std::array<Part, 3> parts;            // those in use come first
  BufferPtr codes;                      // as the layout has them; null where the parts have their own
  bool in_fives = false;                // the codes lie in Layout::fives16, which a GPU expands (vk/stream.h)
  BufferPtr scales;                     // of the layouts of groups
  std::array<BufferPtr, 3> part_codes;  // trits on a backend that adopts: as codes, of each part
  uint32_t in_file = kNotInFile;        // a piece of the backend's WeightReader: the buffers are its place
  BufferPtr bias;                       // [rows] f32, added to the product before the activation, or null
  Rotation rotation{};                  // of the input, behind its norm: Recorder::linear sees to it
  // Not 0: each part has the rows of so many experts below each other, and a product takes those of one.
  uint32_t n_expert = 0;
  // Where kernels find each of them: of a device that makes such a table (Backend::addresses_of). There the
  // rows of an expert in all parts are neighbours in Layout::groups.
  BufferPtr addresses{};
  uint32_t rows() const { return parts[0].rows + parts[1].rows + parts[2].rows; }
};

// Inputs that are rounded together where the rounding is one of units. A GPU rounds 16 bits every 128 inputs
// where the scales of the weights allow it, so that it rounds half as many sums.
inline uint32_t unit_of_input(const Matrix& w) {
  if (w.layout == Layout::blocks || w.layout == Layout::blocks16) return 32;
  return w.layout == Layout::groups && w.input == Input::int16_units && w.scale_every % 128 == 0 ? 128 : 64;
}

// The token embedding or a dense LM head, in chunks that one binding can reach. Rows of a dense type lie as
// in the file. Those of a ternary one lie in the backend's layout of groups, and all values are multiplied by
// `scale`.
struct Table {
  struct Chunk {
    uint32_t row_begin = 0;
    uint32_t rows = 0;
    BufferPtr bytes;   // [rows], each of n_embd values
    BufferPtr scales;  // ternary: as of a Matrix
  };
  uint32_t n_vocab = 0;
  uint32_t n_embd = 0;
  TensorType type = TensorType::f16;
  uint32_t scale_every = 0;  // 0: the table is dense
  float scale = 1;
  double bound = 0;               // of a ternary table's scales: the largest bound_of_scales (layouts/pack.h)
  bool wants_all_logits = false;  // as a head: finish_logits follows, which needs all of them
  std::vector<Chunk> chunks;
  bool is_ternary() const { return scale_every != 0; }
};

// What embed does beside looking up rows.
struct EmbedExtra {
  float scale = 1;
  const Buffer* positions = nullptr;  // [n_ctx][n_embd] f32, or null
};

// The input of a projection: rows of int8, each with what is needed to undo the rounding, or y alone. What
// the layout does not use may be null.
//
// With Input::int8_row q = round_half_even(v * (127 / M)) within -128 to 127, where v = x * weight, or
// what a LayerNorm gives, and M = max(least, max |v|) over the row; s = 127 / max(least, M * inverse),
// where `inverse` is what an RMSNorm multiplies the row with. `least` is 1e-30 behind an RMSNorm and else
// 1e-5. The CPU rounds v * inverse * s. With Input::int8_units a unit is rounded by itself: m = max(1e-30,
// max |v|) over the unit, M = max m over the row; q = round_half_even(v * (127 / m)) within -127 to 127; e
// = m < M ? m / M : 1; s = 127 / max(1e-30, M * inverse). So v * inverse is about q * e / s. With
// Input::int16_units the rest of v is rounded too: rest_q = round_half_even(254 * (v * (127 / m) - q)). In
// layouts of groups the input is 254 * q + rest_q, which s and the sums are of. In blocks a product is the
// sum of those of q and of rest_q, each rounded to f32, and the rest has an s of its own, 254 times that
// of the row. On the CPU s is NaN where something in x or its squares is not finite, so that no product hides
// that.
struct Quantised {
  BufferPtr q;         // [rows][n] int8
  BufferPtr info;      // [rows] of {f32 s, i32 sum(q)}; only Layout::trits needs the sum
  BufferPtr sums;      // [rows][n / unit_of_input] i32, sum(q) of each unit; for the layouts of groups
  BufferPtr sums16{};  // [rows][n / 16] i32, sum(q) of each 16 inputs; for blocks and blocks16
  BufferPtr y{};       // [rows][n] f32, normed and not rounded; for Input::float_row
  BufferPtr scales{};  // [rows][n / unit_of_input] f32, e; for int8_units (and 1 for int8_row on the CPU)
  BufferPtr turned{};  // [rows][n] f32, normed and rotated; for a Rotation
  BufferPtr rest_q{};  // for int16_units
  BufferPtr rest_info{}, rest_sums16{};  // for these in blocks and blocks16
  BufferPtr gate_up{};  // [rows][rows of w] f32, which Vulkan needs for a gated product of these
};

// RMSNorm, or LayerNorm with a bias, with weights [n] f32. The weights of an RMSNorm may be null: all are 1.
template <typename T>
struct NormOf {
  enum class Kind { none, rms, layer };
  Kind kind = Kind::none;
  T weight{};
  T bias{};  // layer
  float epsilon = 0;
  explicit operator bool() const { return kind != Kind::none; }
};
template <typename T>
NormOf<T> rms_of(T weight, float epsilon) {
  return {NormOf<T>::Kind::rms, std::move(weight), {}, epsilon};
}
using Norm = NormOf<BufferPtr>;

enum class Act { relu2, silu, gelu };  // gelu is the form with tanh

// How a token chooses experts by the logits of a router: those with the largest probabilities, of which the
// lower id is first where they are equal. The probabilities are the weights of what the experts give.
struct Routing {
  bool sigmoid = false;  // of each logit; else a softmax over all
  bool normed = true;    // the weights are divided by their sum
  float scale = 1;       // and multiplied by that
};

// Which experts the tokens of a batch use, and what a batch of n tokens needs for that. A pair is a token and
// one of its experts: pair t * used + i is token t with the expert of its i-th lowest id.
struct Picked {
  uint32_t n_expert = 0, used = 0;
  BufferPtr logits;   // [n][n_expert] f32, of the router
  BufferPtr ids;      // [n * used] u32
  BufferPtr weights;  // [n * used] f32
  BufferPtr groups;   // picked_words(...) u32: pairs by expert, as the backend wants to have them
  BufferPtr results;  // [n * used][n_embd] f32: what experts give, before it is summed
};
constexpr uint64_t picked_words(uint64_t n_expert, uint64_t pairs) { return 64 + 8 * n_expert + 4 * pairs; }

// From where a projection takes its rows, and what it does with them first. q is scratch.
struct In {
  const Buffer& x;
  const Norm& norm;
  const Quantised& q;
  uint32_t first_row = 0;
  bool is_turned = false;  // x is rotated as the matrix wants it
};

// Where the result goes: y = W x, y += W x, y = act(W_gate x) * (W_up x), or y = act(W x). Each W x has the
// matrix' bias added to it.
struct Out {
  enum class Kind { store, add, gate, act };
  const Buffer& y;
  Kind kind = Kind::store;
  Act act = Act::relu2;
  float clamp = 0;  // of a gate, FeedForward::clamp; of experts alone
};
inline Out store(const Buffer& y) { return {y, Out::Kind::store}; }
inline Out add(const Buffer& y) { return {y, Out::Kind::add}; }
inline Out gate(const Buffer& y, Act act, float clamp = 0) { return {y, Out::Kind::gate, act, clamp}; }
inline Out activated(const Buffer& y, Act act) { return {y, Out::Kind::act, act}; }

// What happens to q, k and v before RoPE, in this order; each may be absent.
template <typename T, typename Bias = T>
struct AttentionInputOf {
  Bias bias{};                       // [(n_head + 2 n_head_kv) * head_dim] f32
  NormOf<T> q_norm, k_norm, v_norm;  // over each head, weights [head_dim]
};
using AttentionInput = AttentionInputOf<BufferPtr>;

// Which rows a layer's qkv has for a token.
enum class AttentionRows {
  qkv,  // [n_head + 2 n_head_kv][head_dim]
  qk,   // [n_head + n_head_kv][head_dim]: v is k as it is before its norm and RoPE
  q,    // [n_head][head_dim]: k and v are in the cache of another layer, and nothing is stored
};

struct AttentionShape {
  uint32_t n_head = 0;
  uint32_t n_head_kv = 0;
  uint32_t head_dim = 0;  // a multiple of 8 up to 512
  uint32_t rope_dim = 0;  // features of a head that are rotated; 0: none
  float scale = 0;        // of the scores q k; 0: 1 / sqrt(head_dim)
  uint32_t window = 0;    // keys that a token sees, its own included; 0: all
  AttentionRows rows = AttentionRows::qkv;
  bool halves = true;  // may be computed in matrices of F16, with sums in f32, where a device multiplies such

  // Heads of a row of qkv.
  uint32_t row_heads() const {
    return n_head + n_head_kv * (rows == AttentionRows::qkv ? 2 : rows == AttentionRows::qk ? 1 : 0);
  }
};

// Gated DeltaNet (Yang et al. 2024, arXiv 2412.06464), as Qwen3.5 has it in place of attention: heads whose
// memory is a matrix. Head h of the values uses head h % n_head_k of q and k.
struct DeltaShape {
  uint32_t n_head_k = 0, n_head_v = 0;  // heads of q and of k; heads of v, a multiple of them
  uint32_t head_dim = 0;                // features of a head, of keys and of values; a multiple of 32 to 256
  uint32_t n_conv = 0;                  // inputs of a channel that the convolution sees, 2 to 8
  // What heads of values give lies in groups of those that use the same key: head r * n_head_k + k at
  // k * (n_head_v / n_head_k) + r.
  bool grouped = false;
  uint32_t channels() const { return (2 * n_head_k + n_head_v) * head_dim; }  // of q, k and v
  uint32_t inner() const { return n_head_v * head_dim; }                      // of v, z and the result
};

template <typename T>
struct DeltaInputOf {
  T conv{};        // [channels][n_conv] f32, the weight of the newest input last
  T time_bias{};   // [n_head_v] f32
  T decay{};       // [n_head_v] f32, at most 0
  NormOf<T> norm;  // over each head of what the memory gives, weights [head_dim]
};
using DeltaInput = DeltaInputOf<BufferPtr>;

// What a layer remembers before the token at position p lies at [p % 2], so that a token that was computed
// ahead in vain spoils nothing.
struct DeltaState {
  BufferPtr conv;   // [2][n_conv - 1][channels] f32, the oldest input first
  BufferPtr heads;  // [2][n_head_v][head_dim of k][head_dim of v] f32
};

struct DeltaScratch {
  BufferPtr mixed;  // [n][channels] f32: q, k and v behind the convolution
  BufferPtr gates;  // [n][n_head_v][2] f32: decay and strength of each token
};

// The result of the argmax kernel, as it lies in memory.
struct ArgmaxResult {
  float largest;        // logit
  uint32_t index;       // the first that has it
  float sum_exp;        // sum over the vocabulary of exp(logit - largest)
  uint32_t non_finite;  // 1 if a logit is NaN or +Inf
};

// Where the device also samples, this lies behind those of all rows: what Sampler would have chosen.
struct ChoiceResult {
  uint32_t index;
  float logit;
  uint32_t undecided;  // 1: too many logits are nearly alike, the host has to choose
  uint32_t unused;
};

// What sampling on a device needs to know: the settings, and in `randoms` the random number for the token at
// position p, at [p % kSampleRandoms].
constexpr uint32_t kSampleHistory = 256;
constexpr uint32_t kSampleRandoms = 32;
constexpr uint32_t kMostSampled = 192;  // of top_k and penalised tokens together
struct SamplingInput {
  SamplingRecipe recipe;
  uint32_t want;                    // top_k and n_recent together
  int32_t history[kSampleHistory];  // the token at position p is at [p % kSampleHistory]
};
struct SamplingBuffers {
  BufferPtr input;    // one SamplingInput; the device adds the tokens it chooses
  BufferPtr randoms;  // [kSampleRandoms] u64, seen by the host
  BufferPtr scratch;  // kSampleScratch bytes a row, zero at first
};
constexpr uint64_t kSampleScratch = 8 + 4 * 2048 + 8 * 256;

// What a head multiplies: y = norm(x[first_row ..]), rotated where there is a rotation.
struct HeadInput {
  const Buffer& x;
  uint32_t first_row;
  const Norm& norm;
  const Rotation& rotation;
  const Buffer& y;
};

// What is found out about the logits of each row.
struct Choosing {
  const Buffer& partial;            // scratch of argmax
  const Buffer& result;             // ArgmaxResult [rows], with sampling ChoiceResult [rows] behind them
  const SamplingBuffers* sampling;  // null: the first of the largest logits is the choice
};

// What attention of one token over a long cache found in each chunk of keys.
struct AttentionScratch {
  BufferPtr chunks;  // [n_head][chunks of kAttentionChunk keys][2 + head_dim] f32
};
constexpr uint32_t kAttentionChunk = 64;

}  // namespace bitnet
