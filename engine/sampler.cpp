#include "engine/sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "engine/error.h"

namespace bitnet {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

[[noreturn]] void refuse(const char* setting, const char* range, float value) {
  throw Error(ErrorKind::usage, fmt::format("{}: wanted {}, got {}", setting, range, value));
}

__extension__ using Wide = unsigned __int128;

// 2^31 * 2^-a for a >= 0, as in shaders/sample_choose.comp. The polynomial is 2^(1-f) on [0, 1) to 3e-7, and
// exactly 2 at 0.
uint32_t weight_of(float a) {
  if (!(a < 31.0F)) return 0;
  const float whole = std::floor(a);
  const float f = a - whole;
  float m = -0.0018898058915510774F;
  for (const float c :
       {0.01841159351170063F, -0.11059471219778061F, 0.4803602993488312F, -1.3862874507904053F, 2.0F}) {
    m = m * f + c;
  }
  return static_cast<uint32_t>(m * 0x1p30F) >> static_cast<uint32_t>(whole);
}

SamplingRecipe recipe_of(const SamplerParams& p) {
  const double scale = std::numbers::log2e / static_cast<double>(p.temperature);
  const bool penalised = p.repeat_penalty != 1.0F;
  return {.top_k = p.temperature == 0.0F ? 1 : p.top_k,
          .n_recent = penalised ? p.repeat_last : 0,
          .penalty = p.repeat_penalty,
          .inverse = std::min(1.0F / p.repeat_penalty, std::numeric_limits<float>::max()),
          .scale = static_cast<float>(std::min(scale, double{std::numeric_limits<float>::max()})),
          .top_p = p.top_p >= 1.0F ? 0 : std::max(1U, static_cast<uint32_t>(double{p.top_p} * 0x1p32)),
          .min_weight = static_cast<uint32_t>(std::ceil(double{p.min_p} * 0x1p31))};
}

struct Largest {
  float logit;
  int32_t id;
};

// The first of the largest logits, or nullopt where nothing can be chosen.
std::optional<Largest> find_largest(std::span<const float> logits) {
  Largest largest{-kInfinity, -1};
  for (size_t i = 0; i < logits.size(); ++i) {
    if (std::isnan(logits[i])) return std::nullopt;
    if (logits[i] > largest.logit) largest = {logits[i], static_cast<int32_t>(i)};
  }
  if (largest.id < 0 || largest.logit == kInfinity) return std::nullopt;
  return largest;
}

// There are four sums, so that an addition need not wait for the one before it.
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

Sampler::Sampler(const SamplerParams& params) : params_(params), generator_(params.seed) {
  check(params);
  recipe_ = recipe_of(params);
}

uint64_t Sampler::random(size_t n) {
  while (drawn_.size() <= n) drawn_.push_back(generator_());
  return drawn_[n];
}

uint64_t Sampler::take_random() {
  const uint64_t first = random(0);
  drawn_.pop_front();
  return first;
}

bool Sampler::is_argmax() const {
  const bool penalised = params_.repeat_penalty != 1.0F && params_.repeat_last > 0;
  return !penalised && (params_.temperature == 0.0F || params_.top_k == 1);
}

std::optional<SampledToken> Sampler::sample(std::span<const float> logits, std::span<const int32_t> history) {
  const auto largest = find_largest(logits);
  if (!largest) return std::nullopt;
  const double log_sum = log_sum_exp(logits, largest->logit);
  int32_t id = largest->id;
  if (!is_argmax()) {
    candidates_.clear();
    for (size_t i = 0; i < logits.size(); ++i) candidates_.push_back({logits[i], static_cast<int32_t>(i)});
    id = choose(history);
  }
  return SampledToken{id, static_cast<float>(double{logits[static_cast<size_t>(id)]} - log_sum)};
}

// A penalty of 1 and more can only move the recent tokens down, so the top_k after it are among so many more
// before it.
uint32_t Sampler::wanted() const {
  const uint64_t most = uint64_t{recipe_.top_k} + recipe_.n_recent;
  return recipe_.top_k == 0 || recipe_.penalty < 1.0F || most > UINT32_MAX ? 0 : static_cast<uint32_t>(most);
}

SampledToken Sampler::sample_among(std::span<const TokenLogit> largest, double log_sum,
                                   std::span<const int32_t> history) {
  candidates_.clear();
  for (const TokenLogit& t : largest) candidates_.push_back({t.logit, t.id});
  const int32_t id = choose(history);
  const float logit = std::ranges::lower_bound(largest, id, {}, &TokenLogit::id)->logit;
  return {id, static_cast<float>(double{logit} - log_sum)};
}

int32_t Sampler::choose(std::span<const int32_t> history) {
  penalise(history);
  if (recipe_.top_k == 1)  // the first of equal ones
    return std::ranges::max_element(candidates_, {}, &Candidate::logit)->id;
  keep_top_k();
  weigh();
  keep_top_p();
  keep_min_p();
  return draw();
}

// A penalty above 1 makes a token of the latest history less likely whatever the sign of its logit; each
// counts once, however often it occurs.
void Sampler::penalise(std::span<const int32_t> history) {
  const size_t n = std::min<size_t>(recipe_.n_recent, history.size());
  recent_.assign(history.end() - static_cast<std::ptrdiff_t>(n), history.end());
  std::ranges::sort(recent_);
  recent_.erase(std::unique(recent_.begin(), recent_.end()), recent_.end());
  for (const int32_t id : recent_) {
    const auto candidate = std::ranges::lower_bound(candidates_, id, {}, &Candidate::id);
    if (candidate == candidates_.end() || candidate->id != id) continue;
    float& logit = candidate->logit;
    const float penalised = logit * (logit > 0.0F ? recipe_.inverse : recipe_.penalty);
    // An extreme penalty must not make what the others are measured against infinite.
    logit = logit == -kInfinity ? logit
                                : std::clamp(penalised, std::numeric_limits<float>::lowest(),
                                             std::numeric_limits<float>::max());
  }
}

// The cuts keep the candidates in the order of their ids, which is the order that draw() goes through.
void Sampler::keep_top_k() {
  if (recipe_.top_k == 0 || recipe_.top_k >= candidates_.size()) return;
  const auto better = [](const Candidate& a, const Candidate& b) {
    return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
  };
  scratch_ = candidates_;
  const auto border = scratch_.begin() + static_cast<std::ptrdiff_t>(recipe_.top_k) - 1;
  std::ranges::nth_element(scratch_, border, better);
  std::erase_if(candidates_, [&](const Candidate& c) { return better(*border, c); });
}

// Softmax at the temperature, scaled so that the likeliest candidate weighs 2^31.
void Sampler::weigh() {
  const float top = std::ranges::max(candidates_, {}, &Candidate::logit).logit;
  for (Candidate& c : candidates_) c.weight = weight_of((top - c.logit) * recipe_.scale);
}

// Finds the fewest likeliest candidates that weigh enough together, by halving the range that holds the
// border.
void Sampler::keep_top_p() {
  if (recipe_.top_p == 0) return;
  const auto better = [](const Candidate& a, const Candidate& b) {
    return a.weight != b.weight ? a.weight > b.weight : a.id < b.id;
  };
  const auto sum_of = [](auto first, auto last) {
    uint64_t sum = 0;
    for (; first != last; ++first) sum += first->weight;
    return sum;
  };
  scratch_ = candidates_;
  const uint64_t total = sum_of(scratch_.begin(), scratch_.end());
  auto missing = static_cast<uint64_t>(Wide{total} * recipe_.top_p >> 32);
  auto first = scratch_.begin();  // all before it are kept
  auto last = scratch_.end();     // the border is before it
  while (last - first > 1) {
    const auto middle = first + (last - first) / 2;
    std::nth_element(first, middle, last, better);
    const uint64_t left = sum_of(first, middle);
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
  std::erase_if(candidates_, [&](const Candidate& c) { return c.weight < recipe_.min_weight; });
}

// Takes a point between 0 and the sum of all weights. Unlike the distributions of <random>, this gives the
// same with every library.
int32_t Sampler::draw() {
  uint64_t total = 0;
  for (const Candidate& c : candidates_) total += c.weight;
  auto point = static_cast<uint64_t>(Wide{take_random()} * total >> 64);
  for (const Candidate& c : candidates_) {
    if (point < c.weight) return c.id;
    point -= c.weight;
  }
  return candidates_.back().id;  // never: the point is below the sum
}

}  // namespace bitnet
