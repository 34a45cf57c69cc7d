// Qwen3.5 (src/models/qwen35.cpp of llama.cpp), as which Ternary-Bonsai-27B and Ternary-Bonsai-2-27B come:
// most layers have a Gated DeltaNet (arXiv 2412.06464) in place of attention. Every fourth has attention with
// norms of heads, RoPE over a part of each head, and a gate that a half of the rows of attn_q gives: a head's
// queries come first, its gates behind them. The file's norm weights are what is multiplied with.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "engine/layouts/file_types.h"
#include "families.h"
#include "tensors.h"

namespace bitnet {
namespace {

uint32_t size_within(const Checkpoint& file, const std::string& key, uint32_t least, uint32_t most) {
  const uint32_t value = file.get_u32(key);
  if (value < least || value > most)
    fail(file, fmt::format("{} is {}, wanted {} to {}", key, value, least, most));
  return value;
}

DeltaShape read_delta(const Checkpoint& file) {
  constexpr uint32_t kMostHeads = 1 << 10, kMostFeatures = 256, kUnit = 32, kMostConv = 8;
  const std::string dim = "qwen35.ssm.state_size", inner = "qwen35.ssm.inner_size",
                    v_heads = "qwen35.ssm.time_step_rank", k_heads = "qwen35.ssm.group_count";
  DeltaShape s;
  s.head_dim = size_within(file, dim, kUnit, kMostFeatures);
  if (s.head_dim % kUnit != 0)
    fail(file, fmt::format("{} is {}, wanted a multiple of {}", dim, s.head_dim, kUnit));
  s.n_head_k = size_within(file, k_heads, 1, kMostHeads);
  s.n_head_v = size_within(file, v_heads, 1, kMostHeads);
  if (s.n_head_v % s.n_head_k != 0)
    fail(file, fmt::format("{} is {}, wanted a multiple of the {} of {}", v_heads, s.n_head_v, s.n_head_k,
                           k_heads));
  s.n_conv = size_within(file, "qwen35.ssm.conv_kernel", 2, kMostConv);
  if (const uint32_t n = file.get_u32(inner); n != s.inner())
    fail(file, fmt::format("{} is {}, wanted {}, which is {} heads of {}", inner, n, s.inner(), s.n_head_v,
                           s.head_dim));
  return s;
}

// Positions of text are the same in all sections, which have to cover what is rotated.
void check_sections(const Checkpoint& file, const Config& c) {
  const std::string key = "qwen35.rope.dimension_sections";
  const std::vector<int32_t> sections = file.find_ints(key);
  const auto in_range = [&](int32_t n) { return n >= 0 && static_cast<uint32_t>(n) <= c.ropes[0].dim; };
  if (sections.empty() || sections.size() > 4 || !std::ranges::all_of(sections, in_range) ||
      static_cast<uint32_t>(std::reduce(sections.begin(), sections.end())) * 2 != c.ropes[0].dim)
    fail(file, fmt::format("{} is [{}], wanted up to 4 numbers whose sum is {}", key,
                           fmt::join(sections, ", "), c.ropes[0].dim / 2));
}

// Which layers have no attention.
std::vector<bool> recurrent_layers(const Checkpoint& file, uint32_t n_layer) {
  const std::string listed = "qwen35.attention.recurrent_layers", every = "qwen35.full_attention_interval";
  std::vector<bool> recurrent(n_layer);
  if (file.find(listed)) {
    const std::vector<int32_t> list = file.find_ints(listed);
    if (list.size() < n_layer)
      fail(file, fmt::format("{} has {} elements, wanted one for each of the {} layers", listed, list.size(),
                             n_layer));
    for (uint32_t i = 0; i < n_layer; ++i) recurrent[i] = list[i] != 0;
    return recurrent;
  }
  constexpr uint32_t kUsual = 4;
  const uint32_t interval = file.find_u32(every).value_or(kUsual);
  if (interval == 0) fail(file, every + " is 0, wanted a number above 0");
  for (uint32_t i = 0; i < n_layer; ++i) recurrent[i] = (i + 1) % interval != 0;
  return recurrent;
}

// At most 0, so that nothing that is remembered grows.
const GgufTensor* decay_of(const Checkpoint& file, const Tensors& t, const std::string& name, uint32_t n) {
  const GgufTensor* tensor = t.vector(name, n);
  for (uint32_t i = 0; i < n; ++i) {
    float value = 0;
    std::memcpy(&value, tensor->data.data() + i * sizeof value, sizeof value);
    if (value > 0) fail(file, fmt::format("tensor {}: value {} is {}, wanted at most 0", name, i, value));
  }
  return tensor;
}

void add_delta(const Checkpoint& file, const Config& c, uint32_t index, FileBlock& block) {
  const Tensors t(file, index);
  const DeltaShape& s = c.layers[index].delta;
  block.delta.shape = s;
  block.delta.qkvz = t.projections(c.n_embd, {{"attn_qkv", s.channels()}, {"attn_gate", s.inner()}});
  block.delta.gates = t.projections(c.n_embd, {{"ssm_alpha", s.n_head_v}, {"ssm_beta", s.n_head_v}});
  block.delta.input.conv = t.float_rows("ssm_conv1d", s.n_conv, s.channels());
  block.delta.input.time_bias = t.vector(fmt::format("blk.{}.ssm_dt.bias", index), s.n_head_v);
  block.delta.input.decay = decay_of(file, t, fmt::format("blk.{}.ssm_a", index), s.n_head_v);
  block.delta.input.norm = t.norm("ssm_norm", s.head_dim, c.norm_epsilon);
  block.attention.out = t.projections(s.inner(), {{"ssm_out", c.n_embd}});
  const GgufTensor& out = *block.attention.out.parts[0];
  const uint32_t multiple = find_file_type(out.type)->trits ? 128 : 64;
  if (s.inner() % multiple != 0)
    fail(file, fmt::format("qwen35.ssm.inner_size is {}, wanted a multiple of {} for {} of type {}",
                           s.inner(), multiple, out.name, shown_name(out.type)));
}

void add_attention(const Checkpoint& file, const Config& c, uint32_t index, FileBlock& block) {
  const Tensors t(file, index);
  const uint64_t q = uint64_t{c.n_head} * c.head_dim, kv = uint64_t{c.n_head_kv} * c.head_dim;
  auto& attention = block.attention;
  attention.shape = c.attention_shape();
  const Tensors::Split split = t.split_heads(c.n_embd, {"attn_q", q}, c.head_dim);
  attention.gate = split.second;
  attention.qkv = t.stacked_behind(split.first, c.n_embd, {{"attn_k", kv}, {"attn_v", kv}});
  attention.input.q_norm = t.norm("attn_q_norm", c.head_dim, c.norm_epsilon);
  attention.input.k_norm = t.norm("attn_k_norm", c.head_dim, c.norm_epsilon);
  attention.out = t.projections(q, {{"attn_output", c.n_embd}});
}

}  // namespace

void read_qwen35(const Checkpoint& file, Config& c) {
  c.activation_reason = "general.architecture is qwen35";
  read_rope_scaling(file, c);
  check_sections(file, c);
  const std::string nextn = "qwen35.nextn_predict_layers";
  const uint32_t skipped = file.find_u32(nextn).value_or(0);  // which guess the token after the next one
  if (skipped >= c.n_layer)
    fail(file, fmt::format("{} is {}, wanted less than the {} layers", nextn, skipped, c.n_layer));
  c.n_layer -= skipped;
  const DeltaShape delta = read_delta(file);
  for (const bool recurrent : recurrent_layers(file, c.n_layer)) {
    c.layers.push_back({.n_ff = c.n_ff});
    if (recurrent) c.layers.back().delta = delta;
  }
}

FileBlock qwen35_block(const Checkpoint& file, const Config& c, uint32_t index) {
  const Tensors t(file, index);
  FileBlock block;
  block.attention.pre = t.norm("attn_norm", c.n_embd, c.norm_epsilon);
  block.attention.kv_of = index;
  if (c.layers[index].delta.n_head_v != 0)
    add_delta(file, c, index, block);
  else
    add_attention(file, c, index, block);
  block.ffn.pre = t.norm("post_attention_norm", c.n_embd, c.norm_epsilon);
  block.ffn.gate_up = t.projections(c.n_embd, {{"ffn_gate", c.n_ff}, {"ffn_up", c.n_ff}});
  block.ffn.down = t.projections(c.n_ff, {{"ffn_down", c.n_embd}});
  return block;
}

}  // namespace bitnet
