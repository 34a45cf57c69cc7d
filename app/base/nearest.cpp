#include "nearest.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace bitnet {
namespace {

constexpr size_t kFarthest = 2;  // a name further away would be a guess

// Computes Levenshtein's distance, one row at a time.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string nearest(std::string_view typed, std::span<const std::string> names) {
  typed = typed.substr(0, 64);
  const std::string* best = nullptr;
  size_t least = kFarthest + 1;
  for (const std::string& name : names) {
    const size_t d = distance(typed, name);
    if (d < least || (best == nullptr && typed.size() > 2 && name.starts_with(typed))) {
      least = std::min(least, d);
      best = &name;
    }
  }
  return best == nullptr ? std::string() : *best;
}

}  // namespace bitnet
