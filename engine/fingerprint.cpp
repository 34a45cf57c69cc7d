#include "fingerprint.h"

#include <fmt/format.h>
#include <time.h>
#include <xxhash.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <system_error>

#include "engine/cache_file.h"
#include "engine/hash_text.h"

namespace bitnet {
namespace {

namespace fs = std::filesystem;
constexpr size_t kPiece = 4 << 20;
constexpr size_t kMostThreads = 8;  // more do not read memory faster
constexpr size_t kKeptFiles = 64;   // lines of the cache
constexpr size_t kHashDigits = 32;
constexpr uint64_t kMostCache = 1 << 16;  // bytes

std::string hash_of(std::string_view text) { return text_of_hash(XXH3_128bits(text.data(), text.size())); }

// The key begins with the hash of the path, which is all that it has in common with the key of another state
// of the file.
std::string path_key(const std::string& path) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  return fmt::format("1 {} ", hash_of(error ? path : real.string()));
}

std::string key_of(const Checkpoint& file) {
  std::string states;
  for (const auto& f : file.files()) {
    const FileState& s = f->state();
    states += fmt::format("{} {} {} {} {} ", s.device, s.inode, s.bytes, s.modified, s.changed);
  }
  return path_key(file.path()) + (file.files().size() == 1 ? states : hash_of(states) + " ");
}

// Whether a change that is made from now on will have another time: two changes within a tick of the file
// system's clock have the same one. Where all times are whole seconds, that tick is up to two seconds long.
bool has_settled(const FileState& s) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  constexpr int64_t kSecond = 1'000'000'000;
  const bool coarse = s.modified % kSecond == 0 && s.changed % kSecond == 0;
  const int64_t age = now.tv_sec * kSecond + now.tv_nsec - std::max(s.modified, s.changed);
  return age > (coarse ? 3 * kSecond : kSecond / 10);
}

bool have_settled(const Checkpoint& file) {
  return std::ranges::all_of(file.files(), [](const auto& f) { return has_settled(f->state()); });
}

bool is_unchanged(const Checkpoint& file) {
  return std::ranges::all_of(file.files(), [](const auto& f) { return file_state(f->path()) == f->state(); });
}

std::vector<std::string> read_lines(const std::string& path) {
  std::vector<std::string> lines;
  std::istringstream all(read_cache_file(path, kMostCache));
  for (std::string line; std::getline(all, line);) lines.push_back(line);
  return lines;
}

// Empty where no line of the cache has this key.
std::string find_hash(const std::string& cache_file, const std::string& key) {
  if (cache_file.empty()) return {};
  for (const std::string& line : read_lines(cache_file)) {
    if (!line.starts_with(key) || line.size() != key.size() + kHashDigits) continue;
    const std::string hash = line.substr(key.size());
    if (hash.find_first_not_of("0123456789abcdef") == std::string::npos) return hash;
  }
  return {};
}

// Writes the newest line first, and the whole file or nothing. If two programs write at once, the line of one
// is lost, and its file will be read once more.
void keep_hash(const std::string& cache_file, const std::string& key, const std::string& hash) {
  std::string text = key + hash + "\n";
  const std::string same_file = key.substr(0, key.find(' ', key.find(' ') + 1) + 1);
  size_t kept = 1;
  for (const std::string& line : read_lines(cache_file))
    if (!line.starts_with(same_file) && kept++ < kKeptFiles) text += line + "\n";
  write_cache_file(cache_file, {text});
}

}  // namespace

FileHash::FileHash(const Checkpoint& file, std::string cache_folder)
    : file_(file),
      cache_file_(cache_folder.empty() ? std::string() : std::move(cache_folder) + "/fingerprints"),
      key_(key_of(file)),
      settled_(have_settled(file)),
      hash_(find_hash(cache_file_, key_)) {
  was_known_ = !hash_.empty();
  if (was_known_) return;
  for (const auto& f : file.files())
    for (size_t at = 0; at < f->bytes().size(); at += kPiece)
      parts_.push_back(f->bytes().subspan(at, std::min(kPiece, f->bytes().size() - at)));
  pieces_.resize(parts_.size());
  const size_t threads = std::min({pieces_.size(), kMostThreads, size_t{most_threads()}});
  try {
    for (size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { read_pieces(); });
  } catch (const std::system_error&) {  // those that are there read all, and wait() the rest
  }
}

FileHash::~FileHash() {
  stop_ = true;
  for (std::thread& t : threads_) t.join();
}

void FileHash::read_pieces() {
  while (!stop_) {
    const size_t piece = next_++;
    if (piece >= pieces_.size()) return;
    const XXH128_hash_t hash = XXH3_128bits(parts_[piece].data(), parts_[piece].size());
    pieces_[piece] = {hash.low64, hash.high64};
  }
}

const std::string& FileHash::wait() {
  if (!hash_.empty()) return hash_;
  read_pieces();
  for (std::thread& t : threads_) t.join();
  threads_.clear();
  // Where a model has several files, it counts where one ends and what it is called.
  if (file_.files().size() > 1)
    for (const auto& f : file_.files()) {
      const std::string place =
          fmt::format("{} {}", fs::path(f->path()).filename().string(), f->bytes().size());
      const XXH128_hash_t hash = XXH3_128bits(place.data(), place.size());
      pieces_.push_back({hash.low64, hash.high64});
    }
  hash_ = text_of_hash(XXH3_128bits(pieces_.data(), pieces_.size() * sizeof(Piece)));
  // If the file has changed while it was read, its hash must not be kept.
  if (!cache_file_.empty() && settled_ && is_unchanged(file_)) keep_hash(cache_file_, key_, hash_);
  return hash_;
}

namespace {

// What tells interventions apart; empty where there are none.
std::string text_of(const Interventions& interventions) {
  std::string text;
  for (const auto& [layer, vector] : interventions.steers)
    text += fmt::format(" steer {} {}", layer,
                        text_of_hash(XXH3_128bits(vector.data(), vector.size() * sizeof(float))));
  for (const auto& [layer, head] : interventions.ablated)
    text += fmt::format(" ablate-head {}:{}", layer, head);
  return text;
}

}  // namespace

std::string fingerprint(const std::string& file_hash, const EngineOptions& options) {
  const char* layout = options.layout == I2sLayout::block128  ? "128"
                       : options.layout == I2sLayout::block64 ? "64"
                                                              : "1x4";
  const char* activation = options.activation == Activation::of_file ? ""
                           : options.activation == Activation::silu  ? " activation silu"
                                                                     : " activation relu2";
  return hash_of(
      fmt::format("{} i2s-layout {}{}{}", file_hash, layout, activation, text_of(options.interventions)));
}

std::string fingerprint_of(const Checkpoint& file, const EngineOptions& options) {
  return fingerprint(FileHash(file, options.cache_folder).wait(), options);
}

}  // namespace bitnet
