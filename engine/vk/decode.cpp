#include "decode.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "engine/layouts/blocks.h"
#include "recorder.h"

namespace bitnet::vk {
namespace {

// The most workgroups of a stage of attention, among which heads and chunks of keys are divided: no more than
// run at a time.
constexpr uint32_t kAttentionGroups = 120;

// The workgroups of a product that a large GPU runs at a time. Each norms and rounds the whole vector, so
// that more of them take turns to do the same: fewer take more rows, one set after the other.
constexpr uint32_t kGroupsAtOnce = 132;

constexpr uint32_t kProgressHeader = 3, kDoneStride = 32;  // words, as decode.comp has them

// The results of kSlots stages are kept at a time. A stage reads those of the stage before and of one that is
// up to kFarthest back. Its own results overwrite results that nobody needs any more: whoever reads them has
// to be done before the stages in between can give theirs. Each workgroup of the one behind a product reads
// all that it gives, so the second one behind it may overwrite what it added to.
constexpr size_t kSlots = 8, kFarthest = 6;
constexpr uint64_t kTaggedBytes = 8;

// A workgroup polls about twice in a microsecond, so it gives up after half a second, or after five where the
// stage that it waits for may read its weights over a link.
constexpr uint32_t kMostPolls = 1 << 20, kMostPollsOverALink = 10 << 20;

// A stage of more rows than this, a head, would norm its input too often: it has kernels of its own.
constexpr uint32_t kMostRows = 1 << 15;

uint32_t ceil_div(uint32_t a, uint32_t b) { return (a + b - 1) / b; }

uint64_t address(const Buffer& buffer) { return vulkan(buffer).address(); }
uint64_t address_of(const BufferPtr& buffer) { return buffer ? address(*buffer) : 0; }

// How many sets of rows a workgroup of a product takes, where n_groups would take one each. A product that
// adds takes one, unless many places would be empty while the last workgroups run.
uint32_t passes_of(const DecodeStage& s) {
  const uint32_t passes = ceil_div(s.n_groups, kGroupsAtOnce);
  const bool all_are_busy = 10 * s.n_groups >= 9 * passes * kGroupsAtOnce;
  return s.kind == STAGE_LINEAR_ADD && all_are_busy ? 1 : passes;
}

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
  stages_.push_back(s);
}

// A product that may stand beside one which reads the same.
static bool is_product(const DecodeStage& s) { return s.kind == STAGE_LINEAR; }

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
  s.bias = address_of(rotation.signs);
  s.scale = 1 / std::sqrt(static_cast<float>(rotation.block));
  rotated_ = rotation.block;
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
           is_product(stages[other]);
  };
  return is_product(stages[i]) && ((i > 0 && has_more(i - 1)) || (i + 1 < stages.size() && has_more(i + 1)));
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
  shape.delta = delta_;
  shape.rotated = rotated_;
  uint32_t &n_short = shape.rows.n_in, &n_long = shape.long_rows.n_in;
  for (const DecodeStage& s : stages_) n_long = std::max(n_long, s.n_in);
  uint32_t longest = 0;  // of the others
  for (const DecodeStage& s : stages_)
    if (s.n_in < n_long || s.kind == STAGE_GATE_UP) longest = std::max(longest, s.n_in);
  n_short = longest == 0 ? n_long : longest;
  const auto describe = [&](DecodeShape::Rows& rows, bool long_rows) {
    bool some = false, all = true;
    uint32_t fewest = UINT32_MAX;
    for (size_t i = 0; i < stages_.size(); ++i) {
      const DecodeStage& s = stages_[i];
      if (s.n_in == 0 || (s.n_in > n_short) != long_rows) continue;
      some |= s.weight != 0;
      all &= s.weight != 0;
      if (s.kind != STAGE_DELTA && s.kind != STAGE_ROTATE && !is_beside_more(stages_, i))
        fewest = std::min(fewest, s.n_out);
    }
    rows.norm = all ? NORM_ALWAYS : some ? NORM_BY_STAGE : NORM_NEVER;
    rows.n_out = fewest;
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
  s.finished = address(*scratch.finished);
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
  s.max_chunks =
      static_cast<uint32_t>(scratch.chunks->size() / (shape.n_head * (2 + shape.head_dim) * sizeof(float)));
  s.window = shape.window;
  s.cache_rows = cache_rows(k_cache, shape);
  s.scale = static_cast<float>(std::numbers::log2e / std::sqrt(static_cast<double>(shape.head_dim)));
  const uint32_t n_groups = shape.n_head / VulkanKernels::decode_heads(shape);
  s.n_groups =
      n_groups * std::min(most_chunks(shape, s.max_chunks), std::max(1U, kAttentionGroups / n_groups));
  heads_ = shape;
  head_input_ |= head_input(input);
  windows_ |= shape.window != 0;
  stages_.push_back(s);
}

