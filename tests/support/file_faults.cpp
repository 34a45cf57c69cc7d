#include "tests/support/file_faults.h"

#include <sys/types.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace bitnet::file_faults {
namespace {

std::mutex mutex;
std::condition_variable changed;
Faults now;
int count = 0, times_set = 0;

}  // namespace

void set(const Faults& faults) {
  const std::lock_guard lock(mutex);
  now = faults;
  count = 0;
  ++times_set;
  changed.notify_all();
}

int reads() {
  const std::lock_guard lock(mutex);
  return count;
}

}  // namespace bitnet::file_faults

extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier): names that the linker makes
ssize_t __real_pread(int fd, void* to, size_t bytes, off_t offset);

ssize_t __wrap_pread(int fd, void* to, size_t bytes, off_t offset) {
  using namespace bitnet::file_faults;
  Faults faults;
  int n = 0;
  {
    std::unique_lock lock(mutex);
    n = ++count;
    faults = now;
    if (faults.held_from != 0 && n >= faults.held_from)
      changed.wait(lock, [before = times_set] { return times_set != before; });
  }
  if (faults.late_ms != 0) std::this_thread::sleep_for(std::chrono::milliseconds(faults.late_ms));
  if (faults.error_at != 0 && (n == faults.error_at || (faults.always && n > faults.error_at))) {
    errno = EIO;
    return -1;
  }
  if (faults.short_reads && n % 3 == 0) {
    errno = EINTR;
    return -1;
  }
  constexpr size_t kSome = 8192;  // as O_DIRECT needs it
  if (faults.short_reads) bytes = std::min(bytes, kSome * (1 + static_cast<size_t>(n) % 3));
  return __real_pread(fd, to, bytes, offset);
}
// NOLINTEND(bugprone-reserved-identifier)
}
