#include "session.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

namespace bitnet {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// A piece of a prefill submission aims at this time, so that a stop is prompt and the watchdog of no driver
// ends it.
constexpr double kPieceSeconds = 0.1;
// As many pieces has a batch of which it is not known how long it takes, where weights come over a link.
constexpr size_t kFirstPieces = 8;

// On a device that takes longer for a token we do not run ahead, because people would wait for the token past
// the end.
constexpr double kAheadSeconds = 0.05;

uint32_t checked_context(const Config& config, uint32_t n_ctx) {
  if (n_ctx > config.n_ctx_train)
    throw Error(ErrorKind::usage,
                fmt::format("the model was trained for {} tokens of context, {} were asked for",
                            config.n_ctx_train, n_ctx));
  return n_ctx == 0 ? usual_context(config) : n_ctx;
}

}  // namespace

DeviceSession::DeviceSession(LoadedEngine& engine, uint32_t n_ctx)
    : engine_(engine),
      backend_(*engine.backend),
      n_ctx_(checked_context(engine.weights.config, n_ctx)),
      max_batch_(std::min({kMaxBatch, engine.kernels.most_batch, n_ctx_})),
      cache_(backend_, engine.weights, n_ctx_, max_batch_),
      snapshots_(cache_, std::min(engine.kernels.snapshot_bytes, cache_.bytes_saved())),
      activations_(backend_, engine.weights, n_ctx_, max_batch_, kMaxLogitRows),
      host_logits_(backend_.allocate(uint64_t{kMaxLogitRows} * engine.weights.config.n_vocab * sizeof(float),
                                     BufferUse::shared)),
      copies_logits_(!backend_.device().cpu),
      can_draft_(can_draft()),
      observer_(backend_, engine.weights, max_batch_),
      batch_(max_batch_, engine.places.read_in_host + engine.places.read_in_file != 0) {
  const uint64_t row_bytes = uint64_t{engine_.weights.config.n_vocab} * sizeof(float);
  for (uint32_t i = 0; i < 1 + (backend_.runs_ahead() ? kRunAhead : 0); ++i)
    outcomes_.push_back({backend_.allocate(i == 0 ? kMaxLogitRows * row_bytes : row_bytes, BufferUse::device),
                         backend_.allocate(sizeof(ArgmaxResult) + sizeof(ChoiceResult), BufferUse::shared)});
  if (!engine.expert_trace.empty() && engine.weights.config.n_expert != 0) {
    trace_.emplace(backend_, engine.expert_trace, engine.weights.config, max_batch_, outcomes_.size());
    activations_.expert_trace = trace_->buffer();
  }
  greedy_ = record_decode(/*sample=*/false);
  if (copies_logits_)
    decode_logits_ = backend_.record([&](Recorder& r) {
      use_place(0);
      record_blocks(r, engine_.weights, activations_, cache_, 1);
      record_last_row(r, 0, /*with_logits=*/true);
    });
}

DeviceSession::DecodePrograms DeviceSession::record_decode(bool sample) {
  const auto one_token = [&](size_t outcome) {
    return [this, sample, outcome, &out = outcomes_[outcome]](Recorder& r) {
      use_place(outcome);
      record_blocks(r, engine_.weights, activations_, cache_, 1);
      record_head(r, engine_.weights, activations_, 0, 1, *out.logits, *out.result);
      if (sample)
        r.sample(*out.logits, engine_.weights.config.n_vocab, *activations_.argmax_partials, sampling_,
                 *out.result);
    };
  };
  DecodePrograms programs{backend_.record(one_token(0)), {}};
  for (size_t i = 1; i < outcomes_.size(); ++i) programs.next.push_back(backend_.record_next(one_token(i)));
  return programs;
}

// Has programs that are recorded now leave the experts of their tokens where trace() will look.
void DeviceSession::use_place(size_t outcome) {
  if (trace_) activations_.expert_trace_at = trace_->offset(outcome);
}

void DeviceSession::trace(uint32_t position, uint32_t n, size_t outcome) {
  if (trace_) trace_->write(position, n, outcome);
}

