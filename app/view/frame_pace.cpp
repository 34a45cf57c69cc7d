#include "frame_pace.h"

#include <algorithm>

namespace bitnet {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFrame{40};
constexpr milliseconds kFrameWhileTyping{66};
constexpr milliseconds kTypingLasts{1000};  // after a key
constexpr size_t kMostFrames = 30;          // in a second

}  // namespace

void FramePace::press_key(Clock::time_point now) {
  changed_ = key_pressed_ = true;
  last_key_ = now;
}

void FramePace::frame_drawn(Clock::time_point now) {
  changed_ = key_pressed_ = false;
  frames_.push_back(now);
  if (frames_.size() > kMostFrames) frames_.pop_front();
}

FramePace::Clock::time_point FramePace::earliest_frame(Clock::time_point now) const {
  if (frames_.empty()) return {};
  const Clock::time_point allowed =
      frames_.size() < kMostFrames ? Clock::time_point{} : frames_.front() + std::chrono::seconds(1);
  if (key_pressed_) return allowed;
  const bool typing = now - last_key_ < kTypingLasts;
  return std::max(allowed, frames_.back() + (typing ? kFrameWhileTyping : kFrame));
}

bool FramePace::frame_due(Clock::time_point now) const { return changed_ && now >= earliest_frame(now); }

std::optional<milliseconds> FramePace::time_to_frame(Clock::time_point now) const {
  if (!changed_) return std::nullopt;
  return std::max(std::chrono::ceil<milliseconds>(earliest_frame(now) - now), milliseconds(0));
}

}  // namespace bitnet
