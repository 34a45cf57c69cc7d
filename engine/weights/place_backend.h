// A backend of which the buffers of a matrix lie one behind the other in a given place of memory, or nowhere:
// then their sizes and offsets are all there is. The layouts are those of another backend.
//
// Thread rule: as a Backend; it calls the other one for what never changes alone.
//
// Errors: Error(runtime) where the buffers do not fit into the place.
#pragma once

#include <cassert>
#include <cstring>

#include "engine/backend.h"

namespace bitnet {

class PlaceBackend : public Backend {
 public:
  class Part : public Buffer {
   public:
    Part(uint64_t offset, uint64_t bytes, std::span<std::byte> memory)
        : offset_(offset), bytes_(bytes), memory_(memory) {}
    uint64_t offset() const { return offset_; }  // in the place
    uint64_t size() const override { return bytes_; }
    std::span<std::byte> mapped() const override { return memory_; }

   private:
    uint64_t offset_, bytes_;
    std::span<std::byte> memory_;  // empty where there is none
  };

  PlaceBackend(const Backend& like, std::span<std::byte> place)
      : like_(like), place_(place), most_(place.size()) {}
  // Nowhere, as if it were a place of so many bytes.
  PlaceBackend(const Backend& like, uint64_t bytes) : like_(like), most_(bytes) {}

  const DeviceInfo& device() const override { return like_.device(); }
  Layout group_layout() const override { return like_.group_layout(); }
  Layout block_layout() const override { return like_.block_layout(); }

  BufferPtr allocate(uint64_t bytes, BufferUse) override {
    constexpr uint64_t kAlignment = 256;  // the most that a device wants
    const uint64_t at = (used_ + kAlignment - 1) / kAlignment * kAlignment;
    used_ = at + bytes;
    if (used_ > most_)
      throw Error(ErrorKind::runtime,
                  "a matrix takes more memory than was reckoned for it, and so cannot stay in the file; this "
                  "is a fault of the program");
    if (place_.empty()) return std::make_shared<Part>(at, bytes, std::span<std::byte>());
    return std::make_shared<Part>(at, bytes, place_.subspan(at, bytes));
  }
  void upload(Buffer& to, uint64_t offset, std::span<const std::byte> bytes) override {
    if (!to.mapped().empty() && !bytes.empty())
      std::memcpy(to.mapped().data() + offset, bytes.data(), bytes.size());
  }
  void finish_uploads() override {}

  // It computes nothing.
  void download(const Buffer&, uint64_t, std::span<std::byte>) override { assert(false); }
  std::unique_ptr<Program> record(const std::function<void(Recorder&)>&) override { return nullptr; }
  void run(Program&, uint32_t, std::span<const int32_t>) override { assert(false); }

 private:
  const Backend& like_;
  const std::span<std::byte> place_;
  const uint64_t most_;
  uint64_t used_ = 0;
};

}  // namespace bitnet
