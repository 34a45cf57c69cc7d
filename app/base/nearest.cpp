#include "nearest.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <utility>
#include <vector>

namespace bitnet {
namespace {

// A name further away would be a guess: of a word of four letters, two changed ones leave hardly anything.
size_t farthest(std::string_view typed) {
  const auto letters = std::ranges::count_if(typed, [](unsigned char c) { return std::isalnum(c) != 0; });
  return letters < 5 ? 1 : 2;
}

// How many letters have to be typed, left out, replaced or swapped with the next to get from one to the other
// (optimal string alignment), one row of the table at a time.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before, above, row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    before = std::move(above);
    above = row;
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      row[j + 1] = std::min({above[j] + (a[i] == b[j] ? 0 : 1), row[j] + 1, above[j + 1] + 1});
      const bool swapped = i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j];
      if (swapped) row[j + 1] = std::min(row[j + 1], before[j - 1] + 1);
    }
  }
  return row.back();
}

}  // namespace

std::string nearest(std::string_view typed, std::span<const std::string> names) {
  typed = typed.substr(0, 64);
  const std::string* best = nullptr;
  size_t least = farthest(typed) + 1;
  for (const std::string& name : names) {
    const size_t d = distance(typed, name);
    const bool alike = d < std::max(typed.size(), name.size());
    if ((alike && d < least) || (best == nullptr && typed.size() > 2 && name.starts_with(typed))) {
      least = std::min(least, d);
      best = &name;
    }
  }
  return best == nullptr ? std::string() : *best;
}

}  // namespace bitnet
