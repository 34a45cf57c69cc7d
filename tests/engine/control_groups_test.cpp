#include "engine/control_groups.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "engine/devices.h"

namespace bitnet {
namespace {

TEST(ControlGroups, LimitProcessorsAndMemory) {
  const std::string root = testing::TempDir() + "cgroup_of_test";
  const auto write = [&](const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root + path).parent_path());
    std::ofstream(root + path) << text << "\n";
  };
  std::filesystem::remove_all(root);
  EXPECT_EQ(cgroup_processors("0::/\n", root), 0U);  // nothing is mounted there
  write("/a/b/cpu.max", "max 100000");
  EXPECT_EQ(cgroup_processors("0::/a/b\n", root), 0U);
  write("/a/cpu.max", "250000 100000");  // a group above counts too, and a part of a processor counts as one
  EXPECT_EQ(cgroup_processors("0::/a/b\n", root), 3U);
  write("/a/b/cpu.max", "50000 100000");
  EXPECT_EQ(cgroup_processors("0::/a/b\n", root), 1U);
  write("/cpu/c/cpu.cfs_quota_us", "400000");
  write("/cpu/c/cpu.cfs_period_us", "100000");
  EXPECT_EQ(cgroup_processors("5:memory:/c\n4:cpu,cpuacct:/c\n", root), 4U);
  write("/cpu/c/cpu.cfs_quota_us", "-1");
  EXPECT_EQ(cgroup_processors("4:cpu,cpuacct:/c\n", root), 0U);
  EXPECT_EQ(cgroup_processors("nonsense", root), 0U);
  write("/a/memory.max", "3000000000");
  EXPECT_EQ(cgroup_memory("0::/a/b\n", root), 3'000'000'000U);
  write("/a/b/memory.max", "max");
  EXPECT_EQ(cgroup_memory("0::/a/b\n", root), 3'000'000'000U);
  write("/a/b/memory.max", "2000000000");
  EXPECT_EQ(cgroup_memory("0::/a/b\n", root), 2'000'000'000U);
  write("/memory/c/memory.limit_in_bytes", "9223372036854771712");  // none
  EXPECT_EQ(cgroup_memory("5:memory:/c\n4:cpu,cpuacct:/c\n", root), 0U);
  write("/memory/memory.limit_in_bytes", "1000000000");
  EXPECT_EQ(cgroup_memory("5:memory:/c\n4:cpu,cpuacct:/c\n", root), 1'000'000'000U);
  EXPECT_EQ(cgroup_memory("4:cpu,cpuacct:/c\n", root), 0U);
  std::filesystem::remove_all(root);
  EXPECT_GT(memory_of_computer(), 0U);
}

}  // namespace
}  // namespace bitnet
