#include "app/base/output_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "engine/error.h"

namespace bitnet {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class OutputFileTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::canonical(testing::TempDir()) / name();
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "work" / "deep");
    before_ = fs::current_path();
    fs::current_path(folder_ / "work");
  }
  void TearDown() override {
    fs::current_path(before_);
    fs::remove_all(folder_);
  }
  static std::string name() { return "output_file_" + std::to_string(getpid()); }
  static std::string read(const fs::path& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
  }
  static void put(const fs::path& file, const char* text) { std::ofstream(file) << text; }
  static std::string refusal(const std::string& path, const WriteRules& rules = {}) {
    try {
      write_file(path, "new", rules);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::runtime);
      return error.what();
    }
    ADD_FAILURE() << path << " was written";
    return "";
  }

  static auto files_here() { return std::distance(fs::directory_iterator("."), fs::directory_iterator()); }

  fs::path folder_;
  fs::path before_;
};

// While it lives no file gets longer than this, as on a full disk.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) : signal_before_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, signal_before_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_{};
  void (*signal_before_)(int);
};

TEST_F(OutputFileTest, ANewFileIsForItsOwnerAlone) {
  const mode_t mask = umask(0);
  write_file("a", "new", {});
  umask(mask);
  struct stat about {};
  ASSERT_EQ(stat("a", &about), 0);
  EXPECT_EQ(about.st_mode & 07777, 0600U);
  EXPECT_EQ(read("a"), "new");
}

TEST_F(OutputFileTest, WhatIsThereIsNotOverwrittenUnlessAskedFor) {
  put("a", "old");
  EXPECT_THAT(refusal("a"), HasSubstr("a: is there already; --force overwrites it"));
  EXPECT_EQ(read("a"), "old");
  fs::create_hard_link("a", "other");
  write_file("a", "new", {.overwrite = true});
  EXPECT_EQ(read("a"), "new");
  EXPECT_EQ(read("other"), "old");  // there is a new file of that name; the old one is as it was
}

TEST_F(OutputFileTest, NoLinkIsFollowed) {
  fs::create_symlink(folder_ / "nowhere", "dangling");
  EXPECT_THAT(refusal("dangling"), HasSubstr("as a symbolic link"));
  EXPECT_FALSE(fs::exists(folder_ / "nowhere"));
  put("target", "old");
  fs::create_symlink("target", "link");
  refusal("link");
  write_file("link", "new", {.overwrite = true});
  EXPECT_EQ(read("target"), "old");
  EXPECT_FALSE(fs::is_symlink("link"));
}

TEST_F(OutputFileTest, ALinkOfTheSystemIsNotReplaced) {
  put("a", "old");
  const int fd = open("a", O_WRONLY | O_APPEND);
  ASSERT_GE(fd, 0);
  for (const bool overwrite : {false, true})
    EXPECT_THAT(refusal("/proc/self/fd/" + std::to_string(fd), {.overwrite = overwrite}),
                HasSubstr("name that file"));
  close(fd);
  EXPECT_EQ(read("a"), "old");
  EXPECT_THAT(refusal("/proc/self/cwd", {.overwrite = true}), HasSubstr("is no regular file"));
}

TEST_F(OutputFileTest, AFolderAPipeNobodyReadsAndNoNameAreRefused) {
  EXPECT_THAT(refusal("deep", {.overwrite = true}), HasSubstr("folder"));
  refusal("");
  refusal("..");
  refusal("no/such/folder/x");
  ASSERT_EQ(mkfifo("pipe", 0600), 0);
  EXPECT_THAT(refusal("pipe", {.overwrite = true}), HasSubstr("nobody reads"));
  write_file("/dev/null", "new", {});
}

