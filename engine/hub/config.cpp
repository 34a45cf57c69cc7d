#include "config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace bitnet::hub {
namespace {

struct Family {
  std::string_view name;  // architectures[0]
  const char* architecture;
  std::string_view act;  // hidden_act; empty: as the file says
};
constexpr Family kFamilies[] = {
    {"BitNetForCausalLM", "bitnet-b1.58", ""}, {"BitnetForCausalLM", "bitnet", ""},
    {"LlamaForCausalLM", "llama", "silu"},     {"Qwen2ForCausalLM", "qwen2", "silu"},
    {"Qwen3ForCausalLM", "qwen3", "silu"},     {"Gemma3ForCausalLM", "gemma3", "gelu_pytorch_tanh"},
    {"GPT2LMHeadModel", "gpt2", "gelu_new"},   {"Phi3ForCausalLM", "phi3", "silu"},
};

const Family& family_of(const Fields& f) {
  const json& names = f.get("architectures");
  if (!names.is_array() || names.size() != 1 || !names[0].is_string())
    f.fail("architectures", fmt::format("wanted a list of one name, got {}", shown(names)));
  const auto name = names[0].get<std::string>();
  const Family* found = std::ranges::find(kFamilies, name, &Family::name);
  if (found != std::end(kFamilies)) return *found;
  std::vector<std::string_view> known;
  for (const Family& family : kFamilies) known.push_back(family.name);
  f.fail("architectures",
         fmt::format("wanted one of {}, got \"{}\"", fmt::join(known, ", "), printable(name)));
}

// Fields that would change what a model computes, in a way that is not there.
void refuse(const Fields& f, const char* name) {
  if (f.find_flag(name).value_or(false)) f.fail(name, "wanted false, got true, which cannot be run");
}

void read_act(const Fields& f, const Family& family, Metadata& to) {
  const char* name = family.architecture == std::string_view("gpt2") ? "activation_function"
                     : f.find("hidden_activation")                   ? "hidden_activation"
                                                                     : "hidden_act";
  const auto act = f.find_text(name);
  if (!act) return;
  if (family.act.empty())
    to.text(fmt::format("{}.hidden_activation", family.architecture), *act);
  else if (*act != family.act)
    f.fail(name, fmt::format("wanted \"{}\", got \"{}\"", family.act, printable(*act)));
}

// LLaMA 3.1's factors: fast pairs of features keep their speed, slow ones are slowed down, and those between
// are blended.
std::vector<float> llama3_factors(const Fields& rope, double base, uint32_t head_dim) {
  const double factor = rope.get_real("factor"), low = rope.get_real("low_freq_factor"),
               high = rope.get_real("high_freq_factor"),
               original = rope.get_whole("original_max_position_embeddings");
  if (!(factor > 0 && low > 0 && high > low && original > 0))
    rope.fail("factor", "wanted factors above 0 and low_freq_factor below high_freq_factor, got others");
  std::vector<float> factors;
  for (uint32_t i = 0; i < head_dim / 2; ++i) {
    const double length = 2 * std::numbers::pi * std::pow(base, 2.0 * i / head_dim);  // of a turn, in tokens
    const double share = std::clamp((original / length - low) / (high - low), 0.0, 1.0);
    factors.push_back(static_cast<float>(1 / (share + (1 - share) / factor)));
  }
  return factors;
}

struct Rope {
  const Fields& fields;  // of the file
  std::string key;       // "llama.rope."
  uint32_t head_dim;
};

// Phi-3's: two lists of divisors, and a factor of the scores that follows from how far they stretch.
void read_long_rope(const Rope& r, const Fields& rope, Config& c, Metadata& to) {
  for (const char* length : {"long", "short"}) {
    const std::string name = fmt::format("{}_factor", length);
    const json& list = rope.get(name.c_str());
    const auto is_number = [](const json& value) { return value.is_number(); };
    if (!list.is_array() || list.empty() || !std::ranges::all_of(list, is_number))
      rope.fail(name, fmt::format("wanted a list of numbers, got {}", shown(list)));
    auto factors = list.get<std::vector<float>>();
    c.rope_factors.emplace_back(fmt::format("rope_factors_{}.weight", length), std::move(factors));
  }
  const uint32_t context = r.fields.get_whole("max_position_embeddings");
  const auto trained = rope.find_whole("original_max_position_embeddings");
  const uint32_t original = trained ? *trained : r.fields.get_whole("original_max_position_embeddings");
  const double stretched = static_cast<double>(context) / original;
  const double usual = stretched > 1 ? std::sqrt(1 + std::log(stretched) / std::log(original)) : 1;
  to.whole(r.key + "scaling.original_context_length", original);
  to.real(r.key + "scaling.attn_factor",
          rope.find_real("attention_factor").value_or(static_cast<float>(usual)));
}

void read_scaling(const Rope& r, const Fields& rope, float base, Config& c, Metadata& to) {
  const char* name = rope.find("rope_type") ? "rope_type" : "type";
  const std::string type = rope.find_text(name).value_or("default");
  if (type == "default") return;
  if (type == "llama3") {
    c.rope_factors.emplace_back("rope_freqs.weight", llama3_factors(rope, base, r.head_dim));
    return;
  }
  if (c.architecture == "phi3" && (type == "longrope" || type == "su")) return read_long_rope(r, rope, c, to);
  if (type != "linear" && type != "yarn")
    rope.fail(name, fmt::format("wanted default, linear, llama3 or yarn, got \"{}\"", printable(type)));
  const float factor = rope.get_real("factor");
  to.text(r.key + "scaling.type", type);
  to.real(r.key + "scaling.factor", factor);
  if (type == "linear") return;
  if (const auto n = rope.find_whole("original_max_position_embeddings"))
    to.whole(r.key + "scaling.original_context_length", *n);
  if (const auto n = rope.find_real("beta_fast")) to.real(r.key + "scaling.yarn_beta_fast", *n);
  if (const auto n = rope.find_real("beta_slow")) to.real(r.key + "scaling.yarn_beta_slow", *n);
  if (const auto n = rope.find_real("attention_factor"))  // in GGUF, beside the usual one
    to.real(r.key + "scaling.attn_factor", *n / (1 + 0.1F * std::log(std::max(1.0F, factor))));
  for (const char* other : {"mscale", "mscale_all_dim"})
    if (rope.find(other)) rope.fail(other, "wanted none, got one, which cannot be run");
}

// rope_theta and rope_scaling, which newer files have together in rope_parameters.
void read_rope(const Rope& r, Config& c, Metadata& to) {
  auto rope = r.fields.find_object("rope_parameters");
  auto local = rope ? rope->find_object("sliding_attention") : std::nullopt;
  if (rope && rope->find("full_attention")) rope.emplace(*rope->find_object("full_attention"));
  const bool together = rope.has_value();
  if (!rope) rope = r.fields.find_object("rope_scaling");
  const float base = (together ? rope->find_real("rope_theta") : r.fields.find_real("rope_theta"))
                         .value_or(c.architecture == "gemma3" ? 1e6F : 1e4F);
  to.real(r.key + "freq_base", base);
  if (c.architecture == "llama") to.flag(r.key + "interleaved", false);
  const auto local_base = local ? local->find_real("rope_theta") : r.fields.find_real("rope_local_base_freq");
  if (local_base) to.real(r.key + "freq_base_swa", *local_base);
  const float rotated = r.fields.find_real("partial_rotary_factor").value_or(1);
  if (!(rotated > 0 && rotated <= 1)) r.fields.fail("partial_rotary_factor", "wanted a number of 0 to 1");
  to.whole(r.key + "dimension_count", static_cast<uint32_t>(static_cast<float>(r.head_dim) * rotated));
  if (rope) read_scaling(r, *rope, base, c, to);
}

void read_gpt2(const Fields& f, Metadata& to) {
  const uint32_t n_embd = f.get_whole("n_embd");
  to.whole("gpt2.context_length", f.get_whole("n_positions"));
  to.whole("gpt2.embedding_length", n_embd);
  to.whole("gpt2.block_count", f.get_whole("n_layer"));
  to.whole("gpt2.feed_forward_length", f.find_whole("n_inner").value_or(4 * n_embd));
  to.whole("gpt2.attention.head_count", f.get_whole("n_head"));
  to.real("gpt2.attention.layer_norm_epsilon", f.find_real("layer_norm_epsilon").value_or(1e-5F));
  refuse(f, "scale_attn_by_inverse_layer_idx");
  if (!f.find_flag("scale_attn_weights").value_or(true))
    f.fail("scale_attn_weights", "wanted true, got false");
}

void read_gemma3(const Fields& f, Metadata& to) {
  for (const char* cap : {"final_logit_softcapping", "attn_logit_softcapping"})
    if (f.find(cap)) f.fail(cap, "wanted none, got one, which cannot be run");
  to.whole("gemma3.attention.sliding_window", f.get_whole("sliding_window"));
  constexpr const char* kKey = "gemma3.attention.sliding_window_pattern";
  const json* types = f.find("layer_types");
  if (!types) {
    to.whole(kKey, f.find_whole("sliding_window_pattern").value_or(6));
    return;
  }
  if (!types->is_array()) f.fail("layer_types", fmt::format("wanted a list, got {}", shown(*types)));
  std::vector<int32_t> local;
  for (const json& type : *types) {
    if (type != "full_attention" && type != "sliding_attention")
      f.fail("layer_types", fmt::format("wanted full_attention or sliding_attention, got {}", shown(type)));
    local.push_back(type == "sliding_attention" ? 1 : 0);
  }
  to.wholes(kKey, local);
}

void read_sizes(const Fields& f, Config& c, Metadata& to) {
  const std::string a = c.architecture + ".";
  const uint32_t n_embd = f.get_whole("hidden_size"), n_head = f.get_whole("num_attention_heads");
  if (n_head == 0) f.fail("num_attention_heads", "wanted at least 1, got 0");
  to.whole(a + "context_length", f.get_whole("max_position_embeddings"));
  to.whole(a + "embedding_length", n_embd);
  to.whole(a + "block_count", f.get_whole("num_hidden_layers"));
  to.whole(a + "feed_forward_length", f.get_whole("intermediate_size"));
  to.whole(a + "attention.head_count", n_head);
  to.whole(a + "attention.head_count_kv", f.find_whole("num_key_value_heads").value_or(n_head));
  to.real(a + "attention.layer_norm_rms_epsilon", f.find_real("rms_norm_eps").value_or(1e-6F));
  const auto head_dim = f.find_whole("head_dim");
  if (head_dim) {
    to.whole(a + "attention.key_length", *head_dim);
    to.whole(a + "attention.value_length", *head_dim);
  }
  constexpr uint32_t kMostHead = 1 << 16;
  read_rope({f, a + "rope.", std::min(head_dim.value_or(n_embd / n_head), kMostHead)}, c, to);
  if (c.architecture == "phi3")
    to.whole("phi3.attention.sliding_window", f.find_whole("sliding_window").value_or(0));
  refuse(f, "use_sliding_window");
}

void read_quantisation(const Fields& f, Config& c) {
  const bool bitnet = c.architecture.starts_with("bitnet");
  c.ternary = bitnet;
  c.not_converted = {"lm_head"};
  const auto q = f.find_object("quantization_config");
  if (!q) return;
  if (const std::string method = q->get_text("quant_method"); method != "bitnet")
    q->fail("quant_method", fmt::format("wanted bitnet, got \"{}\"", printable(method)));
  c.ternary = true;
  const std::string kind = q->find_text("linear_class").value_or("bitlinear");
  if (kind != "bitlinear" && kind != "autobitlinear")
    q->fail("linear_class", fmt::format("wanted bitlinear or autobitlinear, got \"{}\"", printable(kind)));
  c.divides = kind == "bitlinear";
  refuse(*q, "use_rms_norm");
  const json* names = q->find("modules_to_not_convert");
  if (names && !names->is_array())
    q->fail("modules_to_not_convert", fmt::format("wanted a list, got {}", shown(*names)));
  for (size_t i = 0; names && i < names->size(); ++i) {
    if (!(*names)[i].is_string())
      q->fail("modules_to_not_convert", fmt::format("wanted names, got {}", shown((*names)[i])));
    c.not_converted.push_back((*names)[i].get<std::string>());
  }
}

}  // namespace

Config read_config(const Fields& f, Metadata& to) {
  const Family& family = family_of(f);
  Config c;
  c.architecture = family.architecture;
  to.text("general.architecture", c.architecture);
  c.n_vocab = f.get_whole("vocab_size");
  to.whole(c.architecture + ".vocab_size", c.n_vocab);
  read_act(f, family, to);
  if (c.architecture == "gpt2") {
    read_gpt2(f, to);
    c.transposed = true;
  } else {
    read_sizes(f, c, to);
  }
  if (c.architecture == "gemma3") {
    read_gemma3(f, to);
    c.norm_offset = 1;
  }
  c.tied_head =
      f.find_flag("tie_word_embeddings").value_or(c.architecture == "gpt2" || c.architecture == "gemma3");
  read_quantisation(f, c);
  return c;
}

}  // namespace bitnet::hub
