#include "engine/control_groups.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <sstream>

#include "engine/devices.h"

namespace bitnet {
namespace {

constexpr const char* kRoot = "/sys/fs/cgroup";

std::string first_line(const std::string& path) {
  std::string line;
  std::ifstream file(path);
  std::getline(file, line);
  return line;
}

double number_or(const std::string& text, double otherwise) {
  std::istringstream in(text);
  double value = 0;
  return in >> value ? value : otherwise;
}

using LimitOf = std::function<double(const std::string& group)>;

// The smallest of the limits of a group and of all groups above it; 0 = none.
double least_limit(std::string group, const LimitOf& limit_of) {
  double least = 0;
  while (true) {
    const double limit = limit_of(group);
    if (limit > 0 && (least == 0 || limit < least)) least = limit;
    if (group.empty()) return least;
    group.resize(std::min(group.size(), group.rfind('/') == std::string::npos ? 0 : group.rfind('/')));
  }
}

// The smallest limit of all groups of the process: of version 2, which has all controllers in one group, and
// of the version 1 of a controller.
double least_of_process(const std::string& proc, const std::string& controller, const LimitOf& of_version_2,
                        const LimitOf& of_version_1) {
  double least = 0;
  std::istringstream lines(proc);
  for (std::string line; std::getline(lines, line);) {  // "0::/group", or "4:cpu,cpuacct:/group" of version 1
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = fmt::format(",{},", line.substr(first + 1, second - first - 1));
    std::string group = line.substr(second + 1);
    if (group == "/") group.clear();
    double limit = 0;
    if (controllers == ",,")
      limit = least_limit(group, of_version_2);
    else if (controllers.find(fmt::format(",{},", controller)) != std::string::npos)
      limit = least_limit(group, of_version_1);
    if (limit > 0 && (least == 0 || limit < least)) least = limit;
  }
  return least;
}

std::string groups_of_process() {
  std::stringstream proc;
  proc << std::ifstream("/proc/self/cgroup").rdbuf();
  return proc.str();
}

}  // namespace

unsigned cgroup_processors(const std::string& proc, const std::string& root) {
  const LimitOf of_version_2 = [&](const std::string& group) {
    const std::string text = first_line(root + group + "/cpu.max");  // "max 100000" or "150000 100000"
    const size_t space = text.find(' ');
    if (space == std::string::npos || text.starts_with("max")) return 0.0;
    return number_or(text, 0) / std::max(1.0, number_or(text.substr(space), 100'000));
  };
  const LimitOf of_version_1 = [&](const std::string& group) {
    const std::string cpu = root + "/cpu" + group;
    const double period = number_or(first_line(cpu + "/cpu.cfs_period_us"), 0);
    return period <= 0 ? 0.0 : number_or(first_line(cpu + "/cpu.cfs_quota_us"), 0) / period;
  };
  return static_cast<unsigned>(std::ceil(least_of_process(proc, "cpu", of_version_2, of_version_1)));
}

uint64_t cgroup_memory(const std::string& proc, const std::string& root) {
  constexpr double kMost = 0x1p62;  // version 1 has a number near 2^63 where there is no limit
  const auto bytes = [](const std::string& path) {
    const double limit = number_or(first_line(path), 0);  // or "max"
    return limit < kMost ? limit : 0.0;
  };
  const LimitOf of_version_2 = [&](const std::string& group) { return bytes(root + group + "/memory.max"); };
  const LimitOf of_version_1 = [&](const std::string& group) {
    return bytes(root + "/memory" + group + "/memory.limit_in_bytes");
  };
  return static_cast<uint64_t>(least_of_process(proc, "memory", of_version_2, of_version_1));
}

unsigned cgroup_processors() { return cgroup_processors(groups_of_process(), kRoot); }

uint64_t cgroup_memory() { return cgroup_memory(groups_of_process(), kRoot); }

uint64_t memory_of_computer() {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  const uint64_t all = pages > 0 && page > 0 ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(page) : 0;
  const uint64_t limit = cgroup_memory();
  return limit != 0 && (all == 0 || limit < all) ? limit : all;
}

}  // namespace bitnet
