// Where the weights of a model lie: on the device, in memory of the computer that the device reads, or in the
// model's file. Which is a pure function of sizes and budgets, so that everybody who asks gets the same
// answer.
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
// Places in host memory into which weights in the file are read, and threads that read; each of these has
// room for a piece too.
constexpr uint32_t kWeightPlaces = 4, kWeightReaders = 2;

// What a device keeps of each expert of a matrix to know where it lies (Matrix::addresses).
constexpr uint64_t kAddressBytes = 4 * sizeof(uint64_t);

enum class Home { device, host, file };

// What is placed as a whole: the matrix of a projection with its scales, or a table.
struct WeightPiece {
  // In the order in which they are given the device: those that are first in a token, then those of which a
  // token reads some experts, and at last a table of which it reads one row.
  enum class Kind { head, attention, feed_forward, experts, embedding };
  Kind kind = Kind::attention;
  uint32_t layer = 0;                  // of attention, feed_forward and experts
  uint64_t bytes = 0;                  // as it lies on the device or in host memory
  uint64_t read = 0;                   // of `bytes`, what a decoded token reads
  const GgufTensor* tensor = nullptr;  // the first of its tensors, which tells pieces apart
  uint64_t file_bytes = 0;             // as it lies in the file; 0: it cannot stay there
  uint64_t saved = 0;  // of `bytes` and `read`, in host memory with codes of 1.6 bits (Layout::fives16)
  uint32_t n_expert = 0, n_used = 0;  // of experts: how many there are, and how many a token reads
};

struct Placement {
  std::vector<WeightPiece> pieces;  // in the order in which they were placed
  std::vector<Home> homes;          // of each piece
  // Sums over the pieces in each place, and of what a token reads of them. on_device has what is fixed there
  // too.
  bool fives =
      false;  // what lies in host memory is reckoned with codes of 1.6 bits, as far as it may have them
  // Where experts do not all fit, all of them lie in host memory, and the device has places for copies of so
  // many of each matrix, which change with use (engine/expert_cache.h); 0: there are none. Such places are
  // counted as if all experts were used alike.
  uint32_t expert_places = 0;
  uint64_t expert_bytes = 0;  // of all these places
  uint64_t head_copy = 0;     // of MemoryPlan, where there is room for it beside all weights; in on_device
  // The most that the states of earlier positions may take (snapshots.h), where the CPU's budget has no room
  // for all of them. On the CPU on_device has what they may take.
  uint64_t snapshots = kNoLimit;
  uint64_t slots = 0;   // bytes of each of kWeightSlots, which are in on_device; 0: there are none
  uint64_t places = 0;  // bytes of each of kWeightPlaces, which are in none of the sums; 0: there are none
  uint64_t for_reading = 0;  // bytes of all places, and of what readers have
  uint64_t on_device = 0, in_host = 0, in_file = 0;
  uint64_t read_on_device = 0, read_in_host = 0, read_in_file = 0;

  // Of the piece that begins with this tensor; a tensor of no piece lies on the device.
  Home home_of(const GgufTensor& tensor) const;
  // Moves that piece from the device to host memory, where the device has no room for it after all.
  void move_to_host(const GgufTensor& tensor);
};

// Bytes that may be taken. `ram` is for weights in host memory and for the places of those in the file. Where
// the device has no memory but the host's, there is `vram` alone.
struct Budgets {
  uint64_t vram = kNoLimit, ram = kNoLimit;
  bool one_memory = false;
  bool fives = false;  // as of a Placement
};

// Fills the device with pieces in the order of their kinds, and of each kind so that the layers which are
// left out lie as far from each other as they can, the last one among them. A piece that does not fit is left
// out, and the next one is tried. What is left out lies in host memory as far as there is room, first those
// that cannot stay in the file, and otherwise in the file. Where there is one memory, it has those first too.
// `fixed` lies on the device in any case; on_device is over the budget only where that is, or what cannot
// stay in the file of one memory, and in_host only where what cannot stay in the file is. With more of a
// budget on_device never gets less, and read_in_host and read_in_file together never more.
Placement place(uint64_t fixed, std::span<const WeightPiece> pieces, const Budgets& budgets);

// The same with places for what stays in the file, if anything does.
Placement place_with_file(uint64_t fixed, std::span<const WeightPiece> pieces, Budgets budgets);

// The fewest bytes of host memory (or of the one memory) for which that is possible, whatever `budgets` has
// of it.
uint64_t least_ram(uint64_t fixed, std::span<const WeightPiece> pieces, Budgets budgets);

// A size as --vram and --ram take it, rounded up: "1536M", "20K".
std::string size_option(uint64_t bytes);

}  // namespace bitnet
