#include "vk/kernels.h"

#include <algorithm>

#include "shaders/shaders.h"

namespace bitnet::vk {
namespace {

// Rows are reduced by one workgroup: 512 wide where the device allows it (128 is what Vulkan promises). A
// software device runs the invocations one after the other and only loses time at the barriers of a wide one.
// Whatever norms a row uses this, so that all sum in the same order.
Specialisation wide(const Device& device) {
  return {.workgroup_size =
              device.is_gpu() ? std::min(512U, device.limits().maxComputeWorkGroupInvocations) : 64U};
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

#define SPIRV(name) std::span<const uint32_t>(name##_spv)
#define MATRIX(name) SPIRV(name##_matrix)
#define GPU(name) device_.is_gpu() ? SPIRV(name##_unrolled) : SPIRV(name)
#define SUBGROUPS(name) d.shared_subgroups() ? SPIRV(name##_shared) : SPIRV(name)
#define DOT(name) integer_dot ? SPIRV(name##_dot) : SPIRV(name##_emulated)
#define SUBGROUPS_DOT(name) d.shared_subgroups() ? SPIRV(name##_shared) : DOT(name)

Kernels::Kernels(const Device& d, VkPipelineCache cache, bool integer_dot, bool matrix)
    : embed_f16(d, cache, "embed", embed_spv, {}),
      embed_f32(d, cache, "embed_f32", embed_spv, {.table_f32 = 1}),
      rms_norm(d, cache, "rms_norm", SUBGROUPS(rms_norm), wide(d)),
      rms_norm_quantise(d, cache, "rms_norm_quantise", SUBGROUPS(rms_norm_quantise), wide(d)),
      matvec(d, cache, "ternary_matvec", SUBGROUPS_DOT(ternary_matvec), matvec_rows(d)),
      matvec_add(d, cache, "ternary_matvec_add", SUBGROUPS_DOT(ternary_matvec_add), matvec_rows(d)),
      matvec_gate_up(d, cache, "ternary_matvec_gate_up", SUBGROUPS_DOT(ternary_matvec_gate_up), matvec_rows(d)),
      rope_store_kv(d, cache, "rope_store_kv", rope_store_kv_spv, {}),
      head_f16(d, cache, "head", SUBGROUPS(head), {}),
      head_f32(d, cache, "head_f32", SUBGROUPS(head), {.table_f32 = 1}),
      argmax(d, cache, "argmax", argmax_spv, {}),
      argmax_merge(d, cache, "argmax_merge", argmax_merge_spv, {}),
      device_(d),
      cache_(cache),
      integer_dot_(integer_dot),
      matrix_(matrix) {}

// Sharing keys among heads saves loads; shared memory sets the most.
static uint32_t shared_heads(const AttentionShape& s, uint32_t most) {
  const uint32_t group = s.n_head / s.n_head_kv;
  uint32_t heads = std::min(group, most);
  while (group % heads != 0) --heads;
  return heads;
}

uint32_t Kernels::decode_heads(const AttentionShape& shape) { return shared_heads(shape, 6); }

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
  Specialisation constants{.heads = shared_heads(shape, tile->rows),
                           .features = (shape.head_dim + 63) / 64,
                           .slab = tile->slab,
                           .key_slab = tile->key_slab,
                           .head_dim = shape.head_dim};
  // 4 rows to 16 invocations, and for one token no more rows than it has.
  constants.workgroup_size = 4 * (n == 1 ? (constants.heads + 3) / 4 * 4 : tile->rows);
  return attention_.try_emplace(constants, device_, cache_, "attention", GPU(attention), constants)
      .first->second;
}

// Lanes for a row of n_in features, and what each of them loads.
struct RowShape {
  uint32_t lanes, loads, norm_loads;
};
static RowShape row_shape(const Device& device, uint32_t n_in, uint32_t workgroup_size) {
  constexpr uint32_t kMostLoads = 8;  // registers that wait for memory
  const auto per = [](uint32_t n, uint32_t each) { return (n + each - 1) / each; };
  uint32_t lanes = std::min(8U, device.min_subgroup_size());
  while (lanes < device.min_subgroup_size() && per(n_in / 64, lanes) > kMostLoads) lanes *= 2;
  return {lanes, per(n_in / 64, lanes), per(n_in / 4, workgroup_size)};
}

Specialisation Kernels::decode_constants(uint32_t n_short, uint32_t n_long,
                                         const AttentionShape& heads) const {
  Specialisation c = wide(device_);
  const RowShape rows = row_shape(device_, n_short, c.workgroup_size),
                 long_rows = row_shape(device_, n_long, c.workgroup_size);
  c.lanes = rows.lanes;
  c.loads = rows.loads;
  c.norm_loads = rows.norm_loads;
  c.lanes_long = long_rows.lanes;
  c.loads_long = long_rows.loads;
  c.norm_loads_long = long_rows.norm_loads;
  c.heads = decode_heads(heads);
  c.head_dim = heads.head_dim;
  c.tile = std::max(n_long / 16, 64 * heads.head_dim / 8);
  return c;
}

bool Kernels::has_decode(uint32_t n_in, const AttentionShape& heads) const {
  constexpr uint32_t kMostLoads = 16;
  const Specialisation c = decode_constants(n_in, n_in, heads);
  const uint32_t shared_bytes =
      16 * c.tile + 4 * c.workgroup_size + 4 * heads.head_dim * (c.heads + 1) + 10 * 4 * 64 * c.heads + 256 +
      (device_.shared_subgroups() ? 4 * c.workgroup_size : 0);
  return device_.is_gpu() && device_.subgroup_shuffle() && device_.has_addresses() &&
         device_.subgroup_size() <= 64 && c.workgroup_size % 64 == 0 && c.loads <= kMostLoads &&
         shared_bytes <= device_.limits().maxComputeSharedMemorySize;
}

const Kernel& Kernels::decode(uint32_t n_short, uint32_t n_long, const AttentionShape& heads) {
  const Specialisation constants = decode_constants(n_short, n_long, heads);
  const auto spirv = device_.shared_subgroups()  ? SPIRV(decode_shared)
                     : device_.info().software ? integer_dot_ ? SPIRV(decode_dot) : SPIRV(decode_emulated)
                     : integer_dot_ ? SPIRV(decode_dot_unrolled)
                                             : SPIRV(decode_emulated_unrolled);
  return decode_.try_emplace(constants, device_, cache_, "decode", spirv, constants).first->second;
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
  if (!sampling_) sampling_.emplace(device_, cache_, wide(device_));
  return *sampling_;
}

#undef SUBGROUPS_DOT
#undef DOT
#undef SUBGROUPS
#undef MATRIX
#undef GPU
#undef SPIRV

}  // namespace bitnet::vk
