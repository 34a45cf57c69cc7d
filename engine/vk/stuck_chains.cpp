#include "stuck_chains.h"

#include <atomic>
#include <fstream>

namespace bitnet::vk {

// Where no file can say so.
static std::atomic<bool> happened_here = false;

bool StuckChains::happened() const {
  std::error_code ignored;
  return happened_here || (!file_.empty() && std::filesystem::exists(file_, ignored));
}

void StuckChains::remember() const noexcept try {
  if (!file_.empty()) {
    std::filesystem::create_directories(file_.parent_path());
    std::ofstream{file_};
  }
  if (!happened()) happened_here = true;
} catch (const std::exception&) {
  happened_here = true;
}

}  // namespace bitnet::vk
