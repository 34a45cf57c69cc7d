#include "kv_cache.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>

namespace bitnet {
namespace {

constexpr uint32_t kVersion = 1, kVersionLong = 2;
constexpr size_t kFingerprintChars = 32;

struct Header {
  char magic[4];
  uint32_t version;
  char fingerprint[kFingerprintChars];
  uint32_t n_layer;
  uint32_t row_bytes;
  uint32_t n_tokens;
};

}  // namespace

KvCache::KvCache(Backend& backend, const Model& model, uint32_t n_ctx)
    : backend_(backend), fingerprint_(model.config.fingerprint), n_ctx_(n_ctx) {
  const auto is_long = [&](const Rope& rope) { return rope.scaling.is_long(n_ctx); };
  version_ = std::ranges::any_of(model.config.ropes, is_long) ? kVersionLong : kVersion;
  fingerprint_.resize(kFingerprintChars);
  for (const Block& block : model.blocks) {
    const AttentionShape& s = block.attention.shape;
    LayerCache& layer = layers_.emplace_back();
    if (s.rows == AttentionRows::q) continue;
    layer.row_bytes = uint64_t{s.n_head_kv} * s.head_dim * 2;
    layer.keys = backend.allocate(layer.row_bytes * n_ctx, BufferUse::device);
    layer.values = backend.allocate(layer.row_bytes * n_ctx, BufferUse::device);
  }
}

uint32_t KvCache::header_row_bytes() const {
  for (const LayerCache& layer : layers_)
    if (layer.row_bytes != layers_[0].row_bytes) return 0;
  return static_cast<uint32_t>(layers_[0].row_bytes);
}

uint64_t KvCache::bytes_a_token() const {
  uint64_t bytes = 0;
  for (const LayerCache& layer : layers_) bytes += 2 * layer.row_bytes;
  return bytes;
}

std::vector<std::byte> KvCache::save(std::span<const int32_t> tokens) const {
  Header header{{'B', 'N', 'K', 'V'},
                version_,
                {},
                static_cast<uint32_t>(layers_.size()),
                header_row_bytes(),
                static_cast<uint32_t>(tokens.size())};
  std::memcpy(header.fingerprint, fingerprint_.data(), kFingerprintChars);

  std::vector<std::byte> payload(sizeof header + tokens.size_bytes() + bytes_a_token() * tokens.size() +
                                 sizeof(uint64_t));
  std::byte* at = payload.data();
  std::memcpy(at, &header, sizeof header);
  at += sizeof header;
  std::memcpy(at, tokens.data(), tokens.size_bytes());
  at += tokens.size_bytes();
  for (const LayerCache& layer : layers_)
    for (const Buffer* buffer : {layer.keys.get(), layer.values.get()}) {
      const uint64_t rows = layer.row_bytes * tokens.size();
      if (rows != 0) backend_.download(*buffer, 0, {at, rows});
      at += rows;
    }
  const uint64_t hash = XXH3_64bits(payload.data(), at - payload.data());
  std::memcpy(at, &hash, sizeof hash);
  return payload;
}

std::vector<int32_t> KvCache::load(std::span<const std::byte> payload) {
  const auto refuse = [](const std::string& why) -> void {
    throw Error(ErrorKind::runtime, "the saved key-value cache cannot be used: " + why);
  };
  Header header{};
  if (payload.size() < sizeof header + sizeof(uint64_t)) refuse("it is cut short");
  std::memcpy(&header, payload.data(), sizeof header);
  if (std::memcmp(header.magic, "BNKV", 4) != 0) refuse("it is no key-value cache");
  if (header.version != version_ && (header.version == kVersion || header.version == kVersionLong))
    refuse("it was computed for a context in which the model rotates keys otherwise");
  if (header.version != version_)
    refuse(fmt::format("it has version {}, wanted {}", header.version, version_));
  if (fingerprint_.compare(0, kFingerprintChars, header.fingerprint, kFingerprintChars) != 0)
    refuse("it is of another model");
  if (header.n_layer != layers_.size() || header.row_bytes != header_row_bytes())
    refuse("it has another shape");
  if (header.n_tokens > n_ctx_)
    refuse(fmt::format("it holds {} tokens, the context {}", header.n_tokens, n_ctx_));
  const uint64_t hashed = sizeof header + header.n_tokens * (sizeof(int32_t) + bytes_a_token());
  if (payload.size() != hashed + sizeof(uint64_t)) refuse("it is cut short");
  uint64_t hash = 0;
  std::memcpy(&hash, payload.data() + hashed, sizeof hash);
  if (hash != XXH3_64bits(payload.data(), hashed)) refuse("its checksum is wrong");

  std::vector<int32_t> tokens(header.n_tokens);
  const std::byte* at = payload.data() + sizeof header;
  std::memcpy(tokens.data(), at, tokens.size() * sizeof(int32_t));
  at += tokens.size() * sizeof(int32_t);
  for (const LayerCache& layer : layers_)
    for (Buffer* buffer : {layer.keys.get(), layer.values.get()}) {
      const uint64_t rows = layer.row_bytes * tokens.size();
      if (rows != 0) backend_.upload(*buffer, 0, {at, rows});
      at += rows;
    }
  backend_.finish_uploads();
  return tokens;
}

}  // namespace bitnet
