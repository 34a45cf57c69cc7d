#include "drafts.h"

#include <algorithm>
#include <utility>

namespace bitnet {
namespace {

constexpr size_t kFirstHeads = 1 << 12;

// What is new of a record counts for one of so many, once there are that many.
constexpr uint32_t kRemembers = 64;
// What is taken for right at first counts as much as so many guesses.
constexpr uint32_t kFirstCounts = 5;
// After so many tokens alone the times of passes are in doubt, so that those that were slow are tried again.
constexpr uint32_t kForgetsPass = 1024;
// What passes cost beyond a token alone where none has been seen, in tokens alone.
constexpr std::array<double, 4> kMoreCosts = {0.4, 0.9, 1.5, 4};
// A length that is not tried seems to cost a part of this less with each pass of other lengths, down to a
// half. So what disturbed it once does not rule it out, and one that takes a tenth more than the best is
// tried in about every 13th pass.
constexpr double kForgetsLength = 128;
constexpr double kLeastOfSeen = 0.5;
// A guess has to be this much faster, or it is not worth the noise.
constexpr double kGain = 1.04;

}  // namespace

Drafts::Drafts() { forget(); }

void Drafts::forget() {
  tokens_ = {kBorder};
  earlier_ = {0, 0};
  heads_.assign(kFirstHeads, 0);
  learned_ = 1;
  latest_ = 0;
  trail_ = {};
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
  trail_ = {};
  latest_ = learned_;
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
  trail_ = {};
  if (std::exchange(expects_latest_, false) && latest_ != 0)
    trail_ = {.place = latest_, .from = Trail::From::beginning};
  search();
}

void Drafts::append(int32_t token) {
  go_on(token);
  add(token);
  search();
}

// Follows the trail over a token that comes, and notes whether that was guessed.
void Drafts::go_on(int32_t token) {
  if (trail_.place == 0) return;
  const int32_t guessed = tokens_[trail_.place++];
  if (guessed == kBorder) {
    trail_ = {};
    return;
  }
  const bool is_right = guessed == token;
  Record& record = records_[kind_of(trail_)];
  record.n = std::min(record.n + 1, kRemembers);
  record.right += (is_right - record.right) / std::min(record.n + kFirstCounts, kRemembers);
  if (is_right) {
    trail_.match = std::min(trail_.match + 1, kMostMatch);
    if (trail_.match >= kLeastMatch) trail_.differences = 0;
  } else if (++trail_.differences > kMostDifferences) {
    trail_ = {};
  } else {
    trail_.from = Trail::From::difference;
    trail_.match = 0;
  }
}

// Takes a place that shares more tokens with the timeline's end than the trail.
void Drafts::search() {
  const size_t end = tokens_.size();
  if (!has_key(end) || trail_.match == kMostMatch || trail_.from == Trail::From::beginning) return;
  uint32_t most = std::max(trail_.match, kLeastMatch - 1), places = 0;
  for (size_t place = earlier_[end]; place != 0 && places < kMostPlaces; place = earlier_[place], ++places) {
    uint32_t match = 0;
    while (match < kMostMatch && match < place && tokens_[place - 1 - match] == tokens_[end - 1 - match] &&
           tokens_[end - 1 - match] != kBorder)
      ++match;
    if (match <= most) continue;
    most = match;
    trail_ = {.place = place, .match = match};
    if (match == kMostMatch) break;
  }
}

size_t Drafts::kind_of(const Trail& trail) {
  const uint32_t match = trail.match;
  if (trail.from == Trail::From::search) return match < 5 ? 0 : match < 9 ? 1 : match < 17 ? 2 : 3;
  if (match != 0) return match < 3 ? 7 : match < 5 ? 8 : match < 9 ? 9 : 10;
  return trail.from == Trail::From::beginning ? 4 : trail.differences == 1 ? 5 : 6;
}

Drafts::Guess Drafts::guess(std::span<int32_t> to) const {
  Guess found;
  if (trail_.place == 0) return found;
  const size_t end = tokens_.size();
  Trail trail = trail_;
  // Behind the timeline's end stands the guess itself: a text that repeats itself goes on doing so.
  for (uint32_t i = 0; i < to.size(); ++i) {
    const size_t from = trail_.place + i;
    const int32_t token = from < end ? tokens_[from] : to[from - end];
    if (token == kBorder) break;
    to[i] = token;
    found.chances[i] = records_[kind_of(trail)].right;
    trail.match = std::min(trail.match + 1, kMostMatch);
    found.n = i + 1;
  }
  return found;
}

double DraftLength::Least::time() const {
  if (n_ == 0) return 0;
  // The latest n_ of them.
  double least = times_[(next_ - 1) % times_.size()];
  for (size_t i = 2; i <= n_; ++i) least = std::min(least, times_[(next_ - i) % times_.size()]);
  return least;
}

// Of a pass over a token and kLengths[length] more, in tokens alone: as it was, or by what others of it cost
// beyond a token alone, beside what they are taken to cost. A pass that was seen less than three times may
// have been disturbed, and one that was not tried for long seems to cost less and less until it is.
double DraftLength::cost_of(size_t length) const {
  const double one = 1 - choice();
  double expected = one + kMoreCosts[length];
  for (size_t away = 1; away < kLengths.size(); ++away)
    for (const size_t other : {length + away, length - away})
      if (other < kLengths.size() && passes_[other].is_sure()) {
        const double scale = std::max(passes_[other].time() - one, 0.0) / kMoreCosts[other];
        expected = one + kMoreCosts[length] * std::max(scale, 0.2);
        away = kLengths.size();
        break;
      }
  const double seen = passes_[length].time();
  if (!passes_[length].is_sure()) return seen == 0 ? expected : std::min(seen, expected);
  return seen * std::max(kLeastOfSeen, 1 - (n_passes_ - timed_[length]) / kForgetsLength);
}

DraftLength::Choice DraftLength::best(std::span<const double> chances) const {
  Choice best;
  if (alone() == 0) return best;
  double expected = 1, power = 1;  // tokens that a guess of n gives, and the chance that all of it is right
  uint32_t n = 0;
  for (size_t length = 0; length < kLengths.size() && kLengths[length] <= chances.size(); ++length) {
    for (; n < kLengths[length]; ++n) {
      power *= chances[n];
      expected += power;
    }
    const double cost = cost_of(length) + expected * choice() + (1 - power) * first_.time();
    if (expected > best.gain * cost) best = {n, expected / cost, expected - cost};
  }
  return best;
}

uint32_t DraftLength::choose(std::span<const double> chances) const {
  const Choice choice = best(chances);
  return choice.gain < kGain ? 0 : choice.n;
}

bool DraftLength::is_worth_waiting(std::span<const double> chances) const {
  if (chances.size() < 2) return false;
  const Choice choice = best(chances.subspan(1));
  return choice.gain >= kGain && chances[0] * choice.saves > (1 - chances[0]) * first_.time();
}

void DraftLength::took_alone(double seconds) {
  alone_.add(std::max(seconds, std::exchange(last_alone_, seconds)));
  if (++n_alone_ % kForgetsPass != 0) return;
  for (Least& pass : passes_) pass.doubt();
}

void DraftLength::took_first(double seconds) {
  if (alone() != 0) first_.add(std::max(seconds / alone() - 1, 0.0));
}

void DraftLength::took(uint32_t n, double seconds, double a_choice) {
  const auto length = std::find(kLengths.begin(), kLengths.end(), n) - kLengths.begin();
  if (alone() == 0 || length == std::ssize(kLengths)) return;
  passes_[static_cast<size_t>(length)].add(seconds / alone());
  timed_[static_cast<size_t>(length)] = ++n_passes_;
  choice_.add(a_choice / alone());
}

}  // namespace bitnet
