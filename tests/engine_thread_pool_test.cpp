// The threads of the CPU backend.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <numeric>

#include "engine/cpu/thread_pool.h"

namespace bitnet::cpu {
namespace {

TEST(ThreadPool, AllThreadsSeeWhatWasWrittenBeforeABarrier) {
  for (const unsigned threads : {1U, 2U, 5U}) {
    ThreadPool pool(threads);
    std::vector<int> values(threads);
    for (int round = 1; round <= 200; ++round) {
      std::vector<int> sums(threads);
      pool.run([&](unsigned thread) {
        values[thread] = round;
        pool.barrier();
        sums[thread] = std::accumulate(values.begin(), values.end(), 0);
        pool.barrier();
        values[thread] = -1;
      });
      EXPECT_EQ(sums, std::vector<int>(threads, round * static_cast<int>(threads)));
    }
  }
}

TEST(ThreadPool, ControlGroupsLimitTheProcessors) {
  const std::string root = testing::TempDir() + "cgroup_of_test";
  const auto write = [&](const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root + path).parent_path());
    std::ofstream(root + path) << text << "\n";
  };
  std::filesystem::remove_all(root);
  EXPECT_EQ(cgroup_processors("0::/\n", root), 0U);  // nothing is mounted there
  write("/a/b/cpu.max", "max 100000");
  EXPECT_EQ(cgroup_processors("0::/a/b\n", root), 0U);
  write("/a/cpu.max", "250000 100000");  // a group above counts as well; part of a processor is one
  EXPECT_EQ(cgroup_processors("0::/a/b\n", root), 3U);
  write("/a/b/cpu.max", "50000 100000");
  EXPECT_EQ(cgroup_processors("0::/a/b\n", root), 1U);
  write("/cpu/c/cpu.cfs_quota_us", "400000");
  write("/cpu/c/cpu.cfs_period_us", "100000");
  EXPECT_EQ(cgroup_processors("5:memory:/c\n4:cpu,cpuacct:/c\n", root), 4U);
  write("/cpu/c/cpu.cfs_quota_us", "-1");
  EXPECT_EQ(cgroup_processors("4:cpu,cpuacct:/c\n", root), 0U);
  EXPECT_EQ(cgroup_processors("nonsense", root), 0U);
  std::filesystem::remove_all(root);
  EXPECT_GE(usable_threads(), 1U);
}

}  // namespace
}  // namespace bitnet::cpu
