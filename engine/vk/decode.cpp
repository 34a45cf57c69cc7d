#include "vk/decode.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "vk/recorder.h"

namespace bitnet::vk {
namespace {

// Workgroups of a stage of attention, which share out heads and chunks of keys: no more than run at a time.
constexpr uint32_t kAttentionGroups = 120;

constexpr uint32_t kProgressHeader = 2, kDoneStride = 32;  // words, as decode.comp has them

// A workgroup that looks about twice in a microsecond gives up after half a second.
constexpr uint32_t kMostPolls = 1 << 20;

uint32_t ceil_div(uint32_t a, uint32_t b) { return (a + b - 1) / b; }

uint64_t address(const Buffer& buffer) { return vulkan(buffer).address(); }

}  // namespace

void DecodeStages::linear(Kernels::Linear kind, const TernaryMatrix& w, uint32_t n_out, const Buffer& x,
                          const Buffer& weight, float epsilon, const Buffer& y) {
  DecodeStage s{};
  s.kind = kind == Kernels::Linear::plain ? STAGE_LINEAR
           : kind == Kernels::Linear::add ? STAGE_LINEAR_ADD
                                          : STAGE_GATE_UP;
  s.x = address(x);
  s.y = address(y);
  s.w = address(*w.codes);
  s.weight = address(weight);
  s.n_in = w.n_in;
  s.n_out = n_out;
  s.end0 = w.parts[0].rows;
  s.end1 = w.parts[0].rows + w.parts[1].rows;
  s.scale0 = w.parts[0].scale;
  s.scale1 = w.parts[1].scale;
  s.scale2 = w.parts[2].scale;
  s.epsilon = epsilon;
  const bool first = std::none_of(stages_.begin(), stages_.end(), [](const auto& t) { return t.n_in != 0; });
  if (first || kind == Kernels::Linear::gate_up) n_short_ = std::max(n_short_, w.n_in);
  n_long_ = std::max(n_long_, w.n_in);
  stages_.push_back(s);
}

void DecodeStages::attention(const Buffer& qkv, const Buffer& rotation, const Buffer& k_cache,
                             const Buffer& v_cache, const AttentionScratch& scratch, const Buffer& o,
                             const AttentionShape& shape) {
  DecodeStage s{};
  s.kind = STAGE_ATTENTION;
  s.x = address(qkv);
  s.y = address(o);
  s.w = address(rotation);
  s.k_cache = address(k_cache);
  s.v_cache = address(v_cache);
  s.parts = address(*scratch.parts);
  s.finished = address(*scratch.finished);
  s.n_head = shape.n_head;
  s.n_head_kv = shape.n_head_kv;
  s.rope_dim = shape.rope_dim;
  s.max_chunks =
      static_cast<uint32_t>(scratch.parts->size() / (shape.n_head * (2 + shape.head_dim) * sizeof(float)));
  s.scale = static_cast<float>(std::numbers::log2e / std::sqrt(static_cast<double>(shape.head_dim)));
  const uint32_t n_groups = shape.n_head / Kernels::decode_heads(shape);
  s.n_groups = n_groups * std::min(s.max_chunks, std::max(1U, kAttentionGroups / n_groups));
  heads_ = shape;
  stages_.push_back(s);
}

void DecodeStages::empty_stages(uint32_t n, uint32_t n_groups) {
  DecodeStage s{};
  s.kind = STAGE_EMPTY;
  s.n_groups = n_groups;
  stages_.insert(stages_.end(), n, s);
}

Decode::Decode(const Device& device, Kernels& kernels, Transfer& transfer, VulkanBuffer& params,
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

bool Decode::takes(const TernaryMatrix& w) const { return kernels_.has_decode(w.n_in, {1, 1, 64, 64}); }
bool Decode::takes(const AttentionShape& shape) const { return kernels_.has_decode(64, shape); }

std::unique_ptr<VulkanBuffer> Decode::upload(std::span<const std::byte> bytes) {
  auto buffer = std::make_unique<VulkanBuffer>(device_, bytes.size(), BufferUse::device);
  transfer_.upload(*buffer, 0, bytes);
  transfer_.finish();
  return buffer;
}

DecodeDispatches Decode::lay_out(DecodeStages list, bool chained) {
  DecodeDispatches result{};
  result.kernel = &kernels_.decode(list.n_short_, list.n_long_, list.heads_);
  const Specialisation& constants = result.kernel->constants();
  std::vector<DecodeStage>& stages = list.stages_;
  for (size_t i = 0; i < stages.size(); ++i) {
    DecodeStage& s = stages[i];
    s.long_rows = s.n_in > list.n_short_;
    if (s.n_in != 0)
      s.n_groups = ceil_div(
          s.n_out, constants.workgroup_size / (s.long_rows ? constants.lanes_long : constants.lanes));
    s.wait_for = i == 0 ? 0 : stages[i - 1].n_groups;
  }

  std::vector<uint32_t> groups;
  const auto n_stages = static_cast<uint32_t>(stages.size());
  for (uint32_t i = 0; i < n_stages; ++i)
    for (uint32_t group = 0; group < stages[i].n_groups; ++group) groups.push_back(i << STAGE_SHIFT | group);
  const DecodePush push{1, 0, n_stages, stages.back().n_groups, kMostPolls};
  if (chained && groups.size() <= device_.limits().maxComputeWorkGroupCount[0] &&
      n_stages < 1U << (32 - STAGE_SHIFT)) {
    result.dispatches.push_back({push, static_cast<uint32_t>(groups.size())});
  } else {
    for (uint32_t i = 0; i < n_stages; ++i)
      result.dispatches.push_back({{0, i, n_stages, 0, 0}, stages[i].n_groups});
  }
  result.stages = upload(std::as_bytes(std::span(stages)));
  result.groups = upload(std::as_bytes(std::span(groups)));
  const std::vector<uint32_t> progress(kProgressHeader + size_t{n_stages} * kDoneStride);
  result.progress = upload(std::as_bytes(std::span(progress)));
  return result;
}

// Tries a chain of more workgroups than any device runs at a time.
bool Decode::goes_on(const Kernel& kernel) {
  DecodeStages empty;
  empty.empty_stages(8, 1024);
  DecodeDispatches chain = lay_out(std::move(empty), true);
  chain.kernel = &kernel;
  VulkanProgram program(device_);
  VulkanRecorder recorder(device_, kernels_, *this, nullptr, params_, program);
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
  if (chained_ && untried_)
    chained_ = goes_on(kernels_.decode(stages.n_short_, stages.n_long_, stages.heads_));
  untried_ = false;
  return lay_out(std::move(stages), chained_);
}

void Decode::check() const {
  uint32_t stuck = 0;
  std::memcpy(&stuck, stuck_.mapped().data(), sizeof stuck);
  if (stuck != 0) throw Error(ErrorKind::device, device_.info().name + " stopped in the middle of a token");
}

}  // namespace bitnet::vk
