// Gemma 3 (arXiv 2503.19786) and the dense models of Gemma 4: norms behind attention and feed-forward too,
// norms of heads, layers with a window between those that see everything, and embeddings times sqrt(n_embd).
// Gemma 4 adds heads of another size in its global layers, scores without a scale, keys that are values as
// well, layers that use the keys and values of an earlier one, a scale for each layer, a cap on the logits,
// and in E2B and E4B an input for each layer.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "families.h"
#include "rope.h"
#include "tensors.h"

namespace bitnet {
namespace {

constexpr uint32_t kGlobal = 0, kLocal = 1;  // of Config::ropes

std::string key_of(const Config& c, const char* name) { return c.architecture + "." + name; }

// What both have. Afterwards each layer has the shape of the whole model's heads, and its window.
void read_gemma(const Checkpoint& file, Config& c) {
  c.act = Act::gelu;
  c.activation_reason = "general.architecture is " + c.architecture;
  c.embedding_scale = std::sqrt(static_cast<float>(c.n_embd));
  read_rope_scaling(file, c);
  const std::string cap = key_of(c, "attn_logit_softcapping"), window = key_of(c, "attention.sliding_window"),
                    pattern = key_of(c, "attention.sliding_window_pattern");
  if (file.find_f32(cap).value_or(0) != 0) fail(file, cap + " is not 0; scores with a cap cannot be run");
  const uint32_t n_window = file.get_u32(window);
  if (n_window == 0) fail(file, window + " is 0, wanted a number above 0");

  const GgufValue* value = file.find(pattern);
  const bool is_array = value && value->type == GgufType::array;
  const std::vector<int32_t> local = is_array ? file.find_ints(pattern) : std::vector<int32_t>();
  const uint32_t every = is_array ? 0 : file.find_u32(pattern).value_or(6);
  if (is_array ? local.size() < c.n_layer : every == 0)
    fail(file, fmt::format("{} does not tell of all layers, wanted {}", pattern, c.n_layer));
  for (uint32_t i = 0; i < c.n_layer; ++i) {
    const bool is_local = is_array ? local[i] != 0 : (i + 1) % every != 0;
    Layer layer{
        .heads = c.attention_shape(), .rope = is_local ? kLocal : kGlobal, .kv_of = i, .n_ff = c.n_ff};
    layer.heads.window = is_local ? n_window : 0;
    c.layers.push_back(layer);
  }
}

// Which layers project no keys and values but use those of an earlier one, the last of their kind that has
// its own.
void share_keys(const Checkpoint& file, Config& c) {
  const std::string key = key_of(c, "attention.shared_kv_layers");
  const uint32_t shared = file.find_u32(key).value_or(0);
  if (shared >= c.n_layer)
    fail(file, fmt::format("{} is {}, wanted fewer than the {} layers", key, shared, c.n_layer));
  const auto first = c.layers.begin() + (c.n_layer - shared);
  for (auto layer = first; layer != c.layers.end(); ++layer) {
    const auto own = std::find_if(std::reverse_iterator(first), c.layers.rend(),
                                  [&](const Layer& l) { return l.rope == layer->rope; });
    if (own == c.layers.rend())
      fail(file, fmt::format("{} is {}, wanted an earlier layer whose keys layer {} could use", key, shared,
                             layer - c.layers.begin()));
    layer->kv_of = own->kv_of;
    layer->heads.n_head_kv = own->heads.n_head_kv;
    layer->heads.rows = AttentionRows::q;
  }
}

FileBlock gemma_block(const Checkpoint& file, const Config& c, uint32_t index) {
  const Tensors t(file, index);
  const Layer& layer = c.layers[index];
  FileBlock block = gated_block(file, c, index, layer.heads, layer.n_ff);
  block.attention.rope = layer.rope;
  block.attention.kv_of = layer.kv_of;
  block.attention.input.q_norm = t.norm("attn_q_norm", layer.heads.head_dim, c.norm_epsilon);
  if (layer.heads.rows != AttentionRows::q)
    block.attention.input.k_norm = t.norm("attn_k_norm", layer.heads.head_dim, c.norm_epsilon);
  block.attention.post = t.norm("post_attention_norm", c.n_embd, c.norm_epsilon);
  block.ffn.post = t.norm("post_ffw_norm", c.n_embd, c.norm_epsilon);
  return block;
}

}  // namespace

void read_gemma3(const Checkpoint& file, Config& c) {
  read_gemma(file, c);
  c.ropes.push_back(read_rope(file, c, "_swa", c.head_dim));
  constexpr uint32_t kLayersOf27B = 62;
  for (Layer& layer : c.layers) {
    layer.heads.rope_dim = c.ropes[layer.rope].dim;
    if (c.n_layer == kLayersOf27B)
      layer.heads.scale = 1 / std::sqrt(static_cast<float>(c.n_embd) / static_cast<float>(c.n_head));
  }
}

FileBlock gemma3_block(const Checkpoint& file, const Config& c, uint32_t index) {
  return gemma_block(file, c, index);
}

void read_gemma4(const Checkpoint& file, Config& c) {
  read_gemma(file, c);
  const std::string key_length = key_of(c, "attention.key_length_swa");
  const uint32_t local_dim = file.find_u32(key_length).value_or(c.head_dim);
  if (local_dim == 0 || local_dim % 8 != 0 || local_dim > 512 || c.n_head * local_dim % 64 != 0)
    fail(file, fmt::format("{} is {}, wanted a multiple of 8 up to 512", key_length, local_dim));
  c.ropes.push_back(read_rope(file, c, "_swa", local_dim));

  const auto n_ff = layer_sizes(file, key_of(c, "feed_forward_length"), c.n_layer, 1 << 18),
             n_head_kv = layer_sizes(file, key_of(c, "attention.head_count_kv"), c.n_layer, 1 << 10);
  for (uint32_t i = 0; i < c.n_layer; ++i) {
    Layer& layer = c.layers[i];
    layer.n_ff = n_ff[i];
    layer.heads.n_head_kv = n_head_kv[i];
    layer.heads.scale = 1;
    if (c.n_head % n_head_kv[i] != 0 || n_ff[i] % 64 != 0)
      fail(file, fmt::format("layer {} has {} heads over {} of keys and {} features in its feed-forward", i,
                             c.n_head, n_head_kv[i], n_ff[i]));
    if (layer.rope == kLocal) {
      layer.heads.head_dim = local_dim;
      layer.heads.rope_dim = c.ropes[kLocal].dim;
    }
    if (!file.find_tensor(fmt::format("blk.{}.attn_v.weight", i))) layer.heads.rows = AttentionRows::qk;
  }
  share_keys(file, c);

  const std::string cap = key_of(c, "final_logit_softcapping"),
                    per_layer = key_of(c, "embedding_length_per_layer_input");
  c.logit_softcap = file.find_f32(cap).value_or(30);
  if (!(c.logit_softcap >= 0 && std::isfinite(c.logit_softcap)))
    fail(file, fmt::format("{} is {}, wanted 0 or a number above 0", cap, c.logit_softcap));
  c.n_per_layer = file.find_u32(per_layer).value_or(0);
  if (c.n_per_layer % 32 != 0 || c.n_per_layer > 1 << 12)
    fail(file, fmt::format("{} is {}, wanted a multiple of 32 up to 4096", per_layer, c.n_per_layer));
  c.suppressed_tokens = file.find_ints("tokenizer.ggml.suppress_tokens");
  for (const int32_t id : c.suppressed_tokens)
    if (id < 0 || static_cast<uint32_t>(id) >= c.n_vocab)
      fail(file,
           fmt::format("tokenizer.ggml.suppress_tokens has {}, wanted a token below {}", id, c.n_vocab));
}

FileBlock gemma4_block(const Checkpoint& file, const Config& c, uint32_t index) {
  const Tensors t(file, index);
  FileBlock block = gemma_block(file, c, index);
  if (block.attention.shape.rows != AttentionRows::q)
    block.attention.input.v_norm = rms_of<const GgufTensor*>(nullptr, c.norm_epsilon);
  block.scale = t.number("layer_output_scale").value_or(1.0F);
  if (c.n_per_layer == 0) return block;
  block.per_layer.gate = t.projections(c.n_embd, {{"inp_gate", c.n_per_layer}});
  block.per_layer.proj = t.projections(c.n_per_layer, {{"proj", c.n_embd}});
  block.per_layer.post = t.norm("post_norm", c.n_embd, c.norm_epsilon);
  return block;
}

void gemma4_whole(const Checkpoint& file, ModelFile& m) {
  const Config& c = m.config;
  if (c.n_per_layer == 0) return;
  const Tensors t(file);
  const uint64_t all = uint64_t{c.n_layer} * c.n_per_layer;
  m.per_layer_embd = t.table("per_layer_token_embd", all, c.n_vocab);
  m.per_layer_proj = t.projections(c.n_embd, {{"per_layer_model_proj", all}});
  m.per_layer_norm = t.norm("per_layer_proj_norm", c.n_per_layer, c.norm_epsilon);
}

}  // namespace bitnet
