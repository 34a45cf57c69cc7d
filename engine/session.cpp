#include "session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "seconds.h"

namespace bitnet {
namespace {

// A piece of a prefill submission aims at this time, so that a stop is prompt and the watchdog of no driver
// ends it.
constexpr double kPieceSeconds = 0.1;
constexpr size_t kUnknownBlocks = 4;  // of a piece on a GPU before any batch was timed
// A batch has at least as many pieces where weights come over a link: the first of them are on their way
// while the rest is recorded, and a stop is prompt though it is not known how long the batch takes.
constexpr size_t kStreamedPieces = 8;
// A batch of so few tokens is one piece: its blocks are a few dispatches, or one (vk/decode.h), which pieces
// would divide.
constexpr uint32_t kFewTokens = 8;

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
      snapshots_(cache_, std::min({engine.kernels.snapshot_bytes, engine.places.snapshots,
                                   cache_.has_states() ? kNoLimit : cache_.bytes_saved()})),
      activations_(backend_, engine.weights, n_ctx_, max_batch_, kMaxLogitRows),
      host_logits_(backend_.allocate(uint64_t{kMaxLogitRows} * engine.weights.config.n_vocab * sizeof(float),
                                     BufferUse::shared)),
      copies_logits_(!backend_.device().cpu),
      knows_all_logits_(cache_.has_states() || engine.weights.has_ternary_head() ||
                        backend_.knows_all_logits(engine.weights.head())),
      can_draft_(can_draft()),
      observer_(backend_, engine.weights, max_batch_),
      batch_(max_batch_, engine.places.read_in_host + engine.places.read_in_file != 0) {
  const uint64_t row_bytes = uint64_t{engine_.weights.config.n_vocab} * sizeof(float);
  for (uint32_t i = 0; i < 1 + (backend_.runs_ahead() ? kRunAhead : 0); ++i) {
    const uint32_t rows = i == 0 ? kMaxLogitRows : 1;
    outcomes_.push_back(
        {backend_.allocate(rows * row_bytes, BufferUse::device),
         backend_.allocate(rows * (sizeof(ArgmaxResult) + sizeof(ChoiceResult)), BufferUse::shared)});
  }
  if (!engine.expert_trace.empty()) {
    trace_.emplace(backend_, engine.expert_trace, engine.weights.config, max_batch_, outcomes_.size());
    activations_.expert_trace = trace_->buffer();
  }
  greedy_ = record_decode(/*sample=*/false);
  stats_.token_dispatches = greedy_.first->dispatches();
  if (copies_logits_) token_program(Leaves::logits);
}

// Of one token that the host chooses.
Program& DeviceSession::token_program(Leaves leaves) {
  if (leaves != Leaves::logits) return *greedy_.first;
  if (!decode_logits_)
    decode_logits_ = backend_.record([&](Recorder& r) {
      use_place(0);
      record_blocks(r, engine_.weights, activations_, cache_, 1);
      record_rows(r, 0, 1, Leaves::logits);
    });
  return *decode_logits_;
}

DeviceSession::DecodePrograms DeviceSession::record_decode(bool sample) {
  const auto one_token = [&](size_t outcome) {
    return [this, sample, outcome](Recorder& r) {
      use_place(outcome);
      record_blocks(r, engine_.weights, activations_, cache_, 1);
      record_rows(r, 0, 1, sample ? Leaves::choice : Leaves::largest, outcome);
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

void DeviceSession::record_rows(Recorder& r, uint32_t first, uint32_t rows, Leaves leaves, size_t outcome) {
  const Outcome& out = outcomes_[outcome];
  const uint32_t n_vocab = engine_.weights.config.n_vocab;
  if (leaves == Leaves::choice && outcome == 0)
    r.copy(*given_sampling_, 0, *sampling_.input, 0, sizeof(SamplingInput));
  const WantedLogits wanted{.all = leaves == Leaves::logits || cache_.has_states(),
                            .sampling = leaves == Leaves::choice ? &sampling_ : nullptr};
  record_head(r, engine_.weights, activations_, first, rows, wanted, *out.logits, *out.result);
  if (leaves == Leaves::logits)
    r.copy(*out.logits, 0, *host_logits_, 0, uint64_t{rows} * n_vocab * sizeof(float));
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
  if (options.observe) observer_.check(*options.observe);
  const auto start = Clock::now();
  const auto differ = std::mismatch(tokens_.begin(), tokens_.end(), tokens.begin(), tokens.end()).first;
  const auto last = static_cast<uint32_t>(tokens.size() - 1);
  const uint32_t common = std::min(static_cast<uint32_t>(differ - tokens_.begin()), last);
  evaluated_ = false;
  cancelled_ = false;
  stop_reading_with_cancel();
  const uint32_t kept = cut(common);
  const uint32_t largest = options.observe ? observer_.most_tokens(*options.observe, last + 1) : max_batch_;
  const auto most = [&] { return std::min(options.batch ? options.batch : batch_.next(), largest); };
  // What follows may be replaced: a message by another one, and an answer to it.
  snapshots_.mark(common);
  snapshots_.mark(cache_.has_states() ? near_end(kept, last, most()) : last);

  SyncResult result{.reused = kept};
  const auto total = static_cast<uint32_t>(tokens.size() - kept);
  while (tokens_.size() < tokens.size() && !result.cancelled) {
    const Writing writing = next_batch(most(), last + 1);
    const auto batch = tokens.subspan(writing.begin, writing.end - writing.begin);
    const auto batch_start = Clock::now();
    const double compiled = backend_.seconds_compiling();
    result.cancelled = !evaluate(batch, writing, writing.end > last, options);
    if (result.cancelled) break;
    // A batch for which kernels were compiled says little of the device's speed.
    constexpr double kMostCompiling = 0.1;
    const double seconds = seconds_since(batch_start);
    if (backend_.seconds_compiling() - compiled <= kMostCompiling * seconds)
      batch_.took(static_cast<uint32_t>(batch.size()), seconds);
    result.evaluated += static_cast<uint32_t>(batch.size());
    if (options.on_progress && !options.on_progress(result.evaluated, total)) result.cancelled = true;
    if (cancelled_.exchange(false)) result.cancelled = true;
  }
  cancelled_ = false;
  if (tokens_.size() == tokens.size())
    result.cancelled = false;  // all tokens had been evaluated when the cancel came
  stats_.prefill_seconds += seconds_since(start);
  return result;
}

// Where states are marked near the end of a prompt of which `kept` tokens are there: in front of what
// templates put between a question and its answer, which the next turn may have in another form. An odd
// number of tokens is left to evaluate behind it where all can be one batch, else before it, see
// next_batch().
uint32_t DeviceSession::near_end(uint32_t kept, uint32_t last, uint32_t most) const {
  constexpr uint32_t kBehind = 14;  // so that no more than 16 are left, which are a tile of products
  const uint32_t end = last - std::min(last, kBehind);
  const bool at_once = last - kept < most && snapshots_.holds(kept);
  return !at_once && end > kept && (end - kept) % 2 == 0 ? end - 1 : end;
}

// What is evaluated at once of the tokens up to `end`: `most` tokens, and none behind a mark, unless the
// state there can be left on the way and nothing is lost with that before them. A batch of an odd number
// leaves the state before it where it is, so that a stop costs nothing but the batch. For one token that
// would be left alone that is not worth it.
Writing DeviceSession::next_batch(uint32_t most, uint32_t end) const {
  const auto begin = static_cast<uint32_t>(tokens_.size());
  const uint32_t mark = snapshots_.batch_end(begin, end), next = snapshots_.batch_end(mark, end);
  if (mark < next && next - begin <= most && (next - mark) % 2 == 1 && snapshots_.holds(begin))
    return {.begin = begin, .end = next, .kept = mark};
  const uint32_t whole = mark - begin, n = std::min(most, whole);
  const bool odd = cache_.has_states() && n < whole && n > 1 && n % 2 == 0;
  return {.begin = begin, .end = begin + (odd ? n - 1 : n)};
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

// Where the pieces of a batch end, in blocks. On a device that runs ahead the first one is short, so that it
// has work soon. The next is recorded while it is computed and has twice as many blocks, which takes no
// longer, and so on: the device never waits. On others a stop is all that pieces are for. While it is not
// known how long blocks take a piece has few of them: drivers end what takes a second or two.
std::vector<size_t> DeviceSession::piece_ends(uint32_t n) const {
  const size_t n_layers = engine_.weights.blocks.size();
  const bool ahead = backend_.runs_ahead();
  const double expected = batch_.expected(n);
  const bool streamed = ahead && engine_.places.read_in_host + engine_.places.read_in_file != 0;
  auto pieces = static_cast<size_t>(std::ceil(std::min(expected, 1e3) / kPieceSeconds));
  if (pieces <= 1 && n <= (streamed ? 1 : kFewTokens)) return {n_layers};
  if (expected == 0) pieces = ahead ? (n_layers + kUnknownBlocks - 1) / kUnknownBlocks : n_layers;
  pieces = std::max(pieces, streamed ? kStreamedPieces : size_t{1});
  const size_t most = (n_layers + pieces - 1) / pieces;
  std::vector<size_t> ends;
  for (size_t blocks = ahead ? 1 : most, end = 0; end < n_layers; blocks = std::min(2 * blocks, most))
    ends.push_back(end = std::min(end + blocks, n_layers));
  return ends;
}

// Runs blocks one piece after the other. Each is recorded while a device that runs ahead computes the one
// before. Returns false where a cancel came in between.
bool DeviceSession::run_pieces(std::span<const int32_t> batch, uint32_t position,
                               const std::function<void(Recorder&, size_t begin, size_t end)>& blocks) {
  const std::vector<size_t> ends = piece_ends(static_cast<uint32_t>(batch.size()));
  const auto first = backend_.record([&](Recorder& r) { blocks(r, 0, ends[0]); });
  if (ends.size() == 1 || !backend_.runs_ahead()) {
    backend_.run(*first, position, batch);
    for (size_t i = 1; i < ends.size(); ++i) {
      if (cancelled_) return false;
      backend_.run(*backend_.record([&](Recorder& r) { blocks(r, ends[i - 1], ends[i]); }), position, batch);
    }
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
bool DeviceSession::evaluate(std::span<const int32_t> batch, const Writing& writing, bool last,
                             const SyncOptions& options) {
  const auto n = static_cast<uint32_t>(batch.size());
  const uint32_t position = writing.begin, keep = writing.kept == 0 ? 0 : writing.kept - position;
  snapshots_.will_write(writing);

  const size_t n_layers = engine_.weights.blocks.size();
  // All logits, or where these take a whole head that may not be needed only the largest: logits() can still
  // find them, but not those of a run that is watched, which may have been changed.
  const bool leaves_all = copies_logits_ && (knows_all_logits_ || options.observe || options.on_logits);
  const Watch watch = options.observe ? observer_.watch(*options.observe, position, n) : Watch();
  use_place(0);
  const auto blocks = [&](Recorder& r, size_t begin, size_t end) {
    record_blocks(r, engine_.weights, activations_, cache_, n, begin, end, watch, keep);
    if (last && end == n_layers) record_rows(r, n - 1, 1, leaves_all ? Leaves::logits : Leaves::largest);
  };
  bool done = false;
  try {
    if (n == 1 && last && !options.observe && piece_ends(n).size() == 1) {
      backend_.run(token_program(leaves_all ? Leaves::logits : Leaves::largest), position, batch);
      done = true;
    } else {
      done = run_pieces(batch, position, blocks);
    }
    if (done) {
      engine_.check_files();
      trace(position, n, 0);
    }
  } catch (const Stopped&) {  // done is false
  } catch (...) {
    cut(position);
    throw;
  }
  if (!done) {
    cut(position);
    return false;
  }
  tokens_.insert(tokens_.end(), batch.begin(), batch.end());
  logits_read_ = last && leaves_all;
  last_ = {.x_row = n - 1};
  observer_.report(watch, cache_);
  if (options.on_logits && !report_logits(n, options)) {
    cut(position);
    return false;
  }
  evaluated_ = last;  // not where a callback threw: the last logits may then be those of another token
  return true;
}

// Computes the head for every token of the batch that was just evaluated, a few rows a submission, and at
// last the last row again, whose logits stay in place. Returns false where a cancel came.
bool DeviceSession::report_logits(uint32_t n, const SyncOptions& options) {
  const uint32_t n_vocab = engine_.weights.config.n_vocab;
  const auto first_position = static_cast<uint32_t>(tokens_.size()) - n;
  const auto* logits = reinterpret_cast<const float*>(host_logits_->mapped().data());
  for (uint32_t row = 0; row < n; row += kMaxLogitRows) {
    if (cancelled_) return false;
    const uint32_t rows = std::min(kMaxLogitRows, n - row);
    const auto program = backend_.record([&](Recorder& r) { record_rows(r, row, rows, Leaves::logits); });
    backend_.run(*program, first_position, {});
    for (uint32_t i = 0; i < rows; ++i)
      options.on_logits(first_position + row + i, {logits + size_t{i} * n_vocab, n_vocab});
  }
  const auto program = backend_.record([&](Recorder& r) { record_rows(r, n - 1, 1, leaves_for_host()); });
  backend_.run(*program, first_position, {});
  return true;
}

// Evaluates the last token once more, for all of its logits. What it left before stays in its outcome.
void DeviceSession::read_whole_head(std::span<std::byte> host) {
  const std::span<std::byte> result = outcomes_[0].result->mapped();
  const std::vector<std::byte> left(result.begin(), result.end());
  backend_.run(token_program(Leaves::logits), static_cast<uint32_t>(tokens_.size() - 1),
               {&tokens_.back(), 1});
  last_.x_row = 0;
  std::ranges::copy(left, result.begin());
  const std::span<std::byte> first = host_logits_->mapped().first(host.size());
  if (first.data() != host.data()) std::ranges::copy(first, host.begin());
}

std::span<const float> DeviceSession::logits() {
  const uint32_t n_vocab = engine_.weights.config.n_vocab;
  if (!evaluated_) throw Error(ErrorKind::usage, "there are no logits before a completed sync");
  const uint64_t row_bytes = n_vocab * sizeof(float), offset = last_.row * row_bytes;
  const auto host = host_logits_->mapped().subspan(offset, row_bytes);
  if (!logits_read_ && knows_all_logits_)
    backend_.download(*outcomes_[last_.outcome].logits, offset, host);
  else if (!logits_read_)
    read_whole_head(host);
  logits_read_ = true;
  return {reinterpret_cast<const float*>(host.data()), n_vocab};
}

uint64_t DeviceSession::save_bytes() const {
  return cache_.save_bytes(tokens_.size(), !saved_with().state.empty());
}

std::vector<std::byte> DeviceSession::save() { return cache_.save(tokens_, saved_with()); }

// The state from which a next turn goes on that changes the last one.
KvCache::Earlier DeviceSession::saved_with() const {
  if (!cache_.has_states()) return {};
  return snapshots_.last_before(static_cast<uint32_t>(tokens_.size()));
}

void DeviceSession::load(std::span<const std::byte> payload) {
  cut(0);  // so that the session is empty where the payload is refused
  evaluated_ = false;
  KvCache::Earlier earlier;
  tokens_ = cache_.load(payload, earlier);
  snapshots_.add(earlier);
}

}  // namespace bitnet
