#include "families.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "engine/can_run.h"
#include "engine/hash_text.h"
#include "engine/layouts/blocks.h"
#include "engine/layouts/file_types.h"
#include "rope.h"
#include "tensors.h"

namespace bitnet {
namespace {

constexpr Family kFamilies[] = {
    {"bitnet-b1.58", read_bitnet, bitnet_block},
    {"bitnet-25", read_bitnet, bitnet_block},
    {"bitnet-1.58", read_bitnet, bitnet_block},
    {"bitnet", read_bitnet, bitnet_block},
    {"llama", read_llama, llama_block},
    {"qwen2", read_qwen, qwen2_block},
    {"qwen3", read_qwen, qwen3_block},
    {"qwen3moe", read_qwen, qwen3moe_block, nullptr, true},
    {"qwen35", read_qwen35, qwen35_block},
    {"maple", read_maple, maple_block, nullptr, true},
    {"gpt2", read_gpt2, gpt2_block, gpt2_whole},
    {"gemma3", read_gemma3, gemma3_block},
    {"gemma4", read_gemma4, gemma4_block, gemma4_whole},
    {"phi3", read_phi3, phi3_block},
};

const Family& family_of(const Checkpoint& file) {
  const std::string architecture = file.get_string("general.architecture");
  const auto* found = std::find_if(std::begin(kFamilies), std::end(kFamilies),
                                   [&](const Family& f) { return f.architecture == architecture; });
  if (found != std::end(kFamilies)) return *found;
  if (architecture == "clip")
    fail(file,
         "this is the part of a model that sees images (clip), which cannot be run; give the file of its "
         "language model");
  std::vector<const char*> names;
  for (const Family& f : kFamilies) names.push_back(f.architecture);
  fail(file, fmt::format("general.architecture is \"{}\", wanted one of {}", printable(architecture),
                         fmt::join(names, ", ")));
}

// A size from the metadata. The bounds keep every product of two of them in 64 bits and every dispatch in 32.
uint32_t get_size(const Checkpoint& file, const std::string& key, uint32_t most) {
  const uint32_t value = file.get_u32(key);
  if (value == 0 || value > most) fail(file, fmt::format("{} is {}, wanted 1 to {}", key, value, most));
  return value;
}

std::string old_fingerprint(const Checkpoint& file) {
  XXH3_state_t* state = XXH3_createState();
  XXH3_128bits_reset(state);
  const uint64_t size = file.size();
  XXH3_128bits_update(state, &size, sizeof size);
  for (const auto& [key, value] : file.metadata()) {
    XXH3_128bits_update(state, key.data(), key.size());
    XXH3_128bits_update(state, value.raw.data(), value.raw.size());
  }
  constexpr size_t kSample = 4096;  // of each tensor's beginning and end
  for (const auto& tensor : file.tensors()) {
    const size_t n = std::min(kSample, tensor.data.size());
    XXH3_128bits_update(state, tensor.data.data(), n);
    XXH3_128bits_update(state, tensor.data.data() + tensor.data.size() - n, n);
  }
  const XXH128_hash_t hash = XXH3_128bits_digest(state);
  XXH3_freeState(state);
  return text_of_hash(hash);
}

// The keys of experts. Of what such models may have beside them, what is not known is refused.
void read_experts(const Checkpoint& file, Config& c) {
  const auto key = [&](const char* name) { return c.architecture + "." + name; };
  constexpr uint32_t kMostExperts = 1024, kMostUsed = 32, kSoftmax = 1, kSigmoid = 2;
  c.n_expert = get_size(file, key("expert_count"), kMostExperts);
  c.n_expert_used = get_size(file, key("expert_used_count"), std::min(c.n_expert, kMostUsed));
  c.n_ff = std::ranges::max(layer_sizes(file, key("expert_feed_forward_length"), c.n_layer, 1 << 18));
  const uint32_t gating = file.find_u32(key("expert_gating_func")).value_or(kSoftmax);
  if (gating != kSoftmax && gating != kSigmoid)
    fail(file, fmt::format("{} is {}, wanted {} (softmax) or {} (sigmoid)", key("expert_gating_func"), gating,
                           kSoftmax, kSigmoid));
  c.routing = {gating == kSigmoid, file.find_bool(key("expert_weights_norm")).value_or(true),
               file.find_f32(key("expert_weights_scale")).value_or(1)};
  if (!(c.routing.scale > 0 && std::isfinite(c.routing.scale)))
    fail(file,
         fmt::format("{} is {}, wanted a number above 0", key("expert_weights_scale"), c.routing.scale));
  for (const char* name : {"expert_shared_count", "expert_shared_feed_forward_length"})
    if (const uint32_t n = file.find_u32(key(name)).value_or(0); n != 0)
      fail(file, fmt::format("{} is {}; shared experts cannot be run", key(name), n));
  if (const uint32_t n = file.find_u32(key("expert_group_count")).value_or(1); n > 1)
    fail(file, fmt::format("{} is {}; groups of experts cannot be run", key("expert_group_count"), n));
  for (const GgufTensor& t : file.tensors()) {
    if (t.name.find("_shexp.") != std::string::npos)
      fail(file, fmt::format("tensor {} is of a shared expert, which cannot be run", printable(t.name)));
    if (t.name.find("exp_probs_b") != std::string::npos || t.name.find("_exps.bias") != std::string::npos ||
        t.name.find("ffn_gate_inp.bias") != std::string::npos)
      fail(file, fmt::format("tensor {} is a bias of experts, which cannot be run", printable(t.name)));
  }
}

void read_sizes(const Checkpoint& file, bool experts, Config& c) {
  const auto key = [&](const char* name) { return c.architecture + "." + name; };
  // No session is longer than that, whatever a model was trained for.
  constexpr uint32_t kLongestSession = 1 << 20;
  c.n_ctx_train = std::min(get_size(file, key("context_length"), 1 << 24), kLongestSession);
  c.n_embd = get_size(file, key("embedding_length"), 1 << 16);
  c.n_layer = get_size(file, key("block_count"), 1 << 10);
  if (experts)
    read_experts(file, c);
  else
    c.n_ff = std::ranges::max(layer_sizes(file, key("feed_forward_length"), c.n_layer, 1 << 18));
  c.n_head = get_size(file, key("attention.head_count"), 1 << 10);
  c.n_head_kv = file.find(key("attention.head_count_kv"))
                    ? layer_sizes(file, key("attention.head_count_kv"), c.n_layer, 1 << 10).back()
                    : c.n_head;
  const bool layer_norm = file.find(key("attention.layer_norm_epsilon")) != nullptr;
  const auto epsilon = key(layer_norm ? "attention.layer_norm_epsilon" : "attention.layer_norm_rms_epsilon");
  c.norm_epsilon = file.get_f32(epsilon);
  if (!(c.norm_epsilon >= 0 && c.norm_epsilon < 1))
    fail(file, fmt::format("{} is {}, wanted 0 to 1", epsilon, c.norm_epsilon));
  if (const uint32_t n = file.find_u32(key("expert_count")).value_or(0); n != 0 && !experts)
    fail(file, fmt::format("{} is {}; models of this architecture cannot be run with experts (MoE)",
                           key("expert_count"), n));
  if (c.n_head % c.n_head_kv != 0)
    fail(file, fmt::format("{} is {}, wanted a divisor of the {} heads", key("attention.head_count_kv"),
                           c.n_head_kv, c.n_head));
}

bool has_ternary(const Checkpoint& file) {
  return std::ranges::any_of(file.tensors(), [](const GgufTensor& t) {
    const FileType* type = find_file_type(t.type);
    return type && type->trits;
  });
}

void read_heads(const Checkpoint& file, Config& c) {
  const auto key = [&](const char* name) { return c.architecture + "." + name; };
  const auto key_length = file.find_u32(key("attention.key_length"));
  const auto value_length = file.find_u32(key("attention.value_length"));
  if (!key_length && c.n_embd % c.n_head != 0)
    fail(file, fmt::format("{} is {}, wanted a multiple of the {} heads", key("embedding_length"), c.n_embd,
                           c.n_head));
  c.head_dim = key_length.value_or(c.n_embd / c.n_head);
  if (c.head_dim == 0 || c.head_dim % 8 != 0 || c.head_dim > 512)
    fail(file, fmt::format("a head has {} features, wanted a multiple of 8 up to 512", c.head_dim));
  if (value_length.value_or(c.head_dim) != c.head_dim)
    fail(file, fmt::format("{} is {}, wanted {} as for keys", key("attention.value_length"), *value_length,
                           c.head_dim));
  c.ropes[0] = read_rope(file, c, "", c.head_dim);
  const uint32_t multiple = has_ternary(file) ? 128 : 64;
  const char* n_ff = c.n_expert != 0 ? "expert_feed_forward_length" : "feed_forward_length";
  for (const auto& [name, n] : {std::pair("embedding_length", c.n_embd), std::pair(n_ff, c.n_ff),
                                std::pair("attention.head_count * head size", c.n_head * c.head_dim)})
    if (n % multiple != 0)
      fail(file, fmt::format("{} is {}, wanted a multiple of {}", key(name), n, multiple));
}

void read_vocabulary(const Checkpoint& file, Config& c) {
  const GgufTensor* embedding = file.find_tensor("token_embd.weight");
  if (!embedding) fail(file, "tensor token_embd.weight is missing");
  if (embedding->shape.size() != 2 || embedding->shape[1] == 0 || embedding->shape[1] > (1U << 24))
    fail(file, fmt::format("tensor token_embd.weight has shape [{}], wanted [{}, vocabulary]",
                           fmt::join(embedding->shape, ", "), c.n_embd));
  c.n_vocab = static_cast<uint32_t>(embedding->shape[1]);
  const std::string key = c.architecture + ".vocab_size";
  const auto stated = file.find_u32(key);
  if (stated && *stated != c.n_vocab)
    fail(file, fmt::format("{} is {}, wanted {}, the rows of token_embd.weight", key, *stated, c.n_vocab));
  c.tied_head = file.find_tensor("output.weight") == nullptr;
}

uint64_t elements(const GgufTensor& tensor) {
  uint64_t n = 1;
  for (const uint64_t d : tensor.shape) n *= d;
  return n;
}

// The kernels of I2_S take int8 inputs alone, with which the worst cosine of Qwen3.5 is 0.994.
bool needs_finer_inputs(std::string_view architecture, TensorType type) {
  return architecture == "qwen35" && type == TensorType::i2_s;
}

// Kernels for ternary weights know no biases and no GELU, since no such model is known.
void check_ternary(const Checkpoint& file, const FileBlock& b, const Config& c) {
  for (const TensorStack* s : {&b.attention.qkv, &b.attention.gate, &b.delta.qkvz, &b.delta.gates,
                               &b.attention.out, &b.ffn.gate_up, &b.ffn.down})
    if (*s && needs_finer_inputs(c.architecture, s->parts[0]->type))
      fail(file, fmt::format("tensor {} is I2_S, whose inputs have 8 bits, which cannot be run in {}: it "
                             "needs 16, which TQ1_0, TQ2_0 and Q2_0 have there",
                             s->parts[0]->name, c.architecture));
  const auto is_ternary = [](const TensorStack& s) { return s && find_file_type(s.parts[0]->type)->trits; };
  const TensorStack& gate_up = b.ffn.gate_up;
  const auto refuse_with = [&](const TensorStack& s, const char* what) {
    fail(file, fmt::format("tensor {} is ternary, which cannot be run with {}", s.parts[0]->name, what));
  };
  if (is_ternary(gate_up) && (c.act == Act::gelu || !gate_up.parts[1])) refuse_with(gate_up, "GELU");
  if (is_ternary(b.per_layer.gate)) refuse_with(b.per_layer.gate, "GELU");
  for (const TensorStack* s : {&b.attention.out, &gate_up, &b.ffn.down})
    if (is_ternary(*s) && s->biases[0] != nullptr) refuse_with(*s, "a bias");
}

// What `info` tells of the tensors.
void describe(ModelFile& m) {
  Config& c = m.config;
  constexpr Activation kActivations[] = {Activation::relu2, Activation::silu, Activation::gelu};  // as of Act
  c.activation = kActivations[static_cast<size_t>(c.act)];
  c.embedding_type = shown_name(m.token_embd->type);
  c.head_type = shown_name(m.output->type);
  std::vector<std::string> types, inputs;
  const auto add_once = [](std::vector<std::string>& to, const std::string& s) {
    if (std::ranges::find(to, s) == to.end()) to.push_back(s);
  };
  const auto every_128 = [&](TensorType type) {  // as unit_of_input()
    return input_of(c, type) == Input::int16_units && !find_block_type(type) &&
           find_file_type(type)->scale_every % 128 == 0;
  };
  const auto input = [&](TensorType type) {
    const Input rounding = input_of(c, type);
    if (rounding == Input::int8_units) return find_block_type(type) ? "int8 every 32" : "int8 every 64";
    if (rounding == Input::int16_units && find_block_type(type)) return "int16 every 32";
    if (rounding == Input::int16_units) return every_128(type) ? "int16 every 64 or 128" : "int16 every 64";
    return rounding == Input::int8_row ? "int8 a row" : "not rounded";
  };
  const auto count = [&](const TensorStack& stack) {
    if (stack) add_once(inputs, input(stack.parts[0]->type));
    if (stack) c.int16_every_128 |= every_128(stack.parts[0]->type);
    for (const GgufTensor* t : stack.parts) {
      if (!t) continue;
      (find_file_type(t->type)->trits ? c.n_ternary : c.n_dense) += elements(*t);
      add_once(types, shown_name(t->type));
    }
  };
  for (const FileBlock& b : m.blocks)
    for (const TensorStack* s :
         {&b.attention.qkv, &b.attention.gate, &b.delta.qkvz, &b.delta.gates, &b.attention.out,
          &b.ffn.gate_up, &b.ffn.down, &b.per_layer.gate, &b.per_layer.proj})
      count(*s);
  count(m.per_layer_proj);
  c.projection_types = fmt::format("{}", fmt::join(types, ", "));
  c.inputs = fmt::format("{}", fmt::join(inputs, " and "));
  c.rope = c.ropes.empty() ? "none, positions are learned" : "";
  for (const Rope& r : c.ropes) {
    if (!c.rope.empty()) c.rope += "; with a window ";
    c.rope += fmt::format("base {}", r.base);
    const RopeScaling& s = r.scaling;
    if (s.kind == RopeScaling::Kind::linear) c.rope += fmt::format(", linear scaling by {}", s.factor);
    if (s.kind == RopeScaling::Kind::yarn)
      c.rope += fmt::format(", YaRN by {} over {} tokens", s.factor, s.original_context);
    if (s.kind == RopeScaling::Kind::long_rope)
      c.rope += fmt::format(", LongRoPE over {} tokens", s.original_context);
    else if (!s.factors.empty())
      c.rope += ", with factors of its own (rope_freqs)";
  }
}

std::vector<std::string> extra_tensors(const Checkpoint& file, const ModelFile& m) {
  std::unordered_set<std::string_view> read;
  const auto add = [&](const GgufTensor& t) { read.insert(t.name); };
  for (const GgufTensor* t : {m.token_embd, m.positions, m.per_layer_embd, m.per_layer_norm.weight,
                              m.output_norm.weight, m.output_norm.bias, m.output})
    if (t) add(*t);
  for (const Rope& r : m.config.ropes)
    if (r.scaling.kind == RopeScaling::Kind::long_rope)
      read.insert({"rope_factors_long.weight", "rope_factors_short.weight"});
    else if (!r.scaling.factors.empty())
      read.insert("rope_freqs.weight");
  for_each_tensor(m.per_layer_proj, add);
  for (const FileBlock& block : m.blocks) for_each_tensor(block, add);
  std::vector<std::string> names;
  for (const GgufTensor& tensor : file.tensors())
    if (!read.contains(tensor.name)) names.push_back(tensor.name);
  return names;
}

}  // namespace

std::span<const Family> families() { return kFamilies; }

std::vector<uint32_t> layer_sizes(const Checkpoint& file, const std::string& key, uint32_t n_layer,
                                  uint32_t most) {
  const GgufValue* value = file.find(key);
  if (!value || value->type != GgufType::array)
    return std::vector<uint32_t>(n_layer, get_size(file, key, most));
  const std::vector<int32_t> all = file.find_ints(key);
  if (all.size() < n_layer)
    fail(file,
         fmt::format("{} has {} elements, wanted one for each of the {} layers", key, all.size(), n_layer));
  for (uint32_t i = 0; i < n_layer; ++i)
    if (all[i] <= 0 || static_cast<uint32_t>(all[i]) > most)
      fail(file, fmt::format("{} has {} for layer {}, wanted 1 to {}", key, all[i], i, most));
  return {all.begin(), all.begin() + n_layer};
}

Input input_of(const Config& c, TensorType type) {
  if (!find_block_type(type) && !find_file_type(type)->trits) return Input::float_row;
  if (c.architecture == "qwen35") return Input::int16_units;
  if (find_block_type(type)) return Input::int8_units;
  const bool int8 = type == TensorType::i2_s || c.architecture.starts_with("bitnet");
  return int8 ? Input::int8_row : Input::int8_units;
}

Config read_config(const Checkpoint& file, Activation activation) {
  const Family& family = family_of(file);
  Config c;
  c.architecture = family.architecture;
  c.name = file.find_string("general.name").value_or("");
  read_sizes(file, family.experts, c);
  read_heads(file, c);
  read_vocabulary(file, c);
  family.read(file, c);
  if (activation != Activation::of_file) {
    c.act = activation == Activation::silu ? Act::silu : Act::relu2;
    c.activation_reason = "it was asked for";
  }
  c.file_bytes = file.size();
  c.old_fingerprint = old_fingerprint(file);
  return c;
}

ModelFile read_model(const Checkpoint& file, Activation activation) {
  ModelFile m;
  file.read_weights();
  m.config = read_config(file, activation);
  const Config& c = m.config;
  const Tensors t(file);
  m.path = file.path();
  m.files = file.files();
  m.token_embd = t.table("token_embd", c.n_embd, c.n_vocab);
  m.output_norm = t.norm("output_norm", c.n_embd, c.norm_epsilon);
  m.output = c.tied_head ? m.token_embd : t.table("output", c.n_embd, c.n_vocab);
  const Family& family = family_of(file);
  for (uint32_t i = 0; i < c.n_layer; ++i) {
    m.blocks.push_back(family.block(file, c, i));
    const auto& gate_up = m.blocks.back().ffn.gate_up.parts;
    check_ternary(file, m.blocks.back(), c);
    if (gate_up[1] && gate_up[0]->type != gate_up[1]->type) fail_as_unlike(file, *gate_up[0], *gate_up[1]);
  }
  if (family.whole) family.whole(file, m);
  fold_hadamard(file, m);
  describe(m);
  m.config.extra_tensors = extra_tensors(file, m);
  return m;
}

ModelInfo read_model_info(const Checkpoint& file, Activation activation) {
  return read_model(file, activation).config;
}

std::string why_not_run(std::string_view architecture, std::string_view type) {
  constexpr uint32_t kMostTypes = 256;  // above every number of ggml's types
  if (std::ranges::none_of(kFamilies, [&](const Family& f) { return f.architecture == architecture; }))
    return fmt::format("the family {} cannot be run yet", architecture);
  for (uint32_t id = 0; id < kMostTypes; ++id) {
    const FileType* known = find_file_type(TensorType{id});
    if (known == nullptr || known->name != type) continue;
    const std::string name = shown_name(TensorType{id});
    if (known->floats == nullptr) return fmt::format("the type {} cannot be run yet", name);
    if (needs_finer_inputs(architecture, TensorType{id}))
      return fmt::format("the type {} cannot be run in the family {}", name, architecture);
    return "";
  }
  return fmt::format("the type {} cannot be run yet", type);
}

}  // namespace bitnet
