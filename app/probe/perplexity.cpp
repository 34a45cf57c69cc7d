#include "perplexity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/error.h"

namespace bitnet {
namespace {

constexpr uint32_t kLeastWindow = 4;  // tokens

// -log p of the token `id` after these logits. Throws Error(runtime) if it is not a number.
double nll_of(std::span<const float> logits, int32_t id) {
  const double largest = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - largest);
  const double nll = std::log(sum) + largest - logits[static_cast<size_t>(id)];
  if (std::isnan(nll)) throw Error(ErrorKind::runtime, "the model's output is not a number (NaN or Inf)");
  return nll;
}

// Adds the tokens of a window from index `first` on, which is at least 1.
void add_window(Session& session, const std::vector<int32_t>& tokens, size_t first, Perplexity& result) {
  SyncOptions options;
  const auto from = static_cast<uint32_t>(first - 1);
  options.on_logits = [&](uint32_t position, std::span<const float> logits) {
    if (position < from || position + 1 == tokens.size()) return;
    const double nll = nll_of(logits, tokens[position + 1]);
    result.nll += nll;
    result.nll_squares += nll * nll;
    ++result.n_predicted;
  };
  if (from > 0) session.sync(std::span(tokens).first(from));  // logits of these are not needed
  session.sync(tokens, options);
  ++result.n_windows;
}

}  // namespace

double Perplexity::value() const { return std::exp(nll / static_cast<double>(n_predicted)); }

double Perplexity::standard_error() const {
  if (n_predicted < 2) return 0;
  const auto n = static_cast<double>(n_predicted);
  const double mean = nll / n, variance = std::max(0.0, nll_squares / n - mean * mean);
  return value() * std::sqrt(variance / (n - 1));
}

Perplexity measure_perplexity(Session& session, const std::vector<int32_t>& ids, uint32_t window,
                              uint32_t stride, uint32_t limit, int32_t bos,
                              const std::function<void(const Perplexity&, uint64_t)>& on_window) {
  if (window < kLeastWindow)
    throw Error(ErrorKind::usage,
                fmt::format("perplexity: a window of {} tokens is too short; --ctx takes {} and more", window,
                            kLeastWindow));
  if (ids.size() < (stride == 0 ? window : 2))
    throw Error(ErrorKind::usage,
                fmt::format("perplexity: the text has {} tokens, a window {}", ids.size(), window));
  if (stride > window)
    throw Error(
        ErrorKind::usage,
        fmt::format("perplexity: a stride of {} leaves tokens out between windows of {}", stride, window));
  const uint64_t n = stride == 0
                         ? ids.size() / window
                         : 1 + (ids.size() - std::min<size_t>(ids.size(), window) + stride - 1) / stride;
  const uint64_t n_windows = limit == 0 ? n : std::min<uint64_t>(n, limit);
  Perplexity result;
  size_t seen = 0;  // tokens of the text that a window had
  for (uint64_t i = 0; i < n_windows; ++i) {
    const size_t begin = i * (stride == 0 ? window : stride), end = std::min(ids.size(), begin + window);
    std::vector<int32_t> tokens(ids.begin() + static_cast<ptrdiff_t>(begin),
                                ids.begin() + static_cast<ptrdiff_t>(end));
    if (stride == 0 && bos >= 0) tokens.front() = bos;
    add_window(session, tokens,
               stride == 0 ? window / 2 + 1 : std::max<size_t>(1, seen - std::min(seen, begin)), result);
    seen = end;
    on_window(result, n_windows);
  }
  return result;
}

}  // namespace bitnet
