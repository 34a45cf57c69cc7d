// Memory that is mapped for itself.
//
// Thread rule: a Memory belongs to one thread; its bytes to whoever is given them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace bitnet::cpu {

// Zeros, which the kernel gives pages when they are touched.
class Memory {
 public:
  // Throws Error(device) where there is no memory; its message ends with `way_out`.
  explicit Memory(uint64_t bytes, std::string_view way_out = "a smaller --ctx takes less");
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  std::span<std::byte> bytes() const { return bytes_; }
  // Asks for pages of 2 MB, with which the processor misses fewer addresses.
  void prefer_large_pages();
  // Gives back what lies behind the first `bytes`, but for the rest of the last page of 2 MB.
  void shorten(uint64_t bytes);

 private:
  std::span<std::byte> bytes_;
};

}  // namespace bitnet::cpu
