// How well a model predicts a text: exp of the mean of -log p of its tokens.
//
// Thread rule: free functions; main's thread.
//
// Without a stride, windows are as llama.cpp's tool has them, so that published figures can be compared: as
// many tokens each, one behind the other, what is left over is not used; the first token of each gives way to
// BOS where the vocabulary adds it, and the tokens behind its first half are predicted. With a stride,
// windows overlap, as Hugging Face's guide has it: each begins so many tokens after the one before, and those
// tokens are predicted that no window before it had.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "engine/engine.h"

namespace bitnet {

struct Perplexity {
  double nll = 0;          // sum of -log p
  double nll_squares = 0;  // sum of their squares
  uint64_t n_predicted = 0, n_windows = 0;
  double value() const;
  double standard_error() const;  // of value(), one standard deviation of a mean of independent tokens
};

// `ids` begin with BOS where the vocabulary adds it, which `bos` is then; otherwise -1. limit: windows, 0:
// all. Throws Error(usage) where the text is shorter than a window, or a window than 4 tokens. on_window is
// called behind each.
Perplexity measure_perplexity(Session& session, const std::vector<int32_t>& ids, uint32_t window,
                              uint32_t stride, uint32_t limit, int32_t bos,
                              const std::function<void(const Perplexity&, uint64_t n_windows)>& on_window);

}  // namespace bitnet
