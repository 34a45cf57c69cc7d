#include "watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/layouts/file_types.h"

namespace bitnet {

const char* name_of(Stage stage) {
  constexpr const char* kNames[kStages] = {"input", "qkv",       "query", "weights",
                                           "heads", "attention", "ffn",   "residual"};
  return kNames[static_cast<size_t>(stage)];
}

uint64_t watched_width(const Model& m, Stage stage, size_t layer) {
  constexpr Stage kOfAttention[] = {Stage::qkv, Stage::query, Stage::weights, Stage::heads};
  if (m.blocks[layer].delta && std::ranges::find(kOfAttention, stage) != std::end(kOfAttention)) return 0;
  const AttentionShape& s = m.blocks[layer].attention.shape;
  switch (stage) {
    case Stage::qkv:
      return uint64_t{s.row_heads()} * s.head_dim;
    case Stage::query:
    case Stage::weights:
    case Stage::heads:
      return uint64_t{s.n_head} * s.head_dim;
    default:
      return m.config.n_embd;
  }
}

bool Watch::wants(size_t layer, Stage stage) const {
  return what_ && layer >= what_->first_layer && layer < end_layer() &&
         std::ranges::find(what_->stages, stage) != what_->stages.end();
}

void Watch::rows(Recorder& r, size_t layer, Stage stage, const Buffer& from, uint64_t row_width) const {
  if (!wants(layer, stage)) return;
  const uint64_t width = watched_width(*model_, stage, layer) * sizeof(float);
  if (width == 0) return;  // the layer has no such stage
  const uint64_t stride = row_width == 0 ? width : row_width * sizeof(float);
  uint64_t to = 0;
  for_each([&](Stage s, size_t l, uint64_t at) {
    if (s == stage && l == layer) to = at * sizeof(float);
  });
  if (stride == width) return r.copy(from, first_row_ * stride, *to_, to, n_rows_ * width);
  for (uint32_t row = 0; row < n_rows_; ++row)
    r.copy(from, (first_row_ + row) * stride, *to_, to + row * width, width);
}

namespace {

// The softmax of attention [n][n_head][position + n], in double from queries [n][n_head][head_dim] and the
// keys of the layer's cache. Zeros are where a token does not look.
std::vector<float> attention_weights(Backend& backend, const AttentionShape& s, const Buffer& cache,
                                     std::span<const float> queries, uint32_t position, uint32_t n) {
  const size_t row = size_t{s.n_head_kv} * s.head_dim, rows = cache.size() / (row * sizeof(uint16_t));
  const uint32_t n_keys = position + n, group = s.n_head / s.n_head_kv;
  std::vector<std::byte> halves(std::min<size_t>(n_keys, rows) * row * sizeof(uint16_t));
  backend.download(cache, 0, halves);
  std::vector<float> keys(halves.size() / sizeof(uint16_t));
  row_floats(TensorType::f16, halves.data(), keys.size(), keys.data());
  const double scale = s.scale != 0 ? double{s.scale} : 1 / std::sqrt(static_cast<double>(s.head_dim));
  std::vector<float> weights(size_t{n} * s.n_head * n_keys);
  std::vector<double> scores(n_keys);
  for (uint32_t t = 0; t < n; ++t) {
    const uint32_t end = position + t + 1, seen = s.window == 0 ? end : std::min(end, s.window);
    for (uint32_t head = 0; head < s.n_head; ++head) {
      const float* q = queries.data() + (size_t{t} * s.n_head + head) * s.head_dim;
      double largest = -std::numeric_limits<double>::infinity(), sum = 0;
      for (uint32_t p = end - seen; p < end; ++p) {
        const float* k = keys.data() + (p % rows) * row + size_t{head / group} * s.head_dim;
        double score = 0;
        for (uint32_t i = 0; i < s.head_dim; ++i) score += double{q[i]} * k[i];
        scores[p] = score * scale;
        largest = std::max(largest, scores[p]);
      }
      for (uint32_t p = end - seen; p < end; ++p) sum += scores[p] = std::exp(scores[p] - largest);
      float* to = weights.data() + (size_t{t} * s.n_head + head) * n_keys;
      for (uint32_t p = end - seen; p < end; ++p) to[p] = static_cast<float>(scores[p] / sum);
    }
  }
  return weights;
}

}  // namespace

void Observer::check(const Observation& what) const {
  if (what.skips_missing) return;
  const size_t end = std::min<size_t>(what.end_layer, model_.blocks.size());
  for (size_t layer = what.first_layer; layer < end; ++layer)
    for (const Stage stage : what.stages)
      if (watched_width(model_, stage, layer) == 0)
        throw Error(
            ErrorKind::usage,
            fmt::format("layer {} has a DeltaNet in place of attention and no stage {}; choose layers "
                        "with attention, or another stage",
                        layer, name_of(stage)));
}

uint64_t Observer::bytes_a_token(const Observation& what) const {
  uint64_t floats = 0;
  for (size_t layer = what.first_layer; layer < std::min<size_t>(what.end_layer, model_.blocks.size());
       ++layer)
    for (const Stage stage : what.stages) floats += watched_width(model_, stage, layer);
  return floats * sizeof(float);
}

// Of attention that a token and a key have in any layer; one layer's are there at a time.
uint64_t Observer::most_weights(const Observation& what) const {
  if (std::ranges::find(what.stages, Stage::weights) == what.stages.end()) return 0;
  uint32_t most = 0;
  for (size_t layer = what.first_layer; layer < std::min<size_t>(what.end_layer, model_.blocks.size());
       ++layer)
    if (watched_width(model_, Stage::weights, layer) != 0)
      most = std::max(most, model_.blocks[layer].attention.shape.n_head);
  return most;
}

uint32_t Observer::most_tokens(const Observation& what, uint32_t n_keys) const {
  constexpr uint64_t kMostBytes = 64 << 20;
  const uint64_t a_token =
      std::max<uint64_t>(1, bytes_a_token(what) + most_weights(what) * n_keys * sizeof(float));
  return static_cast<uint32_t>(std::clamp<uint64_t>(kMostBytes / a_token, 1, max_batch_));
}

Watch Observer::watch(const Observation& what, uint32_t position, uint32_t n) {
  const uint64_t bytes = bytes_a_token(what) * most_tokens(what, 0);
  if (position + n <= what.from || bytes == 0) return {};
  if (!rows_ || rows_->size() < bytes) rows_ = backend_.allocate(bytes, BufferUse::shared);
  // In host memory as well, since no budget of device memory has room for what is only watched.
  if (!scratch_)
    scratch_ =
        backend_.allocate(uint64_t{max_batch_} * model_.config.n_embd * sizeof(float), BufferUse::shared);
  Watch watch;
  watch.model_ = &model_;
  watch.what_ = &what;
  watch.position_ = std::max(position, what.from);
  watch.first_row_ = watch.position_ - position;
  watch.n_rows_ = n - watch.first_row_;
  watch.to_ = rows_.get();
  watch.scratch_ = scratch_.get();
  return watch;
}

void Observer::report(const Watch& watch, KvCache& cache) {
  if (!watch.what_) return;
  const uint32_t first = watch.position_, n = watch.n_rows_;
  const auto* floats = reinterpret_cast<const float*>(rows_->mapped().data());
  watch.for_each([&](Stage stage, size_t layer, uint64_t at) {
    const std::span rows(floats + at, n * watched_width(model_, stage, layer));
    const auto number = static_cast<uint32_t>(layer);
    if (stage != Stage::weights) return watch.what_->on_rows(stage, number, first, n, rows);
    const auto& attention = model_.blocks[layer].attention;
    watch.what_->on_rows(
        stage, number, first, n,
        attention_weights(backend_, attention.shape, cache.keys(attention.kv_of), rows, first, n));
  });
}

namespace {

BufferPtr uploaded(Backend& backend, const std::vector<float>& values) {
  BufferPtr buffer = backend.allocate(values.size() * sizeof(float), BufferUse::weights);
  backend.upload(*buffer, 0, std::as_bytes(std::span(values)));
  return buffer;
}

Block& block_at(Model& m, const char* option, uint32_t layer) {
  if (layer >= m.blocks.size())
    throw Error(ErrorKind::usage,
                fmt::format("{}: wanted a layer from 0 to {}, found {}", option, m.blocks.size() - 1, layer));
  return m.blocks[layer];
}

}  // namespace

// A vector is added as the bias of a LayerNorm whose weights are 0: its sum is exactly the vector's.
void intervene(Model& m, Backend& backend, const Interventions& interventions) {
  if (interventions.empty()) return;
  m.changes.resize(m.blocks.size());
  std::vector<std::vector<float>> steers(m.blocks.size()), masks(m.blocks.size());
  for (const auto& [layer, vector] : interventions.steers) {
    block_at(m, "steer", layer);
    if (vector.size() != m.config.n_embd)
      throw Error(ErrorKind::usage,
                  fmt::format("steer: wanted {} values, as wide as the residual stream, found {}",
                              m.config.n_embd, vector.size()));
    if (!std::ranges::all_of(vector, [](float value) { return std::isfinite(value); }))
      throw Error(ErrorKind::usage, "steer: some values of the vector are not finite");
    steers[layer].resize(vector.size());
    for (size_t i = 0; i < vector.size(); ++i) steers[layer][i] += vector[i];
  }
  for (const auto& [layer, head] : interventions.ablated) {
    const AttentionShape& s = block_at(m, "ablate-head", layer).attention.shape;
    if (s.n_head == 0)
      throw Error(ErrorKind::usage, fmt::format("ablate-head: layer {} has a DeltaNet in place of attention "
                                                "and no heads that can be ablated",
                                                layer));
    if (head >= s.n_head)
      throw Error(ErrorKind::usage,
                  fmt::format("ablate-head: wanted a head from 0 to {}, found {}", s.n_head - 1, head));
    masks[layer].resize(size_t{s.n_head} * s.head_dim, 1.0F);
    std::fill_n(masks[layer].begin() + size_t{head} * s.head_dim, s.head_dim, 0.0F);
  }
  const BufferPtr zeros = uploaded(backend, std::vector<float>(m.config.n_embd));
  for (size_t i = 0; i < m.blocks.size(); ++i) {
    if (!steers[i].empty())
      m.changes[i].steer = {Norm::Kind::layer, zeros, uploaded(backend, steers[i]), 1.0F};
    if (!masks[i].empty()) m.changes[i].heads = uploaded(backend, masks[i]);
  }
  backend.finish_uploads();
}

}  // namespace bitnet