bool DecodeStages::takes_gate(const Buffer& o, const Buffer& gate) {
  if (stages_.empty() || stages_.back().kind != STAGE_ATTENTION || stages_.back().y != address(o))
    return false;
  const ptrdiff_t giver = writer(stages_, stages_.size(), address(gate));
  if (giver >= 0 && stages_.size() - 1 - static_cast<size_t>(giver) > kFarthest) return false;
  stages_.back().x2 = address(gate);
  head_input_ |= HEAD_GATE;
  open_ = false;
  return true;
}

void DecodeStages::empty_stages(uint32_t n, uint32_t n_groups) {
  DecodeStage s{};
  s.kind = STAGE_EMPTY;
  s.n_groups = n_groups;
  stages_.insert(stages_.end(), n, s);
}

bool DecodeStages::reads_last(const Buffer& x) const {
  return stages_.empty() || stages_.back().y == address(x);
}

bool DecodeStages::takes_next(const Buffer& x, const Rotation& rotation) const {
  return !open_ && (rotated_ == 0 || rotated_ == rotation.block) && reads_last(x);
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
  const bool beside = out.kind == Out::Kind::store && reads_beside_last(in.x) && is_product(stages_.back());
  if (!beside && !reads_last(in.x)) return false;
  if (weights_ && !common_weights(*weights_, weights_of(w))) return false;
  if (out.kind == Out::Kind::gate && act_ && *act_ != out.act) return false;
  const ptrdiff_t from = out.kind == Out::Kind::add ? writer(stages_, stages_.size(), address(out.y)) : -1;
  return from < 0 || stages_.size() - static_cast<size_t>(from) <= kFarthest;
}

bool DecodeStages::takes_next(const DeltaStage& d) const {
  if (stages_.empty()) return true;
  const DeltaShape& s = delta_;
  if (s.n_head_v != 0 && (s.head_dim != d.shape.head_dim || s.n_conv != d.shape.n_conv)) return false;
  const uint64_t qkvz = address(d.qkvz), x = address(d.gates_of ? *d.gates_of->x : d.gates);
  const DecodeStage& last = stages_.back();
  if (!is_product(last)) return false;
  const ptrdiff_t giver = writer(stages_, stages_.size(), x);  // gates that other kernels give are in memory
  if (!open_)
    return last.y == qkvz && (giver < 0 || stages_.size() - static_cast<size_t>(giver) <= kFarthest);
  const DecodeStage& before = stages_[stages_.size() - 2];
  return (last.y == qkvz && before.y == x) || (last.y == x && before.y == qkvz);
}

