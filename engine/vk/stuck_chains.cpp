#include "stuck_chains.h"

#include <atomic>
#include <chrono>

#include "engine/cache_file.h"

namespace bitnet::vk {

// Where no file can say so.
static std::atomic<bool> happened_here = false;

bool StuckChains::happened() const {
  using Clock = std::filesystem::file_time_type::clock;
  constexpr std::chrono::hours kAWeek{7 * 24};
  std::error_code none;
  const auto when = std::filesystem::last_write_time(file_, none);
  return happened_here || (!none && Clock::now() - when < kAWeek);
}

void StuckChains::remember() const noexcept try {
  if (!file_.empty()) write_cache_file(file_.string(), {});
  if (!happened()) happened_here = true;
} catch (const std::exception&) {
  happened_here = true;
}

}  // namespace bitnet::vk
