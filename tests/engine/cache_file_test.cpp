// Tests that files of the cache folder are read where they are files, and belong to their owner alone.
#include "engine/cache_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace bitnet {
namespace {

namespace fs = std::filesystem;
constexpr uint64_t kMost = 100;

class CacheFile : public testing::Test {
 protected:
  ~CacheFile() override { fs::remove_all(folder_); }
  std::string path() const { return (folder_ / "a" / "file").string(); }

  const fs::path folder_ = fs::path(testing::TempDir()) / ("cache_file_" + std::to_string(getpid()));
};

TEST_F(CacheFile, IsWrittenAsAWholeForItsOwnerAlone) {
  EXPECT_EQ(read_cache_file(path(), kMost), "");
  const mode_t mask = umask(0);
  EXPECT_TRUE(write_cache_file(path(), {"one", "", "two"}));
  umask(mask);
  EXPECT_EQ(read_cache_file(path(), kMost), "onetwo");
  EXPECT_EQ(fs::status(path()).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  for (const fs::path& folder : {folder_, folder_ / "a"})
    EXPECT_EQ(fs::status(folder).permissions(), fs::perms::owner_all);
  EXPECT_TRUE(write_cache_file(path(), {}));
  EXPECT_EQ(fs::file_size(path()), 0U);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "a"), {}), 1);
}

TEST_F(CacheFile, WhatIsNoFileOrTooLargeIsNotReadButReplaced) {
  ASSERT_TRUE(write_cache_file(path(), {"file"}));
  ASSERT_EQ(mkfifo((folder_ / "fifo").c_str(), 0600), 0);
  fs::create_symlink(path(), folder_ / "link");
  std::ofstream(folder_ / "large");
  fs::resize_file(folder_ / "large", kMost + 1);
  for (const char* name : {"fifo", "link", "large"}) {
    const std::string other = (folder_ / name).string();
    EXPECT_EQ(read_cache_file(other, kMost), "") << name;
    EXPECT_TRUE(write_cache_file(other, {"new"})) << name;
    EXPECT_EQ(read_cache_file(other, kMost), "new") << name;
  }
  EXPECT_EQ(read_cache_file(path(), kMost), "file");  // to which the link led
}

TEST_F(CacheFile, WhereItCannotBeWrittenThatIsSaid) {
  std::ofstream(folder_.string()) << "a file where the folder should be";
  EXPECT_FALSE(write_cache_file(path(), {"text"}));
  EXPECT_EQ(read_cache_file(path(), kMost), "");
  fs::remove(folder_);
  fs::create_directories(path());
  EXPECT_FALSE(write_cache_file(path(), {"text"}));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "a"), {}), 1);
}

}  // namespace
}  // namespace bitnet
