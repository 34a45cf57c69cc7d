// How a session decodes: tokens that the host chooses one by one, and tokens that the device chooses, which
// runs ahead of the host where it can.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "seconds.h"
#include "session.h"

namespace bitnet {
namespace {

// On a device that takes longer for a token we do not run ahead, because people would wait for the token past
// the end.
constexpr double kAheadSeconds = 0.05;

}  // namespace

// The reason why no token comes after `produced` ones, or nullopt if `token` does.
std::optional<Finish> DeviceSession::finish_at(const std::optional<SampledToken>& token,
                                               const DecodeOptions& options, uint32_t produced) const {
  if (!token) return Finish::numeric;
  if (std::ranges::find(options.stop_tokens, token->id) != options.stop_tokens.end()) return Finish::stop;
  if (options.max_tokens != 0 && produced == options.max_tokens) return Finish::length;
  if (tokens_.size() == n_ctx_) return Finish::context;
  return std::nullopt;
}

Finish DeviceSession::decode(Sampler& sampler, const DecodeOptions& options,
                             const std::function<bool(const SampledToken&)>& on_token) {
  if (!evaluated_) throw Error(ErrorKind::usage, "decode needs a completed sync");
  const auto start = Clock::now();
  cancelled_ = false;
  stop_reading_with_cancel();
  uint32_t produced = 0;
  Finish finish = Finish::interrupted;
  if (options.drafts) options.drafts->follow(tokens_);
  try {
    finish = sampler.is_argmax() || device_can(sampler)
                 ? decode_on_device(sampler, options, produced, on_token)
                 : decode_on_host(sampler, options, produced, on_token);
  } catch (const Stopped&) {
    give_up_begun();
  } catch (...) {
    give_up_begun();
    throw;
  }
  cancelled_ = false;
  stats_.decode_seconds += seconds_since(start);
  return finish;
}

// After tokens were begun that are not in the timeline: the logits are those of other tokens, and where the
// timeline's own state is lost too, it is cut back to one that is there. Requires: nothing is on its way.
void DeviceSession::give_up_begun() {
  evaluated_ = false;
  cut(static_cast<uint32_t>(tokens_.size()));
}

// Of the logits after the last token.
ArgmaxResult DeviceSession::argmax() const {
  ArgmaxResult result{};
  std::memcpy(&result, outcomes_[last_.outcome].result->mapped().data() + last_.row * sizeof result,
              sizeof result);
  return result;
}

// The sampler's choice after the last token. It is made from the few logits that it depends on, where the
// backend can name them.
std::optional<SampledToken> DeviceSession::sample_on_host(Sampler& sampler) {
  const uint32_t wanted = sampler.wanted();
  if (wanted == 0 || logits_read_ ||
      !backend_.largest_logits(*outcomes_[last_.outcome].logits, last_.row, wanted, largest_))
    return sampler.sample(logits(), tokens_);
  const ArgmaxResult best = argmax();
  if (best.non_finite || !(best.sum_exp > 0)) return std::nullopt;
  return sampler.sample_among(largest_, best.largest + std::log(double{best.sum_exp}), tokens_);
}

// Evaluates a token that the host has chosen, and leaves the largest logits or all of them. Requires: nothing
// is on its way on the device.
void DeviceSession::evaluate_alone(const SampledToken& token, Leaves leaves) {
  const auto position = static_cast<uint32_t>(tokens_.size());
  snapshots_.will_write({position, position + 1, /*one_by_one=*/true});
  backend_.run(token_program(leaves), position, {&token.id, 1});
  trace(position, 1, 0);
  tokens_.push_back(token.id);
  last_ = {};
  logits_read_ = leaves == Leaves::logits;
}

// Decodes tokens that the sampler on the host chooses.
Finish DeviceSession::decode_on_host(Sampler& sampler, const DecodeOptions& options, uint32_t& produced,
                                     const std::function<bool(const SampledToken&)>& on_token) {
  Pass pass;
  for (bool go_on = true, chosen = false; go_on;) {
    engine_.check_files();
    const auto token = chosen ? pass.next : sample_on_host(sampler);
    if (const auto reason = finish_at(token, options, produced)) return *reason;
    Guess guess = guess_behind(*token, options, produced);
    if (guess.n != 0 && !trusts_pass(*token, guess)) guess = {};
    const auto begin = Clock::now();
    go_on = on_token(*token) && !cancelled_;
    chosen = go_on && guess.n != 0;
    if (chosen) {
      pass = evaluate_guess(*token, guess, sampler, options, produced, on_token);
      go_on = !pass.stopped;
      continue;
    }
    evaluate_alone(*token, leaves_for_host(sampler));
    ++produced;
    draft_length_.took_alone(seconds_since(begin));
  }
  return Finish::interrupted;
}

// Whether the device can make the sampler's choices itself. It looks at the tokens that are likeliest before
// the penalty, so a penalty that makes others likelier is left to the host.
bool DeviceSession::device_can(const Sampler& sampler) const {
  const SamplingRecipe& r = sampler.recipe();
  static_assert(kMostSampled <= kSampleHistory - kMostInPass);
  return backend_.runs_ahead() && r.top_k != 0 && r.n_recent <= kMostSampled &&
         r.top_k <= kMostSampled - r.n_recent && r.penalty >= 1.0F && r.penalty <= 1000.0F;
}

void DeviceSession::prepare_sampling() {
  if (sampled_.first) return;
  sampling_ = {backend_.allocate(sizeof(SamplingInput), BufferUse::device),
               backend_.allocate(kSampleRandoms * sizeof(uint64_t), BufferUse::shared),
               backend_.allocate(kMaxLogitRows * kSampleScratch, BufferUse::device)};
  given_sampling_ = backend_.allocate(sizeof(SamplingInput), BufferUse::shared);
  const std::vector<std::byte> zeros(kMaxLogitRows * kSampleScratch);
  backend_.upload(*sampling_.scratch, 0, zeros);
  backend_.finish_uploads();
  sampled_ = record_decode(/*sample=*/true);
  sample_logits_ = backend_.record([&](Recorder& r) {
    const Outcome& first = outcomes_[0];
    r.copy(*given_sampling_, 0, *sampling_.input, 0, sizeof(SamplingInput));
    r.choose_tokens(*first.logits, engine_.weights.config.n_vocab,
                    {*activations_.argmax_partials, *first.result, &sampling_}, 1);
  });
}

// Gives the device the settings and the latest tokens of the timeline, with those that come next. Requires:
// nothing is on its way.
void DeviceSession::begin_sampling(const SamplingRecipe& recipe, std::span<const int32_t> next_tokens) {
  SamplingInput input{.recipe = recipe, .want = recipe.top_k + recipe.n_recent, .history = {}};
  const size_t n = tokens_.size();
  for (size_t p = n - std::min<size_t>(n, kSampleHistory - next_tokens.size()); p < n; ++p)
    input.history[p % kSampleHistory] = tokens_[p];
  for (size_t i = 0; i < next_tokens.size(); ++i) input.history[(n + i) % kSampleHistory] = next_tokens[i];
  std::memcpy(given_sampling_->mapped().data(), &input, sizeof input);
}

// Gives the device the random number of the n-th choice from here, which is the token at `position`.
void DeviceSession::give_random(Sampler& sampler, size_t n, uint32_t position) {
  const uint64_t random = sampler.random(n);
  std::memcpy(sampling_.randoms->mapped().data() + position % kSampleRandoms * sizeof random, &random,
              sizeof random);
}

// Has the device sample behind the last token, where it has its logits or what the head makes them of;
// returns whether it has.
bool DeviceSession::sample_on_device(Sampler& sampler) {
  if (last_.outcome != 0 || last_.rows != 1 || !(logits_read_ || last_.x_row)) return false;
  const auto n = static_cast<uint32_t>(tokens_.size());
  begin_sampling(sampler.recipe(), {});
  give_random(sampler, 0, n);
  if (logits_read_) {
    backend_.run(*sample_logits_, n - 1, {});
  } else {
    const auto head = backend_.record([&](Recorder& r) { record_rows(r, *last_.x_row, 1, Leaves::choice); });
    backend_.run(*head, n - 1, {});
  }
  return true;
}

// What the device has sampled behind the last token, or nullopt where it leaves that to the host.
std::optional<SampledToken> DeviceSession::choice_of_device(Sampler& sampler,
                                                            const ArgmaxResult& best) const {
  ChoiceResult choice{};
  const size_t at = last_.rows * sizeof best + last_.row * sizeof choice;
  std::memcpy(&choice, outcomes_[last_.outcome].result->mapped().data() + at, sizeof choice);
  if (choice.undecided) return std::nullopt;
  sampler.chosen();
  return SampledToken{static_cast<int32_t>(choice.index),
                      choice.logit - best.largest - std::log(best.sum_exp)};
}

// One call of decode_on_device. Program number i evaluates token i of the call; `produced` tokens have been
// evaluated and waited for, and further programs may be on their way.
class DeviceSession::DeviceDecode {
 public:
  DeviceDecode(DeviceSession& session, Sampler& sampler, uint32_t& produced)
      : s_(session),
        sampler_(sampler),
        produced_(produced),
        sampled_(!sampler.is_argmax()),
        programs_(sampled_ ? session.sampled_ : session.greedy_),
        first_(static_cast<uint32_t>(session.tokens_.size())),
        device_chose_(!sampled_) {}
  DeviceDecode(const DeviceDecode&) = delete;
  DeviceDecode& operator=(const DeviceDecode&) = delete;
  ~DeviceDecode() {
    try {
      drain();
    } catch (...) {  // the device is lost, of which the next call tells too
    }
  }

