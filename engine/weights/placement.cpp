#include "engine/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "engine/engine.h"

namespace bitnet {
namespace {

// What of free memory is taken unasked: a margin is left to other programs, and to what drivers take for
// themselves.
uint64_t within_margin(uint64_t free_bytes) {
  constexpr uint64_t kLeast = 256 << 20, kShare = 20;
  return free_bytes - std::min(free_bytes, std::max(kLeast, free_bytes / kShare));
}

// Of what a software device says the computer has more: its driver's limit is for buffers of games.
uint64_t automatic_budget(const DeviceInfo& device) {
  return device.software ? kNoLimit : within_margin(device.free_bytes);
}

// Of the computer's memory a driver gives a GPU only a part, often half.
uint64_t host_budget(const DeviceInfo& device, const EngineOptions& options) {
  const bool is_limited = options.ram != kNoLimit || device.software || device.free_host_bytes == 0;
  return is_limited ? options.ram : within_margin(device.free_host_bytes);
}

constexpr uint64_t kBetween = 6 * 256;  // of the buffers of a matrix

// Where not all experts fit, the room of those that do goes to copies of the experts that are used, as many
// of each matrix: a token reads about as much of host memory as with whole matrices if all are used alike,
// and less if they are not. Where there are fewer places than experts that a token uses, these would push
// each other out.
void share_among_experts(Placement& p, const Budgets& budgets) {
  uint64_t resident = 0, one_of_each = 0, tables = 0;
  uint32_t most = UINT32_MAX, least = 0;
  bool all_fit = true;
  for (size_t i = 0; i < p.pieces.size(); ++i) {
    const WeightPiece& piece = p.pieces[i];
    if (piece.n_expert == 0) continue;
    all_fit &= p.homes[i] == Home::device;
    if (p.homes[i] == Home::device) resident += piece.bytes;
    one_of_each += piece.bytes / piece.n_expert + 1;
    tables += piece.n_expert * kAddressBytes;
    most = std::min(most, piece.n_expert - 1);
    least = std::max(least, piece.n_used);
  }
  const bool has_room = p.in_file == 0 && resident <= budgets.ram && p.in_host <= budgets.ram - resident;
  if (all_fit || budgets.one_memory || !has_room) return;
  const uint64_t others = p.on_device - resident + tables;
  const uint64_t places =
      std::min<uint64_t>((budgets.vram - std::min(budgets.vram, others)) / one_of_each, most);
  if (places < least) return;
  for (size_t i = 0; i < p.pieces.size(); ++i) {
    const WeightPiece& piece = p.pieces[i];
    if (piece.n_expert == 0) continue;
    (p.homes[i] == Home::device ? p.read_on_device : p.read_in_host) -= piece.read;
    p.homes[i] = Home::host;
    p.read_on_device += piece.read * places / piece.n_expert;
    p.read_in_host += piece.read - piece.read * places / piece.n_expert;
  }
  p.in_host += resident;
  p.expert_places = static_cast<uint32_t>(places);
  p.expert_bytes = places * one_of_each;
  p.on_device = others + p.expert_bytes;
}

// Where matrices do not lie on the device, there are slots too, if they take no more than half of what would
// hold weights.
Placement place_with_slots(const MemoryPlan& plan, const DeviceInfo& device, const Budgets& budgets) {
  Placement without = place_with_file(plan.fixed(), plan.pieces, budgets);
  uint64_t largest = 0;
  bool some = false;
  for (size_t i = 0; i < without.pieces.size(); ++i) {
    const WeightPiece& piece = without.pieces[i];
    if (piece.kind != WeightPiece::Kind::attention && piece.kind != WeightPiece::Kind::feed_forward) continue;
    some |= without.homes[i] != Home::device;
    largest = std::max(largest, piece.bytes);  // which may have to make room for the slots
  }
  const uint64_t slot = largest + kBetween, slots = kWeightSlots * slot;
  if (device.has_slots) share_among_experts(without, budgets);
  if (!some || !device.has_slots || budgets.vram < plan.fixed() + 2 * slots) return without;
  Budgets copied = budgets;
  copied.fives = device.has_copy_queue;
  const uint64_t fixed = plan.fixed() + slots;
  if (least_ram(fixed, plan.pieces, copied) > (budgets.one_memory ? budgets.vram : budgets.ram))
    return without;
  Placement with = place_with_file(fixed, plan.pieces, copied);
  share_among_experts(with, copied);
  with.slots = slot;
  return with;
}

[[noreturn]] void refuse(const std::string& why) { throw Error(ErrorKind::device, why); }

// The CPU has one memory, of which nobody knows what is free: what others have is given to who wants it more.
uint64_t cpu_budget(const DeviceInfo& device, const EngineOptions& options) {
  const bool is_known = options.ram == kNoLimit && device.memory_bytes != 0;
  return is_known ? within_margin(device.memory_bytes) : options.ram;
}

// Snapshots save evaluating a text again, and any number of them will do, so that weights give way to them in
// an eighth of the budget at most.
uint64_t snapshots_before_weights(const MemoryPlan& plan, uint64_t budget, uint64_t least) {
  return std::min({plan.snapshots, budget / 8, budget - std::min(budget, least)});
}

// Behind the weights, and what is for reading them from the file, they take what is left.
void add_snapshots(Placement& p, uint64_t before_weights, const MemoryPlan& plan, uint64_t budget) {
  const uint64_t taken = std::min(budget, p.on_device + p.for_reading);
  const uint64_t more = std::min(plan.snapshots - before_weights, budget - taken);
  p.on_device += more;
  if (before_weights + more < plan.snapshots) p.snapshots = before_weights + more;
}

// A copy of the head is there for speed, so weights come first.
void add_head_copy(Placement& p, const MemoryPlan& plan, uint64_t budget) {
  const bool all_there = p.in_host == 0 && p.in_file == 0;
  if (!all_there || p.on_device > budget || plan.head_copy > budget - p.on_device) return;
  p.head_copy = plan.head_copy;
  p.on_device += plan.head_copy;
}

Placement place_on_cpu(const MemoryPlan& plan, const DeviceInfo& device, const EngineOptions& options) {
  const uint64_t budget = cpu_budget(device, options);
  const Budgets budgets{budget, 0, /*one_memory=*/true};
  const uint64_t least = least_ram(plan.fixed(), plan.pieces, budgets);
  if (least > options.ram)
    refuse(
        fmt::format("--ram {}: what cannot stay in the model's file takes {} of memory on the CPU; give as "
                    "much, or a smaller --ctx",
                    size_option(options.ram), size_option(least)));
  const uint64_t snapshots = snapshots_before_weights(plan, budget, least);
  Placement p = place_with_file(plan.fixed() + snapshots, plan.pieces, budgets);
  add_snapshots(p, snapshots, plan, budget);
  add_head_copy(p, plan, budget);
  return p;
}

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
    read_on_device -= pieces[i].read;
    if (fives) pieces[i].bytes -= pieces[i].saved, pieces[i].read -= pieces[i].saved;
    in_host += pieces[i].bytes;
    read_in_host += pieces[i].read;
  }
}

