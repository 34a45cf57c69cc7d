#include "stop_text.h"

#include <algorithm>

namespace bitnet {

size_t first_stop(std::string_view text, const std::vector<std::string>& stops) {
  size_t first = std::string_view::npos;
  for (const std::string& stop : stops) first = std::min(first, text.find(stop));
  return first;
}

size_t open_stop(std::string_view text, const std::vector<std::string>& stops) {
  size_t longest = 0;
  for (const std::string& stop : stops) {
    for (size_t n = std::min(text.size(), stop.size() - 1); n > longest; --n) {
      if (text.ends_with(std::string_view(stop).substr(0, n))) longest = n;
    }
  }
  return longest;
}

}  // namespace bitnet
