#include "drafts.h"

#include <algorithm>
#include <cmath>

namespace bitnet {
namespace {

constexpr size_t kFirstHeads = 1 << 12;

// What is new counts for this much.
constexpr double kNew = 0.25, kNewRight = 0.06;
// How fast what was found of guesses is forgotten while none is tried, so that they are tried again.
constexpr double kForgets = 1.0 / 512;
// After so many tokens alone a time of each pass is forgotten, so that passes that were slow are tried again.
constexpr uint32_t kForgetsPass = 1024;
// A pass with one token more costs this much of a token alone, where that has not been seen.
constexpr double kMoreCosts = 0.1;
// A guess has to be this much faster, or it is not worth the noise.
constexpr double kGain = 1.03;

void mix(double& mean, double value, double share) {
  mean = mean == 0 ? value : mean + share * (value - mean);
}

}  // namespace

Drafts::Drafts() { forget(); }

void Drafts::forget() {
  tokens_ = {kBorder};
  earlier_ = {0, 0};
  heads_.assign(kFirstHeads, 0);
  learned_ = 1;
}

// Whether the three tokens before `end` are of one text.
bool Drafts::has_key(size_t end) const {
  return end >= kLeastMatch && tokens_[end - 1] != kBorder && tokens_[end - 2] != kBorder &&
         tokens_[end - 3] != kBorder;
}

uint32_t& Drafts::head(size_t end) {
  uint64_t hash = 0;
  for (size_t i = end - kLeastMatch; i < end; ++i)
    hash = (hash + static_cast<uint32_t>(tokens_[i]) + 1) * 0x9E3779B97F4A7C15;
  return heads_[(hash >> 32) & (heads_.size() - 1)];
}

void Drafts::add(int32_t token) {
  tokens_.push_back(token);
  const size_t end = tokens_.size();
  earlier_.push_back(0);
  if (end > heads_.size()) return index_again();
  if (!has_key(end)) return;
  uint32_t& latest = head(end);
  earlier_[end] = latest;
  latest = static_cast<uint32_t>(end);
}

void Drafts::take_away() {
  const size_t end = tokens_.size();
  if (has_key(end)) head(end) = earlier_[end];
  tokens_.pop_back();
  earlier_.pop_back();
}

// Makes room for twice as many places.
void Drafts::index_again() {
  heads_.assign(2 * heads_.size(), 0);
  for (size_t end = 1; end <= tokens_.size(); ++end) {
    earlier_[end] = 0;
    if (!has_key(end)) continue;
    uint32_t& latest = head(end);
    earlier_[end] = latest;
    latest = static_cast<uint32_t>(end);
  }
}

void Drafts::learn(std::span<const int32_t> tokens) {
  while (tokens_.size() > learned_) take_away();
  for (const int32_t token : tokens) add(token);
  add(kBorder);
  learned_ = tokens_.size();
}

void Drafts::follow(std::span<const int32_t> timeline) {
  const auto begin = tokens_.begin() + static_cast<ptrdiff_t>(learned_);
  const auto same = std::mismatch(begin, tokens_.end(), timeline.begin(), timeline.end()).second;
  const auto n_same = static_cast<size_t>(same - timeline.begin());
  while (tokens_.size() > learned_ + n_same) take_away();
  for (const int32_t token : timeline.subspan(n_same)) add(token);
}

Drafts::Guess Drafts::guess(std::span<int32_t> to) const {
  const size_t end = tokens_.size();
  if (!has_key(end) || to.empty()) return {};
  Guess best;
  size_t from = 0;
  uint32_t places = 0;
  for (size_t place = earlier_[end]; place != 0 && places < kMostPlaces; place = earlier_[place], ++places) {
    uint32_t match = 0;
    while (match < kMostMatch && match < place && tokens_[place - 1 - match] == tokens_[end - 1 - match] &&
           tokens_[end - 1 - match] != kBorder)
      ++match;
    if (match <= best.match) continue;
    best.match = match;
    from = place;
    if (match == kMostMatch) break;
  }
  if (best.match < kLeastMatch) return {};
  // Behind the timeline's end stands the guess itself: a text that repeats itself goes on doing so.
  for (uint32_t i = 0; i < to.size(); ++i) {
    const int32_t token = from + i < end ? tokens_[from + i] : to[from + i - end];
    if (token == kBorder) break;
    to[i] = token;
    best.n = i + 1;
  }
  return best;
}

size_t DraftLength::kind_of(uint32_t match) { return match < 5 ? 0 : match < 9 ? 1 : match < 17 ? 2 : 3; }

// Of a pass over a token and n more, in tokens alone: as it was, or between those that were, or a little more
// than a shorter one.
double DraftLength::cost_of(uint32_t n) const {
  if (passes_[n].is_known()) return passes_[n].time();
  uint32_t below = n, above = n;
  while (below > 0 && !passes_[below].is_known()) --below;
  while (above < kMost && !passes_[above].is_known()) ++above;
  const double less = below == 0 ? 1 - choice() : passes_[below].time();
  if (!passes_[above].is_known()) return less + kMoreCosts * (n - below);
  return less + (passes_[above].time() - less) * (n - below) / (above - below);
}

uint32_t DraftLength::choose(uint32_t match, uint32_t most) const {
  if (alone_ == 0) return 0;
  const double right = right_[kind_of(match)];
  uint32_t best = 0;
  double most_gain = kGain;
  double expected = 1, power = 1;
  for (uint32_t n = 1; n <= std::min(most, kMost); ++n) {
    power *= right;
    expected += power;  // tokens that a guess of n gives
    const double gain = expected / (cost_of(n) + expected * choice());
    if (gain <= most_gain) continue;
    most_gain = gain;
    best = n;
  }
  return best;
}

void DraftLength::took_alone(double seconds) {
  mix(alone_, seconds, kNew);
  for (size_t i = 0; i < kKinds; ++i) right_[i] += kForgets * (kRight[i] - right_[i]);
  if (++n_alone_ % kForgetsPass != 0) return;
  for (Least& pass : passes_) pass.forget_one();
  choice_.forget_one();
}

void DraftLength::took(uint32_t n, double seconds, double a_choice) {
  if (alone_ == 0) return;
  passes_[n].add(seconds / alone_);
  choice_.add(a_choice / alone_);
}

void DraftLength::were_right(uint32_t match, uint32_t n, uint32_t right) {
  double& share = right_[kind_of(match)];
  for (uint32_t i = 0; i < std::min(n, right + 1); ++i) mix(share, i < right ? 1 : 0, kNewRight);
}

}  // namespace bitnet