// Fills in for each stage from where it takes its input and to where it gives its results; `rounded` is
// CONSTANT_ROUNDED, and `tagged` has a slot of slot_bytes for each of kSlots stages.
static void lay_flow(std::span<DecodeStage> stages, uint32_t rounded, uint32_t unit, uint64_t tagged,
                     uint64_t slot_bytes) {
  const auto slot = [&](size_t stage) { return tagged + stage % kSlots * slot_bytes; };
  for (size_t i = 0; i < stages.size(); ++i) {
    DecodeStage& s = stages[i];
    s.flow = FLOW_END;
    if (s.kind == STAGE_EMPTY) continue;
    if (const ptrdiff_t giver = writer(stages, i, s.x); giver >= 0) {
      DecodeStage& from = stages[static_cast<size_t>(giver)];
      from.flow &= ~FLOW_END;
      s.flow |= FLOW_FROM;
      s.from = slot(static_cast<size_t>(giver));
      s.from_back = static_cast<uint32_t>(i - static_cast<size_t>(giver));
      if ((rounds_for(stages, i, giver, unit) & rounded) != 0) {
        from.flow |= FLOW_TO_ROUNDED;
        s.flow |= FLOW_FROM_ROUNDED;
      }
    }
    const ptrdiff_t second = s.kind == STAGE_LINEAR_ADD ? writer(stages, i, s.y)
                             : s.x2 != 0                ? writer(stages, i, s.x2)
                                                        : -1;
    if (second >= 0) {
      stages[static_cast<size_t>(second)].flow &= ~FLOW_END;
      s.flow |= FLOW_RESIDUAL;
      s.residual = slot(static_cast<size_t>(second));
      s.residual_back = static_cast<uint32_t>(i - static_cast<size_t>(second));
    }
    if (i + 1 < stages.size()) {
      s.flow |= FLOW_TO;
      s.to = slot(i);
    }
    if (writer(stages, stages.size(), s.y) == static_cast<ptrdiff_t>(i)) s.flow |= FLOW_OUT;
  }
}

Decode::Decode(const Device& device, VulkanKernels& kernels, Transfer& transfer, VulkanBuffer& params,
               ChainedDecode chained)
    : device_(device),
      kernels_(kernels),
      transfer_(transfer),
      params_(params),
      chained_(chained == ChainedDecode::always ||
               (chained == ChainedDecode::where_safe && !device.info().software)),
      untried_(chained == ChainedDecode::where_safe),
      stuck_(device, sizeof(uint32_t), BufferUse::shared) {
  std::memset(stuck_.mapped().data(), 0, sizeof(uint32_t));
}

bool Decode::takes(const DecodeStages& stages) const {
  const auto fits = [](const DecodeStage& s) { return s.n_out <= kMostRows; };
  return std::all_of(stages.stages_.begin(), stages.stages_.end(), fits) &&
         kernels_.has_decode(stages.shape());
}

std::unique_ptr<VulkanBuffer> Decode::upload(std::span<const std::byte> bytes) {
  auto buffer = std::make_unique<VulkanBuffer>(device_, bytes.size(), BufferUse::device);
  transfer_.upload(*buffer, 0, bytes);
  return buffer;
}

