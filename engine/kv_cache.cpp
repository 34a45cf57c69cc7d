#include "kv_cache.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>

namespace bitnet {
namespace {

constexpr uint32_t kVersion = 2, kVersionWithStates = 3;
constexpr size_t kFingerprintChars = 32;

struct Header {
  char magic[4];
  uint32_t version;
  char fingerprint[kFingerprintChars];
  uint32_t n_layer;
  uint32_t row_bytes;
  uint32_t is_long;
  uint32_t n_tokens;
  uint32_t oldest;
};

// Calls f(offset, bytes) for the parts of a cache's buffer in which positions [first, end) lie, in order.
template <typename F>
void for_each_part(const KvRows& layer, uint32_t first, uint32_t end, F f) {
  while (first < end) {
    const uint32_t row = first % layer.rows, n = std::min(end - first, layer.rows - row);
    f(row * layer.row_bytes, n * layer.row_bytes);
    first += n;
  }
}

}  // namespace

KvCache::KvCache(Backend& backend, const Model& model, uint32_t n_ctx, uint32_t most_batch)
    : backend_(backend),
      fingerprint_(model.config.fingerprint),
      n_ctx_(n_ctx),
      is_long_(std::ranges::any_of(model.config.ropes,
                                   [&](const Rope& rope) { return rope.scaling.is_long(n_ctx); })) {
  fingerprint_.resize(kFingerprintChars);
  for (const KvRows& rows : kv_rows_of(model.blocks, n_ctx, most_batch)) {
    LayerCache& layer = layers_.emplace_back(LayerCache{rows});
    const DeltaShape& delta = model.blocks[layers_.size() - 1].delta.shape;
    if (delta.n_head_v != 0)
      layer.delta = {backend.allocate(2 * conv_bytes(delta), BufferUse::device),
                     backend.allocate(2 * heads_bytes(delta), BufferUse::device)};
    states_bytes_ += conv_bytes(delta) + heads_bytes(delta);
    if (layer.rows == 0) continue;
    layer.is_ring = layer.rows < n_ctx;
    if (layer.is_ring) reach_ = std::min(reach_, layer.rows - layer.window);
    layer.keys = backend.allocate(layer.bytes() / 2, BufferUse::device);
    layer.values = backend.allocate(layer.bytes() / 2, BufferUse::device);
  }
  if (has_states()) record_first_states();
  restart();
}

void KvCache::record_first_states() {
  std::vector<std::byte> zeros;
  for (const LayerCache& layer : layers_)
    for (const BufferPtr& buffer : {layer.delta.conv, layer.delta.heads})
      if (buffer) zeros.resize(std::max<size_t>(zeros.size(), buffer->size() / 2));
  zeros_ = backend_.allocate(zeros.size(), BufferUse::device);
  backend_.upload(*zeros_, 0, zeros);
  backend_.finish_uploads();
  first_states_ = backend_.record([&](Recorder& r) {
    for (const LayerCache& layer : layers_)
      for (const BufferPtr& buffer : {layer.delta.conv, layer.delta.heads})
        if (buffer) r.copy(*zeros_, 0, *buffer, 0, buffer->size() / 2);
  });
}

void KvCache::restart() {
  oldest_ = 0;
  states_ = {0, kNoPosition};
  if (first_states_) backend_.run(*first_states_, 0, {});
}

uint32_t KvCache::oldest_after(uint32_t end) const { return std::max(oldest_, end - std::min(end, reach_)); }

KvCache::Positions KvCache::states_after(const Writing& tokens) const {
  Positions states = states_;
  for (uint32_t p = tokens.one_by_one ? tokens.begin + 1 : tokens.end; p <= tokens.end; ++p)
    states[p % 2] = p;
  if (tokens.kept != 0) states[tokens.kept % 2] = tokens.kept;
  return states;
}

bool KvCache::keeps(uint32_t position, const Writing& tokens) const {
  if (position < oldest_after(tokens.end)) return false;
  return position > tokens.end || has_state(states_after(tokens), position);
}

std::optional<uint32_t> KvCache::last_up_to(uint32_t position) const {
  if (!has_states()) return position >= oldest_ ? std::optional(position) : std::nullopt;
  std::optional<uint32_t> last;
  for (const uint32_t p : states_)
    if (p <= position && p >= oldest_ && p >= last.value_or(0)) last = p;
  return last;
}

void KvCache::will_write(const Writing& tokens) {
  oldest_ = oldest_after(tokens.end);
  states_ = states_after(tokens);
}

void KvCache::cut(uint32_t position) {
  for (uint32_t& p : states_)
    if (p > position) p = kNoPosition;
}

// The states of all layers, and moves the pointer behind them.
void KvCache::download_states(uint32_t position, std::byte*& to) const {
  for (const LayerCache& layer : layers_)
    for (const BufferPtr& buffer : {layer.delta.conv, layer.delta.heads}) {
      if (!buffer) continue;
      const uint64_t bytes = buffer->size() / 2;
      backend_.download(*buffer, position % 2 * bytes, {to, bytes});
      to += bytes;
    }
}

void KvCache::upload_states(uint32_t position, const std::byte*& from) {
  for (const LayerCache& layer : layers_)
    for (const BufferPtr& buffer : {layer.delta.conv, layer.delta.heads}) {
      if (!buffer) continue;
      const uint64_t bytes = buffer->size() / 2;
      backend_.upload(*buffer, position % 2 * bytes, {from, bytes});
      from += bytes;
    }
  states_ = {kNoPosition, kNoPosition};
  states_[position % 2] = position;
}

// Copies the keys and then the values of positions [first, end), and moves the pointer behind them.
void KvCache::download(const LayerCache& layer, uint32_t first, uint32_t end, std::byte*& to) const {
  for (const BufferPtr& buffer : {layer.keys, layer.values})
    for_each_part(layer, first, end, [&](uint64_t offset, uint64_t bytes) {
      backend_.download(*buffer, offset, {to, bytes});
      to += bytes;
    });
}

void KvCache::upload(const LayerCache& layer, uint32_t first, uint32_t end, const std::byte*& from) {
  const uint32_t kept = end - std::min(end - first, layer.rows);  // the first position that there is room for
  for (const BufferPtr& buffer : {layer.keys, layer.values}) {
    from += (kept - first) * layer.row_bytes;
    for_each_part(layer, kept, end, [&](uint64_t offset, uint64_t bytes) {
      backend_.upload(*buffer, offset, {from, bytes});
      from += bytes;
    });
  }
}

uint64_t KvCache::state_bytes(uint32_t position) const {
  uint64_t bytes = states_bytes_;
  for (const LayerCache& layer : layers_)
    if (layer.is_ring) bytes += 2 * layer.row_bytes * (position - layer.first_seen(position));
  return bytes;
}

void KvCache::take_state(uint32_t position, std::span<std::byte> state) const {
  std::byte* to = state.data();
  for (const LayerCache& layer : layers_)
    if (layer.is_ring) download(layer, layer.first_seen(position), position, to);
  download_states(position, to);
}

void KvCache::restore_state(uint32_t position, std::span<const std::byte> state) {
  const std::byte* from = state.data();
  for (const LayerCache& layer : layers_)
    if (layer.is_ring) upload(layer, layer.first_seen(position), position, from);
  upload_states(position, from);
  backend_.finish_uploads();
  oldest_ = position;
}

uint64_t KvCache::bytes_saved() const {
  uint64_t bytes = 0;
  for (const LayerCache& layer : layers_)
    if (layer.is_ring) bytes += 2 * layer.row_bytes * (n_ctx_ - layer.rows);
  return bytes;
}

uint32_t KvCache::header_row_bytes() const {
  for (const LayerCache& layer : layers_)
    if (layer.row_bytes != layers_[0].row_bytes) return 0;
  return static_cast<uint32_t>(layers_[0].row_bytes);
}

uint64_t KvCache::saved_rows_bytes(uint32_t oldest, uint32_t n_tokens) const {
  uint64_t bytes = 0;
  for (const LayerCache& layer : layers_)
    bytes += 2 * layer.row_bytes * (n_tokens - layer.first_seen(oldest));
  return bytes;
}

uint64_t KvCache::save_bytes(size_t n_tokens, bool with_earlier) const {
  return sizeof(Header) + n_tokens * sizeof(int32_t) +
         saved_rows_bytes(oldest_, static_cast<uint32_t>(n_tokens)) +
         saved_states_bytes(with_earlier ? 2 : 1) + sizeof(uint64_t);
}

std::vector<std::byte> KvCache::save(std::span<const int32_t> tokens, const Earlier& earlier) const {
  const auto n_tokens = static_cast<uint32_t>(tokens.size());
  Header header{{'B', 'N', 'K', 'V'},
                has_states() ? kVersionWithStates : kVersion,
                {},
                static_cast<uint32_t>(layers_.size()),
                header_row_bytes(),
                is_long_,
                n_tokens,
                oldest_};
  std::memcpy(header.fingerprint, fingerprint_.data(), kFingerprintChars);

  std::vector<std::byte> payload(save_bytes(tokens.size(), !earlier.state.empty()));
  std::byte* at = payload.data();
  std::memcpy(at, &header, sizeof header);
  at += sizeof header;
  if (!tokens.empty()) std::memcpy(at, tokens.data(), tokens.size_bytes());
  at += tokens.size_bytes();
  for (const LayerCache& layer : layers_)
    if (layer.rows != 0) download(layer, layer.first_seen(oldest_), n_tokens, at);
  if (has_states()) {
    const auto put = [&](uint32_t value) { std::memcpy(at, &value, sizeof value), at += sizeof value; };
    put(earlier.state.empty() ? 1 : 2);
    if (!earlier.state.empty()) {
      put(earlier.position);
      std::memcpy(at, earlier.state.data(), earlier.state.size());
      at += earlier.state.size();
    }
    put(n_tokens);
    download_states(n_tokens, at);
  }
  const uint64_t hash = XXH3_64bits(payload.data(), at - payload.data());
  std::memcpy(at, &hash, sizeof hash);
  return payload;
}

namespace {

[[noreturn]] void refuse(const std::string& why) {
  throw Error(ErrorKind::runtime, "the saved key-value cache cannot be used: " + why);
}

}  // namespace

// Checks how many states there are, and of which positions. Returns the earlier one.
KvCache::Earlier KvCache::check_states(std::span<const std::byte> bytes, uint32_t n_tokens) const {
  const auto number_at = [&](uint64_t at) {
    uint32_t value = 0;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
  };
  if (bytes.size() < saved_states_bytes(1)) refuse("it is cut short");
  const uint32_t n = number_at(0);
  if (n != 1 && n != 2) refuse(fmt::format("it has {} states, wanted 1 or 2", n));
  if (bytes.size() != saved_states_bytes(n)) refuse("it is cut short");
  const uint64_t last = bytes.size() - states_bytes_ - sizeof(uint32_t);
  if (number_at(last) != n_tokens) refuse("its state is of another position");
  if (n == 1) return {};
  if (number_at(4) >= n_tokens) refuse("its earlier state is of a position behind it");
  return {number_at(4), bytes.subspan(8, states_bytes_)};
}

std::vector<int32_t> KvCache::load(std::span<const std::byte> payload, Earlier& earlier) {
  Header header{};
  if (payload.size() < sizeof header + sizeof(uint64_t)) refuse("it is cut short");
  std::memcpy(&header, payload.data(), sizeof header);
  if (std::memcmp(header.magic, "BNKV", 4) != 0) refuse("it is no key-value cache");
  const uint32_t version = has_states() ? kVersionWithStates : kVersion;
  if (header.version != version) refuse(fmt::format("it has version {}, wanted {}", header.version, version));
  if (fingerprint_.compare(0, kFingerprintChars, header.fingerprint, kFingerprintChars) != 0)
    refuse("it is of another model");
  if (header.n_layer != layers_.size() || header.row_bytes != header_row_bytes())
    refuse("it has another shape");
  if (header.is_long != (is_long_ ? 1 : 0))
    refuse("it was computed for a context in which the model rotates keys otherwise");
  if (header.n_tokens > n_ctx_)
    refuse(fmt::format("it holds {} tokens, the context {}", header.n_tokens, n_ctx_));
  if (header.oldest > header.n_tokens)
    refuse(fmt::format("it has {} tokens, and state from token {} on", header.n_tokens, header.oldest));
  const uint64_t rows =
      sizeof header + header.n_tokens * sizeof(int32_t) + saved_rows_bytes(header.oldest, header.n_tokens);
  const uint64_t hashed = payload.size() - sizeof(uint64_t);
  if (hashed < rows || (!has_states() && hashed != rows)) refuse("it is cut short");
  const std::span<const std::byte> states = payload.subspan(rows, hashed - rows);
  const Earlier before = has_states() ? check_states(states, header.n_tokens) : Earlier();
  uint64_t hash = 0;
  std::memcpy(&hash, payload.data() + hashed, sizeof hash);
  if (hash != XXH3_64bits(payload.data(), hashed)) refuse("its checksum is wrong");

  std::vector<int32_t> tokens(header.n_tokens);
  const std::byte* at = payload.data() + sizeof header;
  if (!tokens.empty()) std::memcpy(tokens.data(), at, tokens.size() * sizeof(int32_t));
  at += tokens.size() * sizeof(int32_t);
  for (const LayerCache& layer : layers_)
    if (layer.rows != 0) upload(layer, layer.first_seen(header.oldest), header.n_tokens, at);
  if (has_states()) {
    states_ = {kNoPosition, kNoPosition};
    at = states.data() + states.size() - states_bytes_;
    upload_states(header.n_tokens, at);
  }
  backend_.finish_uploads();
  oldest_ = header.oldest;
  oldest_ = oldest_after(header.n_tokens);
  earlier = before;
  return tokens;
}

}  // namespace bitnet
