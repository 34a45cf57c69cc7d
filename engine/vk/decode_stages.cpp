// The list of stages of a decoded token: what each is, which may follow which, and what they hand over.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "decode.h"
#include "engine/layouts/blocks.h"

namespace bitnet::vk {
namespace {

uint64_t address(const Buffer& buffer) { return vulkan(buffer).address(); }
uint64_t address_of(const BufferPtr& buffer) { return buffer ? address(*buffer) : 0; }

// What a stage has to know of each tensor of a matrix of blocks.
void add_tensors(const Matrix& w, DecodeStage& s) {
  const Matrix::Part* p = w.parts.data();
  s.w = address_of(p[0].codes);
  s.w1 = address_of(p[1].codes);
  s.w2 = address_of(p[2].codes);
  s.scales = address_of(p[0].scales);
  s.scales1 = address_of(p[1].scales);
  s.scales2 = address_of(p[2].scales);
  s.fixed_point = p[0].fixed;
  s.fixed1 = p[1].fixed;
  s.fixed2 = p[2].fixed;
  for (uint32_t i = 0; i < w.parts.size() && p[i].rows != 0; ++i) {
    const BlockType& type = *find_block_type(p[i].type);
    s.kinds |= (type.bits | (type.unit == 16 ? BLOCK_KIND_16 : 0) | (type.has_min ? BLOCK_KIND_MINIMUM : 0))
               << BLOCK_KIND_BITS * i;
  }
}

DecodeShape::Experts experts_of(const ExpertStages& e) {
  return {e.router.rows(), e.used, e.router.n_in, e.down.n_in, e.clamp};
}

// The last of the first `n` stages that writes to `y`, or -1 where none does.
ptrdiff_t writer(std::span<const DecodeStage> stages, size_t n, uint64_t y) {
  auto i = static_cast<ptrdiff_t>(n) - 1;
  while (i >= 0 && stages[i].y != y) --i;
  return i;
}

}  // namespace

void DecodeStages::linear(const Matrix& w, const In& in, const Out& out) {
  DecodeStage s{};
  s.kind = out.kind == Out::Kind::store ? STAGE_LINEAR
           : out.kind == Out::Kind::add ? STAGE_LINEAR_ADD
                                        : STAGE_GATE_UP;
  s.x = address(in.x);
  s.y = address(out.y);
  s.weight = in.norm.weight ? address(*in.norm.weight) : 0;
  s.n_in = w.n_in;
  s.n_out = out.kind == Out::Kind::gate ? w.rows() / 2 : w.rows();
  s.end0 = w.parts[0].rows;
  s.end1 = w.parts[0].rows + w.parts[1].rows;
  s.scale0 = w.parts[0].scale;
  s.scale1 = w.parts[1].scale;
  s.scale2 = w.parts[2].scale;
  s.epsilon = in.norm.epsilon;
  if (out.kind == Out::Kind::gate) act_ = out.act;
  open_ = reads_beside_last(in.x);
  weights_ = weights_ ? common_weights(*weights_, weights_of(w)) : weights_of(w);
  if (w.layout == Layout::blocks) {
    add_tensors(w, s);
  } else {
    s.w = address(*w.codes);
  }
  if (w.layout == Layout::groups) {
    s.scales = address(*w.scales);
    s.fixed_point = w.fixed;
  }
  if (w.rotation && !in.is_turned) {
    set_rotation(w.rotation, s);
    turned_ = std::max(turned_, w.n_in);
  }
  stages_.push_back(s);
}

void DecodeStages::set_rotation(const Rotation& rotation, DecodeStage& s) {
  s.bias = address_of(rotation.signs);
  s.scale = rotation.factor();
  rotated_ = rotation.block;
}

static bool is_product(const DecodeStage& s) {
  return s.kind == STAGE_LINEAR || s.kind == STAGE_LINEAR_ADD || s.kind == STAGE_GATE_UP;
}
// One that may stand beside another which reads the same.
static bool is_plain_product(const DecodeStage& s) { return s.kind == STAGE_LINEAR; }

void DecodeStages::delta_net(const DeltaStage& d) {
  DecodeStage s{};
  s.kind = STAGE_DELTA;
  s.x = address(d.gates_of ? *d.gates_of->x : d.gates);
  s.x2 = address(d.qkvz);
  s.y = address(d.o);
  s.k_cache = address(*d.state.conv);
  s.v_cache = address(*d.state.heads);
  s.chunks = address(*d.input.conv);
  s.finished = address(*d.input.time_bias);
  s.bias = address(*d.input.decay);
  s.q_norm = address(*d.input.norm.weight);
  s.q_epsilon = d.input.norm.epsilon;
  if (d.gates_of) {
    const Matrix& w = d.gates_of->w;
    s.weight = address(*d.gates_of->weight);
    s.epsilon = d.gates_of->epsilon;
    s.n_in = w.n_in;
    s.w = address(*w.parts[0].codes);
    s.w1 = address(*w.parts[1].codes);
    s.scale0 = w.parts[0].scale;
    s.scale1 = w.parts[1].scale;
    s.kinds = static_cast<uint32_t>(w.parts[0].type) | static_cast<uint32_t>(w.parts[1].type) << 8;
  }
  const double features = d.shape.head_dim;
  s.per_feature = static_cast<float>(1 / features);
  s.q_scale = static_cast<float>(1 / std::sqrt(features));
  s.n_head_k = d.shape.n_head_k;
  s.n_head_v = d.shape.n_head_v;
  s.grouped = d.shape.grouped ? 1 : 0;
  s.n_out = d.shape.inner();
  delta_ = d.shape;
  open_ = false;
  stages_.push_back(s);
}

void DecodeStages::rotate(const Buffer& x, const Norm& norm, const Rotation& rotation, uint32_t n_features,
                          const Buffer& y) {
  DecodeStage s{};
  s.kind = STAGE_ROTATE;
  s.x = address(x);
  s.y = address(y);
  s.weight = address_of(norm.weight);
  s.epsilon = norm.epsilon;
  s.n_in = norm ? n_features : 0;
  s.n_out = n_features;
  set_rotation(rotation, s);
  stages_.push_back(s);
}

bool DecodeStages::has_rotated(const Buffer& x, const Norm& norm, const Buffer& y) const {
  const ptrdiff_t giver = writer(stages_, stages_.size(), address(y));
  if (giver < 0) return false;
  const DecodeStage& s = stages_[static_cast<size_t>(giver)];
  return s.kind == STAGE_ROTATE && s.x == address(x) && s.weight == address_of(norm.weight) && s.n_in != 0 &&
         writer(stages_, stages_.size(), address(x)) < giver;
}

// What `from` has to be among CONSTANT_ROUNDED to hand over units of so many inputs to `to`, or 0 where it
// cannot. `unit` is 0 where rows have one scale.
static uint32_t rounds_for(const DecodeStage& from, const DecodeStage& to, uint32_t unit) {
  if (unit == 0 || to.n_in == 0 || to.weight != 0) return 0;
  if (from.kind == STAGE_GATE_UP) return from.n_out % unit == 0 ? ROUNDED_GATES : 0;
  if (from.kind == STAGE_ROTATE) return ROUNDED_ROTATION;
  if (from.kind == STAGE_DELTA) return from.n_out / from.n_head_v % unit == 0 ? ROUNDED_DELTA : 0;
  if (from.kind != STAGE_ATTENTION) return 0;
  return from.n_out / from.n_head % unit == 0 ? ROUNDED_ATTENTION : 0;
}

// The same for what stage i takes, if that is to be handed over in units: by the stage before it, or by a
// rotation, which all that follow take in this form.
static uint32_t rounds_for(std::span<const DecodeStage> stages, size_t i, ptrdiff_t giver, uint32_t unit) {
  if (giver < 0) return 0;
  const DecodeStage& from = stages[static_cast<size_t>(giver)];
  const bool is_near = static_cast<size_t>(giver) + 1 == i || from.kind == STAGE_ROTATE;
  return is_near ? rounds_for(from, stages[i], unit) : 0;
}

// Whether a product beside this one has more rows; then these few run meanwhile.
static bool is_beside_more(std::span<const DecodeStage> stages, size_t i) {
  const auto has_more = [&](size_t other) {
    return stages[other].x == stages[i].x && stages[other].n_out > stages[i].n_out &&
           is_plain_product(stages[other]);
  };
  return is_plain_product(stages[i]) &&
         ((i > 0 && has_more(i - 1)) || (i + 1 < stages.size() && has_more(i + 1)));
}

// Rows are in one of two classes: as long as the longest of all, or no longer than the longest of the others.
// Gate and up are always in the second.
DecodeShape DecodeStages::shape() const {
  DecodeShape shape;
  shape.act = act_.value_or(Act::relu2);
  if (heads_) shape.heads = *heads_;
  if (weights_) shape.weights = *weights_;
  shape.head_input = head_input_;
  shape.windows = windows_;
  shape.tokens = n_tokens_;
  shape.delta = delta_;
  shape.experts = experts_;
  shape.rotated = rotated_;
  shape.turned = turned_;
  uint32_t &n_short = shape.rows.n_in, &n_long = shape.long_rows.n_in;
  for (const DecodeStage& s : stages_) n_long = std::max(n_long, s.n_in);
  uint32_t longest = 0;  // of the others
  for (const DecodeStage& s : stages_)
    if (s.n_in < n_long || s.kind == STAGE_GATE_UP) longest = std::max(longest, s.n_in);
  n_short = longest == 0 ? n_long : longest;
  for (const DecodeStage& s : stages_) {
    if (is_product(s)) shape.stages |= STAGES_PRODUCTS;
    if (s.kind == STAGE_GATE_UP) shape.stages |= STAGES_GATES;
    if (s.kind == STAGE_ATTENTION) shape.stages |= STAGES_ATTENTION;
    if (s.n_in > n_short) shape.stages |= STAGES_LONG_ROWS;
  }
  const auto describe = [&](DecodeShape::Rows& rows, bool long_rows) {
    bool some = false, all = true;
    uint32_t fewest = UINT32_MAX, most = 0;
    rows.shortest = rows.n_in;
    for (size_t i = 0; i < stages_.size(); ++i) {
      const DecodeStage& s = stages_[i];
      if (s.n_in == 0 || (s.n_in > n_short) != long_rows) continue;
      rows.shortest = std::min(rows.shortest, s.n_in);
      some |= s.weight != 0;
      all &= s.weight != 0;
      if (is_product(s) && s.kind != STAGE_GATE_UP) most = std::max(most, s.n_out);
      if (s.kind != STAGE_DELTA && s.kind != STAGE_ROTATE && !is_of_experts(s) && !is_beside_more(stages_, i))
        fewest = std::min(fewest, s.n_out);
    }
    rows.norm = all ? NORM_ALWAYS : some ? NORM_BY_STAGE : NORM_NEVER;
    rows.n_out = fewest;
    rows.most_out = most;
  };
  describe(shape.rows, false);
  describe(shape.long_rows, true);
  shape.all_long_rounded = true;
  const uint32_t unit = shape.weights.unit_of_input();
  for (size_t i = 0; i < stages_.size(); ++i) {
    const uint32_t rounded = rounds_for(stages_, i, writer(stages_, i, stages_[i].x), unit);
    shape.rounded |= rounded;
    if (stages_[i].n_in > n_short && rounded == 0) shape.all_long_rounded = false;
  }
  return shape;
}

void DecodeStages::attention(const Buffer& qkv, const AttentionInput& input, const Buffer& rotation,
                             const Buffer& k_cache, const Buffer& v_cache, const AttentionScratch& scratch,
                             const Buffer& o, const AttentionShape& shape) {
  DecodeStage s{};
  s.kind = STAGE_ATTENTION;
  s.x = address(qkv);
  s.y = address(o);
  s.w = address(rotation);
  s.k_cache = address(k_cache);
  s.v_cache = address(v_cache);
  s.chunks = address(*scratch.chunks);
  s.bias = address_of(input.bias);
  s.q_norm = address_of(input.q_norm.weight);
  s.k_norm = address_of(input.k_norm.weight);
  s.per_feature = 1.0F / static_cast<float>(shape.head_dim);
  s.q_epsilon = input.q_norm.epsilon;
  s.k_epsilon = input.k_norm.epsilon;
  s.n_head = shape.n_head;
  s.n_out = shape.n_head * shape.head_dim;
  s.n_head_kv = shape.n_head_kv;
  s.rope_dim = shape.rope_dim;
  const uint64_t chunk_bytes = uint64_t{n_tokens_} * shape.n_head * (2 + shape.head_dim) * sizeof(float);
  s.max_chunks = static_cast<uint32_t>(scratch.chunks->size() / chunk_bytes);
  s.window = shape.window;
  s.cache_rows = cache_rows(k_cache, shape);
  s.scale = static_cast<float>(std::numbers::log2e / std::sqrt(static_cast<double>(shape.head_dim)));
  heads_ = shape;
  head_input_ |= head_input(input);
  windows_ |= shape.window != 0;
  stages_.push_back(s);
}

bool DecodeStages::takes_gate(const Buffer& o, const Buffer& gate) {
  if (stages_.empty() || stages_.back().kind != STAGE_ATTENTION || stages_.back().y != address(o) ||
      n_tokens_ != 1)
    return false;
  stages_.back().x2 = address(gate);
  head_input_ |= HEAD_GATE;
  open_ = false;
  return true;
}

// The second reads x as the first does.
void DecodeStages::experts(const ExpertStages& e) {
  DecodeStage router{}, gate{}, down{};
  router.kind = STAGE_ROUTER;
  router.x = gate.x = down.y = address(e.x);
  router.y = gate.x2 = address(e.logits);
  gate.y = down.x = address(e.h);
  router.w = address(*e.router.parts[0].codes);
  router.weight = gate.weight = address(*e.norm.weight);
  router.epsilon = gate.epsilon = e.norm.epsilon;
  router.n_in = gate.n_in = e.router.n_in;
  router.n_out = e.router.rows();
  router.scale0 = e.router.parts[0].scale;
  gate.kind = STAGE_EXPERTS_GATE;
  gate.w = address(*e.gate_up.addresses);
  gate.n_out = e.used * e.down.n_in;
  gate.scale0 = e.gate_up.parts[0].scale;
  gate.scale1 = e.gate_up.parts[1].scale;
  gate.fixed_point = e.gate_up.fixed;
  gate.scale = e.routing.scale;
  gate.bias = e.ids;
  gate.routing = (e.routing.sigmoid ? ROUTING_SIGMOID : 0) | (e.routing.normed ? ROUTING_NORMED : 0);
  down.kind = STAGE_EXPERTS_DOWN;
  down.w = address(*e.down.addresses);
  down.n_out = e.down.rows() / e.down.n_expert;
  down.scale0 = e.down.parts[0].scale;
  down.fixed_point = e.down.fixed;
  act_ = e.act;
  weights_ = weights_of(e.gate_up);
  experts_ = experts_of(e);
  stages_.insert(stages_.end(), {router, gate, down});
}

void DecodeStages::empty_stages(uint32_t n, uint32_t n_groups) {
  DecodeStage s{};
  s.kind = STAGE_EMPTY;
  s.n_groups = n_groups;
  stages_.insert(stages_.end(), n, s);
}

void DecodeStages::waits_for_the_last(uint32_t n_groups) {
  empty_stages(1, 1);
  empty_stages(1, n_groups - 1);
  backwards_ = true;
}

bool DecodeStages::reads_last(const Buffer& x) const {
  return stages_.empty() || stages_.back().y == address(x);
}

bool DecodeStages::takes_next(const Buffer& x, const Rotation& rotation) const {
  return !open_ && has_block_of(rotation) && reads_last(x);
}

bool DecodeStages::has_block_of(const Rotation& rotation) const {
  return rotated_ == 0 || rotated_ == rotation.block;
}

bool DecodeStages::takes_next(const Buffer& qkv, const AttentionInput& input, const AttentionShape& s) const {
  const bool same =
      !heads_ || (head_input(input) == (head_input_ & ~HEAD_GATE) && heads_->head_dim == s.head_dim &&
                  VulkanKernels::decode_heads(*heads_) == VulkanKernels::decode_heads(s));
  return same && reads_last(qkv);
}

// Whether x is what the last stage reads too, and not what it gives.
bool DecodeStages::reads_beside_last(const Buffer& x) const {
  return !stages_.empty() && stages_.back().y != address(x) && stages_.back().x == address(x);
}

bool DecodeStages::takes_next(const Matrix& w, const In& in, const Out& out) const {
  if (open_) return false;
  const bool beside =
      out.kind == Out::Kind::store && reads_beside_last(in.x) && is_plain_product(stages_.back());
  if (!beside && !reads_last(in.x)) return false;
  if (weights_ && !common_weights(*weights_, weights_of(w))) return false;
  if (w.rotation && !in.is_turned && !has_block_of(w.rotation)) return false;
  return out.kind != Out::Kind::gate || !act_ || (*act_ == out.act && experts_.clamp == 0);
}

bool DecodeStages::takes_next(const ExpertStages& e) const {
  const DecodeShape::Experts shape = experts_of(e);
  return !open_ && reads_last(e.x) && (!weights_ || *weights_ == weights_of(e.gate_up)) &&
         (!act_ || (*act_ == e.act && experts_.clamp == e.clamp)) &&
         (experts_.n_expert == 0 || experts_ == shape);
}

bool DecodeStages::takes_next(const DeltaStage& d) const {
  if (stages_.empty()) return true;
  const DeltaShape& s = delta_;
  if (s.n_head_v != 0 && (s.head_dim != d.shape.head_dim || s.n_conv != d.shape.n_conv)) return false;
  const uint64_t qkvz = address(d.qkvz), x = address(d.gates_of ? *d.gates_of->x : d.gates);
  const DecodeStage& last = stages_.back();
  if (!is_plain_product(last)) return false;
  if (!open_) return last.y == qkvz;
  const DecodeStage& before = stages_[stages_.size() - 2];
  return (last.y == qkvz && before.y == x) || (last.y == x && before.y == qkvz);
}

// The address of a buffer is even, so the next one names what a stage rounds of it.
void DecodeStages::round_apart() {
  std::vector<DecodeStage> stages;
  for (DecodeStage& s : stages_) {
    if (is_product(s)) {
      DecodeStage round{};
      round.kind = STAGE_ROUND;
      round.x = s.x;
      round.y = s.x = s.x + 1;
      round.weight = s.weight;
      round.epsilon = s.epsilon;
      round.n_in = s.n_in;
      round.n_out = s.n_in / 4 + 4;  // rounded_stride() in decode_few.glsl
      stages.push_back(round);
    }
    stages.push_back(s);
  }
  stages_ = std::move(stages);
}

// A word for each result, or less where these are rounded.
uint64_t DecodeStages::given_bytes(const DecodeStage& s) const {
  constexpr uint64_t kAlignment = 256;
  const uint64_t bytes = std::max<uint64_t>(1, uint64_t{n_tokens_} * s.n_out * sizeof(uint32_t));
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

uint64_t DecodeStages::given_bytes() const {
  uint64_t bytes = 0;
  for (const DecodeStage& s : stages_) bytes += given_bytes(s);
  return bytes;
}

void DecodeStages::lay_flow(uint32_t rounded, uint64_t given, uint64_t chunks) {
  const std::span<DecodeStage> stages = stages_;
  const uint32_t unit = weights_ ? weights_->unit_of_input() : DecodeShape().weights.unit_of_input();
  std::vector<uint64_t> places;
  for (const DecodeStage& s : stages) {
    places.push_back(given);
    given += given_bytes(s);
  }
  for (size_t i = 0; i < stages.size(); ++i) {
    DecodeStage& s = stages[i];
    s.flow = FLOW_END;
    if (s.kind == STAGE_EMPTY) continue;
    if (const ptrdiff_t giver = writer(stages, i, s.x); giver >= 0) {
      DecodeStage& from = stages[static_cast<size_t>(giver)];
      from.flow &= ~FLOW_END;
      s.flow |= FLOW_FROM;
      s.from = places[static_cast<size_t>(giver)];
      if ((rounds_for(stages, i, giver, unit) & rounded) != 0) {
        from.flow |= FLOW_TO_ROUNDED;
        s.flow |= FLOW_FROM_ROUNDED;
        s.split_units = from.split_units;
      }
    }
    const bool adds = s.kind == STAGE_LINEAR_ADD || s.kind == STAGE_EXPERTS_DOWN;
    const ptrdiff_t second = adds ? writer(stages, i, s.y) : s.x2 != 0 ? writer(stages, i, s.x2) : -1;
    if (second >= 0) {
      stages[static_cast<size_t>(second)].flow &= ~FLOW_END;
      s.flow |= FLOW_RESIDUAL;
      s.residual = places[static_cast<size_t>(second)];
    }
    if (s.kind == STAGE_ATTENTION) s.finished = chunks;
    if (i + 1 < stages.size()) {
      s.flow |= FLOW_TO;
      s.to = places[i];
    }
    if (s.kind != STAGE_ROUND && writer(stages, stages.size(), s.y) == static_cast<ptrdiff_t>(i))
      s.flow |= FLOW_OUT;
  }
}

}  // namespace bitnet::vk
