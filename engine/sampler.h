// Which token comes next: a pure function of the logits, the settings and a seeded generator.
//
// Thread rule: a Sampler belongs to one thread.
//
// Order of the steps, as llama.cpp and Hugging Face have them: repetition penalty (Keskar et al. 2019),
// top-k, softmax at the temperature, top-p (Holtzman et al. 2020) and min-p (Nguyen et al. 2024) over what is
// left.
#pragma once

#include <cstdint>
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

class Sampler {
 public:
  explicit Sampler(const SamplerParams& params);

  const SamplerParams& params() const { return params_; }

  // True where the choice is the first largest logit whatever the history, so a device can make it.
  bool is_argmax() const;

  // The next token, or nullopt where there is none to choose: a NaN or +Inf among the logits, or all -Inf.
  // Equal logits: the lowest id wins. `history` is the token list so far, newest last.
  std::optional<SampledToken> sample(std::span<const float> logits, std::span<const int32_t> history);

 private:
  struct Candidate {
    float logit;
    int32_t id;
    float weight = 0.0F;  // probability over that of the likeliest
  };

  void penalise(std::span<const int32_t> history);
  void weigh();
  void keep_top_k();
  void keep_top_p();
  void keep_min_p();
  int32_t draw();

  SamplerParams params_;
  std::mt19937_64 generator_;
  std::vector<Candidate> candidates_;  // reused, so that a token costs no allocation
  std::vector<Candidate> scratch_;
  std::vector<int32_t> recent_;
};

}  // namespace bitnet
