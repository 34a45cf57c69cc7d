// Work that is shared among threads which end with it.
//
// Thread rule: free function; any thread.
#pragma once

#include <cstddef>
#include <system_error>
#include <thread>
#include <vector>

namespace bitnet {

// work(i) for each i below n, at the same time: the first here, each other on a thread of its own or, where
// none can be had (a limit of processes or of memory), here too. Returns when all are done. Requires: `work`
// throws nothing.
template <typename Work>
void on_threads(size_t n, const Work& work) {
  std::vector<std::jthread> threads;
  size_t i = 1;
  try {
    for (; i < n; ++i) threads.emplace_back([&work, i] { work(i); });
  } catch (const std::system_error&) {
  }
  if (n != 0) work(0);
  for (; i < n; ++i) work(i);
}

}  // namespace bitnet
