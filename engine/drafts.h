// Guesses how a text goes on: as it went on where its last tokens stood before, in the text itself or in
// another one. A guess costs nothing but time where it is wrong, since each token of it is only kept if the
// model would have chosen it (Session::decode).
//
// Thread rule: a Drafts belongs to one thread.
//
// The places of each three tokens are chained from the latest to the first, as in LZ77's dictionaries (RFC
// 1951, section 4), so that a token is added or taken away in constant time. Of the latest kMostPlaces with
// the last three tokens a guess goes on from the one that shares the most tokens before it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace bitnet {

class Drafts {
 public:
  Drafts();

  // Adds another text in which guesses are looked for, of any tokens. The timeline comes after all of them.
  void learn(std::span<const int32_t> tokens);
  void forget();                               // everything
  size_t learned() const { return learned_; }  // tokens

  // Makes the timeline equal to these tokens: what differs at its end is taken away and added.
  void follow(std::span<const int32_t> timeline);
  void append(int32_t token) { add(token); }

  struct Guess {
    uint32_t n = 0;      // tokens written to `to`
    uint32_t match = 0;  // tokens at the timeline's end that stand before them there too; kMostMatch at most
  };
  // What may come behind the timeline.
  Guess guess(std::span<int32_t> to) const;

  static constexpr uint32_t kLeastMatch = 3, kMostMatch = 32, kMostPlaces = 64;

 private:
  static constexpr int32_t kBorder = -1;  // before each text
  void add(int32_t token);
  void take_away();
  bool has_key(size_t end) const;
  uint32_t& head(size_t end);
  uint32_t head(size_t end) const { return const_cast<Drafts*>(this)->head(end); }
  void index_again();

  // A place is behind three tokens: before tokens_[place]. 0: none.
  std::vector<int32_t> tokens_;
  std::vector<uint32_t> earlier_;  // the place before each place whose three tokens have the same hash
  std::vector<uint32_t> heads_;    // the latest place of each hash; a power of two
  size_t learned_ = 0;             // tokens_ before the timeline, with borders
};

// How many tokens of a guess are worth trying: as many as make the most tokens a second, by what passes of
// several tokens have taken so far, and by how many guesses after a match of this length were right.
class DraftLength {
 public:
  static constexpr uint32_t kMost = 15;  // tokens of a guess

  // Up to `most`; 0: a token alone is as fast.
  uint32_t choose(uint32_t match, uint32_t most) const;

  // A token alone took so long.
  void took_alone(double seconds);
  double alone() const { return alone_; }  // the mean of that; 0: not known
  // A pass over a token and a guess of n tokens took `seconds` until the first of them could be chosen, and
  // each further choice, of `choices`, took `a_choice`.
  void took(uint32_t n, double seconds, double a_choice);
  // Of a guess of n tokens so many were right.
  void were_right(uint32_t match, uint32_t n, uint32_t right);

 private:
  // The least of the latest times, since what disturbs a pass makes it longer; known from three of them on.
  class Least {
   public:
    void add(double time) {
      times_[next_++ % times_.size()] = time;
      n_ = std::min<size_t>(n_ + 1, times_.size());
    }
    void forget_one() { n_ -= n_ == 0 ? 0 : 1; }
    bool is_known() const { return n_ == times_.size(); }
    double time() const { return *std::min_element(times_.begin(), times_.end()); }

   private:
    std::array<double, 3> times_{};
    size_t next_ = 0, n_ = 0;
  };

  static size_t kind_of(uint32_t match);
  double cost_of(uint32_t n) const;
  double choice() const { return choice_.is_known() ? std::min(choice_.time(), 1.0) : 0; }

  static constexpr size_t kKinds = 4;  // of matches, by length
  static constexpr std::array<double, kKinds> kRight = {0.5, 0.65, 0.8,
                                                        0.9};  // what is taken for right at first
  std::array<double, kKinds> right_ = kRight;
  // In tokens alone, as those were then:
  std::array<Least, kMost + 1> passes_;  // by the tokens of the guess
  Least choice_;
  double alone_ = 0;
  uint32_t n_alone_ = 0;
};

}  // namespace bitnet
