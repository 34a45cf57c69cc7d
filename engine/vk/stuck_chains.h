// Whether chains of decode got stuck on a device: Vulkan does not promise that workgroups which wait for each
// other go on. Then each stage is a dispatch (decode.h), which needs no promise, for a week: it is several
// times slower, and may have been an accident.
//
// Thread rule: any thread.
#pragma once

#include <filesystem>
#include <utility>

namespace bitnet::vk {

class StuckChains {
 public:
  // `file` (kept_file()) was written when it happened; empty: that is known in this process alone.
  explicit StuckChains(std::filesystem::path file) : file_(std::move(file)) {}

  bool happened() const;
  void remember() const noexcept;

 private:
  std::filesystem::path file_;
};

}  // namespace bitnet::vk