TEST_F(OutputFileTest, AScriptWritesBelowItsFolderOnly) {
  const WriteRules rules = rules_for_script(false);
  write_file("a", "new", rules);
  write_file("deep/../deep/b", "new", rules);
  write_file(folder_ / "work/deep/c", "new", rules);
  EXPECT_EQ(read("deep/b") + read("deep/c"), "newnew");
  fs::create_directory_symlink("deep", "inside");
  fs::create_directory_symlink(folder_, "outside");
  fs::create_symlink(folder_ / "x", "dangling");
  write_file("inside/d", "new", rules);
  EXPECT_EQ(read("deep/d"), "new");
  for (const std::string path : {"../x", "outside/x", "deep/../../x", "/dev/null"}) {
    EXPECT_THAT(refusal(path, rules), HasSubstr("--allow-writes")) << path;
  }
  EXPECT_THAT(refusal((folder_ / "x").string(), rules), HasSubstr("--allow-writes"));
  EXPECT_THAT(refusal((folder_ / "workshop").string(), rules), HasSubstr("--allow-writes"));
  refusal("dangling", rules);
  EXPECT_THAT(refusal("a", rules), HasSubstr("--force lets a script overwrite it"));
  EXPECT_FALSE(fs::exists(folder_ / "x"));
  write_file("a", "again", rules_for_script(true));
  EXPECT_EQ(read("a"), "again");
}

TEST_F(OutputFileTest, WhatCouldNotBeWrittenToItsEndDoesNotStay) {
  if (access("/dev/full", W_OK) != 0) GTEST_SKIP();
  OutputFile full("/dev/full", {});
  full.write("x");
  EXPECT_TRUE(full.failed());
  EXPECT_THROW(full.finish(), Error);
  {
    OutputFile file("partial", {});
    file.write("x");
    file.discard();
  }
  EXPECT_FALSE(fs::exists("partial"));
}

TEST_F(OutputFileTest, AFileHasItsNameOnceItIsWhole) {
  const auto files = files_here();
  {
    OutputFile file("a", {});
    file.write("what an exception ends");
    EXPECT_FALSE(fs::exists("a"));
  }
  EXPECT_EQ(files_here(), files);
  {
    OutputFile file("a", {});
    file.write("new");
    put("a", "theirs");  // which came meanwhile
    EXPECT_THROW(file.finish(), Error);
  }
  EXPECT_EQ(read("a"), "theirs");
  EXPECT_EQ(files_here(), files + 1);
}

TEST_F(OutputFileTest, OnAFullDiskWhatWasToBeOverwrittenStays) {
  put("a", "old");
  const auto files = files_here();
  bool refused = false;
  {
    const FullDisk full(100);
    try {
      write_file("a", std::string(200, 'x'), {.overwrite = true});
    } catch (const Error&) {
      refused = true;
    }
  }
  EXPECT_TRUE(refused);
  EXPECT_EQ(read("a"), "old");
  EXPECT_EQ(files_here(), files) << "no part of the new one stays";
}

TEST_F(OutputFileTest, WhatIsOverwrittenIsThereUntilTheNewFileIsWhole) {
  put("a", "old");
  ASSERT_EQ(chmod("a", 0640), 0);
  const auto files = files_here();
  {
    OutputFile file("a", {.overwrite = true});
    file.write("new");
    EXPECT_EQ(read("a"), "old");
    file.discard();
  }
  EXPECT_EQ(read("a"), "old");
  {
    OutputFile file("a", {.overwrite = true});
    file.write("new");
    file.finish();
    EXPECT_EQ(read("a"), "new");
  }
  struct stat about {};
  ASSERT_EQ(stat("a", &about), 0);
  EXPECT_EQ(about.st_mode & 07777, 0640U);
  { OutputFile("a", {.overwrite = true}).write("what an exception ends"); }
  EXPECT_EQ(read("a"), "new");
  {
    OutputFile recording("a", {.overwrite = true});
    recording.write("begun");
    recording.take_name();
    recording.write(", goes on");
  }
  EXPECT_EQ(read("a"), "begun, goes on");
  EXPECT_EQ(files_here(), files);
}

}  // namespace
}  // namespace bitnet