void DeviceSession::record_last_row(Recorder& r, uint32_t row, bool with_logits) {
  const Outcome& out = outcomes_[0];
  record_head(r, engine_.weights, activations_, row, 1, *out.logits, *out.result);
  if (with_logits) r.copy(*out.logits, 0, *host_logits_, 0, engine_.weights.config.n_vocab * sizeof(float));
}

void DeviceSession::check_tokens(std::span<const int32_t> tokens) const {
  const auto n_vocab = static_cast<int32_t>(engine_.weights.config.n_vocab);
  if (tokens.empty() || tokens.size() > n_ctx_)
    throw Error(ErrorKind::usage, fmt::format("{} tokens do not fit a context of {}", tokens.size(), n_ctx_));
  for (int32_t id : tokens)
    if (id < 0 || id >= n_vocab)
      throw Error(ErrorKind::usage, fmt::format("token {} is not in the vocabulary of {}", id, n_vocab));
}

SyncResult DeviceSession::sync(std::span<const int32_t> tokens, const SyncOptions& options) {
  check_tokens(tokens);
  const auto start = Clock::now();
  const auto differ = std::mismatch(tokens_.begin(), tokens_.end(), tokens.begin(), tokens.end()).first;
  const auto last = static_cast<uint32_t>(tokens.size() - 1);
  const uint32_t common = std::min(static_cast<uint32_t>(differ - tokens_.begin()), last);
  evaluated_ = false;
  cancelled_ = false;
  stop_reading_with_cancel();
  const uint32_t kept = cut(common);
  // What follows may be replaced: a message by another one, and an answer to it.
  snapshots_.mark(common);
  snapshots_.mark(last);

  SyncResult result{.reused = kept};
  const auto total = static_cast<uint32_t>(tokens.size() - kept);
  const uint32_t largest = options.observe ? observer_.most_tokens(*options.observe) : max_batch_;
  while (tokens_.size() < tokens.size() && !result.cancelled) {
    const uint32_t most = std::min(options.batch ? options.batch : batch_.next(), largest);
    const auto rest = tokens.subspan(tokens_.size());
    const auto batch = rest.first(std::min<size_t>(most, rest.size()));
    const auto batch_start = Clock::now();
    result.cancelled = !evaluate(batch, batch.size() == rest.size(), options);
    if (result.cancelled) break;
    batch_.took(static_cast<uint32_t>(batch.size()), seconds_since(batch_start));
    result.evaluated += static_cast<uint32_t>(batch.size());
    if (options.on_progress && !options.on_progress(result.evaluated, total)) result.cancelled = true;
    if (cancelled_.exchange(false)) result.cancelled = true;
  }
  cancelled_ = false;
  if (tokens_.size() == tokens.size())
    result.cancelled = false;  // all tokens had been evaluated when the cancel came
  stats_.prefill_tokens += result.evaluated;
  stats_.prefill_seconds += seconds_since(start);
  return result;
}

void DeviceSession::stop_reading_with_cancel() {
  if (engine_.reader) engine_.reader->stop_if(&cancelled_);
}

// Cuts the timeline back to `position`, or to where it can be continued from to get there. Returns that
// position.
uint32_t DeviceSession::cut(uint32_t position) {
  tokens_.resize(position);
  const uint32_t kept = snapshots_.cut(position);
  tokens_.resize(kept);
  return kept;
}

// Where the pieces of a batch end, in blocks. The first one is short, so that the device has work soon.
std::vector<size_t> DeviceSession::piece_ends(uint32_t n) const {
  const size_t n_layers = engine_.weights.blocks.size();
  if (!backend_.runs_ahead() || n_layers == 1) return {n_layers};
  const double expected = batch_.expected(n);
  size_t pieces = engine_.places.read_in_host + engine_.places.read_in_file != 0 ? kFirstPieces : 1;
  if (expected > 0) pieces = static_cast<size_t>(std::ceil(std::min(expected, 1e3) / kPieceSeconds));
  pieces = std::clamp<size_t>(pieces, 1, n_layers - 1);
  std::vector<size_t> ends = {1};
  for (size_t i = 1; i <= pieces; ++i) ends.push_back(1 + (n_layers - 1) * i / pieces);
  return ends;
}

