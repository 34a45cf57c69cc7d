#include "decode.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "ceil_div.h"
#include "recorder.h"

namespace bitnet::vk {
namespace {

constexpr uint32_t kProgressHeader = 3, kDoneStride = 32;  // words, as decode.comp has them

constexpr uint64_t kTaggedBytes = 8;  // of a value beside its tag

// A workgroup polls about twice in a microsecond, so it gives up after half a second, or after one where the
// stage that it waits for may read its weights over a link: before a driver takes the device for stuck, as
// amdgpu of newer kernels does after two.
constexpr uint32_t kMostPolls = 1 << 20, kMostPollsOverALink = 2 << 20;

// After so many, about a millisecond, it is given up that a workgroup begins which nothing keeps from it.
constexpr uint32_t kMostPollsOfATrial = 1 << 11;

// Where each set of rows is a workgroup, a stage of more rows than this, a head, would norm its input too
// often: it has kernels of its own.
constexpr uint32_t kMostRows = 1 << 15;

// Workgroups of attention that merge what the others have of a token, for which they wait. Of several tokens
// the last of the others does.
uint32_t merges_of(const DecodeStage& s, const DecodeShape& shape, uint32_t n_tokens) {
  return n_tokens == 1 ? s.n_head * VulkanKernels::merge_parts(shape.heads, shape.weights) : 0;
}

// How many sets of rows a workgroup of a product takes, where n_groups would take one each. A product that
// adds takes one where two would do, unless many places would be empty while the last workgroups run.
uint32_t passes_of(const DecodeStage& s, uint32_t at_once) {
  const uint32_t passes = ceil_div(s.n_groups, at_once);
  const bool all_are_busy = 10 * s.n_groups >= 9 * passes * at_once;
  return s.kind == STAGE_LINEAR_ADD && all_are_busy && passes <= 2 ? 1 : passes;
}

// Divides `spans` of so many sets of rows among as many workgroups as run at a time. Those that begin first
// take one more; the last, which begin when the stage before has ended, have less to do and are ready with
// the others.
void spread(DecodeStage& s, uint32_t spans, uint32_t sets, uint32_t at_once) {
  s.n_groups = std::min(at_once, spans);
  const uint32_t most = ceil_div(spans, s.n_groups);
  s.n_passes = most * sets;
  s.n_longer = spans - (most - 1) * s.n_groups;
  s.fewer = sets;
}

// How many of the spans of gates are split among workgroups (common/decode_split.glsl), where these are
// handed over in units of two planes: at least as many as do not divide evenly, and so many more that who
// takes the others has them in one step. Measured on an H200: a token of the 27B's shape takes 2 % less.
// Gates without a norm may take units themselves, whose number a stage has in the same place.
uint32_t split_last_units(DecodeStage& s, const StageRows& rows, uint32_t unit, uint32_t size,
                          uint32_t subgroup, uint32_t at_once) {
  constexpr uint32_t kQuadsInAStep = 4;  // of int8, as decode_rounded.glsl has it
  const uint32_t unit_quads = 2 * unit / 16;
  const uint32_t span = size / rows.lanes * rows.rows * rows.passes, spans = s.n_out / span;
  if (spans <= at_once || s.n_out % span != 0 || s.weight == 0) return 0;
  const uint32_t in_a_step = std::min(spans, kQuadsInAStep * size / unit_quads * unit / span);
  const uint32_t split = std::max(spans % at_once, spans - in_a_step), whole = spans - split;
  const uint32_t split_subgroups =
      ceil_div(split * span / (subgroup / rows.lanes * rows.rows), std::min(whole, at_once));
  // An invocation takes a quad of values, beside one of int8.
  const bool fits = split * span / 4 <= size && 2 * split <= whole && split_subgroups <= size / subgroup;
  if (!fits) return 0;
  s.split_units = split * span / unit;
  s.split_subgroups = split_subgroups;
  return split;
}

// Heads and chunks of keys are divided among most of the workgroups that run at a time.
uint32_t attention_groups(const DecodeStage& s, const AttentionShape& heads, uint32_t n_tokens,
                          uint32_t at_once) {
  const uint32_t n_groups = s.n_head / VulkanKernels::decode_heads(heads);
  const uint32_t n_splits = std::max(1U, ceil_div(10 * at_once, 11) / (n_groups * n_tokens));
  const uint32_t n_shares = n_groups * std::min(most_chunks(heads, s.max_chunks), n_splits);
  return n_tokens * n_shares;
}

// Bytes of the counts of those that are ready, for as many heads and tokens as a stage may have. They are
// zero between stages, and lie in front of what is tagged.
constexpr uint64_t kCountBytes = kFewTokens * kMostHeads * sizeof(uint32_t);

}  // namespace

Decode::Decode(const Device& device, VulkanKernels& kernels, Transfer& transfer, VulkanBuffer& params,
               const KernelOptions& options, StuckChains stuck_chains)
    : device_(device),
      kernels_(kernels),
      transfer_(transfer),
      params_(params),
      stuck_chains_(std::move(stuck_chains)),
      chained_(options.chained_decode != ChainedDecode::never && !stuck_chains_.happened() &&
               (options.chained_decode != ChainedDecode::where_safe || !device.info().software)),
      untried_(options.chained_decode == ChainedDecode::where_safe),
      fails_(options.chained_decode == ChainedDecode::fails),
      wanted_at_once_(options.groups_at_once),
      stuck_(device, sizeof(uint32_t), BufferUse::shared) {
  std::memset(stuck_.mapped().data(), 0, sizeof(uint32_t));
}

// In a chain of groups a workgroup takes many sets of the head's rows (passes_of()) behind the last block,
// which is faster than two dispatches more.
bool Decode::takes(const DecodeStages& stages) const {
  const bool takes_heads =
      chained_ && stages.n_tokens_ == 1 && stages.shape().weights.layout == Layout::groups;
  const auto fits = [&](const DecodeStage& s) { return takes_heads || s.n_out <= kMostRows; };
  return std::all_of(stages.stages_.begin(), stages.stages_.end(), fits) && has_room(stages) &&
         kernels_.has_decode(stages.shape());
}

// Whether there is memory for a chain of several tokens, which are not planned for: for what its stages give,
// of which memory() may take twice as much, and as much again for all else.
bool Decode::has_room(DecodeStages list) const {
  if (list.n_tokens_ == 1) return true;
  if (lacks_memory_) return false;
  if (list.rounds_apart()) list.round_apart();
  const uint64_t bytes = list.given_bytes();
  const bool is_there = memory_ && memory_->given->size() >= bytes;
  return is_there || device_.use().most - device_.use().device >= 3 * bytes;
}

// Of so many bytes each. What is tagged begins as zeros: no tag fits a zero beside a zero. Chains share it,
// of which a token may have several in each block, so that an epoch is one of all of them.
std::shared_ptr<const DecodeMemory> Decode::memory(uint64_t progress, uint64_t chunks, uint64_t given,
                                                   uint32_t n_tokens) {
  if (memory_) {
    const uint64_t had_progress = memory_->progress->size(), had_chunks = memory_->chunks->size(),
                   had_given = memory_->given->size();
    if (had_progress >= progress && had_chunks >= chunks && had_given >= given) return memory_;
    progress = std::max(progress, had_progress);
    chunks = std::max(chunks, had_chunks);
    // Passes of more tokens are likely to come, and programs keep the memory that they were recorded with.
    given = n_tokens > 1 && given > had_given ? std::max(given, 2 * had_given) : std::max(given, had_given);
  }
  const auto zeros = [&](uint64_t bytes) { return upload(std::vector<std::byte>(bytes)); };
  try {
    return memory_ = std::make_shared<const DecodeMemory>(
               DecodeMemory{zeros(progress), zeros(chunks), allocate(given)});
  } catch (const Error& error) {
    if (n_tokens == 1) throw;
    lacks_memory_ = true;
    throw StagesFailed(error.kind(), error.what());
  }
}

// A part of a buffer that many share, since a driver takes a millisecond for an allocation and a prompt of a
// few tokens may have two for each block. What is larger has a buffer of its own.
std::unique_ptr<VulkanBuffer> Decode::allocate(uint64_t bytes) {
  constexpr uint64_t kShared = 1 << 18;
  const uint64_t taken = (bytes + kPartAlignment - 1) / kPartAlignment * kPartAlignment;
  if (taken > kShared / 4) return std::make_unique<VulkanBuffer>(device_, bytes, BufferUse::device);
  if (shared_.use_count() == 1) shared_taken_ = 0;  // all its parts are gone
  if (!shared_ || shared_taken_ + taken > shared_->size()) {
    shared_ = std::make_shared<VulkanBuffer>(device_, kShared, BufferUse::device);
    shared_taken_ = 0;
  }
  return std::make_unique<VulkanBuffer>(shared_, std::exchange(shared_taken_, shared_taken_ + taken), bytes);
}

std::unique_ptr<VulkanBuffer> Decode::upload(std::span<const std::byte> bytes) {
  std::unique_ptr<VulkanBuffer> buffer = allocate(bytes.size());
  transfer_.upload(*buffer, 0, bytes);
  return buffer;
}

// It is several times as large as any other kernel, so that a driver may fail at this one alone.
const Kernel& Decode::kernel(const DecodeShape& shape) try {
  return kernels_.decode(shape);
} catch (const KernelFailed& error) {
  lacks_kernel_ = true;
  memory_.reset();
  throw StagesFailed(error.kind(), error.what());
}

// Gives each stage its workgroups, of `size` invocations, of which `at_once` run at a time, and each the sets
// of rows that it takes.
void Decode::share_out(std::vector<DecodeStage>& stages, const DecodeShape& shape, uint32_t n_tokens,
                       uint32_t size, uint32_t at_once) const {
  for (size_t i = 0; i < stages.size(); ++i) {
    DecodeStage& s = stages[i];
    s.n_passes = 1;
    if (is_of_experts(s)) {
      s.long_rows = s.n_in > shape.rows.n_in ? 1 : 0;
      s.n_groups = kernels_.expert_groups(shape, s);
    } else if (s.kind == STAGE_ROUND) {
      s.long_rows = s.n_in > shape.rows.n_in ? 1 : 0;
      s.n_groups = n_tokens;
    } else if (s.kind == STAGE_DELTA || s.kind == STAGE_ROTATE) {
      s.long_rows = s.n_in > shape.rows.n_in ? 1 : 0;
      s.n_groups = s.kind == STAGE_DELTA ? s.n_out * kDeltaParts / size : s.n_out / shape.rotated;
    } else if (s.kind == STAGE_ATTENTION) {
      AttentionShape heads = shape.heads;
      heads.window = s.window;
      s.n_groups = attention_groups(s, heads, n_tokens, at_once) + merges_of(s, shape, n_tokens);
    } else if (s.n_in != 0) {
      const StageRows rows = kernels_.stage_rows(shape, s);
      s.long_rows = rows.is_long;
      s.lanes = rows.lanes;
      s.n_groups = ceil_div(s.n_out, size / rows.lanes * rows.rows);
      if (rows.takes_passes && (n_tokens == 1 || s.kind == STAGE_GATE_UP)) s.n_passes = passes_of(s, at_once);
      s.n_passes = ceil_div(s.n_passes, rows.passes) * rows.passes;
      const uint32_t spans = ceil_div(s.n_groups, rows.passes);
      s.n_groups = ceil_div(s.n_groups, s.n_passes);
      // A product that only gives its results leaves more multiprocessors to the stage behind, which is worth
      // more.
      if (n_tokens == 1 && s.kind != STAGE_LINEAR && s.n_passes > rows.passes) {
        const uint32_t split = rows.splits_units ? split_last_units(s, rows, shape.weights.unit_of_input(),
                                                                    size, device_.subgroup_size(), at_once)
                                                 : 0;
        spread(s, spans - split, rows.passes, at_once);
      }
      // Where that leaves workgroups for it, tokens are divided among them too.
      const uint32_t parts = s.kind == STAGE_GATE_UP ? 1 : std::max(1U, at_once / s.n_groups);
      s.tokens_each = ceil_div(n_tokens, parts);
      s.n_groups *= ceil_div(n_tokens, s.tokens_each);
    }
    s.wait_for = i == 0 ? 0 : stages[i - 1].n_groups;
  }
}

DecodeDispatches Decode::lay_out(DecodeStages list, const DecodeShape& shape, const Kernel& kernel,
                                 bool chained, uint32_t at_once) try {
  DecodeDispatches result{};
  const uint32_t n_tokens = list.n_tokens_;
  if (list.rounds_apart()) list.round_apart();
  result.kernel = &kernel;
  std::vector<DecodeStage>& stages = list.stages_;
  share_out(stages, shape, n_tokens, kernel.constant(CONSTANT_WORKGROUP_SIZE), at_once);

  std::vector<uint32_t> groups;
  const auto n_stages = static_cast<uint32_t>(stages.size());
  for (uint32_t i = 0; i < n_stages; ++i)
    for (uint32_t group = 0; group < stages[i].n_groups; ++group) groups.push_back(i << STAGE_SHIFT | group);
  if (list.backwards_) std::ranges::reverse(groups);
  uint64_t tagged_bytes = kTaggedBytes;
  for (const DecodeStage& s : stages) {
    if (s.kind != STAGE_ATTENTION) continue;
    const uint32_t chunks = n_tokens == 1 ? s.max_chunks : 0;
    tagged_bytes = std::max(tagged_bytes, uint64_t{chunks} * (s.n_out + 2 * s.n_head) * kTaggedBytes);
  }
  const uint64_t given_bytes = list.given_bytes();
  result.memory = memory((kProgressHeader + uint64_t{n_stages} * kDoneStride) * sizeof(uint32_t),
                         kCountBytes + tagged_bytes, given_bytes, n_tokens);
  list.lay_flow(kernel.constant(CONSTANT_ROUNDED), result.memory->given->address(),
                result.memory->chunks->address() + (n_tokens == 1 ? kCountBytes : 0));
  const bool reads = stages.back().kind != STAGE_EMPTY;
  const uint32_t most_polls = list.backwards_                            ? kMostPollsOfATrial
                              : reads && device_.use().host_weights != 0 ? kMostPollsOverALink
                                                                         : kMostPolls;
  uint32_t last_groups = 0;
  for (const DecodeStage& s : stages)
    if ((s.flow & FLOW_END) != 0 && s.kind != STAGE_EMPTY) last_groups += s.n_groups;
  if (stages.back().kind == STAGE_EMPTY) last_groups = stages.back().n_groups;
  DecodePush push{1, 0, n_stages, last_groups, most_polls, n_tokens, 0};
  // A stage alone waits for nobody.
  if (chained && n_stages > 1 && groups.size() <= device_.limits().maxComputeWorkGroupCount[0] &&
      n_stages < 1U << STAGE_BITS) {
    result.dispatches.push_back({push, static_cast<uint32_t>(groups.size())});
    result.given_bytes = given_bytes;
  } else {
    push.chained = 0;
    for (push.first_stage = 0; push.first_stage < n_stages; ++push.first_stage) {
      const DecodeStage& s = stages[push.first_stage];
      const uint32_t merges = s.kind == STAGE_ATTENTION ? merges_of(s, shape, n_tokens) : 0;
      push.first_group = 0;
      result.dispatches.push_back({push, s.n_groups - merges});
      push.first_group = s.n_groups - merges;
      if (merges != 0) result.dispatches.push_back({push, merges});
    }
  }
  result.stages = upload(std::as_bytes(std::span(stages)));
  result.groups = upload(std::as_bytes(std::span(groups)));
  transfer_.finish();
  return result;
} catch (const StagesFailed&) {
  throw;
} catch (...) {
  memory_.reset();  // its zeros may not be there
  throw;
}

// Runs a chain of stages that do nothing, and says whether none of its workgroups gave up waiting.
bool Decode::ends(DecodeStages empty, const Kernel& kernel) {
  DecodeDispatches chain = lay_out(std::move(empty), {}, kernel, true, 1);
  VulkanProgram program(device_);
  VulkanRecorder recorder(device_, kernels_, *this, nullptr, nullptr, nullptr, nullptr, params_, nullptr,
                          program);
  recorder.decode(std::move(chain));
  recorder.finish();
  program.commands.submit();
  try {
    program.commands.wait();
  } catch (const Error&) {  // the driver ended it: the next start does not try it
    stuck_chains_.remember();
    memory_.reset();
    throw;
  }
  uint32_t stuck = 0;
  std::memcpy(&stuck, stuck_.mapped().data(), sizeof stuck);
  std::memset(stuck_.mapped().data(), 0, sizeof stuck);
  memory_.reset();  // which a chain that got stuck leaves in any state
  return stuck == 0;
}

// Tries whether the device goes on with a chain of more workgroups than any device runs at a time.
bool Decode::goes_on(const Kernel& kernel) {
  DecodeStages empty;
  empty.empty_stages(8, 1024);
  return ends(std::move(empty), kernel);
}

// Tries how many workgroups of a kernel the device runs at a time: as many as can wait for one that begins
// behind them. What does not end takes longest where few run, so that small numbers are tried first. Other
// programs may have some of its places for a moment, so that one more is tried again a little later, and a
// few times where fewer were found than most GPUs have: each would take many turns for as long as the program
// runs.
uint32_t Decode::find_groups_at_once(const Kernel& kernel) {
  constexpr uint32_t kMost = 1024;
  constexpr uint32_t kFew = 16, kMostTries = 5;
  constexpr auto kALittle = std::chrono::milliseconds(20);
  const auto run_at_once = [&](uint32_t n) {
    DecodeStages waiting;
    waiting.waits_for_the_last(n);
    return ends(std::move(waiting), kernel);
  };
  uint32_t found = 1;
  const auto go_on = [&] {
    uint32_t step = 1;
    for (; found + step <= kMost && run_at_once(found + step); step *= 2) found += step;
    while ((step /= 2) > 0)
      if (found + step <= kMost && run_at_once(found + step)) found += step;
  };
  go_on();
  uint32_t tries = device_.info().software || is_small_ ? 1 : kMostTries;
  do {
    std::this_thread::sleep_for(kALittle);
    go_on();
  } while (--tries > 0 && found < kFew);
  is_small_ |= found < kFew;
  return found;
}

uint32_t Decode::groups_at_once(const DecodeShape& shape) {
  if (wanted_at_once_ != 0) return wanted_at_once_;
  const Kernel& kernel = this->kernel(shape);
  const auto known = found_at_once_.find(&kernel);
  if (known != found_at_once_.end()) return known->second;
  return found_at_once_[&kernel] = find_groups_at_once(kernel);  // which throws where the device fails
}

DecodeDispatches Decode::prepare(DecodeStages stages) {
  DecodeShape shape = stages.shape();
  if (chained_ && untried_) chained_ = goes_on(kernel(shape));
  untried_ = false;
  uint32_t at_once = kGroupsOfALargeGpu;
  if (chained_ && (stages.stages_.size() > 1 || stages.rounds_apart())) {
    at_once = groups_at_once(shape);
    shape.takes_passes = kernels_.gains_by_passes(shape, at_once);
    if (shape.takes_passes) at_once = groups_at_once(shape);
  }
  return lay_out(std::move(stages), shape, kernel(shape), chained_, at_once);
}

std::optional<AttentionScratch> Decode::scratch(uint64_t bytes) {
  constexpr uint64_t kMostBytes = 64 << 20;
  if (!scratch_.empty()) {
    const AttentionScratch& last = scratch_.back();
    if (last.chunks->size() >= bytes) return last;
    bytes = std::max(bytes, last.chunks->size());
  }
  if (bytes > kMostBytes || device_.use().most - device_.use().device < bytes) return std::nullopt;
  try {
    scratch_.push_back({std::make_shared<VulkanBuffer>(device_, bytes, BufferUse::device)});
  } catch (const Error&) {
    return std::nullopt;
  }
  return scratch_.back();
}

void Decode::lost(std::span<const DecodeDispatches> decodes) const {
  if (std::ranges::any_of(decodes, [](const auto& d) { return d.given_bytes != 0; }))
    stuck_chains_.remember();
}

void Decode::check() const {
  uint32_t stuck = 0;
  std::memcpy(&stuck, stuck_.mapped().data(), sizeof stuck);
  if (stuck == 0 && !(fails_ && chained_ && memory_)) return;
  stuck_chains_.remember();
  throw Error(ErrorKind::device, device_.info().name +
                                     " stopped in the middle of a token; for a week its stages are "
                                     "computed one after the other there, which is slower, so try again");
}

}  // namespace bitnet::vk
