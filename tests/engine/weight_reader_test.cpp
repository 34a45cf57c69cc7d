// Tests the reader of weights alone: pieces come in whatever order they are asked for, and a disk that fails
// or a file that changes is said so.
#include "engine/weight_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <thread>

#include "tests/support/file_faults.h"
#include "tests/support/no_threads.h"

namespace bitnet {
namespace {

using testing::HasSubstr;

constexpr size_t kPieces = 7, kPieceBytes = 50'001;

class WeightReaderTest : public testing::Test {
 protected:
  WeightReaderTest() {
    file_faults::set({});
    std::mt19937 rng(1);
    bytes_.resize(kPieces * kPieceBytes);
    for (char& c : bytes_) c = static_cast<char>(rng());
    write(bytes_);
    file_ = std::make_shared<const MappedFile>(path_, "file");
    files_ = {file_};
    reader_ = std::make_unique<WeightReader>(files_);
    for (size_t i = 0; i < kPieces; ++i) {
      const auto piece = file_->bytes().subspan(i * kPieceBytes, kPieceBytes);
      const std::span<const std::byte> halves[] = {piece.subspan(20'000), piece.first(20'000)};
      EXPECT_EQ(reader_->add(halves,
                             [this, i](std::span<const std::byte> from, std::span<std::byte> to) {
                               if (before_put_) before_put_(i);
                               std::memcpy(to.data(), from.data(), from.size());
                             }),
                i);
    }
  }
  ~WeightReaderTest() override {
    file_faults::set({});
    reader_.reset();
    std::filesystem::remove(path_);
  }

  void write(const std::string& bytes) const { std::ofstream(path_, std::ios::binary) << bytes; }
  void overwrite(const std::string& bytes) const {
    std::fstream(path_, std::ios::in | std::ios::out | std::ios::binary) << bytes;
  }

  void begin() {
    for (auto& p : memory_) p.resize(kPieceBytes + 100);
    std::vector<std::span<std::byte>> places;
    for (auto& p : memory_) places.emplace_back(p);
    reader_->begin(places, /*poison=*/true);
  }

  // Takes a piece, looks at it and releases it.
  void use(uint32_t piece) {
    reader_->take(piece);
    const std::byte* there = memory_[reader_->place_of(piece)].data();
    const char* of_file = bytes_.data() + piece * kPieceBytes;
    EXPECT_EQ(std::memcmp(there, of_file + 20'000, kPieceBytes - 20'000), 0) << piece;
    EXPECT_EQ(std::memcmp(there + kPieceBytes - 20'000, of_file, 20'000), 0) << piece;
    reader_->release(piece);
  }
  void use_all(int times) {
    for (int i = 0; i < times; ++i)
      for (uint32_t piece = 0; piece < kPieces; ++piece) use(piece);
  }

  std::string failure(uint32_t piece) {
    try {
      use(piece);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::model);
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
      EXPECT_THAT(error.what(), HasSubstr(path_));
      return error.what();
    }
    return "";
  }