// Runs blocks one piece after the other. Each is recorded while the device computes the one before. Returns
// false where a cancel came in between.
bool DeviceSession::run_pieces(std::span<const int32_t> batch,
                               const std::function<void(Recorder&, size_t begin, size_t end)>& blocks) {
  const auto position = static_cast<uint32_t>(tokens_.size());
  const std::vector<size_t> ends = piece_ends(static_cast<uint32_t>(batch.size()));
  const auto first = backend_.record([&](Recorder& r) { blocks(r, 0, ends[0]); });
  if (ends.size() == 1) {
    backend_.run(*first, position, batch);
    return true;
  }
  backend_.start(*first, position, batch);
  std::unique_ptr<Program> running;  // behind `first`
  size_t done = 1;                   // pieces that were started
  for (; done < ends.size() && !cancelled_; ++done) {
    auto next = backend_.record_next([&](Recorder& r) { blocks(r, ends[done - 1], ends[done]); });
    backend_.start_next(*next);
    backend_.wait(running ? *running : *first);
    running = std::move(next);
  }
  backend_.wait(running ? *running : *first);
  return done == ends.size();
}

// Makes one submission, and some more with on_logits. `last` says whether the next token will be chosen from
// this batch. Returns false where a cancel came. Then what the batch has written of keys and values lies
// behind the timeline, which is cut back where that has overwritten what it needs.
bool DeviceSession::evaluate(std::span<const int32_t> batch, bool last, const SyncOptions& options) {
  const auto n = static_cast<uint32_t>(batch.size());
  const auto position = static_cast<uint32_t>(tokens_.size());
  snapshots_.will_write(position, position + n);

  const size_t n_layers = engine_.weights.blocks.size();
  const Watch watch = options.observe ? observer_.watch(*options.observe, position, n) : Watch();
  use_place(0);
  const auto blocks = [&](Recorder& r, size_t begin, size_t end) {
    record_blocks(r, engine_.weights, activations_, cache_, n, begin, end, watch);
    if (last && end == n_layers) record_last_row(r, n - 1, copies_logits_);
  };
  bool done = false;
  try {
    done = run_pieces(batch, blocks);
  } catch (const Stopped&) {  // done is false
  } catch (...) {
    cut(position);
    throw;
  }
  if (!done) {
    cut(position);
    return false;
  }
  engine_.check_files();
  trace(position, n, 0);
  tokens_.insert(tokens_.end(), batch.begin(), batch.end());
  evaluated_ = last;
  logits_read_ = last && copies_logits_;
  last_ = 0;
  observer_.report(watch, cache_);
  if (options.on_logits) report_logits(n, options);
  return true;
}

// Computes the head for every token of the batch that was just evaluated, a few rows a submission, and at
// last the last row again, whose logits stay in place.
void DeviceSession::report_logits(uint32_t n, const SyncOptions& options) {
  const uint32_t n_vocab = engine_.weights.config.n_vocab;
  const auto first_position = static_cast<uint32_t>(tokens_.size()) - n;
  const auto* logits = reinterpret_cast<const float*>(host_logits_->mapped().data());
  for (uint32_t row = 0; row < n; row += kMaxLogitRows) {
    const uint32_t rows = std::min(kMaxLogitRows, n - row);
    const auto program = backend_.record([&](Recorder& r) {
      record_head(r, engine_.weights, activations_, row, rows, *outcomes_[0].logits, *outcomes_[0].result);
      r.copy(*outcomes_[0].logits, 0, *host_logits_, 0, uint64_t{rows} * n_vocab * sizeof(float));
    });
    backend_.run(*program, first_position, {});
    for (uint32_t i = 0; i < rows; ++i)
      options.on_logits(first_position + row + i, {logits + size_t{i} * n_vocab, n_vocab});
  }
  const auto program = backend_.record([&](Recorder& r) { record_last_row(r, n - 1, copies_logits_); });
  backend_.run(*program, first_position, {});
}

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
    evaluated_ = false;  // a token was begun that is not in the timeline
  } catch (...) {
    if (engine_.reader) evaluated_ = false;
    throw;
  }
  cancelled_ = false;
  stats_.decode_tokens += produced;
  stats_.decode_seconds += seconds_since(start);
  return finish;
}

