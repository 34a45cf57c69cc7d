#include "engine/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "engine/engine.h"

namespace bitnet {
namespace {

// The margin that `automatic` leaves to other programs, and to what drivers take for themselves.
uint64_t automatic_budget(const DeviceInfo& device) {
  if (device.unified) return kNoLimit;  // host memory is no other
  constexpr uint64_t kLeast = 256 << 20, kShare = 20;
  return device.free_bytes - std::min(device.free_bytes, std::max(kLeast, device.free_bytes / kShare));
}

// Where matrices lie in host memory, there are slots too, if they take no more than half of what would hold
// weights.
Placement place_with_slots(const MemoryPlan& plan, const DeviceInfo& device, uint64_t vram) {
  Placement without = place(plan.fixed(), plan.pieces, vram);
  uint64_t largest = 0;
  bool some = false;
  for (size_t i = 0; i < without.pieces.size(); ++i) {
    const WeightPiece& piece = without.pieces[i];
    if (piece.kind != WeightPiece::Kind::attention && piece.kind != WeightPiece::Kind::feed_forward) continue;
    some |= without.homes[i] == Home::host;
    largest = std::max(largest, piece.bytes);  // which may have to make room for the slots
  }
  constexpr uint64_t kBetween = 6 * 256;  // of the buffers of a matrix
  const uint64_t slot = largest + kBetween, slots = kWeightSlots * slot;
  if (!some || !device.has_slots || vram < plan.fixed() + 2 * slots) return without;
  Placement with = place(plan.fixed() + slots, plan.pieces, vram);
  with.slots = slot;
  return with;
}

[[noreturn]] void refuse(const std::string& why) { throw Error(ErrorKind::device, why); }

}  // namespace

uint64_t vram_budget(const VramBudget& budget, const DeviceInfo& device) {
  switch (budget.kind) {
    case VramBudget::Kind::bytes:
      return budget.value;
    case VramBudget::Kind::percent:
      return device.memory_bytes / 100 * budget.value;
    default:
      return automatic_budget(device);
  }
}

Home Placement::home_of(const GgufTensor& tensor) const {
  for (size_t i = 0; i < pieces.size(); ++i)
    if (pieces[i].tensor == &tensor) return homes[i];
  return Home::device;
}

void Placement::move_to_host(const GgufTensor& tensor) {
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i].tensor != &tensor || homes[i] != Home::device) continue;
    homes[i] = Home::host;
    on_device -= pieces[i].bytes;
    in_host += pieces[i].bytes;
    read_on_device -= pieces[i].read;
    read_in_host += pieces[i].read;
  }
}

Placement place(uint64_t fixed, std::span<const WeightPiece> pieces, uint64_t vram) {
  Placement p;
  p.pieces.assign(pieces.begin(), pieces.end());
  std::ranges::stable_sort(p.pieces, {}, [](const WeightPiece& x) { return std::tuple(x.kind, x.layer); });
  p.on_device = fixed;
  for (const WeightPiece& piece : p.pieces) {
    const bool fits = p.on_device <= vram && piece.bytes <= vram - p.on_device;
    p.homes.push_back(fits ? Home::device : Home::host);
    (fits ? p.on_device : p.in_host) += piece.bytes;
    (fits ? p.read_on_device : p.read_in_host) += piece.read;
  }
  return p;
}

std::string size_option(uint64_t bytes) {
  constexpr uint64_t kKibi = 1 << 10, kMebi = 1 << 20;
  const uint64_t unit = bytes < 64 * kMebi ? kKibi : kMebi;
  return fmt::format("{}{}", bytes / unit + (bytes % unit != 0 ? 1 : 0), unit == kKibi ? 'K' : 'M');
}

Placement place_model(const MemoryPlan& plan, const DeviceInfo& device, const EngineOptions& options) {
  if (device.cpu) {
    const uint64_t all = plan.total() + plan.head_copy;
    if (all > options.ram)
      refuse(
          fmt::format("--ram {}: the model takes {} of memory on the CPU; give as much, or a smaller --ctx",
                      size_option(options.ram), size_option(all)));
    return place(plan.fixed(), plan.pieces, kNoLimit);
  }
  uint64_t vram = vram_budget(options.vram, device);
  if (plan.fixed() > vram) {
    if (options.vram.kind != VramBudget::Kind::automatic)
      refuse(
          fmt::format("--vram {}: keys, values and activations take {} of {}; give as much, or a smaller "
                      "--ctx",
                      size_option(vram), size_option(plan.fixed()), device.name));
    vram = plan.fixed();  // the driver will say whether it has it
  }
  const Placement all = place_with_slots(plan, device, vram);
  if (all.in_host > options.ram)
    refuse(
        fmt::format("--ram {}: {} of the weights would lie in host memory; give as much, or a larger --vram",
                    size_option(options.ram), size_option(all.in_host)));
  return all;
}

}  // namespace bitnet