  // The token that follows the timeline: the device's choice, or the host's where the device has made none.
  // Nullopt where the logits are not numbers.
  std::optional<SampledToken> next_token() {
    const ArgmaxResult best = s_.argmax();
    if (best.non_finite || !(best.sum_exp > 0)) return std::nullopt;
    if (!sampled_) return SampledToken{static_cast<int32_t>(best.index), -std::log(best.sum_exp)};
    std::optional<SampledToken> token;
    if (device_chose_) {
      token = s_.choice_of_device(sampler_, best);
      if (token) return token;
      drain();
    } else if (s_.sample_on_device(sampler_)) {
      token = s_.choice_of_device(sampler_, best);
    }
    if (!token) token = s_.sample_as_device(sampler_);
    if (token) go_on_with(*token);
    return token;
  }

  // Makes `token` one that the host gives. Requires: nothing is on its way.
  void go_on_with(const SampledToken& token) {
    given_ = produced_;
    if (sampled_) s_.begin_sampling(sampler_.recipe(), {&token.id, 1});
  }

  // Others have evaluated tokens meanwhile, and counted them in `produced`.
  void begin_anew() {
    given_ = started_ = produced_;
    device_chose_ = !sampled_;
  }

  // Evaluates `token`, and begins with the one behind it where `ahead` says so; on_token gets it meanwhile.
  // Returns whether the turn goes on.
  bool evaluate(const SampledToken& token, bool ahead,
                const std::function<bool(const SampledToken&)>& on_token) {
    bool go_on = false;
    if (!s_.backend_.runs_ahead()) {
      go_on = on_token(token) && !s_.cancelled_;
      s_.backend_.run(*programs_.first, first_ + produced_, {&token.id, 1});
    } else if (s_.engine_.reader) {  // it takes long to start, since the host waits for the file
      go_on = on_token(token) && !s_.cancelled_;
      if (started_ == produced_) start(token);
      s_.backend_.wait(program_of(produced_));
    } else {
      if (started_ == produced_) start(token);
      if (ahead) start(token);
      go_on = on_token(token) && !s_.cancelled_;
      s_.backend_.wait(program_of(produced_));
    }
    s_.last_ = {outcome_of(produced_)};
    s_.trace(first_ + produced_, 1, s_.last_.outcome);
    s_.logits_read_ = false;
    s_.tokens_.push_back(token.id);
    device_chose_ = true;
    ++produced_;
    return go_on;
  }

