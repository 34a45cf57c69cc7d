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

// A prefill submission aims at this long, so that a stop is prompt and no driver's watchdog bites.
constexpr double kSubmissionSeconds = 0.2;
constexpr uint32_t kFirstBatch = 32;

uint32_t checked_context(const Config& config, uint32_t n_ctx) {
  if (n_ctx > config.n_ctx_train)
    throw Error(ErrorKind::usage,
                fmt::format("the model was trained for {} tokens of context, {} were asked for",
                            config.n_ctx_train, n_ctx));
  return n_ctx == 0 ? config.n_ctx_train : n_ctx;
}

}  // namespace

DeviceSession::DeviceSession(LoadedEngine& engine, uint32_t n_ctx)
    : engine_(engine),
      backend_(*engine.backend),
      n_ctx_(checked_context(engine.weights.config, n_ctx)),
      max_batch_(std::min(kMaxBatch, n_ctx_)),
      cache_(backend_, engine.weights.config, n_ctx_),
      activations_(backend_, engine.weights.config, n_ctx_, max_batch_, kMaxLogitRows),
      argmax_(backend_.allocate(sizeof(ArgmaxResult), BufferUse::shared)),
      host_logits_(backend_.allocate(uint64_t{kMaxLogitRows} * engine.weights.config.n_vocab * sizeof(float),
                                     BufferUse::shared)),
      batch_(std::min(kFirstBatch, max_batch_)) {
  for (const bool with_logits : {false, true})
    (with_logits ? decode_logits_ : decode_argmax_) = backend_.record([&](Recorder& r) {
      record_blocks(r, engine_.weights, activations_, cache_, 1);
      record_last_row(r, 0, with_logits);
    });
}

void DeviceSession::record_last_row(Recorder& r, uint32_t row, bool with_logits) {
  record_head(r, engine_.weights, activations_, row, 1, *argmax_);
  if (with_logits)
    r.copy(*activations_.logits, 0, *host_logits_, 0, engine_.weights.config.n_vocab * sizeof(float));
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
  const size_t common = std::min<size_t>(differ - tokens_.begin(), tokens.size() - 1);
  tokens_.resize(common);
  evaluated_ = false;
  cancelled_ = false;

  SyncResult result{.reused = static_cast<uint32_t>(common)};
  const auto total = static_cast<uint32_t>(tokens.size() - common);
  while (tokens_.size() < tokens.size() && !result.cancelled) {
    const uint32_t most = options.batch ? std::min(options.batch, max_batch_) : batch_;
    const auto rest = tokens.subspan(tokens_.size());
    const auto batch = rest.first(std::min<size_t>(most, rest.size()));
    const auto batch_start = Clock::now();
    evaluate(batch, batch.size() == rest.size(), options);
    const double seconds = seconds_since(batch_start);
    if (batch.size() == batch_ && seconds < kSubmissionSeconds / 2) batch_ = std::min(2 * batch_, max_batch_);
    if (seconds > kSubmissionSeconds * 2) batch_ = std::max(batch_ / 2, std::min(kFirstBatch, max_batch_));
    result.evaluated += static_cast<uint32_t>(batch.size());
    if (options.on_progress && !options.on_progress(result.evaluated, total)) result.cancelled = true;
    if (cancelled_.exchange(false)) result.cancelled = true;
  }
  if (tokens_.size() == tokens.size()) result.cancelled = false;  // it was over when the cancel came
  stats_.prefill_tokens += result.evaluated;
  stats_.prefill_seconds += seconds_since(start);
  return result;
}

// One submission, and with on_logits some more. `last` is whether the next token will be chosen from this
// batch.
void DeviceSession::evaluate(std::span<const int32_t> batch, bool last, const SyncOptions& options) {
  const Config& c = engine_.weights.config;
  const auto n = static_cast<uint32_t>(batch.size());
  const auto position = static_cast<uint32_t>(tokens_.size());
  const bool want_hidden = last && options.hidden;
  if (want_hidden && !hidden_)
    hidden_ = backend_.allocate(uint64_t{c.n_layer} * c.n_embd * sizeof(float), BufferUse::shared);

  const auto program = backend_.record([&](Recorder& r) {
    record_blocks(r, engine_.weights, activations_, cache_, n, want_hidden ? hidden_.get() : nullptr, n - 1);
    if (last) record_last_row(r, n - 1, true);
  });
  backend_.run(*program, position, batch);
  tokens_.insert(tokens_.end(), batch.begin(), batch.end());
  evaluated_ = logits_read_ = last;
  if (want_hidden) {
    options.hidden->resize(size_t{c.n_layer} * c.n_embd);
    std::memcpy(options.hidden->data(), hidden_->mapped().data(), options.hidden->size() * sizeof(float));
  }
  if (options.on_logits) report_logits(n, options);
}

