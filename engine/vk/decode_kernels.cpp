// The kernel of the stages of decode, made for the shape of a model.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "ceil_div.h"
#include "decode.h"
#include "engine/layouts/blocks.h"
#include "kernels.h"

namespace bitnet::vk {
namespace {

DecodeShape::Weights kind_of(TensorType type) {
  const BlockType& t = *find_block_type(type);
  return {Layout::blocks, 1, 0, 0, t.unit, t.bits, t.has_min ? 1U : 0U};
}

// How many lanes share `rows` rows of n_in features, and what each of them loads.
struct RowShape {
  uint32_t lanes, rows, loads;
};

// The loops that one kernel has, each with a shape of its own. For several tokens gate and up have that of
// short rows.
enum class Loop { short_rows, gates, long_rows };

// In a whole matrix lanes take one row of a token's product, or two where these want no more registers, since
// each row wants the vector from shared memory. Of gate and up, which are two matrices, a workgroup takes
// several sets of rows in turn, and is faster with less of them on its way. Of long rows of one token
// a workgroup takes so many that a large GPU runs all workgroups at a time, and is not half empty.
RowShape trits_shape(const Device& device, const DecodeShape::Rows& r, uint32_t workgroup_size,
                     uint32_t n_tokens, Loop loop) {
  // uvec4 of codes that wait in registers; those of the norm's weights are free where there is none. Fewer
  // lanes a row are fewer workgroups, each of which reads the whole vector.
  const bool gates = loop == Loop::gates;
  const uint32_t most_codes = gates ? 10 : r.norm == NORM_NEVER ? 14 : 8;
  constexpr uint32_t kFewCodes = 6;   // for which there are registers anyway
  constexpr uint32_t kAllCodes = 24;  // that there are registers for, where nothing else helps
  const uint32_t units = r.n_in / 64, most_lanes = device.subgroup_size(), matrices = gates ? 2 : 1;
  const auto codes = [&](uint32_t lanes, uint32_t rows) { return matrices * rows * ceil_div(units, lanes); };
  uint32_t lanes = std::min(8U, most_lanes);
  while (lanes < most_lanes && codes(lanes, 1) > most_codes) lanes *= 2;
  const uint32_t with_two = codes(2 * lanes, 2), with_one = codes(lanes, 1);
  const bool pays = n_tokens == 1 ? with_two <= std::max(kFewCodes, with_one) : n_tokens > ROUNDED_HERE;
  uint32_t rows = pays && 2 * lanes <= most_lanes ? 2 : 1;
  lanes *= rows;
  if (n_tokens == 1 && loop == Loop::long_rows) {
    const uint32_t workgroups = ceil_div(r.n_out, workgroup_size / lanes * rows);
    if (workgroups > kGroupsOfALargeGpu && codes(lanes, 2 * rows) <= kAllCodes) rows *= 2;
    if (2 * workgroups <= kGroupsOfALargeGpu && 2 * lanes <= std::min(most_lanes, units)) lanes *= 2;
  }
  return {lanes, rows, ceil_div(units, lanes)};
}

// With fewer invocations in a workgroup each has more registers: lanes always take two rows, and are as few
// as there are registers for their codes. Where the workgroups of a stage and those of the next then fit a
// large GPU together, each waits for its input with its codes loaded.
constexpr uint32_t kRoomySize = 384;
constexpr uint32_t kRoomyCodes = 20;  // uvec4 of codes that wait in registers

std::optional<RowShape> roomy_shape(const Device& device, uint32_t n_in, Loop loop) {
  const uint32_t units = n_in / 64, matrices = loop == Loop::gates ? 2 : 1;
  uint32_t lanes = 8;
  while (2 * matrices * ceil_div(units, lanes) > kRoomyCodes) lanes *= 2;
  if (lanes > device.subgroup_size()) return std::nullopt;
  return RowShape{lanes, 2, ceil_div(units, lanes)};
}

// With as many workgroups a stage needs no more lanes a row, of which some would have nothing to do, and no
// fewer rows a lane.
constexpr uint32_t kEnoughWorkgroups = 96;

// In a matrix of groups whose input has two planes a lane takes several rows where that leaves enough
// workgroups, since each row wants the vector from shared memory. Many lanes share them, if not too many of
// these have nothing to do; each row has two of them at least, which may share a unit. More of gate and of up
// are better than fewer rows, since a code takes twice as long as with one plane.
RowShape two_plane_shape(const Device& device, const DecodeShape::Rows& r, uint32_t workgroup_size) {
  constexpr uint32_t kMostCodes = 12;  // uvec4 of codes of a matrix that a lane waits for
  const uint32_t groups = r.n_in / 64;
  RowShape shape{std::min(32U, device.subgroup_size()), 4, 0};
  const auto used = [&](uint32_t lanes) { return groups * 100 / (lanes * ceil_div(groups, lanes)); };
  while (shape.lanes > 4 && used(shape.lanes) < 75 && used(shape.lanes / 2) > used(shape.lanes))
    shape.lanes /= 2;
  shape.loads = ceil_div(groups, shape.lanes);
  const auto workgroups = [&] { return ceil_div(r.n_out, workgroup_size / shape.lanes * shape.rows); };
  while (shape.rows > 1 && (2 * shape.rows > shape.lanes || shape.loads * shape.rows > kMostCodes ||
                            workgroups() < kEnoughWorkgroups))
    shape.rows /= 2;
  return shape;
}

// With one plane, as it is fastest on an H200 for rows of 1,536 to 12,288 features. Each workgroup takes the
// whole vector, so that few with many rows do better than many, even where these would leave none idle.
RowShape one_plane_shape(const Device& device, const DecodeShape::Rows& r, Loop loop) {
  const uint32_t matrices = loop == Loop::gates ? 2 : 1, most_codes = loop == Loop::gates ? 8 : 12;
  const uint32_t groups = r.n_in / 64, most_lanes = std::min(32U, device.subgroup_size());
  RowShape shape{std::min(16U, most_lanes), 2, 0};
  const auto has_too_many = [&] {
    return matrices * shape.rows * ceil_div(groups, shape.lanes) > most_codes;
  };
  if (loop == Loop::long_rows || (has_too_many() && groups % most_lanes == 0)) shape.lanes = most_lanes;
  while (shape.lanes > 4 && 2 * groups <= shape.lanes) shape.lanes /= 2;
  if (has_too_many()) shape.rows = 1;
  shape.loads = ceil_div(groups, shape.lanes);
  return shape;
}

// In a matrix of blocks lanes take two rows, which are of gate and of up where there are such. What they load
// at a time is as much as registers leave room for, and the same each time.
RowShape blocks_shape(const Device& device, const DecodeShape::Rows& r, uint32_t bits) {
  const uint32_t lanes = std::min(32U, device.subgroup_size()), most = bits == 4 ? 4 : 2;
  const uint32_t loads = std::max(1U, ceil_div(r.n_in / 32, lanes));
  return {lanes, 2, ceil_div(loads, ceil_div(loads, most))};
}

RowShape row_shape(const Device& device, const DecodeShape::Weights& w, const DecodeShape::Rows& r,
                   uint32_t workgroup_size, uint32_t n_tokens, Loop loop) {
  if (w.layout == Layout::trits && workgroup_size == kRoomySize && n_tokens <= ROUNDED_HERE)
    if (const auto shape = roomy_shape(device, r.n_in, loop)) return *shape;
  if (n_tokens > 1 && loop == Loop::gates) loop = Loop::short_rows;
  if (w.layout == Layout::blocks) return blocks_shape(device, r, w.bits);
  if (w.layout == Layout::trits) return trits_shape(device, r, workgroup_size, n_tokens, loop);
  return w.rest == 0 ? one_plane_shape(device, r, loop) : two_plane_shape(device, r, workgroup_size);
}

// Whether the workgroups of each product of a token, of so many invocations, run beside those of the next
// one.
bool fit_by_twos(const Device& device, const ModelInfo& m, uint32_t size) {
  const uint32_t attended = m.n_head * m.head_dim, n_short = std::max(m.n_embd, attended);
  const auto workgroups = [&](uint32_t n_in, uint32_t n_out, Loop loop) {
    const RowShape shape = row_shape(device, {}, {.n_in = n_in, .n_out = m.n_embd}, size, 1, loop);
    return ceil_div(n_out, size / shape.lanes * shape.rows);
  };
  const std::array products{workgroups(n_short, attended + 2 * m.n_head_kv * m.head_dim, Loop::short_rows),
                            workgroups(n_short, m.n_embd, Loop::short_rows),
                            workgroups(n_short, m.n_ff, Loop::gates),
                            workgroups(m.n_ff, m.n_embd, Loop::long_rows)};
  for (size_t i = 0; i < products.size(); ++i)
    if (products[i] + products[(i + 1) % products.size()] > kGroupsOfALargeGpu) return false;
  return true;
}

// uvec4 of shared memory that attention in matrices takes, as decode_attention_matrix.glsl has it.
uint32_t words_of_matrices(uint32_t head_dim) {
  const uint32_t stride = head_dim / 8 + 1;
  return kAttentionChunk * stride +
         HALF_SIDE * (stride + kAttentionChunk / 4 + 2 + (head_dim + HALF_SIDE) / 4 + 1);
}

// uvec4 of shared memory that a rounded vector of n features takes.
uint32_t vector_words(const DecodeShape::Weights& w, uint32_t n) {
  const uint32_t planes = w.rest != 0 ? 2 : 1;
  if (w.layout == Layout::blocks) return planes * 2 * (n / 32 + 4);
  return w.layout == Layout::groups ? planes * w.unit / 16 * (n / w.unit + 1) : n / 16;
}

}  // namespace

DecodeShape::Weights weights_of(const Matrix& w) {
  const uint32_t rest = w.input == Input::int16_units ? 1 : 0;
  if (w.layout == Layout::groups)
    return {Layout::groups, input_units_of(w), rest, w.scale_every / 64, unit_of_input(w)};
  if (w.layout != Layout::blocks) return {};
  DecodeShape::Weights weights = kind_of(w.parts[0].type);
  for (const Matrix::Part& part : w.parts)
    if (part.rows != 0) weights = *common_weights(weights, kind_of(part.type));
  weights.rest = rest;
  return weights;
}

std::optional<DecodeShape::Weights> common_weights(const DecodeShape::Weights& a,
                                                   const DecodeShape::Weights& b) {
  if (a == b) return a;
  if (a.layout == Layout::blocks && b.layout == Layout::blocks && a.rest == b.rest)
    return DecodeShape::Weights{Layout::blocks, 0, a.rest};
  return std::nullopt;
}

// How many tokens are faster in a chain than in kernels of their own, measured on an H200. Vectors of groups
// are not rounded by a stage of their own.
static uint32_t most_tokens(Layout layout) { return layout == Layout::groups ? ROUNDED_HERE : kFewTokens; }

void VulkanKernels::suit(const ModelInfo& model) {
  int16_every_128_ = model.int16_every_128;
  if (!chooses_row_size_) return;
  const uint32_t size = wide(device_).at(CONSTANT_WORKGROUP_SIZE);
  const bool suits =
      size > kRoomySize && kRoomySize % (4 * device_.subgroup_size()) == 0 &&
      ROUNDED_HERE * model.head_dim / 2 <= kRoomySize &&  // attention of as many tokens, see fits()
      !fit_by_twos(device_, model, size) && fit_by_twos(device_, model, kRoomySize);
  row_size_ = suits ? kRoomySize : size;
}

std::string VulkanKernels::arithmetic() const {
  std::string parts;
  if (row_size_ != wide(device_).at(CONSTANT_WORKGROUP_SIZE))
    parts = fmt::format(", rows of whole ternary matrices in {} shares", row_size_);
  return parts + (int16_every_128_ ? ", int16 every 128" : "");
}

// Of several tokens the kernel takes as many as fit, so that there is one for all numbers, or two where a
// stage of its own rounds the vectors of many.
Specialisation VulkanKernels::decode_constants(const DecodeShape& shape) const {
  if (shape.tokens == 1) return decode_constants(shape, 1);
  uint32_t tokens = most_tokens(shape.weights.layout);
  if (shape.tokens <= ROUNDED_HERE) tokens = std::min(tokens, ROUNDED_HERE);
  while (tokens > shape.tokens && !fits(shape, decode_constants(shape, tokens))) --tokens;
  return decode_constants(shape, tokens);
}

Specialisation VulkanKernels::decode_constants(const DecodeShape& shape, uint32_t tokens) const {
  const DecodeShape::Weights& w = shape.weights;
  // A chain that rounds rows apart, for many tokens, has wide workgroups, since that is what its attention
  // needs.
  const bool apart = tokens > ROUNDED_HERE && w.layout == Layout::trits;
  const uint32_t row_size = this->row_size(w.layout), n_long = shape.long_rows.n_in;
  Specialisation c = wide(device_);
  if (!apart) c[CONSTANT_WORKGROUP_SIZE] = row_size;
  const uint32_t size = c.at(CONSTANT_WORKGROUP_SIZE);
  const DeltaShape& delta = shape.delta;
  const uint32_t of_attention =
      attends_in_matrices(shape.heads)
          ? words_of_matrices(shape.heads.head_dim)
          : kAttentionChunk * (shape.heads.head_dim / 8 + 1 + decode_heads(shape.heads));
  // As kMergeChunks in decode_attention.glsl.
  const uint32_t merge_chunks = w.layout == Layout::groups ? 64 * 64 / w.unit : 64;
  const uint32_t of_merge = tokens == 1
                                ? merge_chunks * (shape.heads.head_dim / 4 / merge_parts(shape.heads, w) + 1)
                                : 64 * decode_heads(shape.heads);
  const uint32_t of_delta = delta.n_head_v != 0 ? 3 * kDeltaParts * (size / kDeltaParts / 4) : 0;
  const RowShape rows = row_shape(device_, w, shape.rows, size, tokens, Loop::short_rows),
                 gate_rows = row_shape(device_, w, shape.rows, size, tokens, Loop::gates),
                 long_rows = row_shape(device_, w, shape.long_rows, size, tokens, Loop::long_rows);
  // Where vectors are rounded apart, several long ones lie in shared memory together.
  constexpr uint32_t kMostTogether = 4, kMostBytes = 32 << 10;
  const uint32_t together = apart ? std::clamp(kMostBytes / std::max(1U, n_long), 1U, kMostTogether) : 1;
  c.insert({{CONSTANT_LANES, rows.lanes},
            {CONSTANT_LOADS, rows.loads},
            {CONSTANT_ROW_SIZE, row_size},
            {CONSTANT_NORM_LOADS, ceil_div(shape.rows.n_in / 4, row_size)},
            {CONSTANT_ROWS, rows.rows},
            {CONSTANT_INSIDE, shape.rows.shortest / 64 / rows.lanes},
            {CONSTANT_INSIDE_GATE, shape.rows.shortest / 64 / gate_rows.lanes},
            {CONSTANT_INSIDE_LONG, shape.long_rows.shortest / 64 / long_rows.lanes},
            {CONSTANT_LANES_GATE, gate_rows.lanes},
            {CONSTANT_LOADS_GATE, gate_rows.loads},
            {CONSTANT_ROWS_GATE, gate_rows.rows},
            {CONSTANT_NORM, shape.rows.norm},
            {CONSTANT_LANES_LONG, long_rows.lanes},
            {CONSTANT_LOADS_LONG, long_rows.loads},
            {CONSTANT_NORM_LOADS_LONG, ceil_div(n_long / 4, row_size)},
            {CONSTANT_ROWS_LONG, long_rows.rows},
            {CONSTANT_NORM_LONG, shape.long_rows.norm},
            {CONSTANT_ACTIVATION, activation_of(shape.act)},
            {CONSTANT_HEADS, decode_heads(shape.heads)},
            {CONSTANT_HEAD_DIM, shape.heads.head_dim},
            {CONSTANT_HEAD_INPUT, shape.head_input},
            {CONSTANT_WINDOW, shape.windows ? 1 : 0},
            {CONSTANT_TOKENS, tokens},
            {CONSTANT_RECONVERGES, reconverges_ ? 1 : 0},
            {CONSTANT_STAGES, shape.stages},
            {CONSTANT_TILE,
             std::max({together * vector_words(w, n_long), tokens * vector_words(w, shape.rows.n_in),
                       of_attention, of_merge, of_delta, shape.rotated / 4, shape.turned / 4})}});
  c.insert({{CONSTANT_CONV, delta.n_head_v != 0 ? delta.n_conv : 0},
            {CONSTANT_DELTA_DIM, delta.n_head_v != 0 ? delta.head_dim : 4 * kDeltaParts}});
  const bool rounds = rounds_units(w);
  c.insert({CONSTANT_ROUNDED, rounds ? shape.rounded : 0});
  if (rounds && shape.all_long_rounded) c[CONSTANT_NORM_LOADS_LONG] = c[CONSTANT_NORM_LOADS];
  if (w.layout == Layout::trits) c.insert({CONSTANT_PASSES, shape.takes_passes ? 1 : 0});
  if (w.layout != Layout::trits) c.insert({{CONSTANT_REST, w.rest}, {CONSTANT_BLOCK, shape.rotated}});
  if (w.layout == Layout::groups)
    c.insert({{CONSTANT_INPUT_UNITS, w.input_units},
              {CONSTANT_SCALE_GROUPS, w.scale_groups},
              {CONSTANT_UNIT, w.unit}});
  if (w.layout == Layout::blocks)
    c.insert({{CONSTANT_BITS, w.bits}, {CONSTANT_UNIT, w.unit}, {CONSTANT_MINIMUM, w.minimum}});
  const DecodeShape::Experts& e = shape.experts;
  // Odd, to keep the quads of a unit out of each other's banks.
  if (w.layout == Layout::groups)
    c.insert({CONSTANT_UNIT_STRIDE, std::max({n_long, shape.rows.n_in, e.used * e.n_ff}) / w.unit | 1});
  if (e.n_expert == 0) return c;
  const uint32_t lanes = std::min(32U, device_.subgroup_size());
  c.insert({{CONSTANT_EXPERTS, e.n_expert},
            {CONSTANT_USED, e.used},
            {CONSTANT_EXPERT_FF, e.n_ff},
            {CONSTANT_EXPERT_LANES, lanes},
            {CONSTANT_EXPERT_LOADS, ceil_div(e.n_in / 64, lanes)},
            {CONSTANT_CLAMP, std::bit_cast<uint32_t>(e.clamp)}});
  c[CONSTANT_TILE] = std::max({c[CONSTANT_TILE], e.n_in / 4, vector_words(w, e.used * e.n_ff)});
  return c;
}

// The loop makes decode slower by 2 to 4 %, so only where a smaller GPU would run such a product in turns,
// each of which rounds the whole vector.
bool VulkanKernels::gains_by_passes(const DecodeShape& shape, uint32_t at_once) const {
  if (shape.weights.layout != Layout::trits || shape.tokens != 1) return false;
  const Specialisation c = decode_constants(shape);
  const uint32_t size = c.at(CONSTANT_WORKGROUP_SIZE);
  const uint32_t groups = std::max(
      ceil_div(shape.rows.most_out, size / c.at(CONSTANT_LANES) * c.at(CONSTANT_ROWS)),
      ceil_div(shape.long_rows.most_out, size / c.at(CONSTANT_LANES_LONG) * c.at(CONSTANT_ROWS_LONG)));
  return at_once < std::min(groups, kGroupsOfALargeGpu);
}

// A unit is rounded by neighbouring lanes of one subgroup.
bool VulkanKernels::rounds_units(const DecodeShape::Weights& weights) const {
  return !device_.shared_subgroups() && device_.subgroup_size() >= std::max(16U, weights.unit / 4);
}

// Each invocation has the logit of an expert. Those that share rows of gates make 64 of them at a time.
bool VulkanKernels::has_experts(const DecodeShape& shape, const Specialisation& c) const {
  const DecodeShape::Weights& w = shape.weights;
  const DecodeShape::Experts& e = shape.experts;
  const uint32_t size = c.at(CONSTANT_WORKGROUP_SIZE), sets = size / c.at(CONSTANT_EXPERT_LANES);
  constexpr uint32_t kMostCodes = 16;  // uvec4 of codes that a lane waits for
  return rounds_units(w) && w.layout == Layout::groups && w.input_units != 0 && w.rest == 0 &&
         e.n_expert <= size && e.used <= std::min(e.n_expert, uint32_t{MOST_USED}) && e.n_in % 64 == 0 &&
         e.n_ff % 64 == 0 && e.n_ff / 64 % w.scale_groups == 0 && sets <= 64 && 64 % sets == 0 &&
         2 * 64 / sets * c.at(CONSTANT_EXPERT_LOADS) <= kMostCodes;
}

uint32_t VulkanKernels::expert_groups(const DecodeShape& shape, const DecodeStage& s) const {
  constexpr uint32_t kDownRows = 2;  // as decode_experts.glsl has it
  const Specialisation c = decode_constants(shape);
  const uint32_t size = c.at(CONSTANT_WORKGROUP_SIZE);
  if (s.kind == STAGE_ROUTER) return ceil_div(s.n_out, size / device_.subgroup_size());
  if (s.kind == STAGE_EXPERTS_GATE) return s.n_out / 64;
  return ceil_div(s.n_out, size / c.at(CONSTANT_EXPERT_LANES) * kDownRows);
}

uint64_t VulkanKernels::declared_bytes(Shader shader, const Specialisation& c) const {
  const auto memory = shared_memory_.find(shader);
  return (memory != shared_memory_.end()
              ? memory->second
              : shared_memory_.try_emplace(shader, Spirv(shader, false).words()).first->second)
      .bytes(c);
}

// Whether shared memory and a workgroup suffice.
bool VulkanKernels::fits(const DecodeShape& shape, const Specialisation& c) const {
  const uint32_t size = c.at(CONSTANT_WORKGROUP_SIZE), tokens = c.at(CONSTANT_TOKENS);
  const uint32_t gates = (c.at(CONSTANT_ROUNDED) & ROUNDED_GATES) != 0  // that are rounded together
                             ? std::max(64U, size / c.at(CONSTANT_LANES_GATE) * c.at(CONSTANT_ROWS_GATE))
                             : 0;
  return declared_bytes(decode_shader(shape), c) <= device_.limits().maxComputeSharedMemorySize &&
         (tokens == 1 || (tokens * shape.heads.head_dim / 2 <= size && tokens * gates / 4 <= size));
}

bool VulkanKernels::has_decode(const DecodeShape& shape) const {
  constexpr uint32_t kMostLoads = 16;
  const Specialisation c = decode_constants(shape);
  // Several tokens are for what most models consist of; the rest are a dispatch each.
  const bool is_plain = shape.weights.layout != Layout::blocks && shape.weights.rest == 0 &&
                        shape.delta.n_head_v == 0 && shape.rotated == 0 && !shape.windows &&
                        shape.experts.n_expert == 0 && shape.heads.n_head <= kMostHeads;
  return device_.is_gpu() && device_.has_addresses() && device_.subgroup_size() <= 64 &&
         c.at(CONSTANT_WORKGROUP_SIZE) % 64 == 0 && (shape.experts.n_expert == 0 || has_experts(shape, c)) &&
         !(attends_in_matrices(shape.heads) && shape.weights.layout == Layout::blocks) &&
         !(shape.rotated != 0 && shape.weights.layout == Layout::trits) &&  // whose kernel does not rotate
         std::max(c.at(CONSTANT_LOADS_LONG), c.at(CONSTANT_NORM_LOADS_LONG)) <= kMostLoads &&
         fits(shape, c) &&
         (shape.tokens == 1 || (is_plain && shape.tokens <= most_tokens(shape.weights.layout)));
}

Shader VulkanKernels::decode_shader(const DecodeShape& shape) const {
  const Layout layout = shape.weights.layout;
  constexpr Shader kTrits[] = {Shader::decode_dot, Shader::decode_emulated, Shader::decode_dot_unrolled,
                               Shader::decode_emulated_unrolled, Shader::decode_shared};
  constexpr Shader kGroups[] = {Shader::decode_groups_dot, Shader::decode_groups_emulated,
                                Shader::decode_groups_dot_unrolled, Shader::decode_groups_emulated_unrolled,
                                Shader::decode_groups_shared};
  constexpr Shader kBlocks[] = {Shader::decode_blocks_dot, Shader::decode_blocks_emulated,
                                Shader::decode_blocks_dot_unrolled, Shader::decode_blocks_emulated_unrolled,
                                Shader::decode_blocks_shared};
  constexpr Shader kHalves[] = {Shader::decode_halves, Shader::decode_halves_emulated},
                   kGroupsHalves[] = {Shader::decode_groups_halves, Shader::decode_groups_halves_emulated};
  if (attends_in_matrices(shape.heads))
    return (layout == Layout::groups ? kGroupsHalves : kHalves)[emulate_matrices_ ? 1 : 0];
  const size_t build =
      device_.shared_subgroups() ? 4 : (device_.info().software ? 0 : 2) + (integer_dot_ ? 0 : 1);
  const Shader shader = (layout == Layout::blocks   ? kBlocks
                         : layout == Layout::groups ? kGroups
                                                    : kTrits)[build];
  // Two planes have a build that is faster on an H200 (shaders/kernels.cmake).
  return shader == Shader::decode_groups_dot_unrolled && shape.weights.rest != 0
             ? Shader::decode_planes_dot_unrolled
             : shader;
}

const Kernel& VulkanKernels::decode(const DecodeShape& shape) {
  return kernel(decode_shader(shape), decode_constants(shape));
}

StageRows VulkanKernels::stage_rows(const DecodeShape& shape, const DecodeStage& s) const {
  const Specialisation c = decode_constants(shape);
  const Layout layout = shape.weights.layout;
  const bool gates = s.kind == STAGE_GATE_UP, is_long = s.n_in > shape.rows.n_in;
  StageRows r{is_long,
              c.at(gates     ? CONSTANT_LANES_GATE
                   : is_long ? CONSTANT_LANES_LONG
                             : CONSTANT_LANES),
              c.at(gates     ? CONSTANT_ROWS_GATE
                   : is_long ? CONSTANT_ROWS_LONG
                             : CONSTANT_ROWS),
              gates || layout != Layout::trits || c.at(CONSTANT_PASSES) != 0, 1};
  if (layout == Layout::blocks) {
    if (gates) r.rows = 1;
    const uint32_t size = c.at(CONSTANT_WORKGROUP_SIZE);
    if (r.lanes > 16 && ceil_div(s.n_out, size / 16 * r.rows) >= kEnoughWorkgroups) r.lanes = 16;
  }
  if (gates && (c.at(CONSTANT_ROUNDED) & ROUNDED_GATES) != 0) {
    r.passes =
        std::max(1U, shape.weights.unit_of_input() / (c.at(CONSTANT_WORKGROUP_SIZE) / r.lanes * r.rows));
    r.splits_units = layout == Layout::groups && shape.weights.rest != 0;  // as decode_split.glsl has it
  }
  return r;
}

}  // namespace bitnet::vk
