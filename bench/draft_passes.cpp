// What a pass over a token and a right guess behind it costs, beside a token alone: c(n) = seconds of a pass
// over n tokens / seconds of a token. An answer is decoded once, and then again with itself as the text in
// which guesses are looked for.
//
//   draft_passes FILE [--device NAME] [--depth 32] [--tokens 256] [--runs 5] [--sampled] [--threads N]
//   [--sizes 2,4]
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "engine/drafts.h"
#include "engine/engine.h"
#include "engine/kernel_options.h"
#include "engine/open_model.h"

namespace {

using namespace bitnet;
using Clock = std::chrono::steady_clock;

struct Settings {
  std::string file;
  EngineOptions engine;
  uint32_t depth = 32, tokens = 256, runs = 5;
  SamplerParams sampler;
  std::vector<uint32_t> sizes{1, 2, 3, 4, 6, 8, 16};  // of passes; a token alone is always the first
};

struct Decoded {
  std::vector<int32_t> tokens;
  double seconds;
  SessionStats stats;
};

Decoded decode(Session& session, const Settings& s, std::span<const int32_t> prompt, Drafts* drafts) {
  session.sync(prompt);
  Sampler sampler(s.sampler);
  Decoded d{};
  const SessionStats before = session.stats();
  const auto start = Clock::now();
  session.decode(sampler, {.max_tokens = s.tokens, .stop_tokens = {}, .drafts = drafts},
                 [&](const SampledToken& token) {
                   d.tokens.push_back(token.id);
                   return true;
                 });
  d.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  d.stats = session.stats();
  d.stats.drafted_tokens -= before.drafted_tokens;
  d.stats.right_tokens -= before.right_tokens;
  return d;
}

int run(Settings s) {
  std::vector<int32_t> prompt, all;
  double alone = 0;
  for (const uint32_t n : s.sizes) {
    s.engine.kernels = share({.draft_tokens = n - 1});
    const auto engine = Engine::open(*open_model(s.file), s.engine);
    const auto session = Session::create(*engine, s.depth + 2 * s.tokens);
    for (int32_t i = 0; prompt.size() < s.depth; ++i)
      prompt.push_back((i * 7919 + 17) % static_cast<int32_t>(engine->model().n_vocab));
    std::vector<double> seconds;
    Decoded d{};
    for (uint32_t run = 0; run <= s.runs; ++run) {
      Drafts drafts;
      drafts.learn(all);
      d = decode(*session, s, prompt, n == 1 ? nullptr : &drafts);
      if (run != 0) seconds.push_back(d.seconds);  // the first one makes pipelines
    }
    std::ranges::sort(seconds);
    const double made = static_cast<double>(d.tokens.size()),
                 passes = made - static_cast<double>(d.stats.right_tokens),
                 a_pass = seconds[seconds.size() / 2] / passes;
    if (n == 1) {
      all = prompt;
      all.insert(all.end(), d.tokens.begin(), d.tokens.end());
      alone = a_pass;
    }
    fmt::print(
        "{:>2} tokens a pass: {:>9.3f} ms (best {:.3f}), c = {:.2f}, {:.1f} tokens/s; {} of {} right\n", n,
        a_pass * 1e3, seconds.front() / passes * 1e3, a_pass / alone, made / seconds[seconds.size() / 2],
        d.stats.right_tokens, d.stats.drafted_tokens);
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Settings s;
  const std::vector<std::string> args(argv + 1, argv + argc);
  for (size_t i = 0; i < args.size(); ++i) {
    const auto value = [&] { return i + 1 < args.size() ? args[++i] : std::string("1"); };
    if (args[i] == "--device")
      s.engine.device = value();
    else if (args[i] == "--tokens")
      s.tokens = static_cast<uint32_t>(std::stoul(value()));
    else if (args[i] == "--depth")
      s.depth = static_cast<uint32_t>(std::stoul(value()));
    else if (args[i] == "--runs")
      s.runs = static_cast<uint32_t>(std::stoul(value()));
    else if (args[i] == "--sizes") {
      s.sizes = {1};
      std::istringstream list(value());
      for (std::string n; std::getline(list, n, ',');)
        s.sizes.push_back(static_cast<uint32_t>(std::stoul(n)));
    } else if (args[i] == "--threads")
      s.engine.threads = static_cast<uint32_t>(std::stoul(value()));
    else if (args[i] == "--sampled")
      s.sampler = {.temperature = 0.8F, .top_k = 40, .top_p = 0.95F, .seed = 1};
    else
      s.file = args[i];
  }
  return run(std::move(s));
}