// Of the logits after the last token.
ArgmaxResult DeviceSession::argmax() const {
  ArgmaxResult result{};
  std::memcpy(&result, outcomes_[last_].result->mapped().data(), sizeof result);
  return result;
}

// The sampler's choice after the last token. It is made from the few logits that it depends on, where the
// backend can name them.
std::optional<SampledToken> DeviceSession::sample_on_host(Sampler& sampler) {
  const uint32_t wanted = sampler.wanted();
  if (wanted == 0 || logits_read_ || !backend_.largest_logits(*outcomes_[last_].logits, wanted, largest_))
    return sampler.sample(logits(), tokens_);
  const ArgmaxResult best = argmax();
  if (best.non_finite || !(best.sum_exp > 0)) return std::nullopt;
  return sampler.sample_among(largest_, best.largest + std::log(double{best.sum_exp}), tokens_);
}

// Evaluates a token that the host has chosen. Requires: nothing is on its way on the device.
void DeviceSession::evaluate_alone(const SampledToken& token) {
  const auto position = static_cast<uint32_t>(tokens_.size());
  snapshots_.will_write(position, position + 1);
  backend_.run(copies_logits_ ? *decode_logits_ : *greedy_.first, position, {&token.id, 1});
  trace(position, 1, 0);
  tokens_.push_back(token.id);
  last_ = 0;
  logits_read_ = copies_logits_;
}

// Decodes tokens that the sampler on the host chooses.
Finish DeviceSession::decode_on_host(Sampler& sampler, const DecodeOptions& options, uint32_t& produced,
                                     const std::function<bool(const SampledToken&)>& on_token) {
  Pass pass;
  for (bool go_on = true, chosen = false; go_on;) {
    engine_.check_files();
    const auto token = chosen ? pass.next : sample_on_host(sampler);
    if (const auto reason = finish_at(token, options, produced)) return *reason;
    const Guess guess = guess_behind(*token, options, produced);
    const auto begin = Clock::now();
    go_on = on_token(*token) && !cancelled_;
    chosen = go_on && guess.n != 0;
    if (chosen) {
      pass = evaluate_guess(*token, guess, sampler, options, produced, on_token);
      go_on = !pass.stopped;
      continue;
    }
    evaluate_alone(*token);
    ++produced;
    draft_length_.took_alone(seconds_since(begin));
  }
  return Finish::interrupted;
}

// Whether the device can make the sampler's choices itself. It looks at the tokens that are likeliest before
// the penalty, so a penalty that makes others likelier is left to the host.
bool DeviceSession::device_can(const Sampler& sampler) const {
  const SamplingRecipe& r = sampler.recipe();
  return backend_.runs_ahead() && r.top_k != 0 && r.n_recent <= kSampleHistory &&
         r.top_k <= kMostSampled - r.n_recent && r.penalty >= 1.0F && r.penalty <= 1000.0F;
}

void DeviceSession::prepare_sampling() {
  if (sampled_.first) return;
  sampling_ = {backend_.allocate(sizeof(SamplingInput), BufferUse::device),
               backend_.allocate(kSampleRandoms * sizeof(uint64_t), BufferUse::shared),
               backend_.allocate(kSampleScratch, BufferUse::device)};
  const std::vector<std::byte> zeros(kSampleScratch);
  backend_.upload(*sampling_.scratch, 0, zeros);
  backend_.finish_uploads();
  sampled_ = record_decode(/*sample=*/true);
}

