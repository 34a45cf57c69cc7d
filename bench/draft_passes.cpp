// What a pass over a token and a right guess behind it costs, beside a token alone: c(n) = seconds of a pass
// over n tokens / seconds of a token. An answer is decoded once, and then again with itself as the text in
// which guesses are looked for. With --right it says what guesses gain where such shares of that text's
// tokens are right, and as many are tried as pay.
//
//   draft_passes FILE [--device NAME] [--depth 32] [--tokens 256] [--runs 5] [--sampled] [--threads N]
//   [--sizes 2,4] [--right 1,0.9,0.5] [--kernels avx2]
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <random>
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
  std::string kernels;  // of a CPU; empty: the best
  uint32_t depth = 32, tokens = 256, runs = 5;
  SamplerParams sampler;
  std::vector<double> sizes{1, 2, 3, 4, 6, 8, 16};  // of passes; a token alone is always the first
  std::vector<double> rights;
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

struct Measured {
  Decoded last;
  double median, best;  // seconds
};

// Decodes behind a prompt, which is made first, with guesses of so many tokens, or of as many as pay, from
// the text.
Measured measure(const Settings& s, std::vector<int32_t>& prompt, const std::vector<int32_t>* text,
                 uint32_t draft_tokens) {
  EngineOptions options = s.engine;
  options.kernels = share({.cpu_kernels = s.kernels, .draft_tokens = draft_tokens});
  const auto engine = Engine::open(*open_model(s.file), options);
  const auto session = Session::create(*engine, s.depth + 2 * s.tokens);
  for (uint32_t i = static_cast<uint32_t>(prompt.size()); i < s.depth; ++i)
    prompt.push_back(static_cast<int32_t>((i * 7919 + 17) % engine->model().n_vocab));
  std::vector<double> seconds;
  Measured m{};
  Drafts drafts;  // what it finds out of guesses stays, as in a chat
  if (text) drafts.learn(*text);
  for (uint32_t run = 0; run <= s.runs; ++run) {
    m.last = decode(*session, s, prompt, text ? &drafts : nullptr);
    if (run != 0) seconds.push_back(m.last.seconds);  // the first one makes pipelines
  }
  std::ranges::sort(seconds);
  m.median = seconds[seconds.size() / 2];
  m.best = seconds.front();
  return m;
}

int run(const Settings& s) {
  std::vector<int32_t> prompt, all;
  double alone = 0;
  const double made = s.tokens;
  for (const double n : s.sizes) {
    const Measured m = measure(s, prompt, n == 1 ? nullptr : &all, static_cast<uint32_t>(n) - 1);
    // Where guesses are wrong, tokens are decoded alone between the passes.
    const auto right = static_cast<double>(m.last.stats.right_tokens);
    const double passes = n == 1 ? made : static_cast<double>(m.last.stats.drafted_tokens) / (n - 1);
    const double seconds_alone = n == 1 ? 0 : (made - right - passes) * alone;
    const auto a_pass_of = [&](double seconds) { return (seconds - seconds_alone) / passes; };
    const double a_pass = a_pass_of(m.median);
    if (n == 1) {
      all = prompt;
      all.insert(all.end(), m.last.tokens.begin(), m.last.tokens.end());
      alone = a_pass;
    }
    fmt::print(
        "{:>2} tokens a pass: {:>9.3f} ms (best {:.3f}), c = {:.2f}, {:.1f} tokens/s; {} of {} right\n", n,
        a_pass * 1e3, a_pass_of(m.best) * 1e3, a_pass / alone, made / m.median, m.last.stats.right_tokens,
        m.last.stats.drafted_tokens);
    std::fflush(stdout);
  }
  for (const double right : s.rights) {
    std::mt19937 random(1);
    std::vector<int32_t> text = all;
    for (size_t i = s.depth; i < text.size(); ++i)
      if (random() % 1000 >= right * 1000) text[i] ^= 1;
    const Measured m = measure(s, prompt, &text, 0);
    fmt::print("{} of the text right: {:.1f} tokens/s, {:.2f} x; {} of {} right\n", right, made / m.median,
               alone * made / m.median, m.last.stats.right_tokens, m.last.stats.drafted_tokens);
    std::fflush(stdout);
  }
  return 0;
}

std::vector<double> numbers(const std::string& list) {
  std::vector<double> found;
  std::istringstream stream(list);
  for (std::string n; std::getline(stream, n, ',');) found.push_back(std::stod(n));
  return found;
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
    else if (args[i] == "--sizes")
      s.sizes = numbers("1," + value());
    else if (args[i] == "--right")
      s.rights = numbers(value());
    else if (args[i] == "--kernels")
      s.kernels = value();
    else if (args[i] == "--threads")
      s.engine.threads = static_cast<uint32_t>(std::stoul(value()));
    else if (args[i] == "--sampled")
      s.sampler = {.temperature = 0.8F, .top_k = 40, .top_p = 0.95F, .seed = 1};
    else
      s.file = args[i];
  }
  return run(s);
}
