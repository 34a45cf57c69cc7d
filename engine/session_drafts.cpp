// Decoding with guesses of what comes next: a token and the guess behind it are evaluated in one pass, and
// then token after token is chosen as if each had been evaluated alone, while the guess was right. Since the
// logits of a token do not depend on its batch, and each choice draws the random number of its own position,
// all that comes out is as without (Leviathan et al. 2023, arXiv 2211.17192, of a draft that is certain).
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "seconds.h"
#include "session.h"

namespace bitnet {

// Whether a pass over tokens of which some are not kept leaves nothing behind.
bool DeviceSession::can_draft() const {
  const auto remembers = [](const Block& block) { return static_cast<bool>(block.delta); };
  return max_batch_ > 1 && !trace_ && engine_.differing_pass == 0 &&
         std::ranges::none_of(engine_.weights.blocks, remembers);
}

// Whether two passes left the same logits, as far as these results tell: the largest to the bit, and the sum
// but for its last digits, which other kernels may merge.
static bool agree(const ArgmaxResult& a, const ArgmaxResult& b) {
  constexpr double kOfSum = 1e-4;
  return a.index == b.index && std::bit_cast<uint32_t>(a.largest) == std::bit_cast<uint32_t>(b.largest) &&
         a.non_finite == b.non_finite && !(std::abs(a.sum_exp - b.sum_exp) > kOfSum * a.sum_exp);
}

// Not where each token would read weights from the host's memory or from the file again.
bool DeviceSession::checks_passes() const {
  if (engine_.kernels.pass_check != PassCheck::on_gpus) return true;
  const DeviceInfo& device = engine_.device();
  return !device.cpu && !device.software && engine_.places.in_host == 0 && engine_.places.in_file == 0;
}

// Whether passes over as many tokens give what these give one by one. A driver can compile a kernel for
// several tokens wrongly, for one model of many, and say nothing (bench/speed/decode.md, "Integers that a
// driver adds up wrongly"). So the first pass of each kind is compared, by the largest logits and by what the
// probabilities of all are made of, for as many of its tokens as half a second allows. Where they differ
// nothing is guessed any more. Requires: nothing is on its way on the device. Leaves no token on it.
bool DeviceSession::trusts_pass(const SampledToken& token, const Guess& guess) {
  constexpr uint32_t kKinds[] = {4, 8};  // tokens that the kernels of a GPU take together
  constexpr double kMostSeconds = 0.5;
  const uint32_t n = guess.n + 1;
  const double fit = kMostSeconds / std::max(1e-6, draft_length_.alone());
  const uint32_t rows =
      std::clamp(static_cast<uint32_t>(std::min<double>(fit, n)), 1U, std::min(n, kMaxLogitRows));
  const auto kind = static_cast<uint32_t>(std::ranges::lower_bound(kKinds, n) - std::begin(kKinds));
  if (!checks_passes() || engine_.compared_passes.contains(kind)) return true;
  const auto position = static_cast<uint32_t>(tokens_.size());
  std::array<int32_t, Drafts::kMost + 1> batch{token.id};
  std::copy_n(guess.tokens.begin(), guess.n, batch.begin() + 1);
  snapshots_.will_write({position, position + n});
  const auto results = [&](uint32_t count) {
    std::vector<ArgmaxResult> found(count);
    std::memcpy(found.data(), outcomes_[0].result->mapped().data(), count * sizeof(ArgmaxResult));
    return found;
  };
  std::vector<ArgmaxResult> alone;
  for (uint32_t i = 0; i < rows; ++i) {
    if (!run_pass(std::span(batch).subspan(i, 1), position + i, Leaves::largest)) return true;  // a cancel
    alone.push_back(results(1)[0]);
  }
  if (!run_pass(std::span(batch).first(n), position, Leaves::largest)) return true;
  engine_.compared_passes.insert(kind);
  if (engine_.kernels.pass_check == PassCheck::fails) alone.back().sum_exp *= 1.001F;
  if (std::ranges::equal(alone, results(rows), agree)) return true;
  stats_.differing_pass = engine_.differing_pass = n;
  return can_draft_ = false;
}

// What is worth evaluating together with `token`, which comes next; maybe nothing.
DeviceSession::Guess DeviceSession::guess_behind(const SampledToken& token, const DecodeOptions& options,
                                                 uint32_t produced) {
  if (!options.drafts || !can_draft_) return {};
  options.drafts->append(token.id);
  uint32_t most =
      std::min({Drafts::kMost, max_batch_ - 1, n_ctx_ - static_cast<uint32_t>(tokens_.size()) - 1});
  if (options.max_tokens != 0) most = std::min(most, options.max_tokens - produced - 1);
  Guess guess;
  const Drafts::Guess found = options.drafts->guess(std::span(guess.tokens).first(most));
  // A text may be of another model, with tokens that this one does not have.
  const auto foreign = [n_vocab = engine_.weights.config.n_vocab](int32_t id) {
    return static_cast<uint32_t>(id) >= n_vocab;
  };
  const auto end = std::find_if(guess.tokens.begin(), guess.tokens.begin() + found.n, foreign);
  const auto n = static_cast<uint32_t>(end - guess.tokens.begin());
  const uint32_t always = engine_.kernels.draft_tokens;
  const std::span chances = std::span(found.chances).first(n);
  guess.n = always != 0 ? std::min(always, n) : draft_length_.choose(chances);
  guess.is_worth_waiting = always != 0 ? n > 1 : draft_length_.is_worth_waiting(chances);
  return guess;
}

// The choice behind the last token of a pass, for whose rows begin_pass has said what they leave.
std::optional<SampledToken> DeviceSession::choose(Sampler& sampler) {
  if (!sampler.is_argmax() && !device_can(sampler)) return sample_on_host(sampler);
  const ArgmaxResult best = argmax();
  if (best.non_finite || !(best.sum_exp > 0)) return std::nullopt;
  if (sampler.is_argmax()) return SampledToken{static_cast<int32_t>(best.index), -std::log(best.sum_exp)};
  const auto token = choice_of_device(sampler, best);
  return token ? token : sample_as_device(sampler);
}

// With the log-probability that a device's choice comes with.
std::optional<SampledToken> DeviceSession::sample_as_device(Sampler& sampler) {
  auto token = sampler.sample(logits(), tokens_);
  const ArgmaxResult best = argmax();
  if (token)
    token->logprob = logits()[static_cast<size_t>(token->id)] - best.largest - std::log(best.sum_exp);
  return token;
}

// Computes the head for rows of the batch that was just evaluated from `position` on.
void DeviceSession::run_heads(uint32_t first, uint32_t rows, uint32_t position, Leaves leaves) {
  auto& program = heads_[{first, rows, leaves}];
  if (!program) program = backend_.record([&](Recorder& r) { record_rows(r, first, rows, leaves); });
  backend_.run(*program, position + first, {});
}

// What the pass over a batch behind the timeline has to leave for the sampler. Where the device samples, it
// gets what that needs.
DeviceSession::Leaves DeviceSession::begin_pass(Sampler& sampler, std::span<const int32_t> batch) {
  if (sampler.is_argmax()) return Leaves::largest;
  if (!device_can(sampler)) return leaves_for_host(sampler);
  begin_sampling(sampler.recipe(), batch);
  for (size_t i = 0; i < batch.size(); ++i)
    give_random(sampler, i, static_cast<uint32_t>(tokens_.size() + i + 1));
  return Leaves::choice;
}

// Evaluates a batch from `position` on, with the head for the first kMaxLogitRows of its tokens. Returns
// false where a cancel came. Where a token alone is so fast that a stop can wait for the whole, the commands
// are one submission, and are recorded once.
bool DeviceSession::run_pass(std::span<const int32_t> batch, uint32_t position, Leaves leaves) {
  constexpr double kLongSeconds = 0.1;
  const auto n = static_cast<uint32_t>(batch.size());
  const uint32_t rows = std::min(n, kMaxLogitRows);
  const auto blocks = [&](Recorder& r, size_t begin, size_t end) {
    record_blocks(r, engine_.weights, activations_, cache_, n, begin, end, Watch(), 0);
  };
  if (draft_length_.alone() * n > kLongSeconds || engine_.reader) {
    if (!run_pieces(batch, position, blocks)) return false;
    run_heads(0, rows, position, leaves);
    return true;
  }
  auto& program = passes_[{n, leaves}];
  if (!program)
    program = backend_.record([&](Recorder& r) {
      blocks(r, 0, engine_.weights.blocks.size());
      record_rows(r, 0, rows, leaves);
    });
  backend_.run(*program, position, batch);
  return true;
}

// Requires: nothing is on its way on the device, and `token` has been given to on_token.
DeviceSession::Pass DeviceSession::evaluate_guess(const SampledToken& token, const Guess& guess,
                                                  Sampler& sampler, const DecodeOptions& options,
                                                  uint32_t& produced, const OnToken& on_token) {
  const auto start = Clock::now();
  const auto position = static_cast<uint32_t>(tokens_.size());
  std::array<int32_t, Drafts::kMost + 1> batch{token.id};
  std::copy_n(guess.tokens.begin(), guess.n, batch.begin() + 1);
  const uint32_t n = guess.n + 1;
  snapshots_.will_write({position, position + n});
  const Leaves leaves = begin_pass(sampler, std::span(batch).first(n));
  // The first of its kind also makes commands and kernels.
  const bool is_first = passes_tried_.insert({n, leaves}).second;
  if (!run_pass(std::span(batch).first(n), position,
                leaves)) {  // a cancel; the token alone is in the timeline
    evaluate_alone(token, leaves_for_host(sampler));
    ++produced;
    return {.stopped = true, .next = {}};
  }
  const auto evaluated = Clock::now();
  Pass pass;
  uint32_t right = 0;
  for (uint32_t row = 0;; ++row) {
    const uint32_t in_head = row % kMaxLogitRows, heads = std::min(n - (row - in_head), kMaxLogitRows);
    if (row != 0 && in_head == 0) run_heads(row, heads, position, leaves);
    last_ = {0, in_head, heads};
    logits_read_ = leaves == Leaves::logits;
    tokens_.push_back(batch[row]);
    ++produced;
    if (pass.stopped) break;
    pass.next = choose(sampler);
    if (row == guess.n || !pass.next || pass.next->id != batch[row + 1] ||
        finish_at(pass.next, options, produced))
      break;
    ++right;
    options.drafts->append(pass.next->id);
    pass.stopped = !on_token(*pass.next) || cancelled_;
  }
  engine_.check_files();
  const double passed = seconds_between(start, evaluated);
  if (!is_first) draft_length_.took(guess.n, passed, seconds_since(evaluated) / (right + 1));
  stats_.drafted_tokens += guess.n;
  stats_.right_tokens += right;
  return pass;
}

}  // namespace bitnet
