// What the control groups of a process leave it of the computer.
//
// Thread rule: free functions; any thread.
#pragma once

#include <cstdint>
#include <string>

namespace bitnet {

// In all of these `proc` is the text of /proc/self/cgroup, and `root` where the cgroup file systems are
// mounted (/sys/fs/cgroup). The limits of a group and of all groups above it count. 0: there is none.

// Whole processors that the limits leave, rounded up.
unsigned cgroup_processors(const std::string& proc, const std::string& root);
// Bytes of memory.
uint64_t cgroup_memory(const std::string& proc, const std::string& root);

// The limits of this process.
unsigned cgroup_processors();
uint64_t cgroup_memory();

}  // namespace bitnet