  const std::string path_ = testing::TempDir() + "bitnet-weight-reader-" + std::to_string(getpid());
  std::string bytes_;
  std::shared_ptr<const MappedFile> file_;
  std::vector<std::shared_ptr<const MappedFile>> files_;
  std::vector<std::byte> memory_[kWeightPlaces];
  std::function<void(size_t piece)> before_put_;  // on the reader's threads
  std::unique_ptr<WeightReader> reader_;
};

TEST_F(WeightReaderTest, PiecesComeInOrderAndInAnyOther) {
  begin();
  use_all(5);
  EXPECT_GE(reader_->stats().bytes, 5 * kPieces * kPieceBytes);
  std::mt19937 rng(2);
  for (int i = 0; i < 100; ++i) use(static_cast<uint32_t>(rng() % kPieces));
  use_all(1);
}

TEST_F(WeightReaderTest, ReadsThatAreShortLateOrInterruptedGiveTheSame) {
  file_faults::set({.short_reads = true});
  begin();
  use_all(4);
  file_faults::set({.late_ms = 3});
  use_all(2);
  EXPECT_GT(reader_->stats().waited, 0.0);
}

TEST_F(WeightReaderTest, AReadThatFailsIsSaidAndMayBeTriedAgain) {
  begin();
  use_all(1);
  for (const int at : {1, 2, 5}) {
    file_faults::set({.error_at = at});
    int failed = 0;
    for (int i = 0; i < 3; ++i)
      for (uint32_t piece = 0; piece < kPieces;) {
        const std::string said = failure(piece);
        if (said.empty()) {
          ++piece;
          continue;
        }
        ++failed;
        EXPECT_THAT(said, HasSubstr("Input/output error"));
        piece = 0;  // who fails begins again
      }
    EXPECT_LE(failed, 1);  // 0: it was being read ahead
  }
  file_faults::set({.error_at = 1, .always = true});
  int failed = 0;
  for (uint32_t piece = 0; piece < kPieces; ++piece) failed += failure(piece).empty() ? 0 : 1;
  EXPECT_GE(failed, 1);
}

TEST_F(WeightReaderTest, AReadAheadThatFailsWhileSomebodyWaitsForItIsTriedAgain) {
  file_faults::set({.error_at = 1, .late_ms = 100});
  begin();
  while (file_faults::reads() == 0) std::this_thread::yield();
  use_all(1);
}

TEST_F(WeightReaderTest, AFileThatChangesOrIsCutIsNoticedAndNoByteOfItIsUsed) {
  begin();
  use_all(1);
  std::string changed = bytes_;
  changed[3 * kPieceBytes + 7] ^= 1;
  overwrite(changed);
  bool noticed = false;
  for (int i = 0; i < 3; ++i)
    for (uint32_t piece = 0; piece < kPieces; ++piece) {
      const std::string said = failure(piece);
      if (said.empty()) continue;
      EXPECT_EQ(piece, 3U);
      EXPECT_THAT(said, HasSubstr("has changed since it was opened"));
      noticed = true;
    }
  EXPECT_TRUE(noticed);
  overwrite(bytes_);
  use_all(2);
  std::filesystem::resize_file(path_, 2 * kPieceBytes);
  noticed = false;
  for (int i = 0; i < 3; ++i)
    for (uint32_t piece = 0; piece < kPieces; ++piece) {
      const std::string said = failure(piece);
      if (said.empty()) continue;
      EXPECT_GE(piece, 2U);
      EXPECT_THAT(said, HasSubstr("the file ends at"));
      noticed = true;
    }
  EXPECT_TRUE(noticed);
  overwrite(bytes_);  // the mapping has its bytes again
}

TEST_F(WeightReaderTest, WhoWaitsStopsWhenItIsAskedTo) {
  file_faults::set({.late_ms = 50});
  std::atomic<bool> stop = true;
  begin();
  reader_->stop_if(&stop);
  EXPECT_THROW(reader_->take(kPieces - 1), Stopped);
  reader_->stop_if(nullptr);
  file_faults::set({});
  use_all(2);
}

// Of the first two pieces one cannot be read, while the read of the other does not end.
TEST_F(WeightReaderTest, AStopDoesNotWaitForAReadBesideOneThatFailed) {
  file_faults::set({.error_at = 1, .held_from = 2});
  begin();
  while (file_faults::reads() < 2) std::this_thread::yield();
  std::atomic<bool> stop = true;
  reader_->stop_if(&stop);
  for (const uint32_t piece : {0, 1}) EXPECT_THROW(reader_->take(piece), Stopped) << piece;
  reader_->stop_if(nullptr);
  file_faults::set({});
  use_all(2);
}

// One piece fails while somebody waits for it, and the stop comes while the other reader has not ended.
TEST_F(WeightReaderTest, APieceThatFailedBeforeAStopIsReadAnew) {
  constexpr size_t kFails = kWeightPlaces, kHeld = kFails + 1, kNext = kFails + 2;
  static_assert(kNext < kPieces && kWeightReaders == 2);
  std::atomic<size_t> n_put = 0;
  std::atomic<bool> is_held = false, go_on = false, has_failed = false, stop = false;
  before_put_ = [&](size_t piece) {
    ++n_put;
    if (piece == kHeld) {
      is_held = true;
      is_held.notify_all();
      go_on.wait(false);
    }
    if (piece == kFails && !has_failed.exchange(true)) {
      is_held.wait(false);
      throw Error(ErrorKind::model, "it fails");
    }
    if (piece == kNext) stop = true;  // whose thread has left the error in its place
  };
  begin();
  while (n_put < kWeightPlaces) std::this_thread::yield();  // no more is read ahead
  reader_->stop_if(&stop);
  EXPECT_THROW(reader_->take(kFails), Stopped);
  reader_->stop_if(nullptr);
  go_on = true;
  go_on.notify_all();
  use(kFails);
  use_all(2);
  reader_.reset();
}

TEST_F(WeightReaderTest, WhatNobodyWantsAnyMoreIsNotReadToItsEnd) {
  std::atomic<int> n_put[kPieces] = {};
  before_put_ = [&](size_t piece) { ++n_put[piece]; };
  file_faults::set({.held_from = 1});
  begin();
  while (file_faults::reads() < 2) std::this_thread::yield();  // the first halves of two pieces
  const std::atomic<bool> stop = true;
  reader_->stop_if(&stop);
  EXPECT_THROW(reader_->take(kPieces - 1), Stopped);
  reader_->stop_if(nullptr);
  file_faults::set({});
  use(kPieces - 1);
  use(0);
  use(1);
  EXPECT_EQ(n_put[0], 1);
  EXPECT_EQ(n_put[1], 1);
  reader_.reset();
}

TEST_F(WeightReaderTest, ThatThereAreNoThreadsIsSaid) {
  const NoThreads none;
  try {
    begin();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::runtime);
    EXPECT_THAT(error.what(), HasSubstr("no thread can be had"));
  }
}

TEST_F(WeightReaderTest, AFileThatWasReplacedBeforeItIsOpenedAgainIsRefused) {
  std::filesystem::rename(path_, path_ + ".old");
  write(bytes_);
  EXPECT_THROW(WeightReader{files_}, Error);
  std::filesystem::remove(path_ + ".old");
}

}  // namespace
}  // namespace bitnet