// The head for every token of the batch just evaluated, a few rows a submission; the last row stays in place.
void DeviceSession::report_logits(uint32_t n, const SyncOptions& options) {
  const uint32_t n_vocab = engine_.weights.config.n_vocab;
  const auto first_position = static_cast<uint32_t>(tokens_.size()) - n;
  const auto* logits = reinterpret_cast<const float*>(host_logits_->mapped().data());
  for (uint32_t row = 0; row < n; row += kMaxLogitRows) {
    const uint32_t rows = std::min(kMaxLogitRows, n - row);
    const auto program = backend_.record([&](Recorder& r) {
      record_head(r, engine_.weights, activations_, row, rows, *argmax_);
      r.copy(*activations_.logits, 0, *host_logits_, 0, uint64_t{rows} * n_vocab * sizeof(float));
    });
    backend_.run(*program, first_position, {});
    for (uint32_t i = 0; i < rows; ++i)
      options.on_logits(first_position + row + i, {logits + size_t{i} * n_vocab, n_vocab});
  }
  const auto program = backend_.record([&](Recorder& r) { record_last_row(r, n - 1, true); });
  backend_.run(*program, first_position, {});
}

Finish DeviceSession::decode(Sampler& sampler, const DecodeOptions& options,
                             const std::function<bool(const SampledToken&)>& on_token) {
  if (!evaluated_) throw Error(ErrorKind::usage, "decode needs a completed sync");
  const auto start = Clock::now();
  const bool by_device = sampler.is_argmax();
  cancelled_ = false;
  uint32_t produced = 0;
  Finish finish = Finish::interrupted;
  for (bool go_on = true; go_on;) {
    std::optional<SampledToken> token;
    if (by_device) {
      ArgmaxResult best{};
      std::memcpy(&best, argmax_->mapped().data(), sizeof best);
      if (!best.non_finite && best.sum_exp > 0)
        token = {static_cast<int32_t>(best.index), -std::log(best.sum_exp)};
    } else {
      token = sampler.sample(logits(), tokens_);
    }
    const auto is_stop = [&](int32_t id) {
      return std::find(options.stop_tokens.begin(), options.stop_tokens.end(), id) !=
             options.stop_tokens.end();
    };
    if (!token)
      finish = Finish::numeric;
    else if (is_stop(token->id))
      finish = Finish::stop;
    else if (options.max_tokens != 0 && produced == options.max_tokens)
      finish = Finish::length;
    else if (tokens_.size() == n_ctx_)
      finish = Finish::context;
    else {
      go_on = on_token(*token) && !cancelled_;
      backend_.run(by_device ? *decode_argmax_ : *decode_logits_, static_cast<uint32_t>(tokens_.size()),
                   {&token->id, 1});
      tokens_.push_back(token->id);
      logits_read_ = !by_device;
      ++produced;
      continue;
    }
    go_on = false;
  }
  cancelled_ = false;
  stats_.decode_tokens += produced;
  stats_.decode_seconds += seconds_since(start);
  return finish;
}

std::span<const float> DeviceSession::logits() {
  const uint32_t n_vocab = engine_.weights.config.n_vocab;
  if (!evaluated_) throw Error(ErrorKind::usage, "there are no logits before a completed sync");
  const auto host = host_logits_->mapped().first(n_vocab * sizeof(float));
  if (!logits_read_) backend_.download(*activations_.logits, 0, host);
  logits_read_ = true;
  return {reinterpret_cast<const float*>(host.data()), n_vocab};
}

std::vector<std::byte> DeviceSession::save() { return cache_.save(tokens_); }

void DeviceSession::load(std::span<const std::byte> payload) {
  tokens_.clear();
  evaluated_ = false;
  tokens_ = cache_.load(payload);
}

}  // namespace bitnet