DecodeDispatches Decode::lay_out(DecodeStages list, bool chained) {
  DecodeDispatches result{};
  const DecodeShape shape = list.shape();
  result.kernel = &kernels_.decode(shape);
  const uint32_t size = result.kernel->constant(CONSTANT_WORKGROUP_SIZE);
  std::vector<DecodeStage>& stages = list.stages_;
  for (size_t i = 0; i < stages.size(); ++i) {
    DecodeStage& s = stages[i];
    s.n_passes = 1;
    if (s.kind == STAGE_DELTA || s.kind == STAGE_ROTATE) {
      s.long_rows = s.n_in > shape.rows.n_in ? 1 : 0;
      s.n_groups = s.kind == STAGE_DELTA ? s.n_out * kDeltaParts / size : s.n_out / shape.rotated;
    } else if (s.n_in != 0) {
      const StageRows rows = kernels_.stage_rows(shape, s);
      s.long_rows = rows.is_long;
      s.lanes = rows.lanes;
      s.n_groups = ceil_div(s.n_out, size / rows.lanes * rows.rows);
      if (rows.takes_passes) s.n_passes = passes_of(s);
      s.n_passes = ceil_div(s.n_passes, rows.passes) * rows.passes;
      s.n_groups = ceil_div(s.n_groups, s.n_passes);
    }
    s.wait_for = i == 0 ? 0 : stages[i - 1].n_groups;
  }

  std::vector<uint32_t> groups;
  const auto n_stages = static_cast<uint32_t>(stages.size());
  for (uint32_t i = 0; i < n_stages; ++i)
    for (uint32_t group = 0; group < stages[i].n_groups; ++group) groups.push_back(i << STAGE_SHIFT | group);
  uint64_t slot_bytes = 16;
  for (const DecodeStage& s : stages) slot_bytes = std::max(slot_bytes, s.n_out * kTaggedBytes);
  slot_bytes = (slot_bytes + 255) / 256 * 256;
  const std::vector<std::byte> untagged(kSlots * slot_bytes);  // no tag fits a zero beside a zero
  result.tagged = upload(untagged);
  lay_flow(stages, result.kernel->constant(CONSTANT_ROUNDED), shape.weights.unit_of_input(),
           address(*result.tagged), slot_bytes);
  const uint32_t most_polls = device_.use().host_weights != 0 ? kMostPollsOverALink : kMostPolls;
  uint32_t last_groups = 0;
  for (const DecodeStage& s : stages)
    if ((s.flow & FLOW_END) != 0 && s.kind != STAGE_EMPTY) last_groups += s.n_groups;
  if (stages.back().kind == STAGE_EMPTY) last_groups = stages.back().n_groups;
  DecodePush push{1, 0, n_stages, last_groups, most_polls};
  if (chained && groups.size() <= device_.limits().maxComputeWorkGroupCount[0] &&
      n_stages < 1U << STAGE_BITS) {
    result.dispatches.push_back({push, static_cast<uint32_t>(groups.size())});
  } else {
    push.chained = 0;
    for (push.first_stage = 0; push.first_stage < n_stages; ++push.first_stage)
      result.dispatches.push_back({push, stages[push.first_stage].n_groups});
  }
  result.stages = upload(std::as_bytes(std::span(stages)));
  result.groups = upload(std::as_bytes(std::span(groups)));
  const std::vector<uint32_t> progress(kProgressHeader + size_t{n_stages} * kDoneStride);
  result.progress = upload(std::as_bytes(std::span(progress)));
  transfer_.finish();
  return result;
}

// Tries whether the device goes on with a chain of more workgroups than any device runs at a time.
bool Decode::goes_on(const Kernel& kernel) {
  DecodeStages empty;
  empty.empty_stages(8, 1024);
  DecodeDispatches chain = lay_out(std::move(empty), true);
  chain.kernel = &kernel;
  VulkanProgram program(device_);
  VulkanRecorder recorder(device_, kernels_, *this, nullptr, nullptr, params_, program);
  recorder.decode(std::move(chain));
  recorder.finish();
  program.commands.submit();
  program.commands.wait();
  uint32_t stuck = 0;
  std::memcpy(&stuck, stuck_.mapped().data(), sizeof stuck);
  std::memset(stuck_.mapped().data(), 0, sizeof stuck);
  return stuck == 0;
}

DecodeDispatches Decode::prepare(DecodeStages stages) {
  if (chained_ && untried_) chained_ = goes_on(kernels_.decode(stages.shape()));
  untried_ = false;
  return lay_out(std::move(stages), chained_);
}

const Buffer* Decode::chunks(uint64_t bytes) {
  constexpr uint64_t kMostBytes = 64 << 20;
  if (!chunks_.empty() && chunks_.back()->size() >= bytes) return chunks_.back().get();
  if (bytes > kMostBytes || device_.use().most - device_.use().device < bytes) return nullptr;
  chunks_.push_back(std::make_unique<VulkanBuffer>(device_, bytes, BufferUse::device));
  return chunks_.back().get();
}

void Decode::check() const {
  uint32_t stuck = 0;
  std::memcpy(&stuck, stuck_.mapped().data(), sizeof stuck);
  if (stuck != 0)
    throw Error(ErrorKind::device,
                device_.info().name + " stopped in the middle of a token; try again, or another --device");
}

}  // namespace bitnet::vk
