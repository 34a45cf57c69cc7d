#include "engine/weight_reader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "seconds.h"

namespace bitnet {
namespace {

constexpr size_t kChunk = 4 << 20;       // of one call, as much as disks need to work on all of their parts
constexpr uint64_t kDirectAlign = 4096;  // of offsets, lengths and memory with O_DIRECT
constexpr int kTries = 6;                // of each way, before the faster one is kept

[[noreturn]] void fail(const MappedFile& file, const std::string& problem) {
  throw Error(ErrorKind::model, fmt::format("{}: {}", printable(file.path()), problem));
}

class Hash {
 public:
  Hash() { XXH3_64bits_reset(state_.get()); }
  void add(std::span<const std::byte> bytes) { XXH3_64bits_update(state_.get(), bytes.data(), bytes.size()); }
  uint64_t value() const { return XXH3_64bits_digest(state_.get()); }

 private:
  struct Free {
    void operator()(XXH3_state_t* s) const { XXH3_freeState(s); }
  };
  std::unique_ptr<XXH3_state_t, Free> state_{XXH3_createState()};
};

}  // namespace

WeightReader::WeightReader(std::span<const std::shared_ptr<const MappedFile>> files) {
  try {
    for (const auto& mapped : files) open_again(mapped);
  } catch (...) {
    close_files();
    throw;
  }
}

void WeightReader::open_again(const std::shared_ptr<const MappedFile>& mapped) {
  const char* path = mapped->path().c_str();
  File& file = files_.emplace_back(File{mapped});
  file.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  struct stat info = {};
  if (file.fd < 0 || fstat(file.fd, &info) != 0)
    fail(*mapped, fmt::format("cannot open the file again: {}", std::generic_category().message(errno)));
  if (info.st_dev != mapped->state().device || info.st_ino != mapped->state().inode)
    fail(*mapped, "the file was replaced while it was being loaded; try again");
  file.direct = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_DIRECT);
}

void WeightReader::close_files() {
  for (const File& file : files_)
    for (const int fd : {file.fd, file.direct})
      if (fd >= 0) close(fd);
}

WeightReader::~WeightReader() {
  {
    const std::lock_guard lock(mutex_);
    quit_ = true;
  }
  changed_.notify_all();
  for (std::thread& t : threads_) t.join();
  close_files();
}

uint32_t WeightReader::add(std::span<const std::span<const std::byte>> ranges, Put put) {
  Piece piece;
  Hash hash;
  for (const auto range : ranges) {
    hash.add(range);
    for (size_t i = 0; i < files_.size(); ++i) {
      if (!is_in(*files_[i].mapped, range)) continue;
      const std::byte* begin = files_[i].mapped->bytes().data();
      piece.ranges.push_back({i, static_cast<uint64_t>(range.data() - begin), range.size()});
      break;
    }
    piece.bytes += range.size();
  }
  piece.hash = hash.value();
  piece.put = std::move(put);
  pieces_.push_back(std::move(piece));
  return static_cast<uint32_t>(pieces_.size() - 1);
}

void WeightReader::begin(std::vector<std::span<std::byte>> places, bool poison) {
  poison_ = poison;
  for (const auto memory : places) places_.push_back({.memory = memory});
  if (pieces_.empty()) return;
  try {
    for (uint32_t i = 0; i < kWeightReaders; ++i) threads_.emplace_back([this] { run(); });
  } catch (const std::system_error& error) {  // one alone is slower
    if (threads_.empty())
      throw Error(ErrorKind::runtime,
                  fmt::format("no thread can be had that reads weights from the model's file ({}); end other "
                              "programs, or give a --ram that all weights fit into",
                              error.what()));
  }
}

// What each thread does: it reads the next piece whose place is free.
void WeightReader::run() {
  std::vector<std::byte> bytes, chunk;
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock,
                  [&] { return quit_ || (!holds_ && place_of_use(next_read_).state == Place::State::free); });
    if (quit_) return;
    const uint64_t use = next_read_++;
    Place& place = place_of_use(use);
    place.state = Place::State::reading;
    place.use = use;
    place.dropped = false;
    place.error = nullptr;
    const auto wait = std::exchange(place.wait, {});
    lock.unlock();
    std::exception_ptr error;
    try {
      if (wait) wait();
      if (poison_) std::memset(place.memory.data(), 0xFF, place.memory.size());
      const Piece& piece = pieces_[use % pieces_.size()];
      read(piece, place, bytes, chunk);
      piece.put(std::span(bytes).first(piece.bytes), place.memory);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    place.error = error;
    place.state = place.dropped ? Place::State::free : Place::State::ready;
    changed_.notify_all();
  }
}

// Whether the next piece is read past the cache.
bool WeightReader::choose_direct() {
  const std::lock_guard lock(mutex_);
  if (direct_.tries < kTries || buffered_.tries < kTries) {
    Way& way = buffered_.tries <= direct_.tries ? buffered_ : direct_;
    ++way.tries;
    return &way == &direct_;
  }
  const auto rate = [](const Way& w) { return static_cast<double>(w.bytes) / std::max(w.seconds, 1e-9); };
  return direct_.bytes != 0 && rate(direct_) > rate(buffered_);
}

// Whether nobody will use what is being read into a place.
bool WeightReader::is_unwanted(const Place& place) const {
  const std::lock_guard lock(mutex_);
  return quit_ || place.dropped;
}

