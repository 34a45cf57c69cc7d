// Attention: of a batch, of a few tokens whose keys are divided among workgroups, and as a stage of decode.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "ceil_div.h"
#include "recorder.h"
#include "shaders/params.h"

namespace bitnet::vk {
namespace {

bool attention_in_stages(const AttentionInput& input, const AttentionShape& s) {
  return s.rows == AttentionRows::qkv && s.scale == 0 && s.rope_dim != 0 && s.head_dim <= 256 &&
         in_stages(input.q_norm) && in_stages(input.k_norm) && !input.v_norm;
}

AttentionPush attention_push(const AttentionShape& s, const Buffer& k_cache, uint32_t n) {
  constexpr double kLog2E = std::numbers::log2e;
  const double scale = s.scale != 0 ? kLog2E * s.scale : kLog2E / std::sqrt(static_cast<double>(s.head_dim));
  return {s.n_head, s.n_head_kv, s.row_heads(), cache_rows(k_cache, s), n, 0, static_cast<float>(scale)};
}

}  // namespace

void VulkanRecorder::rope_store_kv(const Buffer& qkv, const AttentionInput& input, const Buffer& rotation,
                                   const Buffer& k_cache, const Buffer& v_cache, const AttentionShape& s,
                                   uint32_t n) {
  constexpr uint32_t kWorkgroups = 128;  // of a head; they take long to begin
  const Kernel& kernel = kernels_.rope_store_kv(input, s);
  const auto weight = [&](const Norm& norm) { return or_any(norm.weight, rotation); };
  dispatch(kernel,
           RopePush{s.n_head, s.n_head_kv, s.row_heads(), s.head_dim, s.rope_dim, cache_rows(k_cache, s),
                    1.0F / static_cast<float>(s.head_dim), input.q_norm.epsilon, input.k_norm.epsilon,
                    input.v_norm.epsilon, n},
           {&params_, &rotation, &qkv, &k_cache, &v_cache, or_any(input.bias, rotation), weight(input.q_norm),
            weight(input.k_norm), weight(input.v_norm)},
           s.row_heads(), std::min(ceil_div(n, kernel.constant(CONSTANT_TOKENS)), kWorkgroups));
}

void VulkanRecorder::attention(const Buffer& qkv, const Buffer& k_cache, const Buffer& v_cache,
                               const Buffer& o, const AttentionShape& s, uint32_t n) {
  const VulkanKernels::Attention of = kernels_.attention(s, n, false);
  dispatch(of.kernel, attention_push(s, k_cache, n), {&params_, &qkv, &k_cache, &v_cache, &o, &o},
           s.n_head / of.heads * of.parts, ceil_div(n, of.tokens));
}

// Attention of a few tokens, whose chunks of keys are divided among as many workgroups as a large GPU runs at
// a time. `chunks` has what max_chunks give for each.
void VulkanRecorder::split_attention(const Buffer& qkv, const Buffer& k_cache, const Buffer& v_cache,
                                     const Buffer& chunks, uint32_t max_chunks, const Buffer& o,
                                     const AttentionShape& s, uint32_t n) {
  constexpr uint32_t kWorkgroups = 132, kPairs = 64;
  const VulkanKernels::Attention of = kernels_.attention(s, n, true);
  AttentionPush push = attention_push(s, k_cache, n);
  push.max_chunks = max_chunks;
  const uint32_t heads = s.n_head / of.heads * of.parts, tiles = ceil_div(n, of.tokens);
  const uint32_t splits = std::min(most_chunks(s, max_chunks), std::max(1U, kWorkgroups / (heads * tiles)));
  dispatch(of.kernel, push, {&params_, &qkv, &k_cache, &v_cache, &o, &chunks}, heads, splits, tiles);
  dispatch(kernels_.attention_merge(s), AttentionMergePush{s.head_dim, max_chunks, s.n_head},
           {&params_, &chunks, &o}, ceil_div(s.head_dim / 2, kPairs), n * s.n_head);
}

void VulkanRecorder::self_attention(const Buffer& qkv, const AttentionInput& input, const Buffer& rotation,
                                    const Buffer& k_cache, const Buffer& v_cache,
                                    const AttentionScratch& scratch, const Buffer& o, const AttentionShape& s,
                                    uint32_t n) {
  if (gates_) decode_collected();
  std::optional<AttentionScratch> few;  // what n tokens need
  const uint64_t chunk_bytes = s.n_head * (2 + s.head_dim) * sizeof(float);
  const auto max_chunks = static_cast<uint32_t>(scratch.chunks->size() / chunk_bytes);
  if (n == 1)
    few = scratch;
  else if (n <= kFewTokens && device_.is_gpu())
    few = decode_.scratch(uint64_t{kFewTokens} * max_chunks * chunk_bytes);
  const auto add = [&](DecodeStages& stages) {
    stages.attention(qkv, input, rotation, k_cache, v_cache, *few, o, s);
  };
  if (few && in_chains() && decode_.possible() && attention_in_stages(input, s) &&
      add_stage(collected_.takes_next(qkv, input, s), n, add))
    return;
  rope_store_kv(qkv, input, rotation, k_cache, v_cache, s, n);
  if (few && device_.is_gpu())
    return split_attention(qkv, k_cache, v_cache, *few->chunks, max_chunks, o, s, n);
  attention(qkv, k_cache, v_cache, o, s, n);
}

}  // namespace bitnet::vk
