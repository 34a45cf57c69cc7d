// Weights that stay in the model's file because memory has no room for them. They are read into a few places
// of memory ahead of their use, in the order in which a token uses them, which is the same for every token.
//
// Thread rule: a WeightReader belongs to one thread; it reads on threads of its own.
//
// A file that is read again and again may change meanwhile, or a disk may give other bytes than before. So
// the bytes of each piece are hashed whenever they are read, and are used only if they are those that were
// there when the model was loaded.
//
// O_DIRECT goes past the system's cache of pages. That helps where a file is larger than memory, since what
// is read first is gone from the cache when it is wanted again, and on some disks it harms. So the first
// pieces are read both ways in turns, and the others in the faster one (antirez/ds4 and JustVugg/colibri
// report both).
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "engine/engine.h"
#include "engine/mapped_file.h"

namespace bitnet {

struct Stopped {};  // thrown where somebody who waits for weights is to stop

class WeightReader {
 public:
  // Opens the files anew. Throws Error(model) where that is not possible, or where one is no longer what was
  // mapped.
  explicit WeightReader(std::span<const std::shared_ptr<const MappedFile>> files);
  ~WeightReader();  // waits for some megabytes that are being read
  WeightReader(const WeightReader&) = delete;
  WeightReader& operator=(const WeightReader&) = delete;

  // Puts the bytes of a piece, as they are in the file, into its place. It runs on several threads.
  using Put = std::function<void(std::span<const std::byte> bytes, std::span<std::byte> place)>;
  // Adds a piece that is used behind those added before, and returns its number. `ranges` lie in mapped
  // files and are hashed now; their bytes are given one behind the other. Requires: not begun.
  uint32_t add(std::span<const std::span<const std::byte>> ranges, Put put);
  uint32_t place_of(uint32_t piece) const { return piece % kWeightPlaces; }

  // Begins to read. Piece i goes to places[place_of(i)]. If `poison`, a place is overwritten with ones before
  // it is filled again, so that whoever is late is found. Throws Error(runtime) where no thread can be had.
  void begin(std::vector<std::span<std::byte>> places, bool poison);

  // While this is not null, take() looks at it and throws Stopped soon after it has become true.
  void stop_if(const std::atomic<bool>* stop) { stop_ = stop; }
  // Waits until the piece is in its place. Pieces between the last one and this are skipped. Throws
  // Error(model) where it cannot be read or is no longer what it was; it may be tried again. Where a read
  // that began before this call fails, it is tried again first.
  void take(uint32_t piece);
  // What was taken is no longer used, once `wait` has returned, which is called on another thread.
  void release(uint32_t piece, std::function<void()> wait = {});

  FileReads stats() const;  // any thread

 private:
  struct File {
    std::shared_ptr<const MappedFile> mapped;
    int fd = -1, direct = -1;
  };
  struct Range {
    size_t file;
    uint64_t offset, bytes;
  };
  struct Piece {
    std::vector<Range> ranges;
    uint64_t bytes = 0, hash = 0;
    Put put;
  };
  // Pieces are numbered on from token to token: use number k is of piece k modulo the number of pieces.
  struct Place {
    std::span<std::byte> memory;
    enum class State { free, reading, ready, taken } state = State::free;
    uint64_t use = 0;
    bool dropped = false;  // it is being read, and nobody will use it
    std::exception_ptr error;
    std::function<void()> wait;
  };
  struct Way {
    uint64_t bytes = 0;
    double seconds = 0;
    int tries = 0;
  };

  void open_again(const std::shared_ptr<const MappedFile>& mapped);
  void close_files();
  void run();
  bool is_unwanted(const Place& place) const;
  void read(const Piece& piece, const Place& place, std::vector<std::byte>& bytes,
            std::vector<std::byte>& chunk);
  bool read_range(const Range& range, const Place& place, bool direct, std::span<std::byte> to,
                  std::vector<std::byte>& chunk) const;
  bool choose_direct();
  Place& place_of_use(uint64_t use) { return places_[place_of(static_cast<uint32_t>(use % pieces_.size()))]; }
  template <typename Condition>
  bool wait_for(std::unique_lock<std::mutex>& lock, const Condition& condition);
  void start_over(std::unique_lock<std::mutex>& lock, uint64_t use);

  std::vector<File> files_;
  std::vector<Piece> pieces_;
  bool poison_ = false;
  const std::atomic<bool>* stop_ = nullptr;
  mutable std::mutex mutex_;  // of all below
  std::condition_variable changed_;
  std::vector<Place> places_;
  uint64_t next_read_ = 0, next_use_ = 0;
  bool quit_ = false, holds_ = false;  // holds_: nothing more is to be read for now
  Way buffered_, direct_;
  FileReads stats_;
  std::vector<std::thread> threads_;
};

}  // namespace bitnet
