#include "vk/kernels.h"

#include <algorithm>

#include "shaders/shaders.h"

namespace bitnet::vk {
namespace {

// Rows of n features are reduced by one workgroup: 256 wide, more for long rows, where the device allows it
// (128 is what Vulkan promises). A software device runs the invocations one after the other and only loses
// time at the barriers of a wide one. Whatever norms rows of n uses this, so that all sum in the same order.
Specialisation wide(const Device& device, uint32_t n) {
  constexpr uint32_t kLongRow = 4096;
  const uint32_t wanted = n > kLongRow ? 512 : 256;
  return {.workgroup_size =
              device.is_gpu() ? std::min(wanted, device.limits().maxComputeWorkGroupInvocations) : 64U};
}

// More rows a subgroup save loads of the vector, fewer leave more subgroups to hide the memory's latency.
Specialisation matvec_rows(const Device& device) { return {.rows = device.is_gpu() ? 2U : 4U}; }

// What a workgroup of ternary_matmul_matrix makes of `outputs` sums: the more there are, the more of them
// share what is brought into shared memory; the fewer, the more workgroups have something to do. Measured on
// an H200.
Specialisation matrix_tile(const Device& device, uint64_t outputs) {
  struct Tile {
    uint64_t most_outputs;
    uint32_t rows, tokens, subgroup_rows, subgroup_tokens;  // of a subgroup; subgroups
  };
  constexpr Tile kTiles[] = {{400'000, 16, 16, 4, 1},
                             {1'600'000, 32, 32, 2, 2},
                             {2'300'000, 64, 32, 2, 4},
                             {UINT64_MAX, 64, 32, 2, 2}};
  const MatrixShape shape = *device.int8_matrix();
  const auto constants_of = [&](const Tile& t) {
    Specialisation c{.matrix_m = shape.m, .matrix_n = shape.n, .matrix_k = shape.k};
    c.row_tiles = std::max(1U, t.rows / shape.m);
    c.token_tiles = std::max(1U, t.tokens / shape.n);
    c.subgroup_rows = t.subgroup_rows;
    c.subgroup_tokens = t.subgroup_tokens;
    c.workgroup_size = device.info().subgroup_size * t.subgroup_rows * t.subgroup_tokens;
    return c;
  };
  const auto fits = [&](const Specialisation& c) {
    const uint32_t rows = shape.m * c.row_tiles * c.subgroup_rows,
                   tokens = shape.n * c.token_tiles * c.subgroup_tokens, step = (rows + tokens) * (128 + 16),
                   sums = rows * shape.n * c.subgroup_tokens * 4;
    return c.workgroup_size <= device.limits().maxComputeWorkGroupInvocations &&
           std::max(step, sums) <= device.limits().maxComputeSharedMemorySize;
  };
  size_t i = 0;
  while (outputs > kTiles[i].most_outputs && fits(constants_of(kTiles[i + 1]))) ++i;
  return constants_of(kTiles[i]);
}

}  // namespace

#define GPU(name) \
  device_.is_gpu() ? std::span<const uint32_t>(name##_unrolled_spv) : std::span<const uint32_t>(name##_spv)
#define MATRIX(name) std::span<const uint32_t>(name##_matrix_spv)
#define DOT(name) \
  integer_dot ? std::span<const uint32_t>(name##_dot_spv) : std::span<const uint32_t>(name##_emulated_spv)

Kernels::Kernels(const Device& d, VkPipelineCache cache, bool integer_dot, bool matrix)
    : embed_f16(d, cache, "embed", embed_spv, {}),
      embed_f32(d, cache, "embed_f32", embed_spv, {.table_f32 = 1}),
      rms_norm(d, cache, "rms_norm", rms_norm_spv, wide(d, 0)),
      matvec(d, cache, "ternary_matvec", DOT(ternary_matvec), matvec_rows(d)),
      matvec_add(d, cache, "ternary_matvec_add", DOT(ternary_matvec_add), matvec_rows(d)),
      matvec_gate_up(d, cache, "ternary_matvec_gate_up", DOT(ternary_matvec_gate_up), matvec_rows(d)),
      rope_store_kv(d, cache, "rope_store_kv", rope_store_kv_spv, {}),
      head_f16(d, cache, "head", head_spv, {}),
      head_f32(d, cache, "head_f32", head_spv, {.table_f32 = 1}),
      argmax(d, cache, "argmax", argmax_spv, {}),
      argmax_merge(d, cache, "argmax_merge", argmax_merge_spv, {}),
      device_(d),
      cache_(cache),
      integer_dot_(integer_dot),
      matrix_(matrix) {}

const Kernel& Kernels::rms_norm_quantise(uint32_t n_features) {
  const Specialisation constants = wide(device_, n_features);
  return rms_norm_quantise_
      .try_emplace(constants, device_, cache_, "rms_norm_quantise", rms_norm_quantise_spv, constants)
      .first->second;
}

// Sharing keys among heads saves loads; shared memory sets the most.
static uint32_t heads_a_workgroup(const AttentionShape& s, uint32_t most) {
  const uint32_t group = s.n_head / s.n_head_kv;
  uint32_t heads = std::min(group, most);
  while (group % heads != 0) --heads;
  return heads;
}

const Kernel& Kernels::attention(const AttentionShape& shape, uint32_t n) {
  struct Tile {
    uint32_t rows, slab, key_slab;
  };
  constexpr Tile kTiles[] = {{32, 16, 8}, {16, 16, 8}, {8, 8, 4}, {4, 8, 4}};
  const auto shared_bytes = [&](const Tile& t) {
    constexpr uint32_t kRowBytes = kAttentionChunk * 4 + 16 + 64 + 4;  // weights, maxima, their sum
    return t.rows * (shape.head_dim * 4 + kRowBytes) +
           std::max(t.slab * kAttentionChunk * 4, t.key_slab * shape.head_dim * 4);
  };
  const Tile* tile = std::find_if(std::begin(kTiles), std::end(kTiles) - 1, [&](const Tile& t) {
    return shared_bytes(t) <= device_.limits().maxComputeSharedMemorySize;
  });
  Specialisation constants{.heads = heads_a_workgroup(shape, tile->rows),
                           .features = (shape.head_dim + 63) / 64,
                           .slab = tile->slab,
                           .key_slab = tile->key_slab,
                           .head_dim = shape.head_dim};
  // 4 rows to 16 invocations, and for one token no more rows than it has.
  constants.workgroup_size = 4 * (n == 1 ? (constants.heads + 3) / 4 * 4 : tile->rows);
  return attention_.try_emplace(constants, device_, cache_, "attention", GPU(attention), constants)
      .first->second;
}

const Kernel& Kernels::attention_decode(const AttentionShape& shape) {
  constexpr uint32_t kMostHeads = 6;
  Specialisation constants = wide(device_, 0);
  constants.heads = heads_a_workgroup(shape, kMostHeads);
  constants.slab = (shape.head_dim / 8 + 3) / 4;
  constants.head_dim = shape.head_dim;
  return attention_decode_
      .try_emplace(constants, device_, cache_, "attention_decode", GPU(attention_decode), constants)
      .first->second;
}

const Kernel* Kernels::bit_linear(Linear kind, uint32_t n_in) {
  constexpr uint32_t kMostLoads = 8;  // registers that wait for memory
  Specialisation constants = wide(device_, n_in);
  const auto per = [](uint32_t n, uint32_t each) { return (n + each - 1) / each; };
  while (constants.lanes < device_.min_subgroup_size() && per(n_in / 64, constants.lanes) > kMostLoads)
    constants.lanes *= 2;
  constants.loads = per(n_in / 64, constants.lanes);
  constants.norm_loads = per(n_in / 4, constants.workgroup_size);
  const bool fits =
      n_in <= device_.limits().maxComputeSharedMemorySize / 2 && constants.loads <= 2 * kMostLoads;
  if (!device_.is_gpu() || !device_.subgroup_shuffle() || constants.lanes > device_.min_subgroup_size() ||
      !fits)
    return nullptr;

  const bool integer_dot = integer_dot_;
  const auto spirv = kind == Linear::plain ? DOT(bit_linear)
                     : kind == Linear::add ? DOT(bit_linear_add)
                                           : DOT(bit_linear_gate_up);
  const char* name = kind == Linear::plain ? "bit_linear"
                     : kind == Linear::add ? "bit_linear_add"
                                           : "bit_linear_gate_up";
  return &bit_linear_[static_cast<int>(kind)]
              .try_emplace(constants, device_, cache_, name, spirv, constants)
              .first->second;
}

Kernels::Matmul Kernels::ternary_matmul(Linear kind, uint32_t n_out, uint32_t n) {
  const auto k = static_cast<size_t>(kind);
  if (!matrix_) {
    constexpr const char* kNames[] = {"ternary_matmul", "ternary_matmul_add", "ternary_matmul_gate_up"};
    const bool integer_dot = integer_dot_;
    const std::span<const uint32_t> code[] = {DOT(ternary_matmul), DOT(ternary_matmul_add),
                                              DOT(ternary_matmul_gate_up)};
    const Specialisation constants;
    return {
        matmul_dot_[k].try_emplace(constants, device_, cache_, kNames[k], code[k], constants).first->second,
        kind == Linear::gate_up ? 32U : 64U, 32};
  }
  constexpr const char* kNames[] = {"ternary_matmul_matrix", "ternary_matmul_matrix_add",
                                    "ternary_matmul_matrix_gate_up"};
  const std::span<const uint32_t> code[] = {MATRIX(ternary_matmul), MATRIX(ternary_matmul_add),
                                            MATRIX(ternary_matmul_gate_up)};
  const Specialisation constants =
      matrix_tile(device_, uint64_t{n_out} * (kind == Linear::gate_up ? 2 : 1) * n);
  const uint32_t rows = constants.matrix_m * constants.row_tiles * constants.subgroup_rows;
  return {
      matmul_matrix_[k].try_emplace(constants, device_, cache_, kNames[k], code[k], constants).first->second,
      kind == Linear::gate_up ? rows / 2 : rows,
      constants.matrix_n * constants.token_tiles * constants.subgroup_tokens};
}

Kernels::Sampling::Sampling(const Device& d, VkPipelineCache cache, const Specialisation& constants)
    : count(d, cache, "sample_count", sample_count_spv, constants),
      collect(d, cache, "sample_collect", sample_collect_spv, constants),
      choose(d, cache, "sample_choose", sample_choose_spv, constants) {}

const Kernels::Sampling& Kernels::sampling() {
  if (!sampling_) sampling_.emplace(device_, cache_, wide(device_, 0));
  return *sampling_;
}

#undef DOT
#undef MATRIX
#undef GPU

}  // namespace bitnet::vk
