#include "names.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>

namespace bitnet::hub {
namespace {

struct Name {
  std::string_view hub, gguf;
  bool projection = false;
};

constexpr Name kOutside[] = {{"embed_tokens", "token_embd"}, {"norm", "output_norm"},
                             {"lm_head", "output"},          {"wte", "token_embd"},
                             {"wpe", "position_embd"},       {"ln_f", "output_norm"}};

constexpr Name kInBlocks[] = {
    {"input_layernorm", "attn_norm"},
    {"self_attn.q_proj", "attn_q", true},
    {"self_attn.k_proj", "attn_k", true},
    {"self_attn.v_proj", "attn_v", true},
    {"self_attn.o_proj", "attn_output", true},
    {"self_attn.qkv_proj", "attn_qkv", true},  // phi3
    {"self_attn.q_norm", "attn_q_norm"},
    {"self_attn.k_norm", "attn_k_norm"},
    {"self_attn.attn_sub_norm", "attn_sub_norm"},
    {"self_attn.inner_attn_ln", "attn_sub_norm"},  // of 1bitLLM
    {"post_attention_layernorm", "ffn_norm"},
    {"mlp.gate_proj", "ffn_gate", true},
    {"mlp.up_proj", "ffn_up", true},
    {"mlp.down_proj", "ffn_down", true},
    {"mlp.gate_up_proj", "ffn_up", true},  // phi3
    {"mlp.ffn_sub_norm", "ffn_sub_norm"},
    {"mlp.ffn_layernorm", "ffn_sub_norm"},  // of 1bitLLM
    {"ln_1", "attn_norm"},                  // from here on gpt2
    {"attn.c_attn", "attn_qkv", true},
    {"attn.c_proj", "attn_output", true},
    {"ln_2", "ffn_norm"},
    {"mlp.c_fc", "ffn_up", true},
    {"mlp.c_proj", "ffn_down", true},
};

// Gemma 3 has norms before and after each half of a block.
constexpr Name kOfGemma[] = {{"post_attention_layernorm", "post_attention_norm"},
                             {"pre_feedforward_layernorm", "ffn_norm"},
                             {"post_feedforward_layernorm", "post_ffw_norm"}};

template <size_t n>
const Name* find(const Name (&names)[n], std::string_view name) {
  const Name* found = std::ranges::find(names, name, &Name::hub);
  return found == std::end(names) ? nullptr : found;
}

bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

}  // namespace

std::optional<Place> place_of(std::string_view architecture, std::string_view name) {
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::string_view part = name.substr(dot + 1);
  if (part != "weight" && part != "bias" && part != "weight_scale") return std::nullopt;
  std::string_view base = name.substr(0, dot);
  if (!take(base, "model.")) take(base, "transformer.");
  if (!take(base, "layers.") && !take(base, "h.")) {
    const Name* found = find(kOutside, base);
    if (!found) return std::nullopt;
    return Place{std::string(found->gguf), std::string(part), false};
  }
  uint32_t block = 0;
  const auto [end, error] =
      std::from_chars(base.data(), base.data() + std::min<size_t>(base.size(), 5), block);
  if (error != std::errc() || end == base.data() + base.size() || *end != '.') return std::nullopt;
  if (base[0] == '0' && end != base.data() + 1) return std::nullopt;  // two names would be one
  base.remove_prefix(static_cast<size_t>(end - base.data()) + 1);
  const Name* found = architecture == "gemma3" ? find(kOfGemma, base) : nullptr;
  if (!found) found = find(kInBlocks, base);
  if (!found) return std::nullopt;
  return Place{fmt::format("blk.{}.{}", block, found->gguf), std::string(part), found->projection};
}

bool is_no_weight(std::string_view name) {
  return name.ends_with(".rotary_emb.inv_freq") || name.ends_with(".attn.bias") ||
         name.ends_with(".attn.masked_bias");
}

}  // namespace bitnet::hub
