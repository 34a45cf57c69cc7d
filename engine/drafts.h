// Guesses how a text goes on: as it went on where its last tokens stood before, in the text itself or in
// another one, and behind a token that differs as if it were the same. A guess costs nothing but time where
// it is wrong, since each token of it is only kept if the model would have chosen it (Session::decode).
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
  void forget();                               // all texts
  size_t learned() const { return learned_; }  // tokens

  // Makes the timeline equal to these tokens: what differs at its end is taken away and added.
  void follow(std::span<const int32_t> timeline);
  void append(int32_t token);
  // What comes behind the timeline that is followed next may begin as the text does that was learned last.
  void expect_latest() { expects_latest_ = true; }

  static constexpr uint32_t kMost = 15;  // tokens of a guess

  struct Guess {
    uint32_t n = 0;                       // tokens written to `to`
    std::array<double, kMost> chances{};  // of each, that it comes if those before it do
  };
  // What may come behind the timeline. Requires: to.size() <= kMost.
  Guess guess(std::span<int32_t> to) const;

  static constexpr uint32_t kLeastMatch = 3, kMostMatch = 32, kMostPlaces = 64;

 private:
  static constexpr int32_t kBorder = -1;  // before each text
  // Where guesses come from.
  struct Trail {
    enum class From { search, beginning, difference };
    size_t place = 0;          // of the next token; 0: nowhere
    From from = From::search;  // how we came there
    uint32_t match = 0;        // tokens that were the same since, with those that were searched for
    uint32_t differences = 0;  // tokens that were not, with less than kLeastMatch in between
  };
  static constexpr uint32_t kMostDifferences = 3;
  // Of guesses from trails of one kind: how many of them came.
  struct Record {
    double right;
    uint32_t n = 0;
  };
  static size_t kind_of(const Trail& trail);

  void add(int32_t token);
  void take_away();
  bool has_key(size_t end) const;
  uint32_t& head(size_t end);
  uint32_t head(size_t end) const { return const_cast<Drafts*>(this)->head(end); }
  void index_again();
  void search();
  void go_on(int32_t token);

  // A place is behind three tokens: before tokens_[place]. 0: none.
  std::vector<int32_t> tokens_;
  std::vector<uint32_t> earlier_;  // the place before each place whose three tokens have the same hash
  std::vector<uint32_t> heads_;    // the latest place of each hash; a power of two
  size_t learned_ = 0;             // tokens_ before the timeline, with borders
  size_t latest_ = 0;              // where the text begins that was learned last; 0: nowhere
  bool expects_latest_ = false;
  Trail trail_;
  // By kind, and what is taken for right at first.
  std::array<Record, 11> records_{
      {{0.4}, {0.6}, {0.8}, {0.9}, {0.6}, {0.4}, {0.2}, {0.85}, {0.9}, {0.95}, {0.97}}};
};

// How many tokens of a guess are worth trying: as many as make the most tokens a second, by what passes of
// several tokens have taken so far.
class DraftLength {
 public:
  // Up to chances.size() by the chances of each token; 0: a token alone is as fast. Each number of tokens has
  // commands of its own, so there are few.
  uint32_t choose(std::span<const double> chances) const;
  // Whether to stop running ahead of the token that comes next, so that a guess can come behind it if it is
  // the first of these.
  bool is_worth_waiting(std::span<const double> chances) const;

  // A token alone took so long, or the first behind a pass of several where the device runs ahead of others.
  // Since a device that runs ahead may have done a token before its turn, of two tokens the longer counts.
  void took_alone(double seconds);
  void took_first(double seconds);
  double alone() const { return alone_.time(); }  // 0: not known
  // A pass over a token and a guess of n tokens took `seconds` until the first of them could be chosen, and
  // each further choice, of `choices`, took `a_choice`.
  void took(uint32_t n, double seconds, double a_choice);

 private:
  // The least of the latest times, since what disturbs one makes it longer.
  class Least {
   public:
    void add(double time) {
      times_[next_++ % times_.size()] = time;
      n_ = std::min<size_t>(n_ + 1, times_.size());
    }
    bool is_sure() const { return n_ >= kSure; }
    void doubt() { n_ = std::min(n_, kSure - 1); }
    double time() const;  // 0: none

   private:
    static constexpr size_t kSure = 3;
    std::array<double, 8> times_{};
    size_t next_ = 0, n_ = 0;
  };

  struct Choice {
    uint32_t n = 0;    // tokens of a guess
    double gain = 0;   // tokens in the time of one
    double saves = 0;  // tokens alone
  };
  Choice best(std::span<const double> chances) const;
  double cost_of(size_t length) const;
  double choice() const { return std::min(choice_.time(), 1.0); }

  static constexpr std::array<uint32_t, 4> kLengths = {1, 3, 7, 15};
  Least alone_;  // seconds
  double last_alone_ = 0;
  uint32_t n_alone_ = 0;
  // In tokens alone, as those were then:
  std::array<Least, kLengths.size()> passes_;
  std::array<uint32_t, kLengths.size()> timed_{};  // n_passes_ when each length was timed last
  uint32_t n_passes_ = 0;
  Least choice_;
  Least first_;  // and how much more than others it takes
};

}  // namespace bitnet