// Gives the device the settings and the latest tokens of the timeline, with the one that comes next.
void DeviceSession::begin_sampling(const SamplingRecipe& recipe, int32_t next_token) {
  SamplingInput input{.recipe = recipe, .want = recipe.top_k + recipe.n_recent, .history = {}};
  const size_t n = tokens_.size();
  for (size_t p = n - std::min<size_t>(n, kSampleHistory - 1); p < n; ++p)
    input.history[p % kSampleHistory] = tokens_[p];
  input.history[n % kSampleHistory] = next_token;
  backend_.upload(*sampling_.input, 0, std::as_bytes(std::span(&input, 1)));
  backend_.finish_uploads();
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

  // The token that follows the timeline: the device's choice, or the host's where the device has made none.
  // Nullopt where the logits are not numbers.
  std::optional<SampledToken> next_token() {
    struct {
      ArgmaxResult best;
      ChoiceResult choice;
    } result{};
    std::memcpy(&result, s_.outcomes_[s_.last_].result->mapped().data(), sizeof result);
    const ArgmaxResult& best = result.best;
    if (best.non_finite || !(best.sum_exp > 0)) return std::nullopt;
    if (!sampled_) return SampledToken{static_cast<int32_t>(best.index), -std::log(best.sum_exp)};
    if (device_chose_ && !result.choice.undecided) {
      sampler_.chosen();
      return SampledToken{static_cast<int32_t>(result.choice.index),
                          result.choice.logit - best.largest - std::log(best.sum_exp)};
    }
    drain();
    const auto token = s_.sample_as_device(sampler_);
    if (token) go_on_with(*token);
    return token;
  }

  // Makes `token` one that the host gives. Requires: nothing is on its way.
  void go_on_with(const SampledToken& token) {
    given_ = produced_;
    if (sampled_) s_.begin_sampling(sampler_.recipe(), token.id);
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
      try {
        go_on = on_token(token) && !s_.cancelled_;
      } catch (...) {
        drain();
        throw;
      }
      s_.backend_.wait(program_of(produced_));
    }
    s_.last_ = outcome_of(produced_);
    s_.trace(first_ + produced_, 1, s_.last_);
    s_.logits_read_ = false;
    s_.tokens_.push_back(token.id);
    device_chose_ = true;
    ++produced_;
    return go_on;
  }

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
    if (sampled_) {
      const uint64_t random = sampler_.random(i - produced_);
      std::memcpy(s_.sampling_.randoms->mapped().data() + (first_ + i + 1) % kSampleRandoms * sizeof random,
                  &random, sizeof random);
    }
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
// i, so that the device never waits for the host. Where the device samples, the host chooses the first token
// and what the device leaves undecided.
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
    if (const Guess guess = guess_behind(*token, options, produced); guess.n != 0) {
      run.drain();
      chosen = on_token(*token) && !cancelled_;
      if (chosen)
        pass = evaluate_guess(*token, guess, sampler, options, produced, on_token);
      else
        evaluate_alone(*token), ++produced;
      go_on = chosen && !pass.stopped;
      run.begin_anew();
      continue;
    }
    if (std::exchange(chosen, false)) run.go_on_with(*token);
    if (snapshots_.due(first + run.behind_next() + 1)) {
      run.drain();
      run.go_on_with(*token);
    }
    const uint32_t n = run.behind_next();
    snapshots_.will_write(static_cast<uint32_t>(tokens_.size()), first + n + 1);
    const bool one_more = (options.max_tokens == 0 || n < options.max_tokens) && first + n < n_ctx_;
    go_on = run.evaluate(*token, is_quick && one_more, on_token);
    const double seconds = seconds_since(begin);
    is_quick = may_be_quick && seconds < kAheadSeconds;
    draft_length_.took_alone(seconds);
  }
  run.drain();
  return finish;
}

std::span<const float> DeviceSession::logits() {
  const uint32_t n_vocab = engine_.weights.config.n_vocab;
  if (!evaluated_) throw Error(ErrorKind::usage, "there are no logits before a completed sync");
  const auto host = host_logits_->mapped().first(n_vocab * sizeof(float));
  if (!logits_read_) backend_.download(*outcomes_[last_].logits, 0, host);
  logits_read_ = true;
  return {reinterpret_cast<const float*>(host.data()), n_vocab};
}

uint64_t DeviceSession::save_bytes() const { return cache_.save_bytes(tokens_.size()); }

std::vector<std::byte> DeviceSession::save() { return cache_.save(tokens_); }

void DeviceSession::load(std::span<const std::byte> payload) {
  tokens_.clear();
  snapshots_.clear();
  evaluated_ = false;
  tokens_ = cache_.load(payload);
}

}  // namespace bitnet
