#include "app/base/output_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
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

  fs::path folder_;
  fs::path before_;
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

}  // namespace
}  // namespace bitnet
