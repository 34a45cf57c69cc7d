#include "engine/read_ahead.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <fstream>

namespace bitnet {
namespace {

class ReadAheadTest : public testing::Test {
 protected:
  // A file that is not in memory, where the file system allows that.
  std::shared_ptr<const MappedFile> file_of(const std::string& name, size_t bytes) {
    const std::string path = testing::TempDir() + "bitnet-read-ahead-" + name;
    std::ofstream(path, std::ios::binary) << std::string(bytes, 'x');
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    fdatasync(fd);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    close(fd);
    return std::make_shared<MappedFile>(path, "test file");
  }

  static size_t pages_in_memory(const MappedFile& file) {
    std::vector<unsigned char> in(file.bytes().size() / 4096 + 1);
    mincore(const_cast<std::byte*>(file.bytes().data()), file.bytes().size(), in.data());
    return static_cast<size_t>(std::count_if(in.begin(), in.end(), [](unsigned char p) { return p & 1; }));
  }
};

TEST_F(ReadAheadTest, WholeFilesComeIntoMemory) {
  constexpr size_t kBytes = (9 << 20) + 4097;  // not whole steps, nor whole pages
  const auto first = file_of("1", kBytes), second = file_of("2", 5000);
  const ReadAhead ahead({first, second});
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (pages_in_memory(*first) + pages_in_memory(*second) < kBytes / 4096 + 3 &&
         std::chrono::steady_clock::now() < end)
    usleep(10'000);
  EXPECT_EQ(pages_in_memory(*first), kBytes / 4096 + 1);
  EXPECT_EQ(pages_in_memory(*second), 2U);
}

TEST_F(ReadAheadTest, MoreThanFitsIsLeftAlone) {
  const auto file = file_of("3", 4 << 20);
  const size_t before = pages_in_memory(*file);
  { const ReadAhead ahead({file}, (4 << 20) - 1); }
  usleep(50'000);
  EXPECT_EQ(pages_in_memory(*file), before);
}

TEST_F(ReadAheadTest, ItStopsAtOnce) {
  const auto file = file_of("4", 32 << 20);
  for (int i = 0; i < 10; ++i) ReadAhead({file});
}

}  // namespace
}  // namespace bitnet
