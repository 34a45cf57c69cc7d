// RoPE's table of rotations, with what models do to it for long contexts.
#include "rope.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "families.h"
#include "tensors.h"

namespace bitnet {
namespace {

// The pair of features, counted as a real number, that makes `turns` turns within the original context.
double pair_of_turns(const Config& c, double turns) {
  return c.rope_dim * std::log(c.rope_scaling.original_context / (turns * 2 * std::numbers::pi)) /
         (2 * std::log(double{c.rope_base}));
}

// YaRN, equation 23 and section 3.4: pairs that turn often stay as they are, those that turn less than once
// are slowed down by the factor, and those between are blended.
double yarn_speed(const Config& c, double speed, uint32_t pair) {
  const RopeScaling& s = c.rope_scaling;
  const double low = std::max(0.0, std::floor(pair_of_turns(c, s.beta_fast))),
               high = std::min(c.rope_dim - 1.0, std::ceil(pair_of_turns(c, s.beta_slow)));
  const double kept = 1 - std::clamp((pair - low) / std::max(0.001, high - low), 0.0, 1.0);
  return speed / s.factor * (1 - kept) + speed * kept;
}

}  // namespace

void read_rope_scaling(const GgufFile& file, Config& c) {
  const auto key = [&](const char* name) { return c.architecture + ".rope.scaling." + name; };
  RopeScaling& s = c.rope_scaling;
  s.factors = Tensors(file).find_vector("rope_freqs.weight", c.rope_dim / 2);
  if (s.factors)
    for (uint32_t i = 0; i < c.rope_dim / 2; ++i)
      if (!(s.factor_of(i) > 0))
        fail(file, fmt::format("tensor rope_freqs.weight: value {} is {}, wanted a number above 0", i,
                               s.factor_of(i)));

  const std::string type = file.find_string(key("type")).value_or("none");
  if (type == "none") return;
  if (type != "linear" && type != "yarn")
    fail(file, fmt::format("{} is \"{}\", wanted none, linear or yarn", key("type"), printable(type)));
  s.kind = type == "yarn" ? RopeScaling::Kind::yarn : RopeScaling::Kind::linear;
  const auto number = [&](const char* name, float usual) {
    const float value = file.find_f32(key(name)).value_or(usual);
    if (!(value > 0 && std::isfinite(value)))
      fail(file, fmt::format("{} is {}, wanted a number above 0", key(name), value));
    return value;
  };
  s.factor = number("factor", 1);
  if (s.kind != RopeScaling::Kind::yarn) return;
  s.original_context = file.find_u32(key("original_context_length")).value_or(c.n_ctx_train);
  if (s.original_context == 0)
    fail(file, fmt::format("{} is 0, wanted a number above 0", key("original_context_length")));
  if (!(c.rope_base > 1))
    fail(file, fmt::format("{}.rope.freq_base is {}, wanted a number above 1 for yarn", c.architecture,
                           c.rope_base));
  s.beta_fast = number("yarn_beta_fast", s.beta_fast);
  s.beta_slow = number("yarn_beta_slow", s.beta_slow);
  s.attention_factor = number("attn_factor", 1) * (1 + 0.1F * std::log(std::max(1.0F, s.factor)));
}

// The table is computed in double, since Vulkan asks of a device's own sine no more than an error of 2^-11,
// and that only between -pi and pi.
std::vector<float> rotation_table(const Config& c, uint32_t n_ctx) {
  const uint32_t pairs = c.rope_dim / 2;
  const RopeScaling& s = c.rope_scaling;
  std::vector<double> speeds(pairs);  // of each pair, in radians a token
  for (uint32_t i = 0; i < pairs; ++i) {
    speeds[i] = std::pow(double{c.rope_base}, -2.0 * i / c.rope_dim);
    if (s.factors) speeds[i] /= s.factor_of(i);
    if (s.kind == RopeScaling::Kind::linear) speeds[i] /= s.factor;
    if (s.kind == RopeScaling::Kind::yarn) speeds[i] = yarn_speed(c, speeds[i], i);
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
