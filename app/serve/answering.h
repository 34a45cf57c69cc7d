// An answer that is asked for: what the model shall do, and what has come of it.
//
// Thread rule: `asked` does not change; every call may be made on any thread. The engine's thread adds, and
// one other takes and waits.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace bitnet {

struct AskedFor {
  std::vector<int32_t> prompt;  // 1 <= size < n_ctx
  SamplerParams sampler;
  uint32_t max_tokens = 0;           // 0 = as many as the context holds
  std::vector<int32_t> stop_tokens;  // end the answer
  uint32_t candidates = 0;           // how many of the likeliest to name for each token
};

struct MadeToken {
  SampledToken token;
  std::vector<SampledToken> best;  // the likeliest in its place, the likeliest first; equal ones by id
  size_t at = 0;                   // characters of the answer before it; AnswerText sets it
};

struct AnswerEnd {
  std::string reason;   // name_of(Finish), "closed", "timeout" or "failed"
  std::string message;  // of an error, for people
};

class Answering {
 public:
  explicit Answering(AskedFor asked_for);
  ~Answering();
  Answering(const Answering&) = delete;
  Answering& operator=(const Answering&) = delete;

  const AskedFor asked;

  // Readable while something waits to be taken.
  int wake_fd() const { return wake_fd_; }
  struct News {
    std::vector<MadeToken> tokens;
    std::optional<AnswerEnd> end;  // nothing follows it
  };
  News take();  // never blocks

  // Tokens of the prompt whose keys and values were there; known once the first token is.
  uint32_t reused() const { return reused_; }
  void set_reused(uint32_t tokens) { reused_ = tokens; }

  // Nobody wants the rest.
  void stop() { stopped_ = true; }
  bool stopped() const { return stopped_; }

  void add(MadeToken token);
  void finish(AnswerEnd end);

 private:
  void wake() const;

  std::atomic<bool> stopped_ = false;
  std::atomic<uint32_t> reused_ = 0;
  int wake_fd_;
  std::mutex mutex_;
  News news_;  // guarded by mutex_
};

}  // namespace bitnet
