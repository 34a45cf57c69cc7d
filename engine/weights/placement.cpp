#include "engine/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace bitnet {

Home Placement::home_of(const GgufTensor& tensor) const {
  for (size_t i = 0; i < pieces.size(); ++i)
    if (pieces[i].tensor == &tensor) return homes[i];
  return Home::device;
}

Placement place(uint64_t fixed, std::span<const WeightPiece> pieces, const Budgets& budgets) {
  Placement p;
  p.pieces.assign(pieces.begin(), pieces.end());
  std::ranges::stable_sort(p.pieces, {}, [](const WeightPiece& x) { return std::tuple(x.kind, x.layer); });
  p.homes.assign(p.pieces.size(), Home::disk);
  p.on_device = fixed;
  const auto take = [&](size_t i, Home home, uint64_t& taken, uint64_t& read, uint64_t budget) {
    const WeightPiece& piece = p.pieces[i];
    if (p.homes[i] != Home::disk || taken > budget || piece.bytes > budget - taken) return;
    p.homes[i] = home;
    taken += piece.bytes;
    read += piece.read;
  };
  for (size_t i = 0; i < p.pieces.size(); ++i)
    take(i, Home::device, p.on_device, p.read_on_device, budgets.vram);
  for (const bool embedding : {true, false})
    for (size_t i = 0; i < p.pieces.size(); ++i)
      if ((p.pieces[i].kind == WeightPiece::Kind::embedding) == embedding)
        take(i, Home::host, p.in_host, p.read_in_host, budgets.ram);
  for (size_t i = 0; i < p.pieces.size(); ++i) take(i, Home::disk, p.on_disk, p.read_on_disk, kNoLimit);
  return p;
}

std::string size_option(uint64_t bytes) {
  constexpr uint64_t kKibi = 1 << 10, kMebi = 1 << 20;
  const uint64_t unit = bytes < 64 * kMebi ? kKibi : kMebi;
  return fmt::format("{}{}", bytes / unit + (bytes % unit != 0 ? 1 : 0), unit == kKibi ? 'K' : 'M');
}

}  // namespace bitnet
