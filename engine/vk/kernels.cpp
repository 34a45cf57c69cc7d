#include "kernels.h"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>

#include "builds.h"
#include "ceil_div.h"
#include "matrix_tile.h"

namespace bitnet::vk {

uint32_t input_units_of(const Matrix& w) {
  return w.input == Input::int8_units || w.input == Input::int16_units ? 1 : 0;
}
uint32_t activation_of(Act act) {
  return act == Act::gelu ? ACTIVATION_GELU : act == Act::silu ? ACTIVATION_SILU : ACTIVATION_RELU2;
}
uint32_t norm_of(const Norm& norm) {
  if (norm.kind == Norm::Kind::layer) return NORM_LAYER;
  return !norm ? NORM_NEVER : norm.weight ? NORM_ALWAYS : NORM_ONES;
}

Specialisation wide(const Device& device) {
  const uint32_t size =
      device.is_gpu() ? std::bit_floor(std::min(512U, device.limits().maxComputeWorkGroupInvocations)) : 64U;
  return {{CONSTANT_WORKGROUP_SIZE, size}};
}

Specialisation product_constants(const Matrix& w, const Out& out) {
  Specialisation c;
  if (out.kind == Out::Kind::gate) c[CONSTANT_ACTIVATION] = activation_of(out.act);
  if (w.layout == Layout::trits) return c;
  c.insert({{CONSTANT_INPUT_UNITS, input_units_of(w)},
            {CONSTANT_SCALE_GROUPS, w.scale_every / 64},
            {CONSTANT_UNIT, unit_of_input(w)},
            {CONSTANT_REST, w.input == Input::int16_units ? 1 : 0},
            {CONSTANT_OUT, static_cast<uint32_t>(out.kind)}});
  return c;
}

namespace {

// Bytes of the sums of a column of tiles of each subgroup of a part.
uint32_t sum_bytes(const Specialisation& c) {
  return tile_rows(c) * c.at(CONSTANT_MATRIX_N) * c.at(CONSTANT_SUBGROUP_TOKENS) * 4;
}

// The tile of ternary_matmul_matrix, measured on an H200.
std::optional<ChosenTile> trits_tile(const Device& device, uint64_t outputs) {
  constexpr MatrixTile kTiles[] = {{200'000, 16, 16, 2, 2, 4},
                                   {400'000, 16, 16, 4, 1},
                                   {1'000'000, 32, 32, 2, 2},
                                   {1'350'000, 32, 32, 5, 2},  // nearly one a multiprocessor of an H200
                                   {1'600'000, 32, 32, 2, 2},
                                   {2'300'000, 64, 32, 2, 4},
                                   {3'000'000, 64, 32, 2, 2},
                                   {UINT64_MAX, 64, 64, 2, 2}};
  return matrix_tile(device, kTiles, outputs, [&](const Specialisation& c) {
    const uint32_t parts = c.at(CONSTANT_PARTS);
    return std::max((tile_rows(c) + tile_tokens(c)) * (128 * parts + 16), parts * sum_bytes(c));
  });
}

// Groups of inputs of a step of ternary_matmul_groups_matrix, for units of so many inputs.
uint32_t groups_of_step(const Specialisation& c, uint32_t unit) {
  const uint32_t parts = c.at(CONSTANT_PARTS);
  return parts > 1 ? parts * unit / 64 : 2;
}

// The same of ternary_matmul_groups_matrix, whose sums take twice the registers: no tile of a subgroup is
// larger than 64 x 32. Of few tokens the larger tiles would be half empty.
std::optional<ChosenTile> groups_tile(const Device& device, const Matrix& w, uint32_t tokens) {
  constexpr uint64_t kFewest = 200'000, kFew = 400'000, kMore = 1'600'000;
  constexpr uint32_t kFlagBytes = 16;  // whether a workgroup is the last of a split tile
  // With two planes two large tiles run on a multiprocessor. Up to kAWave outputs an H200 makes all at once;
  // of some more a few would be left, with most of the device idle.
  constexpr uint64_t kAWave = 2'163'000, kMoreThanAWave = 3'500'000;
  constexpr MatrixTile kOnePlane[] = {
      {kFewest, 16, 16, 1, 1, 4}, {kFew, 32, 16, 2, 1, 2}, {kMore, 32, 32, 2, 2}, {UINT64_MAX, 32, 32, 4, 4}};
  constexpr MatrixTile kATileOfTokens{kFewest, 16, 16, 1, 1, 4}, kTwoTilesOfTokens{kFewest, 16, 16, 2, 1, 2};
  const std::array two_planes{tokens <= 16 ? kATileOfTokens : kTwoTilesOfTokens,
                              MatrixTile{kFew, 32, 16, 2, 1, 2},
                              MatrixTile{kMore, 32, 32, 2, 2},
                              MatrixTile{kAWave, 64, 32, 2, 2},
                              MatrixTile{kMoreThanAWave, 32, 32, 2, 2},
                              MatrixTile{UINT64_MAX, 64, 32, 2, 2}};
  // Where it is known how many multiprocessors there are, rounds that would be nearly empty are split, and
  // the large tile is the best but for few tokens (../../bench/speed/27b.md).
  constexpr uint32_t kFewTokensOfATile = 48;
  constexpr MatrixTile kSplit[] = {{0, 32, 32, 2, 2}, {UINT64_MAX, 64, 32, 2, 2, 1, 2}};
  const bool two = w.input == Input::int16_units;
  const bool can_split = two && tokens > kFewTokensOfATile && device.multiprocessors() != 0;
  const std::span<const MatrixTile> tiles = can_split ? std::span<const MatrixTile>(kSplit)
                                            : two     ? std::span<const MatrixTile>(two_planes)
                                                      : std::span<const MatrixTile>(kOnePlane);
  uint64_t outputs = uint64_t{w.rows()} * tokens;
  if (tokens <= 32) outputs = std::min(outputs, kFew);
  return matrix_tile(device, tiles, outputs, [&](const Specialisation& c) {
    const uint32_t rows = tile_rows(c), n = tile_tokens(c), parts = c.at(CONSTANT_PARTS);
    const uint32_t unit = unit_of_input(w), groups = groups_of_step(c, unit), planes = two ? 2 : 1;
    const uint32_t step = (rows + planes * n) * (64 * groups + 16) + (rows + n) * 4 * (64 * groups / unit);
    return std::max(step, parts * sum_bytes(c)) + kFlagBytes;
  });
}

}  // namespace

bool has_blocks(TensorType type) {
  const auto t = static_cast<uint32_t>(type);
  return t != TABLE_F32 && t != TABLE_F16 && t != TABLE_BF16;
}

VulkanKernels::VulkanKernels(const Device& d, VkPipelineCache cache, bool integer_dot, bool matrix,
                             const KernelOptions& options)
    : device_(d),
      cache_(cache),
      integer_dot_(integer_dot),
      matrix_(matrix),
      emulate_matrices_(options.emulate_matrices && d.shared_subgroups()),
      reconverges_(d.reconverges() || options.assume_reconvergence),
      chooses_row_size_(options.row_size == 0),
      row_size_(options.row_size != 0 ? options.row_size : wide(d).at(CONSTANT_WORKGROUP_SIZE)) {}

const Kernel& VulkanKernels::argmax() { return kernel(Shader::argmax, {}); }
const Kernel& VulkanKernels::argmax_merge() { return kernel(Shader::argmax_merge, {}); }

const Kernel& VulkanKernels::embed(const Table& table, bool positions) {
  Specialisation constants{{CONSTANT_POSITIONS, positions ? 1 : 0}};
  if (!table.is_ternary()) constants[CONSTANT_TABLE_TYPE] = static_cast<uint32_t>(table.type);
  const Shader shader = table.is_ternary() ? Shader::embed_ternary : Shader::embed;
  return kernel(shader, constants);
}

const Kernel& VulkanKernels::norm(const Norm& norm, uint32_t out) {
  const Device& d = device_;
  Specialisation constants = wide(d);
  constants[CONSTANT_NORM] = norm_of(norm);
  constants[CONSTANT_OUT] = out;
  return kernel(SUBGROUPS(norm), constants);
}

const Kernel& VulkanKernels::combine_per_layer(const Norm& norm) {
  return kernel(Shader::combine_per_layer, {{CONSTANT_NORM, norm_of(norm)}});
}

// An invocation has at least four values, where a device allows so many.
const Kernel& VulkanKernels::rotate(uint32_t block) {
  const uint32_t most = std::min(256U, device_.limits().maxComputeWorkGroupInvocations);
  const uint32_t size = device_.is_gpu() ? std::clamp(block / 4, 32U, most) : std::clamp(block / 16, 8U, 64U);
  return kernel(Shader::rotate, {{CONSTANT_WORKGROUP_SIZE, size}, {CONSTANT_BLOCK, block}});
}

const Kernel& VulkanKernels::elementwise(uint32_t element) {
  return kernel(Shader::elementwise, {{CONSTANT_ELEMENT, element}});
}
const Kernel& VulkanKernels::gate(Act act) {
  return kernel(Shader::elementwise,
                {{CONSTANT_ELEMENT, ELEMENT_GATE}, {CONSTANT_ACTIVATION, activation_of(act)}});
}

// How many of n tokens a subgroup takes together: a power of two, so that there are few kernels.
static uint32_t tokens_together(const Device& device, uint32_t n) {
  const uint32_t most = std::min(kFewTokens, device.subgroup_size());
  return device.shared_subgroups() ? 1 : std::min(most, std::bit_ceil(n));
}

const Kernel& VulkanKernels::head(const Table& table, uint32_t n) {
  const Device& d = device_;
  Specialisation constants{{CONSTANT_TABLE_TYPE, static_cast<uint32_t>(table.type)}};
  if (!has_blocks(table.type)) {
    const uint32_t tokens = tokens_together(d, n);
    // What is loaded of the vectors serves all rows, so that it is the table which is waited for.
    constants.insert({{CONSTANT_ROWS, std::min(4U, tokens)}, {CONSTANT_TOKENS, tokens}});
    if (d.shared_subgroups()) return kernel(Shader::head_shared, constants);
    return kernel(d.is_gpu() ? Shader::head_unrolled : Shader::head, constants);
  }
  constexpr uint32_t kTileBytes = 16 << 10;  // of 4 rows or more of most models; small, so that many are read
  const auto& chunk = table.chunks.front();
  const auto row_bytes = static_cast<uint32_t>(chunk.bytes->size() / chunk.rows);
  const auto tile_of = [&](uint32_t rows) {
    return (rows * row_bytes + 15 + 15 + 4) / 16;  // they begin and end within a uvec4
  };
  const auto fits = [&](uint32_t rows) {
    return 16 * tile_of(rows) + rows * 64 + 256 <= d.limits().maxComputeSharedMemorySize;
  };
  uint32_t rows = 8;
  while (rows > 1 && (rows * row_bytes > kTileBytes || !fits(rows))) rows /= 2;
  constants[CONSTANT_ROWS] = rows;
  constants[CONSTANT_TILE] = tile_of(rows);
  if (!fits(rows))
    throw Error(ErrorKind::device, d.info().name + " has too little shared memory for the rows of this head");
  const Shader shader = d.shared_subgroups() ? Shader::head_blocks_shared
                        : d.is_gpu()         ? Shader::head_blocks_unrolled
                                             : Shader::head_blocks;
  return kernel(shader, constants);
}

const Kernel& VulkanKernels::shortlist_copy(const Table& table) {
  return kernel(device_.shared_subgroups() ? Shader::shortlist_copy_shared : Shader::shortlist_copy,
                {{CONSTANT_TABLE_TYPE, static_cast<uint32_t>(table.type)}});
}

VulkanKernels::ShortlistKernels VulkanKernels::shortlist(const Table& table, const Norm& norm, uint32_t n) {
  const bool shared = device_.shared_subgroups();
  Specialisation of_vector = wide(device_);
  of_vector[CONSTANT_NORM] = norm_of(norm);
  const Specialisation of_rows{{CONSTANT_ROWS, 4}, {CONSTANT_TOKENS, tokens_together(device_, n)}};
  const Shader approximate = shared         ? Shader::shortlist_approximate_shared
                             : integer_dot_ ? Shader::shortlist_approximate_dot
                                            : Shader::shortlist_approximate_emulated;
  const Shader candidates = shared             ? Shader::shortlist_candidates_shared
                            : device_.is_gpu() ? Shader::shortlist_candidates_unrolled
                                               : Shader::shortlist_candidates;
  const Shader choose = shared             ? Shader::shortlist_choose_shared
                        : device_.is_gpu() ? Shader::shortlist_choose_unrolled
                                           : Shader::shortlist_choose;
  return {kernel(shared ? Shader::shortlist_vector_shared : Shader::shortlist_vector, of_vector),
          kernel(approximate, of_rows),
          kernel(n == 1 ? choose : candidates, {{CONSTANT_TABLE_TYPE, static_cast<uint32_t>(table.type)}})};
}

const Kernel& VulkanKernels::kernel(Shader shader, const Specialisation& constants) {
  const auto found = kernels_.find({shader, constants});
  if (found != kernels_.end()) return found->second;
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  const auto made = kernels_.try_emplace({shader, constants}, device_, cache_, shader, constants).first;
  seconds_compiling_ += std::chrono::duration<double>(Clock::now() - start).count();
  return made->second;
}

// Heads that share keys save loads; shared memory limits how many.
static uint32_t shared_heads(const AttentionShape& s, uint32_t most) {
  const uint32_t group = s.n_head / s.n_head_kv;
  uint32_t heads = std::min(group, most);
  while (group % heads != 0) --heads;
  return heads;
}

uint32_t VulkanKernels::decode_heads(const AttentionShape& shape) {
  return shared_heads(shape, shape.head_dim > 128 ? 3 : 6);
}

// As kMergeParts in decode_attention.glsl.
uint32_t VulkanKernels::merge_parts(const AttentionShape& shape, const DecodeShape::Weights& weights) {
  const uint32_t features = weights.layout == Layout::groups ? weights.unit : 64;
  return shape.head_dim % features == 0 ? shape.head_dim / features : 1;
}

uint32_t head_input(const AttentionInput& input) {
  const auto flags = [](const Norm& norm, uint32_t normed, uint32_t ones) {
    return !norm ? 0 : norm.weight ? normed : normed | ones;
  };
  return (input.bias ? HEAD_BIAS : 0) | flags(input.q_norm, HEAD_Q_NORM, HEAD_Q_ONES) |
         flags(input.k_norm, HEAD_K_NORM, HEAD_K_ONES) | flags(input.v_norm, HEAD_V_NORM, HEAD_V_ONES);
}

uint32_t cache_rows(const Buffer& k_cache, const AttentionShape& s) {
  return static_cast<uint32_t>(k_cache.size() / (uint64_t{s.n_head_kv} * s.head_dim * sizeof(uint16_t)));
}

uint32_t most_chunks(const AttentionShape& s, uint32_t cached) {
  return s.window == 0 ? cached : std::min(cached, (s.window + kAttentionChunk - 1) / kAttentionChunk + 1);
}

const Kernel& VulkanKernels::rope_store_kv(const AttentionInput& input, const AttentionShape& shape) {
  const uint32_t v_is_k = shape.rows == AttentionRows::qk ? HEAD_V_IS_K : 0;
  return kernel(Shader::rope_store_kv, {{CONSTANT_HEAD_INPUT, head_input(input) | v_is_k},
                                        {CONSTANT_TOKENS, device_.is_gpu() ? 4U : 1U}});
}

const Kernel& VulkanKernels::attention_merge(const AttentionShape& shape) {
  return kernel(Shader::attention_merge, {{CONSTANT_WINDOW, shape.window}});
}

// The registers of two lanes have room for a row of a head of up to 128 features.
bool VulkanKernels::attends_in_matrices(const AttentionShape& s) const {
  constexpr uint32_t kMostFeatures = 128;
  const bool can = emulate_matrices_ || (matrix_ && integer_dot_ && device_.half_matrix());
  return can && s.halves && device_.is_gpu() && device_.subgroup_size() == 2 * HALF_SIDE &&
         s.head_dim % HALF_SIDE == 0 && s.head_dim <= kMostFeatures;
}

VulkanKernels::Attention VulkanKernels::attention_in_matrices(const AttentionShape& shape, bool split) {
  const auto shared_bytes = [&](uint32_t rows) {  // as attention_matrix.comp has it
    constexpr uint32_t kOfRow = kAttentionChunk / 4 + 2, kOfSubgroup = HALF_SIDE / 2;
    return 16 * (std::max(rows, kAttentionChunk) * (shape.head_dim / 8 + 1) + rows * kOfRow +
                 rows / HALF_SIDE * kOfSubgroup);
  };
  uint32_t rows = 64;
  while (rows > HALF_SIDE && shared_bytes(rows) > device_.limits().maxComputeSharedMemorySize) rows /= 2;
  const uint32_t heads = shared_heads(shape, rows);
  const Shader shader = emulate_matrices_ ? Shader::attention_matrix_emulated : Shader::attention_matrix;
  return {kernel(shader, {{CONSTANT_WORKGROUP_SIZE, 2 * rows},
                          {CONSTANT_HEADS, heads},
                          {CONSTANT_WINDOW, shape.window},
                          {CONSTANT_SPLIT, split ? 1 : 0},
                          {CONSTANT_HEAD_DIM, shape.head_dim}}),
          heads, rows / heads, 1};
}

VulkanKernels::Attention VulkanKernels::attention(const AttentionShape& shape, uint32_t n, bool split) {
  if (attends_in_matrices(shape)) return attention_in_matrices(shape, split);
  struct Tile {
    uint32_t rows, slab, key_slab;
  };
  // Measured on an H200: the larger a step, the fewer barriers. A quarter of 64 features has 16.
  constexpr Tile kTiles[] = {{32, 32, 16}, {32, 16, 8}, {16, 16, 8}, {8, 8, 4}, {4, 8, 4}};
  // An invocation has registers for 4 rows of 256 features, of which 16 invocations share the features.
  const uint32_t value_parts = shape.head_dim > 256 && shape.head_dim % 16 == 0 ? 2 : 1;
  const uint32_t value_dim = shape.head_dim / value_parts;
  const auto shared_bytes = [&](const Tile& t) {
    constexpr uint32_t kRowBytes = kAttentionChunk * 4 + 16 + 64 + 4;  // weights, maxima, their sum
    return t.rows * (shape.head_dim * 4 + kRowBytes) +
           std::max(t.slab * kAttentionChunk * 4, t.key_slab * value_dim * 4);
  };
  const Tile* tile = std::find_if(std::begin(kTiles), std::end(kTiles) - 1, [&](const Tile& t) {
    return (t.slab <= 16 || shape.head_dim > 64) &&
           shared_bytes(t) <= device_.limits().maxComputeSharedMemorySize;
  });
  const uint32_t heads = shared_heads(shape, tile->rows);
  // 4 rows to 16 invocations, and for few tokens no more rows than they have.
  const uint32_t rows = n == 1 || split ? std::min(tile->rows, (n * heads + 3) / 4 * 4) : tile->rows;
  const Specialisation constants{{CONSTANT_WORKGROUP_SIZE, 4 * rows},
                                 {CONSTANT_HEADS, heads},
                                 {CONSTANT_FEATURES, (value_dim + 63) / 64},
                                 {CONSTANT_VALUE_PARTS, value_parts},
                                 {CONSTANT_WINDOW, shape.window},
                                 {CONSTANT_SPLIT, split ? 1 : 0},
                                 {CONSTANT_SLAB, tile->slab},
                                 {CONSTANT_KEY_SLAB, tile->key_slab},
                                 {CONSTANT_HEAD_DIM, shape.head_dim}};
  const Shader shader = device_.is_gpu() ? Shader::attention_unrolled : Shader::attention;
  return {kernel(shader, constants), heads, rows / heads, value_parts};
}

uint32_t VulkanKernels::row_size(Layout layout) const {
  return layout == Layout::trits ? row_size_ : wide(device_).at(CONSTANT_WORKGROUP_SIZE);
}

Specialisation VulkanKernels::quantise_constants(const Matrix& w, const Norm& norm) const {
  Specialisation constants{{CONSTANT_WORKGROUP_SIZE, row_size(w.layout)}};
  constants[CONSTANT_NORM] = norm_of(norm);
  if (w.layout == Layout::trits) return constants;
  constants[CONSTANT_INPUT_UNITS] = input_units_of(w);
  constants[CONSTANT_SUM_WORDS] = w.layout == Layout::blocks ? 4 : unit_of_input(w) / 4;
  return constants;
}

// Whether the invocations of rms_norm_quantise_once can hold a row of inputs of w, and its subgroups their
// units.
bool VulkanKernels::is_loaded_once(const Matrix& w, const Norm& norm) const {
  constexpr uint32_t kMostLoads = 4;  // of each share: 16 of an invocation
  const uint32_t size = wide(device_).at(CONSTANT_WORKGROUP_SIZE);
  return device_.is_gpu() && !device_.shared_subgroups() &&
         device_.subgroup_size() >= (w.layout == Layout::groups ? 16U : 8U) &&
         size % (4 * device_.subgroup_size()) == 0 && w.input != Input::int16_units &&
         norm.kind != Norm::Kind::layer && w.n_in <= 4 * kMostLoads * size;
}

// Whether the invocations of quantise_units can hold a row of inputs of w, and its subgroups their units.
bool VulkanKernels::is_rounded_in_one_pass(const Matrix& w, const Norm& norm) const {
  constexpr uint32_t kMostLoads = 12;
  const uint32_t size = wide(device_).at(CONSTANT_WORKGROUP_SIZE);
  return device_.is_gpu() && !device_.shared_subgroups() && device_.subgroup_size() >= unit_of_input(w) / 4 &&
         w.layout == Layout::groups && w.input == Input::int16_units && norm.kind != Norm::Kind::layer &&
         w.n_in <= 4 * kMostLoads * size;
}

const Kernel* VulkanKernels::rotate_quantise(const Matrix& w, const Norm& norm) {
  const Device& d = device_;
  const uint32_t size = wide(d).at(CONSTANT_WORKGROUP_SIZE), block = w.rotation.block;
  const bool has_norm = norm_of(norm) == NORM_ALWAYS;
  if (w.layout != Layout::groups || input_units_of(w) == 0 || !(has_norm || norm_of(norm) == NORM_NEVER) ||
      !d.is_gpu() || d.subgroup_size() < unit_of_input(w) / 4 || block % unit_of_input(w) != 0 ||
      size % (block / 4) != 0 || w.n_in % block != 0)
    return nullptr;
  Specialisation constants = quantise_constants(w, norm);
  constants[CONSTANT_BLOCK] = block;
  constants[CONSTANT_LOADS] = ceil_div(w.n_in / 4, size);
  constants[CONSTANT_REST] = w.input == Input::int16_units ? REST_TOO : 0;
  return &kernel(SUBGROUPS(rotate_quantise), constants);
}

const Kernel& VulkanKernels::quantise(const Matrix& w, const Norm& norm, bool rest) {
  const Device& d = device_;
  Specialisation constants = quantise_constants(w, norm);
  if (w.input == Input::int16_units && w.layout == Layout::groups) constants[CONSTANT_REST] = REST_TOO;
  if (rest) constants[CONSTANT_REST] = REST_ALONE;
  if (is_rounded_in_one_pass(w, norm)) {
    constants[CONSTANT_LOADS] = ceil_div(w.n_in / 4, constants.at(CONSTANT_WORKGROUP_SIZE));
    return kernel(Shader::quantise_units, constants);
  }
  if (is_loaded_once(w, norm)) {
    uint32_t& size = constants[CONSTANT_WORKGROUP_SIZE];
    constants[CONSTANT_LOADS] = ceil_div(w.n_in / 4, size);
    size /= 4;
    return kernel(w.layout == Layout::trits ? Shader::rms_norm_quantise_once
                                            : Shader::rms_norm_quantise_once_groups,
                  constants);
  }
  if (w.layout == Layout::trits) return kernel(SUBGROUPS(rms_norm_quantise), constants);
  return kernel(SUBGROUPS(rms_norm_quantise_groups), constants);
}

// More rows a subgroup save loads of the vectors; fewer leave more subgroups, which hide the latency of
// memory.
const Kernel& VulkanKernels::matvec(const Matrix& w, const Out& out, uint32_t n) {
  const Device& d = device_;
  const bool integer_dot = integer_dot_;
  constexpr uint32_t kManyRows = 8192;
  const uint32_t tokens = tokens_together(d, n);
  const bool few_rows =
      d.is_gpu() && (w.layout == Layout::trits || tokens > 1) && (tokens < 4 || w.rows() < kManyRows);
  Specialisation constants = product_constants(w, out);
  constants[CONSTANT_ROWS] = few_rows ? 2 : 4;
  constants[CONSTANT_TOKENS] = tokens;
  if (w.layout != Layout::trits) return kernel(SUBGROUPS_DOT(ternary_matvec_groups), constants);
  const Shader shaders[] = {SUBGROUPS_DOT(ternary_matvec), SUBGROUPS_DOT(ternary_matvec_add),
                            SUBGROUPS_DOT(ternary_matvec_gate_up)};
  return kernel(shaders[static_cast<size_t>(out.kind)], constants);
}

const Kernel& VulkanKernels::expand(Layout to) {
  return kernel(Shader::expand_fives, {{CONSTANT_SCALE_GROUPS, to == Layout::groups ? 1 : 0}});
}

// With two planes tiles of matrices win from five tokens on (../../bench/speed/27b.md).
uint32_t VulkanKernels::few_tokens(const Matrix& w) const {
  return matrix_ && w.layout == Layout::groups && w.input == Input::int16_units ? kMatvecTokens : kFewTokens;
}

VulkanKernels::Matmul VulkanKernels::matmul(const Matrix& w, const Out& out, uint32_t n, bool may_split) {
  const bool integer_dot = integer_dot_, gated = out.kind == Out::Kind::gate;
  const auto kind = static_cast<size_t>(out.kind);
  Specialisation constants = product_constants(w, out);
  const bool groups = w.layout != Layout::trits;
  const uint64_t outputs = uint64_t{w.rows()} * n;
  std::optional<ChosenTile> tile;
  if (matrix_) tile = groups ? groups_tile(device_, w, n) : trits_tile(device_, outputs);
  if (!tile) {
    const Shader shaders[] = {DOT(ternary_matmul), DOT(ternary_matmul_add), DOT(ternary_matmul_gate_up)};
    return {kernel(groups ? (DOT(ternary_matmul_groups)) : shaders[kind], constants), gated ? 32U : 64U, 32};
  }
  constexpr Shader kMatrix[] = {Shader::ternary_matmul_matrix, Shader::ternary_matmul_add_matrix,
                                Shader::ternary_matmul_gate_up_matrix};
  constants.merge(tile->constants);
  const uint32_t rows = tile_rows(constants), tokens = tile_tokens(constants);
  Shader shader = groups ? Shader::ternary_matmul_groups_matrix : kMatrix[kind];
  std::optional<TileSplit> split;
  if (groups && constants.at(CONSTANT_ROW_TILES) * constants.at(CONSTANT_MATRIX_M) > 32) {
    shader = Shader::ternary_matmul_groups_large;
    const uint32_t tiles = ceil_div(w.rows(), rows) * ceil_div(n, tokens);
    split = split_tiles(tiles, ceil_div(w.n_in / 64, groups_of_step(constants, unit_of_input(w))),
                        may_split ? tile->at_once : 0);
    constants[CONSTANT_SPLIT] = split->splits > 1 ? 1 : 0;
  }
  return {
      .kernel = kernel(shader, constants), .rows = gated ? rows / 2 : rows, .tokens = tokens, .split = split};
}

VulkanKernels::Sampling VulkanKernels::sampling() {
  const Specialisation constants = wide(device_);
  return {kernel(Shader::sample_count, constants), kernel(Shader::sample_collect, constants),
          kernel(Shader::sample_choose, constants)};
}

}  // namespace bitnet::vk
