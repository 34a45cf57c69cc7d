#include "wheel.h"

#include <cstddef>
#include <utility>

namespace bitnet {
namespace {

using std::chrono::milliseconds;

constexpr size_t kArrowBytes = 3;
constexpr milliseconds kTurnGoesOn{150};
// Longer than a keyboard waits before it repeats the key that is held down.
constexpr milliseconds kKeysGoOn{700};

}  // namespace

int arrow_direction(std::string_view bytes) {
  if (bytes == "\x1b[A" || bytes == "\x1bOA") return -1;
  if (bytes == "\x1b[B" || bytes == "\x1bOB") return 1;
  return 0;
}

int wheel_lines(std::string_view bytes) {
  const size_t count = bytes.size() / kArrowBytes;
  const std::string_view first = bytes.substr(0, kArrowBytes);
  const int direction = arrow_direction(first);
  if (direction == 0 || count < 2 || bytes.size() % kArrowBytes != 0) return 0;
  for (size_t at = kArrowBytes; at < bytes.size(); at += kArrowBytes) {
    if (bytes.substr(at, kArrowBytes) != first) return 0;
  }
  return direction * static_cast<int>(count);
}

WheelGuess::Verdict WheelGuess::take(int direction, Time now) {
  Verdict verdict;
  if (held_ == direction && now - held_since_ < kTogether) {
    held_ = 0;
    last_turn_ = now;
    verdict.lines = 2 * direction;
    return verdict;
  }
  if (now - last_turn_ < kTurnGoesOn) {
    last_turn_ = now;
    verdict.lines = direction;
    return verdict;
  }
  verdict.key_before = give_up(now);
  if (now - last_key_ < kKeysGoOn) {
    last_key_ = now;
    verdict.is_key = true;
  } else {
    held_ = direction;
    held_since_ = now;
  }
  return verdict;
}

int WheelGuess::turn(Time now) {
  last_turn_ = now;
  return std::exchange(held_, 0);
}

int WheelGuess::give_up(Time now) {
  last_turn_ = {};
  if (held_ != 0) last_key_ = now;
  return std::exchange(held_, 0);
}

}  // namespace bitnet
