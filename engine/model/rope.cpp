// RoPE's table of rotations, with what models do to it for long contexts.
#include "rope.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "families.h"
#include "tensors.h"

namespace bitnet {
namespace {

// The pair of features, counted as a real number, that makes `turns` turns within the original context.
double pair_of_turns(const Rope& r, double turns) {
  return r.dim * std::log(r.scaling.original_context / (turns * 2 * std::numbers::pi)) /
         (2 * std::log(double{r.base}));
}

// YaRN, equation 23 and section 3.4: pairs that turn often stay as they are, those that turn less than once
// are slowed down by the factor, and those between are blended.
double yarn_speed(const Rope& r, double speed, uint32_t pair) {
  const RopeScaling& s = r.scaling;
  const double low = std::max(0.0, std::floor(pair_of_turns(r, s.beta_fast))),
               high = std::min(r.dim - 1.0, std::ceil(pair_of_turns(r, s.beta_slow)));
  const double kept = 1 - std::clamp((pair - low) / std::max(0.001, high - low), 0.0, 1.0);
  return speed / s.factor * (1 - kept) + speed * kept;
}

// Divisors of the angles of pairs; none where the file has no such tensor.
std::vector<float> read_factors(const Checkpoint& file, const char* name, uint32_t pairs) {
  const GgufTensor* tensor = Tensors(file).find_vector(name, pairs);
  if (!tensor) return {};
  std::vector<float> factors(pairs);
  std::memcpy(factors.data(), tensor->data.data(), tensor->data.size());
  for (size_t i = 0; i < factors.size(); ++i)
    if (!(factors[i] > 0))
      fail(file, fmt::format("tensor {}: value {} is {}, wanted a number above 0", name, i, factors[i]));
  return factors;
}

// One of rope.scaling.*, above 0.
float read_number(const Checkpoint& file, const std::string& key, float usual) {
  const float value = file.find_f32(key).value_or(usual);
  if (!(value > 0 && std::isfinite(value)))
    fail(file, fmt::format("{} is {}, wanted a number above 0", key, value));
  return value;
}

uint32_t read_original_context(const Checkpoint& file, const Config& c) {
  const std::string key = c.architecture + ".rope.scaling.original_context_length";
  const uint32_t tokens = file.find_u32(key).value_or(file.get_u32(c.architecture + ".context_length"));
  if (tokens == 0) fail(file, key + " is 0, wanted a number above 0");
  return tokens;
}

}  // namespace

Rope read_rope(const Checkpoint& file, const Config& c, const std::string& suffix, uint32_t head_dim) {
  const std::string dim = c.architecture + ".rope.dimension_count" + suffix,
                    base = c.architecture + ".rope.freq_base" + suffix;
  Rope r;
  r.dim = file.find_u32(dim).value_or(head_dim);
  if (r.dim == 0 || r.dim % 2 != 0 || r.dim > head_dim)
    fail(file, fmt::format("{} is {}, wanted an even number up to {}", dim, r.dim, head_dim));
  r.base = file.find_f32(base).value_or(r.base);
  if (!(r.base > 0 && std::isfinite(r.base)))
    fail(file, fmt::format("{} is {}, wanted a number above 0", base, r.base));
  return r;
}

void read_rope_scaling(const Checkpoint& file, Config& c) {
  const auto key = [&](const char* name) { return c.architecture + ".rope.scaling." + name; };
  Rope& rope = c.ropes[0];
  RopeScaling& s = rope.scaling;
  s.factors = read_factors(file, "rope_freqs.weight", rope.dim / 2);
  // As llama.cpp has it: a factor alone is of linear scaling, older files name it otherwise, and 0 is none.
  const std::string old_factor = c.architecture + ".rope.scale_linear";
  const std::string factor = file.find(key("factor")) ? key("factor") : old_factor;
  const std::string type = file.find_string(key("type")).value_or(file.find(factor) ? "linear" : "none");
  if (type == "none") return;
  if (type != "linear" && type != "yarn")
    fail(file, fmt::format("{} is \"{}\", wanted none, linear or yarn", key("type"), printable(type)));
  s.kind = type == "yarn" ? RopeScaling::Kind::yarn : RopeScaling::Kind::linear;
  const auto number = [&](const char* name, float usual) { return read_number(file, key(name), usual); };
  s.factor = file.find_f32(factor) == 0.0F ? 1 : read_number(file, factor, 1);
  if (s.kind != RopeScaling::Kind::yarn) return;
  s.original_context = read_original_context(file, c);
  if (!(rope.base > 1))
    fail(file,
         fmt::format("{}.rope.freq_base is {}, wanted a number above 1 for yarn", c.architecture, rope.base));
  s.beta_fast = number("yarn_beta_fast", s.beta_fast);
  s.beta_slow = number("yarn_beta_slow", s.beta_slow);
  s.attention_factor = number("attn_factor", 1) * (1 + 0.1F * std::log(std::max(1.0F, s.factor)));
}

void read_long_rope(const Checkpoint& file, Config& c) {
  const std::string scaling = c.architecture + ".rope.scaling.";
  const std::string type = file.find_string(scaling + "type").value_or("longrope");
  if (type != "longrope" && type != "none")
    fail(file, fmt::format("{}type is \"{}\", wanted none or longrope", scaling, printable(type)));
  const uint32_t pairs = c.ropes[0].dim / 2;
  RopeScaling& s = c.ropes[0].scaling;
  s.factors = read_factors(file, "rope_factors_short.weight", pairs);
  s.long_factors = read_factors(file, "rope_factors_long.weight", pairs);
  if (s.factors.size() != s.long_factors.size())
    fail(file, fmt::format("tensor rope_factors_{}.weight is missing", s.factors.empty() ? "short" : "long"));
  if (s.factors.empty()) return;
  s.kind = RopeScaling::Kind::long_rope;
  s.original_context = c.brief_context = read_original_context(file, c);
  s.attention_factor = read_number(file, scaling + "attn_factor", 1);
}

// The table is computed in double, since Vulkan asks of a device's own sine no more than an error of 2^-11,
// and that only between -pi and pi.
std::vector<float> rotation_table(const Rope& r, uint32_t n_ctx) {
  const uint32_t pairs = r.dim / 2;
  const RopeScaling& s = r.scaling;
  const std::vector<float>& factors = s.is_long(n_ctx) ? s.long_factors : s.factors;
  std::vector<double> speeds(pairs);  // of each pair, in radians a token
  for (uint32_t i = 0; i < pairs; ++i) {
    speeds[i] = std::pow(double{r.base}, -2.0 * i / r.dim);
    if (!factors.empty()) speeds[i] /= factors[i];
    if (s.kind == RopeScaling::Kind::linear) speeds[i] /= s.factor;
    if (s.kind == RopeScaling::Kind::yarn) speeds[i] = yarn_speed(r, speeds[i], i);
  }
  std::vector<float> table;
  table.reserve(size_t{2} * n_ctx * pairs);
  for (uint32_t position = 0; position < n_ctx; ++position)
    for (uint32_t i = 0; i < pairs; ++i) {
      const double angle = position * speeds[i];
      table.push_back(static_cast<float>(std::cos(angle) * s.attention_factor));
      table.push_back(static_cast<float>(std::sin(angle) * s.attention_factor));
    }
  return table;
}

}  // namespace bitnet
