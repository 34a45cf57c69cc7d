#include "engine/read_ahead.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "tests/support/no_threads.h"

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
  while (pages_in_memory(*first) < kBytes / 4096 + 1) std::this_thread::yield();
  while (pages_in_memory(*second) < 2) std::this_thread::yield();
}

TEST_F(ReadAheadTest, MoreThanFitsIsLeftAlone) {
  const auto threads = [] {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    return std::distance(begin(tasks), end(tasks));
  };
  const auto file = file_of("3", 4 << 20);
  const auto before = threads();
  const ReadAhead ahead({file}, (4 << 20) - 1);
  EXPECT_EQ(threads(), before);  // nobody is there to read it
}

TEST_F(ReadAheadTest, WithoutAThreadFilesAreLeftAlone) {
  const auto file = file_of("4", 4 << 20);
  const NoThreads none;
  const ReadAhead ahead({file});
  EXPECT_EQ(file->bytes().back(), std::byte{'x'});
}

}  // namespace
}  // namespace bitnet
