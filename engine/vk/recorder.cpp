#include "recorder.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <utility>

#include "shaders/params.h"

namespace bitnet::vk {
namespace {

constexpr uint32_t kSetsPerPool = 512;
constexpr uint32_t kMostBindings = 8;

// Up to so many tokens the matrix is read once a token; larger batches share it in tiles of tokens.
constexpr uint32_t kMatvecTokens = 4;

constexpr VkPipelineStageFlags kStages =
    VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
constexpr VkAccessFlags kShaderAccess = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
constexpr VkAccessFlags kWrites = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
constexpr VkAccessFlags kReads = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_TRANSFER_READ_BIT;

uint32_t ceil_div(uint32_t a, uint32_t b) { return (a + b - 1) / b; }

// How many workgroups divide the logits among them.
uint32_t argmax_partials(uint32_t n_vocab) {
  constexpr uint32_t kLogitsAWorkgroup = 1024;
  return std::min(kArgmaxPartials, ceil_div(n_vocab, kLogitsAWorkgroup));
}

TernaryPush push_of(const TernaryMatrix& w, uint32_t n_out, uint32_t n) {
  return {w.n_in,
          n_out,
          n,
          w.tensors[0].rows,
          w.tensors[0].rows + w.tensors[1].rows,
          w.tensors[0].scale,
          w.tensors[1].scale,
          w.tensors[2].scale};
}

AttentionPush attention_push(const AttentionShape& s, uint32_t n) {
  const double scale = std::numbers::log2e / std::sqrt(static_cast<double>(s.head_dim));
  return {s.n_head, s.n_head_kv, s.head_dim, s.rope_dim, n, static_cast<float>(scale)};
}

}  // namespace

VulkanProgram::VulkanProgram(const Device& device) : commands(device), device_(device) {}

VulkanProgram::~VulkanProgram() {
  commands.settle();
  for (VkDescriptorPool pool : pools_) vkDestroyDescriptorPool(device_.handle(), pool, nullptr);
}

void VulkanProgram::add_pool() {
  const VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, kSetsPerPool * kMostBindings};
  VkDescriptorPoolCreateInfo info{VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
  info.maxSets = kSetsPerPool;
  info.poolSizeCount = 1;
  info.pPoolSizes = &size;
  VkDescriptorPool pool = VK_NULL_HANDLE;
  VK_CHECK(vkCreateDescriptorPool(device_.handle(), &info, nullptr, &pool));
  pools_.push_back(pool);
}

VkDescriptorSet VulkanProgram::allocate_set(VkDescriptorSetLayout layout) {
  for (int attempt = 0;; ++attempt) {
    if (pools_.empty() || attempt == 1) add_pool();
    VkDescriptorSetAllocateInfo info{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
    info.descriptorPool = pools_.back();
    info.descriptorSetCount = 1;
    info.pSetLayouts = &layout;
    VkDescriptorSet set = VK_NULL_HANDLE;
    const VkResult result = vkAllocateDescriptorSets(device_.handle(), &info, &set);
    const bool full = result == VK_ERROR_OUT_OF_POOL_MEMORY || result == VK_ERROR_FRAGMENTED_POOL;
    if (full && attempt == 0) continue;
    check(result, "vkAllocateDescriptorSets");
    return set;
  }
}

VulkanRecorder::VulkanRecorder(const Device& device, VulkanKernels& kernels, Decode& decode,
                               const VulkanBuffer* host_params, VulkanBuffer& params, VulkanProgram& program)
    : device_(device),
      kernels_(kernels),
      decode_(decode),
      params_(params),
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

template <typename Push>
void VulkanRecorder::dispatch(const Kernel& kernel, const Push& push,
                              std::initializer_list<const Buffer*> buffers, uint32_t groups_x,
                              uint32_t groups_y) {
  decode_collected();
  assert(kernel.shape().push_bytes == sizeof push && kernel.shape().n_bindings == buffers.size());
  const VkDescriptorSet set = program_.allocate_set(kernel.set_layout());
  VkDescriptorBufferInfo infos[kMostBindings];
  VkWriteDescriptorSet writes[kMostBindings];
  uint32_t n = 0;
  for (const Buffer* buffer : buffers) {
    infos[n] = {vulkan(*buffer).handle(), 0, VK_WHOLE_SIZE};
    writes[n] = {VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET, nullptr, set,       n,      0, 1,
                 VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,      nullptr, &infos[n], nullptr};
    ++n;
  }
  vkUpdateDescriptorSets(device_.handle(), n, writes, 0, nullptr);
  dispatch_barrier();
  vkCmdBindPipeline(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, kernel.pipeline());
  vkCmdBindDescriptorSets(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, kernel.layout(), 0, 1, &set, 0, nullptr);
  vkCmdPushConstants(commands_, kernel.layout(), VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof push, &push);
  vkCmdDispatch(commands_, groups_x, groups_y, 1);
}

// How many workgroups of 64, among whose subgroups the rows are divided; they stride where the device allows
// fewer.
uint32_t VulkanRecorder::groups_for_rows(uint32_t rows, uint32_t rows_per_subgroup) const {
  const uint32_t subgroups = std::max(1U, 64 / device_.subgroup_size());
  return std::min(ceil_div(rows, subgroups * rows_per_subgroup),
                  device_.limits().maxComputeWorkGroupCount[0]);
}

void VulkanRecorder::embed(const Embedding& table, Buffer& x, uint32_t n) {
  for (const auto& chunk : table.chunks)
    dispatch(table.f32 ? kernels_.embed_f32 : kernels_.embed_f16,
             EmbedPush{table.n_embd, chunk.row_begin, chunk.rows}, {&params_, chunk.table.get(), &x},
             ceil_div(table.n_embd / 2, 64), n);
}

void VulkanRecorder::rms_norm_quantise(Buffer& x, Buffer& weight, uint32_t n_features, float epsilon,
                                       Quantised& q, uint32_t n) {
  dispatch(kernels_.rms_norm_quantise, QuantisePush{n_features, epsilon},
           {&x, &weight, q.q.get(), q.info.get()}, n);
}

void VulkanRecorder::ternary_product(VulkanKernels::Linear kind, const Kernel& matvec, const TernaryMatrix& w,
                                     uint32_t n_out, Quantised& q, Buffer& y, uint32_t n) {
  const std::initializer_list<const Buffer*> buffers = {w.codes.get(), q.q.get(), q.info.get(), &y};
  if (n <= kMatvecTokens)
    return dispatch(matvec, push_of(w, n_out, n), buffers,
                    groups_for_rows(w.rows(), matvec.constant(CONSTANT_ROWS)), n);
  const VulkanKernels::Matmul matmul = kernels_.ternary_matmul(kind, n_out, n);
  dispatch(matmul.kernel, push_of(w, n_out, n), buffers, ceil_div(n_out, matmul.rows),
           ceil_div(n, matmul.tokens));
}

void VulkanRecorder::ternary(const TernaryMatrix& w, Quantised& q, Buffer& y, uint32_t n) {
  ternary_product(VulkanKernels::Linear::plain, kernels_.matvec, w, w.rows(), q, y, n);
}

void VulkanRecorder::ternary_add(const TernaryMatrix& w, Quantised& q, Buffer& y, uint32_t n) {
  ternary_product(VulkanKernels::Linear::add, kernels_.matvec_add, w, w.rows(), q, y, n);
}

void VulkanRecorder::ternary_gate_up(const TernaryMatrix& w, Quantised& q, Buffer& y, uint32_t n) {
  ternary_product(VulkanKernels::Linear::gate_up, kernels_.matvec_gate_up, w, w.rows() / 2, q, y, n);
}

void VulkanRecorder::rope_store_kv(Buffer& qkv, Buffer& rotation, Buffer& k_cache, Buffer& v_cache,
                                   const AttentionShape& s, uint32_t n) {
  const uint32_t pairs = (s.n_head + 2 * s.n_head_kv) * s.head_dim / 2;
  dispatch(kernels_.rope_store_kv, RopePush{s.n_head, s.n_head_kv, s.head_dim, s.rope_dim},
           {&params_, &rotation, &qkv, &k_cache, &v_cache}, ceil_div(pairs, 64), n);
}

void VulkanRecorder::attention(Buffer& qkv, Buffer& k_cache, Buffer& v_cache, Buffer& o,
                               const AttentionShape& s, uint32_t n) {
  const Kernel& kernel = kernels_.attention(s, n);
  const uint32_t heads = kernel.constant(CONSTANT_HEADS),
                 tokens = kernel.constant(CONSTANT_WORKGROUP_SIZE) / 4 / heads;
  dispatch(kernel, attention_push(s, n), {&params_, &qkv, &k_cache, &v_cache, &o}, s.n_head / heads,
           ceil_div(n, tokens));
}

void VulkanRecorder::decode(DecodeDispatches d) {
  for (const auto& [push, n_groups] : d.dispatches)
    dispatch(*d.kernel, push, {&params_, d.stages.get(), d.groups.get(), d.progress.get(), &decode_.stuck()},
             n_groups);
  program_.decodes.push_back(std::move(d));
}

void VulkanRecorder::decode_collected() {
  if (!collected_.empty()) decode(decode_.prepare(std::exchange(collected_, {})));
}

// The list that takes a stage which reads x and adds to y: the one with the stages before it, or an empty one
// where it does not continue them.
DecodeStages& VulkanRecorder::next_stage(const Buffer& x, const Buffer* y) {
  if (!collected_.takes_next(x, y)) decode_collected();
  return collected_;
}

void VulkanRecorder::self_attention(Buffer& qkv, Buffer& rotation, Buffer& k_cache, Buffer& v_cache,
                                    AttentionScratch& scratch, Buffer& o, const AttentionShape& s,
                                    uint32_t n) {
  if (n == 1 && decode_.takes(s))
    next_stage(qkv).attention(qkv, rotation, k_cache, v_cache, scratch, o, s);
  else
    Recorder::self_attention(qkv, rotation, k_cache, v_cache, scratch, o, s, n);
}

void VulkanRecorder::bit_linear(const TernaryMatrix& w, Buffer& x, Buffer& weight, float epsilon,
                                Quantised& q, Buffer& y, uint32_t n) {
  if (n == 1 && decode_.takes(w))
    next_stage(x).linear(VulkanKernels::Linear::plain, w, w.rows(), x, weight, epsilon, y);
  else
    Recorder::bit_linear(w, x, weight, epsilon, q, y, n);
}

void VulkanRecorder::bit_linear_add(const TernaryMatrix& w, Buffer& x, Buffer& weight, float epsilon,
                                    Quantised& q, Buffer& y, uint32_t n) {
  if (n == 1 && decode_.takes(w))
    next_stage(x, &y).linear(VulkanKernels::Linear::add, w, w.rows(), x, weight, epsilon, y);
  else
    Recorder::bit_linear_add(w, x, weight, epsilon, q, y, n);
}

void VulkanRecorder::bit_linear_gate_up(const TernaryMatrix& w, Buffer& x, Buffer& weight, float epsilon,
                                        Quantised& q, Buffer& y, uint32_t n) {
  if (n == 1 && decode_.takes(w))
    next_stage(x).linear(VulkanKernels::Linear::gate_up, w, w.rows() / 2, x, weight, epsilon, y);
  else
    Recorder::bit_linear_gate_up(w, x, weight, epsilon, q, y, n);
}

void VulkanRecorder::rms_norm(Buffer& x, uint32_t first_row, Buffer& weight, uint32_t n_features,
                              float epsilon, Buffer& y, uint32_t n) {
  dispatch(kernels_.rms_norm, NormPush{n_features, first_row, epsilon}, {&x, &weight, &y}, n);
}

void VulkanRecorder::head(const Embedding& table, Buffer& y, Buffer& logits, uint32_t n) {
  const Kernel& kernel = table.f32 ? kernels_.head_f32 : kernels_.head_f16;
  for (const auto& chunk : table.chunks)
    dispatch(kernel, HeadPush{table.n_embd, chunk.rows, chunk.row_begin, table.n_vocab},
             {chunk.table.get(), &y, &logits}, groups_for_rows(chunk.rows, 1), n);
}

static_assert(sizeof(SamplingInput) == sizeof(SampleSettings) + SAMPLE_HISTORY * sizeof(int32_t) &&
              offsetof(SamplingInput, want) == offsetof(SampleSettings, want) &&
              offsetof(SamplingRecipe, min_weight) == offsetof(SampleSettings, min_weight) &&
              offsetof(SamplingRecipe, scale) == offsetof(SampleSettings, scale));
static_assert(kSampleHistory == SAMPLE_HISTORY && kSampleRandoms == SAMPLE_RANDOMS &&
              kMostSampled < SAMPLE_CANDIDATES &&
              kSampleScratch == 8 + 4 * SAMPLE_BINS + 8 * SAMPLE_CANDIDATES);

void VulkanRecorder::sample(Buffer& logits, uint32_t n_vocab, Buffer& partial, SamplingBuffers& sampling,
                            Buffer& result) {
  const VulkanKernels::Sampling& kernels = kernels_.sampling();
  const SamplePush push{n_vocab, argmax_partials(n_vocab)};
  Buffer &scratch = *sampling.scratch, &input = *sampling.input;
  dispatch(kernels.count, push, {&scratch, &logits, &partial}, push.n_partials);
  dispatch(kernels.collect, push, {&scratch, &logits, &input}, push.n_partials);
  dispatch(kernels.choose, push, {&scratch, &input, sampling.randoms.get(), &result, &params_}, 1);
}

void VulkanRecorder::argmax(Buffer& logits, uint32_t n_vocab, Buffer& partial, Buffer& result) {
  const uint32_t partials = argmax_partials(n_vocab);
  dispatch(kernels_.argmax, ArgmaxPush{n_vocab}, {&logits, &partial}, partials);
  dispatch(kernels_.argmax_merge, ArgmaxPush{partials}, {&partial, &result, &params_}, 1);
}

void VulkanRecorder::copy(Buffer& from, uint64_t from_offset, Buffer& to, uint64_t to_offset,
                          uint64_t bytes) {
  decode_collected();
  barrier();
  const VkBufferCopy region{from_offset, to_offset, bytes};
  vkCmdCopyBuffer(commands_, vulkan(from).handle(), vulkan(to).handle(), 1, &region);
  after_transfer_ = true;
}

}  // namespace bitnet::vk
