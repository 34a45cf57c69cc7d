#include "app/model/kv_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>

#include "app/base/event_loop.h"
#include "app/model/worker.h"
#include "tests/support/fake_engine.h"

namespace bitnet {
namespace {

namespace fs = std::filesystem;

std::vector<std::byte> bytes_of(size_t size, int value = 7) {
  return std::vector<std::byte>(size, static_cast<std::byte>(value));
}

std::vector<int32_t> count_up(int n) {
  std::vector<int32_t> ids(n);
  std::iota(ids.begin(), ids.end(), 1);
  return ids;
}

class KvFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "kv-files-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
    folder_ = root_ + "/cache/kv";
  }
  void TearDown() override { fs::remove_all(root_); }

  std::vector<std::string> names() const {
    std::vector<std::string> all;
    if (!fs::exists(folder_)) return all;
    for (const auto& entry : fs::directory_iterator(folder_)) all.push_back(entry.path().filename());
    return all;
  }
  void make_older(const std::string& path, int hours) const {
    fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(hours));
  }

  std::string root_;
  std::string folder_;
};

TEST_F(KvFilesTest, TheLongestBeginningIsFound) {
  const KvFiles files(folder_, 1 << 20);
  const auto ids = count_up(100);
  EXPECT_FALSE(files.find("m", ids, 0));
  auto other = ids;
  other[50] = 9999;
  files.write("m", std::span(other).first(60), bytes_of(3));  // these do not begin like ids
  files.write("m", std::span(ids).first(20), bytes_of(4));
  files.write("other", std::span(ids).first(90), bytes_of(5));
  const auto found = files.find("m", ids, 0);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->tokens, 20U);
  EXPECT_EQ(files.read(*found), bytes_of(4));
  EXPECT_FALSE(files.find("m", ids, 20));
  EXPECT_FALSE(files.find("m", std::span(ids).first(19), 0));
  files.remove(*found);
  EXPECT_FALSE(files.find("m", ids, 0));
}

