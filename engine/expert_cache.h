// Which experts of a matrix have a place on the device, where it has no room for all of them: a rule that
// says after each token who comes in, and who has to go for it.
//
// Thread rule: values.
//
// The weight of an expert is the number of its uses, of which one n tokens ago counts kFade^n. An expert that
// had no place when its token came takes that of the one with the smallest weight, if its own is larger by
// kMargin. A copy costs as much of the link as a read, so that more hits may well be slower: therefore copies
// are paid for with what hits have saved beyond those of the experts that had the places at first, and with a
// small part of all uses, for times that change. Where all experts are used alike the places soon stay as
// they are. bench/replay_experts.py compares this with other rules.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace bitnet {

class ExpertCache {
 public:
  enum class Copies { that_pay, of_all };  // of_all: each expert that was missed comes in, for tests

  // Experts 0 to n_places - 1 have the places at first. Requires: 0 < n_places < n_expert.
  ExpertCache(uint32_t n_expert, uint32_t n_places, Copies copies);

  struct Change {
    uint32_t place, comes, goes;
  };
  // A token has used these experts, in ascending order. Returns who changes places then, if anybody may.
  std::vector<Change> follow(std::span<const uint32_t> ids, bool may_change);

  bool has_place(uint32_t expert) const { return place_of_[expert] != kNone; }
  uint32_t hits() const { return hits_; }  // of the last token

 private:
  static constexpr uint32_t kNone = UINT32_MAX, kMostChanges = 2;  // of a token
  static constexpr float kFade = 0.99F, kMargin = 1.5F, kFree = 1.0F / 128;

  void age();
  uint32_t place_to_give(std::span<const uint32_t> ids) const;

  const Copies copies_;
  std::vector<float> weight_;  // of each expert, times now_
  std::vector<uint32_t> place_of_, expert_at_;
  float now_ = 1;  // what a use counts: it grows, so that nothing else has to fade
  float saved_;    // reads, that copies may still cost
  uint32_t hits_ = 0;
};

}  // namespace bitnet