// The turn of a layer in an order of which each end is spread evenly over the layers: the last one is its
// end, then comes one from the middle, then from the quarters, as the bits of the distance from the end say
// when they are read backwards. So weights that come over a link are copied while the layers between them
// compute.
static uint32_t turn_of_layer(uint32_t from_end) {
  uint32_t backwards = 0;
  for (uint32_t bit = 0; bit < 32; ++bit) backwards |= (from_end >> bit & 1) << (31 - bit);
  return ~backwards;
}

Placement place(uint64_t fixed, std::span<const WeightPiece> pieces, const Budgets& budgets) {
  uint32_t last_layer = 0;
  for (const WeightPiece& piece : pieces) last_layer = std::max(last_layer, piece.layer);
  const auto in_memory_first = [&](const WeightPiece& p) { return budgets.one_memory && p.file_bytes != 0; };
  Placement p;
  p.pieces.assign(pieces.begin(), pieces.end());
  std::ranges::stable_sort(p.pieces, {}, [&](const WeightPiece& x) {
    return std::tuple(in_memory_first(x), x.kind, turn_of_layer(last_layer - x.layer));
  });
  p.on_device = fixed;
  p.fives = budgets.fives;
  uint64_t in_host = 0;  // of what cannot stay in the file
  const auto to_host = [&](WeightPiece& piece) {
    if (budgets.fives) piece.bytes -= piece.saved, piece.read -= piece.saved;
    in_host += piece.bytes;
    return Home::host;
  };
  for (WeightPiece& piece : p.pieces) {
    const bool stays = piece.file_bytes == 0;
    const bool fits = p.on_device <= budgets.vram && piece.bytes <= budgets.vram - p.on_device;
    const bool on_device = fits || (stays && budgets.one_memory);
    p.homes.push_back(on_device ? Home::device : stays ? to_host(piece) : Home::file);
    if (on_device) p.on_device += piece.bytes;
  }
  const uint64_t ram = budgets.one_memory ? 0 : budgets.ram;
  for (size_t i = 0; i < p.pieces.size(); ++i) {
    WeightPiece& piece = p.pieces[i];
    const uint64_t saved = budgets.fives ? piece.saved : 0;
    if (p.homes[i] == Home::file && in_host <= ram && piece.bytes - saved <= ram - in_host)
      p.homes[i] = to_host(piece);
    const Home home = p.homes[i];
    if (home == Home::file) p.in_file += piece.bytes;
    (home == Home::device ? p.read_on_device
     : home == Home::host ? p.read_in_host
                          : p.read_in_file) += piece.read;
  }
  p.in_host = in_host;
  return p;
}

