// Where the weights of a model lie: on the device, or in memory of the computer that the device reads. Which
// is a pure function of sizes and budgets, so that everybody who asks gets the same answer.
//
// Thread rule: values and free functions; any thread.
//
// All sizes are in bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace bitnet {

struct GgufTensor;

constexpr uint64_t kNoLimit = UINT64_MAX;
constexpr uint32_t kWeightSlots = 3;  // places on the device through which weights in host memory are copied

enum class Home { device, host };

// What is placed as a whole: the matrix of a projection with its scales, or a table.
struct WeightPiece {
  // In the order in which they are given the device: those that are first in a token, and at last a table of
  // which a token reads one row.
  enum class Kind { head, attention, feed_forward, embedding };
  Kind kind = Kind::attention;
  uint32_t layer = 0;                  // of attention and feed_forward
  uint64_t bytes = 0;                  // as it lies on the device or in host memory
  uint64_t read = 0;                   // of `bytes`, what a decoded token reads
  const GgufTensor* tensor = nullptr;  // the first of its tensors, which tells pieces apart
};

struct Placement {
  std::vector<WeightPiece> pieces;  // in the order in which they were placed
  std::vector<Home> homes;          // of each piece
  // Sums over the pieces in each place, and of what a token reads of them. on_device has what is fixed there
  // too.
  uint64_t slots = 0;  // bytes of each of kWeightSlots, which are in on_device; 0: there are none
  uint64_t on_device = 0, in_host = 0;
  uint64_t read_on_device = 0, read_in_host = 0;

  // Of the piece that begins with this tensor; a tensor of no piece lies on the device.
  Home home_of(const GgufTensor& tensor) const;
  // Moves that piece from the device to host memory, where the device has no room for it after all.
  void move_to_host(const GgufTensor& tensor);
};

// Fills `vram` bytes of the device with pieces in the order of their kinds and layers. A piece that does not
// fit is left out, and the next one is tried. What is left out lies in host memory. `fixed` lies on the
// device in any case; on_device is over the budget only where that is. With more of a budget on_device never
// gets less, and read_in_host never more.
Placement place(uint64_t fixed, std::span<const WeightPiece> pieces, uint64_t vram);

// A size as --vram and --ram take it, rounded up: "1536M", "20K".
std::string size_option(uint64_t bytes);

}  // namespace bitnet
