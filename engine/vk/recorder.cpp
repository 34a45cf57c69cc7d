#include "recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <utility>

#include "ceil_div.h"
#include "shaders/params.h"

namespace bitnet::vk {
namespace {

constexpr VkPipelineStageFlags kStages =
    VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
constexpr VkAccessFlags kShaderAccess = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
constexpr VkAccessFlags kWrites = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
constexpr VkAccessFlags kReads = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_TRANSFER_READ_BIT;

GroupsPush push_of(const Matrix& w, uint32_t n_out, uint32_t n) {
  return {w.n_in,
          n_out,
          n,
          w.parts[0].rows,
          w.parts[0].rows + w.parts[1].rows,
          w.parts[0].scale,
          w.parts[1].scale,
          w.parts[2].scale,
          w.fixed,
          0,
          1};
}

TernaryPush without_groups(const GroupsPush& p) {
  return {p.n_in, p.n_out, p.n_tokens, p.end0, p.end1, p.scale0, p.scale1, p.scale2};
}

void require(bool known, const char* what) {
  if (!known) throw Error(ErrorKind::device, fmt::format("Vulkan cannot run {} yet; try --device cpu", what));
}
bool is_known(const Matrix& w) { return !w.bias && w.layout != Layout::floats; }
bool is_known(const Out& out) { return out.kind != Out::Kind::act; }

// What the rounding of an input left, as an input of blocks.
Quantised rest_of(const Quantised& q) {
  return {q.rest_q, q.rest_info, nullptr, q.rest_sums16, nullptr, q.scales};
}
// Whether the two parts of an input are multiplied by themselves.
bool in_two_products(const Matrix& w) { return w.input == Input::int16_units && w.layout == Layout::blocks; }

}  // namespace

uint32_t argmax_partials(const Device& device, uint32_t n_vocab) {
  return std::min(kArgmaxPartials, ceil_div(n_vocab, device.is_gpu() ? SHORTLIST_WORKGROUP : 1024U));
}

VulkanRecorder::VulkanRecorder(const Device& device, VulkanKernels& kernels, Decode& decode,
                               const Stream* stream, const ExpertPlaces* places,
                               const ShortlistOf* shortlists, const VulkanBuffer* host_params,
                               VulkanBuffer& params, SplitSums* split_sums, VulkanProgram& program)
    : device_(device),
      kernels_(kernels),
      decode_(decode),
      stream_(stream),
      shortlists_(shortlists),
      places_(places && places->any() ? places : nullptr),
      params_(params),
      split_sums_(split_sums),
      program_(program),
      commands_(program.commands.begin()) {
  barrier();  // against what an earlier submission wrote
  if (!host_params) return;
  const VkBufferCopy all{0, 0, params.size()};
  vkCmdCopyBuffer(commands_, host_params->handle(), params.handle(), 1, &all);
  after_transfer_ = true;
}

void VulkanRecorder::finish() {
  decode_collected();
  end_piece();
  const VkMemoryBarrier to_host{VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr, kWrites, VK_ACCESS_HOST_READ_BIT};
  vkCmdPipelineBarrier(commands_, kStages, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &to_host, 0, nullptr, 0,
                       nullptr);
  program_.commands.end();
}

// The barrier in front of a dispatch. After another dispatch it is narrower than after a transfer, which
// saves time on a GPU.
void VulkanRecorder::dispatch_barrier() {
  if (after_transfer_) return barrier();
  const VkMemoryBarrier memory{VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr, VK_ACCESS_SHADER_WRITE_BIT,
                               kShaderAccess};
  vkCmdPipelineBarrier(commands_, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                       0, 1, &memory, 0, nullptr, 0, nullptr);
}

void VulkanRecorder::barrier() {
  after_transfer_ = false;
  const VkMemoryBarrier memory{VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr, kWrites, kReads | kWrites};
  vkCmdPipelineBarrier(commands_, kStages, kStages, 0, 1, &memory, 0, nullptr, 0, nullptr);
}

void VulkanRecorder::dispatch_bytes(const Kernel& kernel, std::span<const std::byte> push,
                                    std::initializer_list<const Buffer*> buffers, uint32_t groups_x,
                                    uint32_t groups_y, uint32_t groups_z) {
  decode_collected();
  assert(kernel.shape().push_bytes == push.size() && kernel.shape().n_bindings == buffers.size());
  const VkDescriptorSet set = program_.allocate_set(kernel.set_layout());
  VkDescriptorBufferInfo infos[kMostBindings];
  VkWriteDescriptorSet writes[kMostBindings];
  uint32_t n = 0;
  for (const Buffer* buffer : buffers) {
    if (buffer->size() > device_.info().max_buffer_bytes)
      throw Error(
          ErrorKind::device,
          fmt::format("a kernel would have to reach {:.0f} MB in one buffer, and this device lets it reach "
                      "{:.0f} MB; try a smaller --ctx, or --device cpu",
                      buffer->size() / 1e6, device_.info().max_buffer_bytes / 1e6));
    infos[n] = {vulkan(*buffer).handle(), vulkan(*buffer).offset(), vulkan(*buffer).range()};
    writes[n] = {VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET, nullptr, set,       n,      0, 1,
                 VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,      nullptr, &infos[n], nullptr};
    ++n;
  }
  vkUpdateDescriptorSets(device_.handle(), n, writes, 0, nullptr);
  if (!std::exchange(beside_last_, false)) dispatch_barrier();
  last_ = &kernel;
  vkCmdBindPipeline(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, kernel.pipeline());
  vkCmdBindDescriptorSets(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, kernel.layout(), 0, 1, &set, 0, nullptr);
  vkCmdPushConstants(commands_, kernel.layout(), VK_SHADER_STAGE_COMPUTE_BIT, 0,
                     static_cast<uint32_t>(push.size()), push.data());
  vkCmdDispatch(commands_, groups_x, groups_y, groups_z);
  ++program_.n_dispatches;
}

// How many workgroups of 64, among whose subgroups the rows are divided; they stride where the device allows
// fewer.
uint32_t VulkanRecorder::groups_for_rows(uint32_t rows, uint32_t rows_per_subgroup) const {
  const uint32_t subgroups = std::max(1U, 64 / device_.subgroup_size());
  return std::min(ceil_div(rows, subgroups * rows_per_subgroup),
                  device_.limits().maxComputeWorkGroupCount[0]);
}

void VulkanRecorder::embed(const Table& table, const EmbedExtra& extra, const Buffer& x, uint32_t n) {
  const Kernel& kernel = kernels_.embed(table, extra.positions != nullptr);
  const Buffer* positions = extra.positions ? extra.positions : &x;  // which is not read
  for (const auto& [row_begin, rows, bytes, scales] : table.chunks)
    if (table.is_ternary())
      dispatch(kernel,
               EmbedTernaryPush{table.n_embd, row_begin, rows, table.scale_every, table.scale * extra.scale},
               {&params_, bytes.get(), scales.get(), &x, positions}, ceil_div(table.n_embd / 16, 64), n);
    else
      dispatch(kernel, EmbedPush{table.n_embd, row_begin, rows, extra.scale},
               {&params_, bytes.get(), &x, positions},
               ceil_div(table.n_embd / (has_blocks(table.type) ? 32 : 8), 64), n);
}

void VulkanRecorder::quantise(const Matrix& w, const In& in, uint32_t n) {
  if (w.input == Input::float_row) return norm(in.x, in.first_row, in.norm, w.n_in, *in.q.y, n);
  const QuantisePush push{w.n_in, in.first_row, in.norm.epsilon};
  const Buffer *weight = or_any(in.norm.weight, in.x), *bias = or_any(in.norm.bias, in.x),
               *scales = or_any(in.q.scales, in.x);
  const Kernel& kernel = kernels_.quantise(w, in.norm, false);
  if (w.layout == Layout::trits)
    return dispatch(kernel, push, {&in.x, weight, bias, in.q.q.get(), in.q.info.get()}, n);
  const auto round = [&](const Kernel& kernel, const Quantised& to) {
    const BufferPtr& sums = w.layout == Layout::blocks ? to.sums16 : to.sums;
    const Buffer* rest = or_any(to.rest_q, *to.q);
    dispatch(kernel, push, {&in.x, weight, bias, to.q.get(), to.info.get(), sums.get(), scales, rest}, n);
  };
  round(kernel, in.q);
  if (in_two_products(w)) round(kernels_.quantise(w, in.norm, true), rest_of(in.q));
}

// The matrix as the kernels of the next product may read it: as it is, or as it lies in a slot.
const Matrix& VulkanRecorder::at_hand(const Matrix& w, uint32_t n) {
  if (!stream_ || !stream_->takes(w, n)) return w;
  decode_collected();
  end_piece();
  commands_ = program_.commands.cut();
  brought_ = stream_->bring(w, program_.copies);
  if (w.in_fives) {
    BufferPtr codes = stream_->expanded(w);
    const uint32_t groups = w.n_in / 64,
                   steps = w.layout == Layout::trits ? ceil_div(groups, 10) * 2 : ceil_div(groups, 5);
    dispatch(kernels_.expand(w.layout), ExpandPush{w.n_in, w.rows()}, {brought_.codes.get(), codes.get()},
             ceil_div(w.rows(), 64), steps);
    brought_.codes = std::move(codes);
    brought_.in_fives = false;
  }
  return brought_;
}

uint64_t VulkanRecorder::reads_in_host(const Matrix& w, uint32_t n) const {
  return stream_ ? stream_->reads_in_host(w, n) : 0;
}

void VulkanRecorder::make_room(uint64_t bytes) {
  if (bytes == 0 || host_bytes_ == 0 || !in_chains() || host_bytes_ + bytes <= stream_->read_at_once())
    return;
  decode_collected();
  commands_ = program_.commands.cut();
  ++program_.n_plain;
  host_bytes_ = 0;
}

// What follows the use of a matrix in a slot.
void VulkanRecorder::end_piece() {
  const VulkanBuffer* slot = stream_ ? stream_->poisoned(program_.copies) : nullptr;
  if (!slot) return;
  barrier();
  vkCmdFillBuffer(commands_, slot->handle(), 0, VK_WHOLE_SIZE, ~0U);
  after_transfer_ = true;
}

void VulkanRecorder::product(const Matrix& where, const Quantised& in, const Out& out, uint32_t n) {
  read_in_host(reads_in_host(where, n));
  const Matrix& w = at_hand(where, n);
  if (!in_two_products(w)) return multiply(w, in, out, n);
  require(!w.bias && out.kind != Out::Kind::act, "this projection");
  const bool gated = out.kind == Out::Kind::gate;
  const Out sum = gated ? store(*in.gate_up) : out;
  multiply(w, in, sum, n);
  multiply(w, rest_of(in), add(sum.y), n);
  if (!gated) return;
  const uint32_t n_out = w.rows() / 2;
  change(kernels_.gate(out.act), {n_out, n_out, w.rows(), 0, 0}, out.y, sum.y, n);
}

void VulkanRecorder::multiply(const Matrix& w, const Quantised& in, const Out& out, uint32_t n) {
  if (w.layout == Layout::blocks) return product_of_blocks(w, in, out, n);
  if (w.layout == Layout::floats) return product_of_floats(w, *in.y, out, n);
  require(is_known(w) && is_known(out), "this projection");
  const uint32_t n_out = out.kind == Out::Kind::gate ? w.rows() / 2 : w.rows();
  GroupsPush push = push_of(w, n_out, n);
  const Buffer *codes = w.codes.get(), *scales = w.scales.get(), *q = in.q.get(), *info = in.info.get();
  const auto product = [&](const Kernel& kernel, uint32_t groups_x, uint32_t groups_y) {
    const Buffer *sums = in.sums.get(), *shares = or_any(in.scales, *info), *rest = or_any(in.rest_q, *q);
    if (w.layout == Layout::trits)
      return dispatch(kernel, without_groups(push), {codes, q, info, &out.y}, groups_x, groups_y);
    if (kernel.shape().n_bindings == 7)  // cooperative matrices do without the sums
      return dispatch(kernel, push, {codes, q, info, &out.y, scales, shares, rest}, groups_x, groups_y);
    dispatch(kernel, push, {codes, q, info, &out.y, scales, sums, shares, rest}, groups_x, groups_y);
  };
  if (n <= kernels_.few_tokens(w)) {
    const Kernel& matvec = kernels_.matvec(w, out, n);
    return product(matvec, groups_for_rows(w.rows(), matvec.constant(CONSTANT_ROWS)),
                   ceil_div(n, matvec.constant(CONSTANT_TOKENS)));
  }
  const auto in_tiles = [&](const VulkanKernels::Matmul& m) {
    if (!m.split) return product(m.kernel, ceil_div(n_out, m.rows), ceil_div(n, m.tokens));
    push.whole_tiles = m.split->whole;
    push.splits = m.split->splits;
    const bool splits = m.split->splits > 1;
    const Buffer *shares = or_any(in.scales, *info), *rest = or_any(in.rest_q, *q),
                 *sums = splits ? &split_sums_->sums() : info, *done = splits ? &split_sums_->done() : info;
    dispatch(m.kernel, push, {codes, q, info, &out.y, scales, shares, rest, sums, done}, m.split->workgroups);
  };
  const VulkanKernels::Matmul matmul = kernels_.matmul(w, out, n, split_sums_ != nullptr);
  const bool lacks_memory = matmul.split && matmul.split->splits > 1 && !split_sums_->are_there();
  in_tiles(lacks_memory ? kernels_.matmul(w, out, n, false) : matmul);
}

void VulkanRecorder::decode(DecodeDispatches d) {
  if (d.given_bytes != 0) {
    // The program's first chain need not wait: nothing that is recorded so far reads or gives words.
    if (!program_.decodes.empty()) barrier();
    const VulkanBuffer& given = *d.memory->given;
    vkCmdFillBuffer(commands_, given.handle(), given.offset(), d.given_bytes, NOT_GIVEN);
    after_transfer_ = true;
    beside_last_ = false;
  }
  for (const auto& [push, n_groups] : d.dispatches)
    dispatch(*d.kernel, push,
             {&params_, d.stages.get(), d.groups.get(), d.memory->progress.get(), &decode_.stuck()},
             n_groups);
  program_.decodes.push_back(std::move(d));
}

void VulkanRecorder::decode_collected() {
  const std::optional<FloatGates> gates = std::exchange(gates_, std::nullopt);
  const std::optional<ExpertsSoFar> experts = std::exchange(experts_, std::nullopt);
  if (!collected_.empty()) decode(decode_.prepare(std::exchange(collected_, DecodeStages())));
  if (gates) dispatch_gates(*gates);
  if (experts) dispatch_experts(*experts);
}

// Collects a stage behind the others where it continues them, or as the first of a new list; false where the
// device cannot run it.
bool VulkanRecorder::add_stage(bool continues, uint32_t n, const std::function<void(DecodeStages&)>& add) {
  if (experts_) decode_collected();
  if (continues && (collected_.empty() || collected_.n_tokens() == n)) {
    DecodeStages longer = collected_.empty() ? DecodeStages(n) : collected_;
    add(longer);
    if (decode_.takes(longer)) {
      collected_ = std::move(longer);
      return true;
    }
  }
  DecodeStages alone(n);
  add(alone);
  if (!decode_.takes(alone)) return false;
  decode_collected();
  collected_ = std::move(alone);
  return true;
}

void VulkanRecorder::rotate(const Buffer& x, const Rotation& rotation, Turn turn, uint32_t n_features,
                            const Buffer& y, uint32_t n) {
  const uint32_t flags = !rotation.signs ? 0 : turn == Turn::there ? ROTATE_SIGNS_FIRST : ROTATE_SIGNS_LAST;
  dispatch(kernels_.rotate(rotation.block), RotatePush{n_features, flags, rotation.factor()},
           {&x, or_any(rotation.signs, x), &y}, n_features / rotation.block, n);
}

void VulkanRecorder::rotate_quantise(const Kernel& kernel, const Matrix& w, const In& in, uint32_t n) {
  const RotateQuantisePush push{w.n_in, w.rotation.signs ? 1U : 0U, w.rotation.factor(), in.norm.epsilon};
  const Quantised& q = in.q;
  dispatch(kernel, push,
           {&in.x, or_any(in.norm.weight, in.x), or_any(w.rotation.signs, in.x), q.q.get(), q.info.get(),
            q.sums.get(), q.scales.get(), or_any(q.rest_q, *q.q)},
           n);
}

// Whether the input of w can be rotated in a chain.
bool VulkanRecorder::can_rotate_in_chain(const Matrix& w, const In& in, uint32_t n) {
  const uint32_t block = w.rotation.block, size = wide(device_).at(CONSTANT_WORKGROUP_SIZE);
  const bool has_units = w.layout == Layout::groups || w.layout == Layout::blocks;
  return n == 1 && in.first_row == 0 && in_chains() && decode_.possible() && in_stages(in.norm) &&
         has_units && !(stream_ && stream_->takes(w, n)) && block % unit_of_input(w) == 0 &&
         block / 4 <= size && w.n_in % block == 0;
}

// Whether the product rotates its input itself, which is a stage less: each of its workgroups has all of it,
// to norm it. What needs no norm comes in units, which is faster.
bool VulkanRecorder::turns_its_input(const Matrix& w, const In& in, uint32_t n) {
  const uint32_t size = wide(device_).at(CONSTANT_WORKGROUP_SIZE);
  return can_rotate_in_chain(w, in, n) && in.norm.weight && w.layout == Layout::groups &&
         size % (w.rotation.block / 4) == 0;
}

// Rotates the input of w as a stage, if it is not there already; false where the device cannot.
bool VulkanRecorder::rotate_in_stages(const Matrix& w, const In& in, uint32_t n) {
  if (!can_rotate_in_chain(w, in, n)) return false;
  const Buffer& y = *in.q.turned;
  if (in.norm && collected_.has_rotated(in.x, in.norm, y)) return true;
  return add_stage(collected_.takes_next(in.x, w.rotation), n,
                   [&](DecodeStages& stages) { stages.rotate(in.x, in.norm, w.rotation, w.n_in, y); });
}

void VulkanRecorder::linear(const Matrix& w, const In& in, const Out& out, uint32_t n) {
  if (gates_ || experts_) decode_collected();
  const uint64_t in_host = reads_in_host(w, n);
  make_room(in_host);
  const auto add = [&](DecodeStages& stages) { stages.linear(w, in, out); };
  const auto is_stage = [&] {
    if (!add_stage(collected_.takes_next(w, in, out), n, add)) return false;
    host_bytes_ += in_host;
    return true;
  };
  if (w.rotation && !in.is_turned) {
    static const Norm kNone;
    if (turns_its_input(w, in, n) && is_known(w) && is_known(out) && is_stage()) return;
    const bool staged = rotate_in_stages(w, in, n);
    const Kernel* at_once = staged || in.first_row != 0 ? nullptr : kernels_.rotate_quantise(w, in.norm);
    if (at_once) {
      rotate_quantise(*at_once, w, in, n);
      return product(w, in.q, out, n);
    }
    return linear(w, staged ? In{*in.q.turned, kNone, in.q, 0, true} : turned(w, in, n), out, n);
  }
  if (in.first_row == 0 && are_gates(w, in.norm, out)) {
    const bool comes = stream_ && stream_->takes(w, n);
    const FloatGates gates{at_hand(w, n), in.norm.weight, in.norm.epsilon, &in.x, &out.y, n};
    if (comes) return dispatch_gates(gates);
    gates_ = gates;
    return;
  }
  if (is_router(w, in, out, n)) {
    experts_ = ExpertsSoFar{w, in.norm, in.q, &in.x, &out.y};
    return;
  }
  const bool comes = stream_ && stream_->takes(w, n);
  if (n <= kFewTokens && !comes && in_chains() && in.first_row == 0 && decode_.possible() && is_known(w) &&
      in_stages(in.norm) && is_known(out) && is_stage())
    return;
  if (w.layout == Layout::floats && !in.norm && in.first_row == 0) {
    read_in_host(in_host);
    return product_of_floats(at_hand(w, n), in.x, out, n);
  }
  Recorder::linear(w, in, out, n);
}

void VulkanRecorder::norm(const Buffer& x, uint32_t first_row, const Norm& norm, uint32_t n_features,
                          const Buffer& y, uint32_t n) {
  dispatch(kernels_.norm(norm, OUT_STORE), NormPush{n_features, first_row, norm.epsilon},
           {&x, or_any(norm.weight, x), or_any(norm.bias, x), &y}, n);
}

void VulkanRecorder::add_normed(const Buffer& t, const Norm& norm, uint32_t n_features, const Buffer& x,
                                uint32_t n) {
  dispatch(kernels_.norm(norm, OUT_ADD), NormPush{n_features, 0, norm.epsilon},
           {&t, or_any(norm.weight, t), or_any(norm.bias, t), &x}, n);
}

void VulkanRecorder::combine_per_layer(const Buffer& projected, const Norm& norm, float projected_scale,
                                       const Buffer& embedded, float embedded_scale, uint32_t n_slices,
                                       uint32_t width, uint32_t n) {
  dispatch(kernels_.combine_per_layer(norm),
           CombinePush{width, norm.epsilon, projected_scale, embedded_scale},
           {&projected, &embedded, or_any(norm.weight, embedded)}, n_slices, n);
}

// Does what the kernel of an element says to push.width values of each of n rows.
void VulkanRecorder::change(const Kernel& kernel, const ElementPush& push, const Buffer& x, const Buffer& by,
                            uint32_t n) {
  constexpr uint32_t kWorkgroup = 256, kMostWorkgroups = 4096;
  dispatch(kernel, push, {&x, &by}, std::min(kMostWorkgroups, ceil_div(push.width, kWorkgroup)), n);
}

void VulkanRecorder::multiply(const Buffer& g, const Buffer& by, uint32_t width, uint32_t by_stride,
                              uint32_t by_offset, uint32_t n) {
  change(kernels_.elementwise(ELEMENT_MULTIPLY), {width, width, by_stride, by_offset, 1}, g, by, n);
}

void VulkanRecorder::scale(const Buffer& x, float factor, uint32_t n_values) {
  change(kernels_.elementwise(ELEMENT_SCALE), {n_values, n_values, 0, 0, factor}, x, x, 1);
}

void VulkanRecorder::finish_logits(const Buffer& logits, uint32_t n_vocab, float softcap,
                                   const Buffer* suppressed, uint32_t n_suppressed, uint32_t rows) {
  if (softcap != 0)
    change(kernels_.elementwise(ELEMENT_SOFTCAP), {n_vocab, n_vocab, 0, 0, softcap}, logits, logits, rows);
  if (suppressed && n_suppressed != 0)
    change(kernels_.elementwise(ELEMENT_SUPPRESS), {n_suppressed, n_vocab, 0, 0, 0}, logits, *suppressed,
           rows);
}

void VulkanRecorder::head(const Table& table, const Buffer& y, const Buffer& logits, uint32_t n) {
  const Kernel& kernel = kernels_.head(table, n);
  const bool blocks = has_blocks(table.type);
  for (const auto& chunk : table.chunks) {
    const VulkanBuffer& rows = vulkan(*chunk.bytes);
    read_in_host(rows.is_in_host() && stream_ ? rows.size() : 0);
    const uint32_t groups = blocks ? std::min(ceil_div(chunk.rows, kernel.constant(CONSTANT_ROWS)),
                                              device_.limits().maxComputeWorkGroupCount[0])
                                   : groups_for_rows(chunk.rows, kernel.constant(CONSTANT_ROWS));
    dispatch(kernel, HeadPush{table.n_embd, chunk.rows, chunk.row_begin, table.n_vocab, n},
             {chunk.bytes.get(), &y, &logits}, groups,
             blocks ? n : ceil_div(n, kernel.constant(CONSTANT_TOKENS)));
  }
}

static_assert(sizeof(SamplingInput) == sizeof(SampleSettings) + SAMPLE_HISTORY * sizeof(int32_t) &&
              offsetof(SamplingInput, want) == offsetof(SampleSettings, want) &&
              offsetof(SamplingRecipe, min_weight) == offsetof(SampleSettings, min_weight) &&
              offsetof(SamplingRecipe, scale) == offsetof(SampleSettings, scale));
static_assert(kSampleHistory == SAMPLE_HISTORY && kSampleRandoms == SAMPLE_RANDOMS &&
              kMostSampled < SAMPLE_CANDIDATES &&
              kSampleScratch == 8 + 4 * SAMPLE_BINS + 8 * SAMPLE_CANDIDATES);

void VulkanRecorder::sample(const Buffer& logits, uint32_t n_vocab, const Buffer& partial,
                            const SamplingBuffers& sampling, const Buffer& result, uint32_t rows) {
  const VulkanKernels::Sampling kernels = kernels_.sampling();
  const SamplePush push{n_vocab, argmax_partials(device_, n_vocab)};
  const uint32_t groups = ceil_div(n_vocab, 1024);
  const Buffer &scratch = *sampling.scratch, &input = *sampling.input;
  dispatch(kernels.count, push, {&scratch, &logits, &partial}, groups, rows);
  dispatch(kernels.collect, push, {&scratch, &logits, &input}, groups, rows);
  dispatch(kernels.choose, push, {&scratch, &input, sampling.randoms.get(), &result, &params_}, 1, rows);
}

void VulkanRecorder::argmax(const Buffer& logits, uint32_t n_vocab, const Buffer& partial,
                            const Buffer& result, uint32_t rows) {
  dispatch(kernels_.argmax(), ArgmaxPush{n_vocab}, {&logits, &partial}, argmax_partials(device_, n_vocab),
           rows);
  merge_partials(partial, n_vocab, result, rows);
}

void VulkanRecorder::merge_partials(const Buffer& partial, uint32_t n_vocab, const Buffer& result,
                                    uint32_t rows) {
  const ArgmaxPush push{argmax_partials(device_, n_vocab)};
  dispatch(kernels_.argmax_merge(), push, {&partial, &result, &params_}, 1, rows);
}

void VulkanRecorder::copy(const Buffer& from, uint64_t from_offset, const Buffer& to, uint64_t to_offset,
                          uint64_t bytes) {
  decode_collected();
  barrier();
  last_ = nullptr;
  const VulkanBuffer &source = vulkan(from), &target = vulkan(to);
  const VkBufferCopy region{source.offset() + from_offset, target.offset() + to_offset, bytes};
  vkCmdCopyBuffer(commands_, source.handle(), target.handle(), 1, &region);
  after_transfer_ = true;
}

}  // namespace bitnet::vk
