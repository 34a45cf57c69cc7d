#include "engine/sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/error.h"

namespace bitnet {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

[[noreturn]] void refuse(const char* setting, const char* range, float value) {
  throw Error(ErrorKind::usage, fmt::format("{}: wanted {}, got {}", setting, range, value));
}

// Uniform in [0, 1) from the upper 53 bits: unlike the distributions of <random>, the same with every
// library.
double uniform(std::mt19937_64& generator) { return static_cast<double>(generator() >> 11) * 0x1.0p-53; }

struct Largest {
  float logit;
  int32_t id;
};

// The first largest logit; nullopt where nothing can be chosen.
std::optional<Largest> find_largest(std::span<const float> logits) {
  Largest largest{-kInfinity, -1};
  for (size_t i = 0; i < logits.size(); ++i) {
    if (std::isnan(logits[i])) return std::nullopt;
    if (logits[i] > largest.logit) largest = {logits[i], static_cast<int32_t>(i)};
  }
  if (largest.id < 0 || largest.logit == kInfinity) return std::nullopt;
  return largest;
}

// Four sums, so that the additions of one need not wait for those of another.
double log_sum_exp(std::span<const float> logits, float largest) {
  double sums[4] = {};
  for (size_t i = 0; i < logits.size(); ++i) {
    sums[i % 4] += static_cast<double>(std::exp(logits[i] - largest));
  }
  return static_cast<double>(largest) + std::log(sums[0] + sums[1] + sums[2] + sums[3]);
}

}  // namespace

void check(const SamplerParams& p) {
  if (!(p.temperature >= 0.0F && p.temperature < kInfinity))
    refuse("temperature", "0 or more", p.temperature);
  if (!(p.top_p > 0.0F && p.top_p <= 1.0F)) refuse("top_p", "more than 0 and at most 1", p.top_p);
  if (!(p.min_p >= 0.0F && p.min_p <= 1.0F)) refuse("min_p", "0 to 1", p.min_p);
  if (!(p.repeat_penalty > 0.0F && p.repeat_penalty < kInfinity)) {
    refuse("repeat_penalty", "more than 0", p.repeat_penalty);
  }
}

Sampler::Sampler(const SamplerParams& params) : params_(params), generator_(params.seed) { check(params); }

bool Sampler::is_argmax() const {
  const bool penalised = params_.repeat_penalty != 1.0F && params_.repeat_last > 0;
  return !penalised && (params_.temperature == 0.0F || params_.top_k == 1);
}

std::optional<SampledToken> Sampler::sample(std::span<const float> logits, std::span<const int32_t> history) {
  const auto largest = find_largest(logits);
  if (!largest) return std::nullopt;
  const double log_sum = log_sum_exp(logits, largest->logit);
  const auto chosen = [&](int32_t id) {
    return SampledToken{id,
                        static_cast<float>(static_cast<double>(logits[static_cast<size_t>(id)]) - log_sum)};
  };
  if (is_argmax()) return chosen(largest->id);

  candidates_.clear();
  for (size_t i = 0; i < logits.size(); ++i) candidates_.push_back({logits[i], static_cast<int32_t>(i)});
  penalise(history);
  if (params_.temperature == 0.0F || params_.top_k == 1) {
    return chosen(
        std::ranges::max_element(candidates_, {}, &Candidate::logit)->id);  // the first of equal ones
  }
  keep_top_k();
  weigh();
  keep_top_p();
  keep_min_p();
  return chosen(draw());
}

// A penalty above 1 makes a token of the latest history less likely whatever the sign of its logit; each
// counts once, however often it occurs.
void Sampler::penalise(std::span<const int32_t> history) {
  if (params_.repeat_penalty == 1.0F) return;
  const size_t n = std::min<size_t>(params_.repeat_last, history.size());
  recent_.assign(history.end() - static_cast<std::ptrdiff_t>(n), history.end());
  std::ranges::sort(recent_);
  const auto repeated = std::ranges::unique(recent_);
  recent_.erase(repeated.begin(), repeated.end());
  for (const int32_t id : recent_) {
    if (id < 0 || static_cast<size_t>(id) >= candidates_.size()) continue;
    float& logit = candidates_[static_cast<size_t>(id)].logit;
    const float penalised = logit > 0.0F ? logit / params_.repeat_penalty : logit * params_.repeat_penalty;
    // An extreme penalty must not make what the others are measured against infinite.
    logit = logit == -kInfinity ? logit
                                : std::clamp(penalised, std::numeric_limits<float>::lowest(),
                                             std::numeric_limits<float>::max());
  }
}

// Softmax at the temperature, scaled so that the likeliest candidate weighs 1: no sum can overflow or vanish.
void Sampler::weigh() {
  const double top = std::ranges::max(candidates_, {}, &Candidate::logit).logit;
  for (Candidate& c : candidates_) {
    const double exponent = (static_cast<double>(c.logit) - top) / static_cast<double>(params_.temperature);
    c.weight = std::exp(static_cast<float>(std::max(exponent, -200.0)));  // where floats are 0 already
  }
}

// The cuts keep the candidates in the order of their ids, so that what draw() sees does not depend on how a
// library's nth_element leaves its range.
void Sampler::keep_top_k() {
  if (params_.top_k == 0 || params_.top_k >= candidates_.size()) return;
  const auto better = [](const Candidate& a, const Candidate& b) {
    return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
  };
  scratch_ = candidates_;
  const auto border = scratch_.begin() + static_cast<std::ptrdiff_t>(params_.top_k) - 1;
  std::ranges::nth_element(scratch_, border, better);
  std::erase_if(candidates_, [&](const Candidate& c) { return better(*border, c); });
}

// Finds the fewest likeliest candidates that weigh enough together, by halving the range that holds the
// border.
void Sampler::keep_top_p() {
  if (params_.top_p >= 1.0F) return;
  const auto better = [](const Candidate& a, const Candidate& b) {
    return a.weight != b.weight ? a.weight > b.weight : a.id < b.id;
  };
  const auto weight_of = [](auto first, auto last) {
    double sum = 0;
    for (; first != last; ++first) sum += static_cast<double>(first->weight);
    return sum;
  };
  scratch_ = candidates_;
  double missing = weight_of(scratch_.begin(), scratch_.end()) * static_cast<double>(params_.top_p);
  auto first = scratch_.begin();  // all before it are kept
  auto last = scratch_.end();     // the border is before it
  while (last - first > 1) {
    const auto middle = first + (last - first) / 2;
    std::nth_element(first, middle, last, better);
    const double left = weight_of(first, middle);
    if (left >= missing) {
      last = middle;
    } else {
      missing -= left;
      first = middle;
    }
  }
  std::erase_if(candidates_, [&](const Candidate& c) { return better(*first, c); });
}

void Sampler::keep_min_p() {
  if (params_.min_p == 0.0F) return;
  std::erase_if(candidates_, [&](const Candidate& c) { return c.weight < params_.min_p; });
}

int32_t Sampler::draw() {
  double total = 0;
  for (const Candidate& c : candidates_) total += static_cast<double>(c.weight);
  double left = uniform(generator_) * total;
  int32_t last = -1;
  for (const Candidate& c : candidates_) {
    if (c.weight == 0.0F) continue;
    last = c.id;
    left -= static_cast<double>(c.weight);
    if (left < 0) break;
  }
  return last;
}

}  // namespace bitnet