  // Whether the next token is being evaluated already.
  bool is_ahead() const { return started_ > produced_; }

  // How many tokens will have been evaluated when all that was started is done, and the next one too.
  uint32_t behind_next() const { return std::max(started_, produced_ + 1); }

  // Waits for what was started past the end; the timeline does not have it, and it will be overwritten.
  void drain() {
    while (started_ > produced_) {
      --started_;
      if (s_.backend_.runs_ahead()) s_.backend_.wait(program_of(started_));
    }
  }

 private:
  size_t outcome_of(uint32_t i) const {
    return i == given_ || programs_.next.empty() ? 0 : 1 + i % programs_.next.size();
  }

  Program& program_of(uint32_t i) const {
    return outcome_of(i) == 0 ? *programs_.first : *programs_.next[outcome_of(i) - 1];
  }

  void start(const SampledToken& token) {
    const uint32_t i = started_++;
    if (sampled_) s_.give_random(sampler_, i - produced_, first_ + i + 1);
    if (i == given_)
      s_.backend_.start(program_of(i), first_ + i, {&token.id, 1});
    else
      s_.backend_.start_next(program_of(i));
  }

  DeviceSession& s_;
  Sampler& sampler_;
  uint32_t& produced_;
  const bool sampled_;
  DecodePrograms& programs_;
  const uint32_t first_;  // position of the first token of the call
  uint32_t started_ = 0;  // programs
  uint32_t given_ = 0;    // the last token that the host gave
  bool device_chose_;     // the last program has made a choice
};

// Decodes tokens that the device chooses. The program of token i + 1 is queued before the host looks at token
// i, so that the device never waits for the host, except where a guess is expected to come behind token
// i + 1. Where the device samples, the host chooses what the device leaves undecided.
Finish DeviceSession::decode_on_device(Sampler& sampler, const DecodeOptions& options, uint32_t& produced,
                                       const std::function<bool(const SampledToken&)>& on_token) {
  if (!sampler.is_argmax()) prepare_sampling();
  const auto first = static_cast<uint32_t>(tokens_.size());
  DeviceDecode run(*this, sampler, produced);
  Finish finish = Finish::interrupted;
  const bool may_be_quick = backend_.runs_ahead() && !engine_.reader;
  bool is_quick = may_be_quick;
  Pass pass;
  for (bool go_on = true, chosen = false; go_on;) {
    engine_.check_files();
    const auto token = chosen ? pass.next : run.next_token();
    if (const auto reason = finish_at(token, options, produced)) {
      finish = *reason;
      break;
    }
    const auto begin = Clock::now();
    const bool was_ahead = run.is_ahead();
    const Guess guess = guess_behind(*token, options, produced);
    const bool may_pass = guess.n != 0 && !was_ahead;
    if (may_pass && trusts_pass(*token, guess)) {
      chosen = on_token(*token) && !cancelled_;
      if (chosen)
        pass = evaluate_guess(*token, guess, sampler, options, produced, on_token);
      else
        evaluate_alone(*token, leaves_for_host(sampler)), ++produced;
      go_on = chosen && !pass.stopped;
      run.begin_anew();
      continue;
    }
    // Neither a pass nor the check of one leaves the token on the device.
    if (std::exchange(chosen, false) || may_pass) run.go_on_with(*token);
    const auto position = static_cast<uint32_t>(tokens_.size());
    const bool waits = was_ahead && guess.is_worth_waiting;
    // Whether a token is begun behind the next one, and what is written until then.
    const auto goes_ahead = [&] {
      const uint32_t n = run.behind_next();
      const bool one_more = (options.max_tokens == 0 || n < options.max_tokens) && first + n < n_ctx_;
      return is_quick && one_more && !waits;
    };
    const auto writing = [&] {
      return Writing{position, first + run.behind_next() + (goes_ahead() ? 1 : 0), /*one_by_one=*/true};
    };
    if (snapshots_.due(writing())) {
      run.drain();
      run.go_on_with(*token);
    }
    snapshots_.will_write(writing());
    go_on = run.evaluate(*token, goes_ahead(), on_token);
    const double seconds = seconds_since(begin);
    if (is_quick && !was_ahead)
      draft_length_.took_first(seconds);
    else
      draft_length_.took_alone(seconds);
    is_quick = may_be_quick && seconds < kAheadSeconds;
  }
  run.drain();
  return finish;
}

}  // namespace bitnet