// What reading weights from the file takes: a place for the largest that may stay there, and all in all.
struct Reading {
  uint64_t place = 0, all = 0;
};
static Reading reading_of(std::span<const WeightPiece> pieces) {
  uint64_t largest = 0, in_file = 0;
  for (const WeightPiece& piece : pieces) {
    if (piece.file_bytes == 0) continue;
    largest = std::max(largest, piece.bytes + kBetween);
    in_file = std::max(in_file, piece.file_bytes);
  }
  return {largest, kWeightPlaces * largest + kWeightReaders * in_file};
}

// The budget of what may stay in the file.
static uint64_t& limited(Budgets& budgets) { return budgets.one_memory ? budgets.vram : budgets.ram; }

uint64_t least_ram(uint64_t fixed, std::span<const WeightPiece> pieces, Budgets budgets) {
  const auto taken_of = [&](uint64_t budget) {
    limited(budgets) = budget;
    const Placement p = place(fixed, pieces, budgets);
    return budgets.one_memory ? p.on_device : p.in_host;
  };
  return std::min(taken_of(0) + reading_of(pieces).all, taken_of(kNoLimit));
}

Placement place_with_file(uint64_t fixed, std::span<const WeightPiece> pieces, Budgets budgets) {
  Placement whole = place(fixed, pieces, budgets);
  if (whole.in_file == 0) return whole;
  const Reading reading = reading_of(pieces);
  limited(budgets) -= std::min(limited(budgets), reading.all);
  Placement p = place(fixed, pieces, budgets);
  p.places = reading.place;
  p.for_reading = reading.all;
  return p;
}

std::string size_option(uint64_t bytes) {
  constexpr uint64_t kKibi = 1 << 10, kMebi = 1 << 20;
  const uint64_t unit = bytes < 64 * kMebi && bytes % kMebi != 0 ? kKibi : kMebi;
  return fmt::format("{}{}", bytes / unit + (bytes % unit != 0 ? 1 : 0), unit == kKibi ? 'K' : 'M');
}

Placement place_model(const MemoryPlan& plan, const DeviceInfo& device, const EngineOptions& options) {
  if (device.cpu) return place_on_cpu(plan, device, options);
  uint64_t vram = vram_budget(options.vram, device);
  if (plan.fixed() > vram) {
    if (options.vram.kind != VramBudget::Kind::automatic)
      refuse(
          fmt::format("--vram {}: keys, values and activations take {} of {}; give as much, or a smaller "
                      "--ctx",
                      size_option(vram), size_option(plan.fixed()), device.name));
    vram = plan.fixed();  // the driver will say whether it has it
  }
  const bool one_memory = device.unified && options.vram.kind == VramBudget::Kind::automatic;
  const uint64_t ram = host_budget(device, options);
  const Budgets budgets{one_memory ? std::min(vram, ram) : vram, ram, one_memory};
  Placement p = place_with_slots(plan, device, budgets);
  if (plan.head_is_floats && !device.software) add_head_copy(p, plan, budgets.vram);
  // With slots there is as much.
  if (const uint64_t least = least_ram(plan.fixed(), plan.pieces, budgets);
      p.slots == 0 && least > options.ram)
    refuse(fmt::format("--ram {}: what cannot stay in the model's file takes {} of {} memory; give as much{}",
                       size_option(options.ram), size_option(least), one_memory ? "the" : "host",
                       one_memory ? ", or a smaller --ctx" : ", or a larger --vram"));
  return p;
}

}  // namespace bitnet