TEST_F(KvFilesTest, OnlyTheOwnerMayLook) {
  const KvFiles files(folder_, 1 << 20);
  files.write("m", count_up(10), bytes_of(4));
  struct stat status {};
  ASSERT_EQ(stat(folder_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0700U);
  ASSERT_EQ(names().size(), 1U);
  ASSERT_EQ(stat((folder_ + "/" + names()[0]).c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST_F(KvFilesTest, ALongerTimelineReplacesItsBeginning) {
  const KvFiles files(folder_, 1 << 20);
  const auto ids = count_up(100);
  files.write("m", std::span(ids).first(20), bytes_of(4));
  files.write("m", ids, bytes_of(5));
  EXPECT_EQ(names().size(), 1U);
  EXPECT_EQ(files.find("m", ids, 0)->tokens, 100U);
}

TEST_F(KvFilesTest, WhatWasNotUsedForLongestGoesFirst) {
  const KvFiles files(folder_, 1000);
  std::vector<std::vector<int32_t>> timelines;
  for (int i = 0; i < 3; ++i) {
    timelines.push_back({i, i, i});
    files.write("m", timelines.back(), bytes_of(300));
    make_older(files.find("m", timelines.back(), 0)->path, 10 - i);
  }
  files.read(*files.find("m", timelines[0], 0));
  files.write("m", std::vector<int32_t>{9}, bytes_of(300));
  EXPECT_TRUE(files.find("m", timelines[0], 0));
  EXPECT_FALSE(files.find("m", timelines[1], 0));
  EXPECT_TRUE(files.find("m", timelines[2], 0));
  files.write("m", std::vector<int32_t>{10}, bytes_of(1001));  // this is more than may be kept at all
  EXPECT_EQ(names().size(), 3U);
  files.clear();
  EXPECT_TRUE(names().empty());
}

TEST_F(KvFilesTest, EachClearIsKnownToOthers) {
  const KvFiles files(folder_, 1000), others(folder_, 0);
  EXPECT_EQ(files.last_clear(), 0);
  others.clear();  // also where there was nothing to clear
  const int64_t first = files.last_clear();
  EXPECT_NE(first, 0);
  EXPECT_EQ(files.last_clear(), first);
  files.clear();
  EXPECT_NE(others.last_clear(), first);
  EXPECT_EQ(KvFiles().last_clear(), 0);
}

TEST_F(KvFilesTest, StrangersAndLeftoversDoNoHarm) {
  const KvFiles files(folder_, 1 << 20);
  const auto ids = count_up(10);
  files.write("m", ids, bytes_of(4));
  for (const char* name :
       {"x.kv", "m-1x-y.kv", "m--.kv", "-.kv", "m-99999999999999999999-a.kv", "young.1.part", "old.1.part"}) {
    std::ofstream(folder_ + "/" + name) << "x";
  }
  make_older(folder_ + "/old.1.part", 2);
  EXPECT_EQ(files.find("m", ids, 0)->tokens, 10U);
  EXPECT_THAT(names(), testing::AllOf(testing::Contains("young.1.part"),
                                      testing::Not(testing::Contains("old.1.part"))));
  const std::string path = files.find("m", ids, 0)->path;
  fs::remove(path);
  fs::create_symlink("/etc/passwd", path);
  EXPECT_FALSE(files.find("m", ids, 0));
}

TEST_F(KvFilesTest, NothingIsKeptWhereNothingMayBe) {
  const auto ids = count_up(10);
  for (const KvFiles& files : {KvFiles(), KvFiles(folder_, 0)}) {
    files.write("m", ids, bytes_of(4));
    EXPECT_FALSE(files.find("m", ids, 0));
  }
  EXPECT_TRUE(names().empty());
  std::ofstream(root_ + "/cache") << "a file in the way";
  KvFiles(folder_, 1000).write("m", ids, bytes_of(4));
}

// Each run() gives a worker with these files one job, and then ends the worker.
class KeptTimelineTest : public KvFilesTest {
 protected:
  JobStats run(std::vector<int32_t> tokens, bool keep, bool restore,
               const std::function<void(Worker&)>& before_end = {}) {
    Worker worker(fake::opener(script_), KvFiles(folder_, 1 << 20));
    worker.start();
    DecodeJob job;
    job.tokens = std::move(tokens);
    job.keep = keep;
    job.restore = restore;
    const JobStats stats = do_job(worker, std::move(job));
    if (before_end) before_end(worker);
    return stats;
  }
  static JobStats do_job(Worker& worker, Job job) {
    EventLoop loop;
    std::optional<JobStats> stats;
    loop.watch(worker.wake_fd(), [&] {
      for (const WorkerEvent& event : worker.take()) {
        if (const auto* finished = std::get_if<Finished>(&event)) stats = finished->stats;
      }
    });
    worker.submit(std::move(job));
    while (!stats) loop.run_once();
    return *stats;
  }
  fake::Script script_;
};

TEST_F(KeptTimelineTest, AConversationGoesOnWithoutBeingReadAgain) {
  script_.answer("answer");
  auto ids = count_up(100);
  EXPECT_EQ(run(ids, true, false).reused_tokens, 0U);
  ASSERT_EQ(names().size(), 1U);
  for (const char c : std::string("answer")) ids.push_back(c);
  ids.insert(ids.end(), {200, 201});
  EXPECT_EQ(run(ids, false, true).reused_tokens, 106U);
  EXPECT_EQ(run(ids, false, false).reused_tokens, 0U);
}

TEST_F(KeptTimelineTest, AnotherComputationReadsTheConversationItself) {
  script_.answer("answer");
  auto ids = count_up(100);
  run(ids, true, false);
  ids.push_back(200);
  script_.arithmetic = "of another device";
  EXPECT_EQ(run(ids, false, true).reused_tokens, 0U);
  script_.arithmetic = "exact";
  script_.fingerprint[5] = '0';
  EXPECT_EQ(run(ids, false, true).reused_tokens, 0U);
}

TEST_F(KeptTimelineTest, WhatIsShortOrPrivateOrForgottenIsNotKept) {
  run(count_up(20), true, false);
  run(count_up(100), false, false);
  run(count_up(100), true, false, [](Worker& worker) { worker.forget_timelines(); });
  EXPECT_TRUE(names().empty());
}

TEST_F(KeptTimelineTest, WhatAnotherProgramClearedIsNotWrittenAfterwards) {
  script_.answer("answer");
  run(count_up(100), true, false, [this](Worker&) { KvFiles(folder_, 0).clear(); });
  EXPECT_TRUE(names().empty());
  run(count_up(100), true, false);  // a later timeline is
  EXPECT_EQ(names().size(), 1U);
}

TEST_F(KeptTimelineTest, WhatIsLookedAtIsKeptWhereThatIsWanted) {
  for (const bool keep : {false, true}) {
    const auto look = [&](Worker& worker) { do_job(worker, LookJob{count_up(150), 120, 1, keep}); };
    run(count_up(100), true, false, look);
    const auto is_of_look = testing::Contains(testing::HasSubstr("-150-"));
    if (keep) {
      EXPECT_THAT(names(), is_of_look);
    } else {
      EXPECT_THAT(names(), testing::Not(is_of_look));
    }
  }
}

TEST_F(KeptTimelineTest, ADamagedFileIsThrownAway) {
  script_.answer("");
  run(count_up(100), true, false);
  ASSERT_EQ(names().size(), 1U);
  fs::resize_file(folder_ + "/" + names()[0], 3);
  EXPECT_EQ(run(count_up(120), false, true).reused_tokens, 0U);
  EXPECT_TRUE(names().empty());
}

}  // namespace
}  // namespace bitnet
