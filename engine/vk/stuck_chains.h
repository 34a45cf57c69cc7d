// Whether chains of decode got stuck on a device: Vulkan does not promise that workgroups which wait for each other
// go on. From then on, in this process and the next, each stage is a dispatch (decode.h), which needs no promise.
//
// Thread rule: any thread.
#pragma once

#include <filesystem>

namespace bitnet::vk {

class StuckChains {
 public:
  // `file` is there once it happened (kept_file()); empty: that is known in this process alone.
  explicit StuckChains(std::filesystem::path file) : file_(std::move(file)) {}

  bool happened() const;
  void remember() const noexcept;

 private:
  std::filesystem::path file_;
};

}  // namespace bitnet::vk
