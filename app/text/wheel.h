// Tells a turn of the mouse wheel from the arrow keys.
//
// A terminal whose mouse is left to it turns the wheel into arrow keys while a program has its screen
// (alternate scroll). A notch of a wheel comes as several at once; a touchpad sends them one by one, but
// faster than any keyboard repeats a key. So an arrow is held back for an instant, to see whether another
// follows.
//
// Thread rule: a value; no sharing between threads.
#pragma once

#include <chrono>
#include <string_view>

namespace bitnet {

// Returns the lines that a wheel turns by, negative upwards, if `bytes`, which were read at once, are the
// same arrow key several times and nothing else. Otherwise returns 0.
int wheel_lines(std::string_view bytes);

// Returns -1 or 1 if these bytes are the key Up or Down, otherwise 0.
int arrow_direction(std::string_view bytes);

class WheelGuess {
 public:
  using Time = std::chrono::steady_clock::time_point;
  // Two arrows that come closer together are a wheel's. Keyboards repeat a key every 30 ms or more slowly.
  static constexpr std::chrono::milliseconds kTogether{20};

  struct Verdict {
    int key_before = 0;   // the arrow that was held back was a key: its direction
    bool is_key = false;  // this arrow is one, too
    int lines = 0;        // to scroll by
  };
  // An arrow in this direction came alone. If the verdict is neither a key nor lines, the arrow is held back:
  // the caller calls give_up() after kTogether, or as soon as another key comes.
  Verdict take(int direction, Time now);
  // Returns the direction of the arrow that was held back, which is a key; 0: none was.
  int give_up(Time now);
  // A wheel was told by wheel_lines(). Returns the direction of the arrow that was held back, with which it
  // began; 0: none was.
  int turn(Time now);

 private:
  int held_ = 0;
  Time held_since_{};
  Time last_turn_{};
  Time last_key_{};
};

}  // namespace bitnet
