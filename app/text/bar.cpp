#include "bar.h"

#include <algorithm>
#include <cmath>

namespace bitnet {

std::string bar(double fraction, int cells) {
  static constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  if (!(fraction > 0)) fraction = 0;
  const int eighths = static_cast<int>(std::lround(std::min(fraction, 1.0) * cells * 8));
  std::string out;
  int used = 0;
  for (; used < eighths / 8; ++used) out += "█";
  if (eighths % 8 != 0) {
    out += kEighths[eighths % 8];
    ++used;
  }
  for (; used < cells; ++used) out += "░";
  return out;
}

}  // namespace bitnet
