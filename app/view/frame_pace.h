// When the screen is drawn again.
//
// Thread rule: a value; no sharing between threads. It has no clock: whoever calls says what time it is.
//
// The effect of a key is drawn at once. What the model writes is drawn at most once in 40 ms, and more rarely
// while the person types. Both together stay within 30 frames a second.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>

namespace bitnet {

class FramePace {
 public:
  using Clock = std::chrono::steady_clock;

  void change() { changed_ = true; }        // something on the screen has changed
  void press_key(Clock::time_point now);    // the person waits for what changes now
  void frame_drawn(Clock::time_point now);  // all changes are on the screen
  bool frame_due(Clock::time_point now) const;
  // Returns how long to wait for the next frame, rounded up, or nothing if nothing has changed.
  std::optional<std::chrono::milliseconds> time_to_frame(Clock::time_point now) const;

 private:
  Clock::time_point earliest_frame(Clock::time_point now) const;

  bool changed_ = true;
  bool key_pressed_ = false;  // since the last frame
  Clock::time_point last_key_{};
  std::deque<Clock::time_point> frames_;  // when the last ones were drawn
};

}  // namespace bitnet
