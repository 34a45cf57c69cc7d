// Tests a file that is being fetched while another process works on it too, or while the disk gets full.
#include "app/pull/part_file.h"

#include <gmock/gmock.h>
#include <sys/file.h>
#include <sys/statvfs.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <utility>

#include "engine/error.h"

namespace fs = std::filesystem;

namespace {

std::function<void()> before_flock;  // runs once, as another process would in the meantime
std::optional<uint64_t> bytes_left;

}  // namespace

extern "C" {
int __real_flock(int fd, int how);
int __wrap_flock(int fd, int how) {
  if (const auto meanwhile = std::exchange(before_flock, nullptr)) meanwhile();
  return __real_flock(fd, how);
}
int __real_statvfs(const char* path, struct statvfs* info);
int __wrap_statvfs(const char* path, struct statvfs* info) {
  if (!bytes_left) return __real_statvfs(path, info);
  *info = {};
  info->f_frsize = 1;
  info->f_bavail = *bytes_left;
  return 0;
}
}

namespace bitnet {
namespace {

using testing::HasSubstr;

class PartFileTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / ("app_part_file_test_" + std::to_string(getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    file_ = folder_ / "model.gguf";
  }
  void TearDown() override {
    before_flock = nullptr;
    bytes_left.reset();
    fs::remove_all(folder_);
  }
  static std::string content(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static std::string refusal(const std::function<void()>& work) {
    try {
      work();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
  fs::path folder_;
  fs::path file_;
};

TEST_F(PartFileTest, AFileThatAnotherProcessFinishedMeanwhileIsNotTruncated) {
  PartFile other(file_);
  other.begin({"http://host/model.gguf", "\"one\"", 9, ""});
  other.append("GGUF whole");
  before_flock = [&] { other.finish(); };
  // The lock of a file that was renamed is not a lock of the part; and `other` still holds it.
  EXPECT_THAT(refusal([&] { PartFile late(file_); }), HasSubstr("another bitnet-chat"));
  EXPECT_EQ(content(file_), "GGUF whole");
}

TEST_F(PartFileTest, APartThatWasRenamedBetweenOpenAndLockIsOpenedAnew) {
  std::ofstream(folder_ / "model.gguf.part") << "GGUF whole";
  before_flock = [&] { fs::rename(folder_ / "model.gguf.part", file_); };
  PartFile late(file_);
  EXPECT_EQ(late.size(), 0U);
  late.begin({});
  late.append("GG");
  EXPECT_EQ(content(file_), "GGUF whole");
  EXPECT_EQ(content(folder_ / "model.gguf.part"), "GG");
}

TEST_F(PartFileTest, APartThatWasRemovedBetweenOpenAndLockIsOpenedAnew) {
  std::ofstream(folder_ / "model.gguf.part") << "GGUF";
  before_flock = [&] { fs::remove(folder_ / "model.gguf.part"); };
  PartFile late(file_);
  late.append("GGUF whole");
  late.finish();
  EXPECT_EQ(content(file_), "GGUF whole");
}

TEST_F(PartFileTest, WritingStopsBeforeTheDiskIsFull) {
  PartFile part(file_);
  bytes_left = uint64_t{100} << 20;
  const std::string block(1 << 20, 'x');
  const std::string why = refusal([&] {
    for (int i = 0; i < 200; ++i) {
      part.append(block);
      *bytes_left -= block.size();
    }
  });
  EXPECT_THAT(why, HasSubstr("MB left"));
  EXPECT_THAT(why, HasSubstr("XDG_CACHE_HOME"));
  EXPECT_LT(part.size(), uint64_t{45} << 20);  // 64 MiB must stay free; that is checked every 8 MiB
  EXPECT_GT(part.size(), uint64_t{30} << 20);
}

TEST_F(PartFileTest, NoSizeWrapsAround) {
  const PartFile part(file_);
  bytes_left = uint64_t{100} << 20;
  for (const uint64_t size :
       {~uint64_t{0}, ~uint64_t{0} - (64 << 20), uint64_t{1} << 63, uint64_t{37} << 20}) {
    EXPECT_THAT(refusal([&] { part.need_room(size); }), HasSubstr("MB left")) << size;
  }
  EXPECT_EQ(refusal([&] { part.need_room(uint64_t{36} << 20); }), "");
}

TEST_F(PartFileTest, OnlyWhatTellsItsFileCanBeGoneOnWith) {
  PartFile part(file_);
  part.begin({"u", "\"strong\"", 0, ""});
  EXPECT_FALSE(part.resumable());
  part.append("GGUF");
  EXPECT_TRUE(part.resumable());
  part.set_state({"u", "W/\"weak\"", 0, ""});
  EXPECT_FALSE(part.resumable());
  part.set_state({"u", "", 0, std::string(64, 'a')});
  EXPECT_TRUE(part.resumable());
}

}  // namespace
}  // namespace bitnet
