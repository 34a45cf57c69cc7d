// How many tokens of a prompt the next submission has, from how long those before took.
//
// Thread rule: values.
//
// A submission of n tokens takes floor + n * slope seconds. The floor is what it takes to read all weights
// once, which is long where they lie in host memory: there a batch grows until the tokens take as long again.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace bitnet {

class BatchSize {
 public:
  // `has_floor`: weights come over a link, so that a second batch is larger however long the first one took.
  BatchSize(uint32_t most, bool has_floor)
      : most_(most), next_(std::min(kFirst, most)), has_floor_(has_floor) {}

  uint32_t next() const { return next_; }

  // Seconds that a submission of n tokens should take; 0: not known yet.
  double expected(uint32_t n) const {
    if (later_.n == 0) return 0;
    return earlier_.n == 0 ? later_.seconds / later_.n * n : floor_ + n * slope_;
  }

  // Says how long a submission of next() tokens took, or of one less, as models with states have it; others
  // are not looked at.
  void took(uint32_t n, double seconds) {
    if (n != next_ && n + 1 != next_) return;
    if (n != later_.n) earlier_ = later_;
    later_ = {static_cast<double>(n), std::max(seconds, 1e-9)};
    if (earlier_.n == 0) {
      if (has_floor_ || later_.seconds < kSeconds / 2)
        next_ = grown(std::max(2.0, kSeconds / later_.seconds));
      return;
    }
    const double gradient = (later_.seconds - earlier_.seconds) / (later_.n - earlier_.n);
    constexpr double kLeastPart = 0.05;  // of its time that the tokens of a batch take at least
    slope_ = std::max(gradient, kLeastPart * later_.seconds / n);
    floor_ = std::max(0.0, later_.seconds - n * slope_);
    next_ = grown(std::max(kSeconds, floor_) / (slope_ * n));
  }

 private:
  static constexpr uint32_t kFirst = 32;
  static constexpr double kSeconds = 0.4;  // that the tokens of a batch should take, the floor aside
  static constexpr double kMostGrowth = 32;

  uint32_t grown(double factor) const {
    const double n = later_.n * std::min(factor, kMostGrowth);
    return std::clamp(static_cast<uint32_t>(n), std::min(kFirst, most_), most_);
  }

  struct Sample {
    double n = 0;  // tokens
    double seconds = 0;
  };
  uint32_t most_, next_;
  bool has_floor_;
  Sample earlier_, later_;  // of different n
  double floor_ = 0, slope_ = 0;
};

}  // namespace bitnet
