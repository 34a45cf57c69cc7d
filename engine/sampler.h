// Which token comes next: a pure function of the logits, the settings and a seeded generator.
//
// Thread rule: a Sampler belongs to one thread.
//
// Order of the steps, as llama.cpp and Hugging Face have them: repetition penalty (Keskar et al. 2019),
// top-k, softmax at the temperature, top-p (Holtzman et al. 2020) and min-p (Nguyen et al. 2024) over what is
// left.
//
// A weight is an integer, 2^31 for the likeliest candidate, so that sums do not depend on their order; and
// all that leads to a weight are float additions and multiplications, which every device rounds alike. So a
// seed gives the same tokens here and in shaders/sample_choose.comp.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <random>
#include <span>
#include <vector>

namespace bitnet {

struct SamplerParams {
  float temperature = 0.0F;     // >= 0; 0 = greedy
  uint32_t top_k = 0;           // 0 or >= n_vocab: all tokens
  float top_p = 1.0F;           // (0, 1]; 1 = off
  float min_p = 0.0F;           // [0, 1]; 0 = off
  float repeat_penalty = 1.0F;  // > 0; 1 = off
  uint32_t repeat_last = 64;    // how many of the latest tokens the penalty looks at; 0 = none
  uint64_t seed = 0;

  bool operator==(const SamplerParams&) const = default;
};

// Throws Error(usage) that names the setting, its range and the value found (NaN and Inf are out of every
// range).
void check(const SamplerParams& params);

struct SampledToken {
  int32_t id;
  float logprob;  // natural log of the token's probability in the model's own distribution (no settings
                  // applied)

  bool operator==(const SampledToken&) const = default;
};

struct TokenLogit {
  int32_t id;
  float logit;
};

// The settings as the numbers with which the choice is made, here and on a device.
struct SamplingRecipe {
  uint32_t top_k;       // 0 = all
  uint32_t n_recent;    // tokens of the history that are penalised
  float penalty;        // factor of negative logits
  float inverse;        // factor of positive logits
  float scale;          // log2(e) / temperature
  uint32_t top_p;       // of 2^32; 0 = off
  uint32_t min_weight;  // the least that a candidate of min-p weighs
};

class Sampler {
 public:
  explicit Sampler(const SamplerParams& params);

  const SamplerParams& params() const { return params_; }
  const SamplingRecipe& recipe() const { return recipe_; }

  // True where the choice is the first largest logit whatever the history, so a device can make it.
  bool is_argmax() const;

  // The next token, or nullopt where there is none to choose: a NaN or +Inf among the logits, or all -Inf.
  // Equal logits: the lowest id wins. `history` is the token list so far, newest last.
  std::optional<SampledToken> sample(std::span<const float> logits, std::span<const int32_t> history);

  // How many of the largest logits the choice depends on; 0 = all.
  uint32_t wanted() const;
  // As sample(), but from the wanted() largest logits or more, which are in the order of their ids and all
  // numbers. log_sum is the ln of the sum of exp(logit) over the whole vocabulary.
  SampledToken sample_among(std::span<const TokenLogit> largest, double log_sum,
                            std::span<const int32_t> history);

  // For a device that chooses: random gives the random number of the n-th token from here (0 = the next), and
  // chosen says that a token was chosen with the next one.
  uint64_t random(size_t n);
  void chosen() { take_random(); }

 private:
  struct Candidate {
    float logit;
    int32_t id;
    uint32_t weight = 0;  // of 2^31
  };

  uint64_t take_random();
  int32_t choose(std::span<const int32_t> history);  // among candidates_
  void penalise(std::span<const int32_t> history);
  void weigh();
  void keep_top_k();
  void keep_top_p();
  void keep_min_p();
  int32_t draw();

  SamplerParams params_;
  SamplingRecipe recipe_;
  std::mt19937_64 generator_;
  std::deque<uint64_t> drawn_;         // by random(), not taken yet
  std::vector<Candidate> candidates_;  // in the order of ids; reused, so that a token costs no allocation
  std::vector<Candidate> scratch_;
  std::vector<int32_t> recent_;
};

}  // namespace bitnet