void WeightReader::read(const Piece& piece, const Place& place, std::vector<std::byte>& bytes,
                        std::vector<std::byte>& chunk) {
  const auto start = Clock::now();
  bytes.resize(std::max<size_t>(bytes.size(), piece.bytes));
  const bool wanted = choose_direct();
  bool direct = wanted;
  uint64_t at = 0;
  for (const Range& range : piece.ranges) {
    const auto to = std::span(bytes).subspan(at, range.bytes);
    if (!read_range(range, place, direct, to, chunk)) {
      direct = false;
      read_range(range, place, false, to, chunk);
    }
    at += range.bytes;
  }
  const double seconds = seconds_since(start);
  {
    const std::lock_guard lock(mutex_);
    stats_.bytes += piece.bytes;
    stats_.seconds += seconds;
    stats_.past_cache = direct;
    if (direct == wanted) {
      Way& way = direct ? direct_ : buffered_;
      way.bytes += piece.bytes;
      way.seconds += seconds;
    }
  }
  Hash hash;
  hash.add(std::span(bytes).first(piece.bytes));
  if (hash.value() != piece.hash)
    fail(*files_[piece.ranges[0].file].mapped, "the file has changed since it was opened; open it again");
}

// Returns false where the file cannot be read past the cache.
bool WeightReader::read_range(const Range& range, const Place& place, bool direct, std::span<std::byte> to,
                              std::vector<std::byte>& chunk) const {
  const File& file = files_[range.file];
  if (direct && file.direct < 0) return false;
  std::byte* aligned = nullptr;
  if (direct) {
    chunk.resize(kChunk + kDirectAlign);
    const auto address = reinterpret_cast<uintptr_t>(chunk.data());
    aligned = chunk.data() + (kDirectAlign - address % kDirectAlign) % kDirectAlign;
  }
  for (uint64_t done = 0; done < range.bytes;) {
    if (is_unwanted(place)) throw Stopped();
    const uint64_t at = range.offset + done, skipped = direct ? at % kDirectAlign : 0;
    const uint64_t left = range.bytes - done;
    const size_t wanted =
        direct ? std::min<uint64_t>(kChunk, (skipped + left + kDirectAlign - 1) / kDirectAlign * kDirectAlign)
               : std::min<uint64_t>(kChunk, left);
    const ssize_t got = pread(direct ? file.direct : file.fd, direct ? aligned : to.data() + done, wanted,
                              static_cast<off_t>(at - skipped));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && direct && (errno == EINVAL || errno == EFAULT)) return false;
    if (got < 0)
      fail(*file.mapped, fmt::format("reading weights failed: {}", std::generic_category().message(errno)));
    if (static_cast<uint64_t>(got) <= skipped)
      fail(*file.mapped, fmt::format("the file ends at {} bytes of the {} that it had; open it again",
                                     at - skipped + static_cast<uint64_t>(got), file.mapped->bytes().size()));
    const uint64_t n = std::min<uint64_t>(left, static_cast<uint64_t>(got) - skipped);
    if (direct) std::memcpy(to.data() + done, aligned + skipped, n);
    done += n;
  }
  return true;
}

// False where somebody stopped it before.
template <typename Condition>
bool WeightReader::wait_for(std::unique_lock<std::mutex>& lock, const Condition& condition) {
  constexpr auto kPoll = std::chrono::milliseconds(10);  // a stop may come from a signal's handler
  while (!changed_.wait_for(lock, kPoll, condition))
    if (stop_ != nullptr && *stop_) return false;
  return true;
}

// Forgets what was read, so that reading begins anew with this use.
void WeightReader::start_over(std::unique_lock<std::mutex>& lock, uint64_t use) {
  const auto reads = [](const Place& p) { return p.state == Place::State::reading; };
  holds_ = true;
  const bool ended = wait_for(lock, [&] { return std::ranges::none_of(places_, reads); });
  if (!ended) {
    holds_ = false;
    changed_.notify_all();
    throw Stopped();
  }
  for (Place& p : places_)
    if (p.state == Place::State::ready) {
      p.state = Place::State::free;
      p.error = nullptr;
    }
  next_read_ = next_use_ = use;
  holds_ = false;
  changed_.notify_all();
}

void WeightReader::take(uint32_t piece) {
  const auto start = Clock::now();
  std::unique_lock lock(mutex_);
  const uint64_t n = pieces_.size(), use = next_use_ + (piece + n - next_use_ % n) % n;
  const bool read_ahead = use < next_read_;
  for (uint64_t skipped = next_use_; skipped < std::min(use, next_read_); ++skipped) {
    Place& place = place_of_use(skipped);
    if (place.use != skipped) continue;
    if (place.state == Place::State::reading) place.dropped = true;
    if (place.state == Place::State::ready) place.state = Place::State::free;
  }
  next_use_ = use;
  next_read_ = std::max(next_read_, use);
  changed_.notify_all();
  Place& place = place_of_use(use);
  const auto wait_until_read = [&] {
    const auto is_there = [&] { return place.use == use && place.state == Place::State::ready; };
    if (!wait_for(lock, is_there)) throw Stopped();
  };
  wait_until_read();
  if (read_ahead && place.error) {  // that read began before this call; the file may be right by now
    start_over(lock, use);
    wait_until_read();
  }
  stats_.waited += seconds_since(start);
  if (const std::exception_ptr error = place.error) {
    start_over(lock, use);  // a stop ends it early; then the place has its error still
    std::rethrow_exception(error);
  }
  place.state = Place::State::taken;
  next_use_ = use + 1;
}

void WeightReader::release(uint32_t piece, std::function<void()> wait) {
  {
    const std::lock_guard lock(mutex_);
    Place& place = places_[place_of(piece)];
    place.state = Place::State::free;
    place.wait = std::move(wait);
  }
  changed_.notify_all();
}

FileReads WeightReader::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

}  // namespace bitnet
