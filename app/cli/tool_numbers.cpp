// Tools that run the model without a chat: logits, probe, bench.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "app/model/model_open.h"
#include "engine/engine.h"
#include "engine/error.h"
#include "npy.h"
#include "tools.h"

namespace bitnet {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct RunningModel {
  std::unique_ptr<GgufFile> file;
  std::unique_ptr<Engine> engine;
  std::unique_ptr<Session> session;
  double load_seconds = 0;    // from the file's name to a session that takes tokens
  double upload_seconds = 0;  // of it: weights on their way to the device
};

// Without a tokenizer: these tools take ids.
RunningModel open_model(const Options& options, uint32_t n_ctx) {
  RunningModel model;
  const Clock::time_point start = Clock::now();
  model.file = std::make_unique<GgufFile>(find_model(options.model));
  EngineOptions engine = engine_options(options);
  Clock::time_point upload_start;
  engine.on_progress = [&](uint64_t done, uint64_t) {
    if (done == 0) upload_start = Clock::now();
    model.upload_seconds = seconds_since(upload_start);
    return true;
  };
  model.engine = Engine::open(*model.file, engine);
  model.session = Session::create(*model.engine, n_ctx);
  model.load_seconds = seconds_since(start);
  return model;
}

void check_ids(const Options& options, const ModelInfo& info) {
  for (const int32_t id : options.tokens) {
    if (static_cast<uint32_t>(id) >= info.n_vocab) {
      throw Error(ErrorKind::usage,
                  fmt::format("--tokens: {} is past the vocabulary of {} tokens", id, info.n_vocab));
    }
  }
  if (options.tokens.size() > info.n_ctx_train) {
    throw Error(ErrorKind::usage, fmt::format("--tokens: {} tokens, the model's context holds {}",
                                              options.tokens.size(), info.n_ctx_train));
  }
}

struct Figures {
  double median, least, most;
};

Figures figures(std::vector<double> rates) {
  std::sort(rates.begin(), rates.end());
  const size_t n = rates.size();
  const double median = n % 2 == 1 ? rates[n / 2] : (rates[n / 2 - 1] + rates[n / 2]) / 2;
  return {median, rates.front(), rates.back()};
}

// Ids that a text could have, all different from run to run at position `from`, so that nothing is reused.
std::vector<int32_t> made_up(uint32_t count, uint32_t n_vocab, uint32_t from, uint32_t run) {
  std::vector<int32_t> ids(count);
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t step = i < from ? 0 : run + 1;
    ids[i] = static_cast<int32_t>((uint64_t{i} * 7919 + step * 104729 + 17) % n_vocab);
  }
  return ids;
}

}  // namespace

void tool_logits(const Options& options) {
  {
    const GgufFile file(find_model(options.model));
    check_ids(options, read_model_info(file));
  }
  const RunningModel model = open_model(options, static_cast<uint32_t>(options.tokens.size()));
  NpyFile out(options.out, {.overwrite = options.force}, options.tokens.size(),
              model.engine->model().n_vocab);
  SyncOptions sync;
  sync.batch = options.prefill;
  sync.on_logits = [&](uint32_t, std::span<const float> logits) { out.write(logits); };
  model.session->sync(options.tokens, sync);
  out.finish();
}

void tool_probe(const Options& options) {
  {
    const GgufFile file(find_model(options.model));
    check_ids(options, read_model_info(file));
  }
  const RunningModel model = open_model(options, static_cast<uint32_t>(options.tokens.size()));
  const ModelInfo& info = model.engine->model();
  std::vector<float> hidden;
  SyncOptions sync;
  sync.hidden = &hidden;
  model.session->sync(options.tokens, sync);
  NpyFile out(options.out, {.overwrite = options.force}, info.n_layer, info.n_embd);
  out.write(hidden);
  out.finish();
}

void tool_bench(const Options& options, Output& out) {
  const uint32_t depth = options.bench_depth;
  const uint32_t n_prompt = options.bench_prompt;
  const uint32_t n_decode = options.bench_tokens;
  uint32_t trained = 0;
  {
    const GgufFile file(find_model(options.model));
    trained = read_model_info(file).n_ctx_train;
  }
  const uint32_t needed = depth + std::max(n_prompt, n_decode + 1);
  if (needed > trained) {
    throw Error(ErrorKind::usage,
                fmt::format("bench: {} tokens asked for, the model's context holds {}; give smaller "
                            "-d, -p or -n",
                            needed, trained));
  }
  const RunningModel model = open_model(options, needed);
  Session& session = *model.session;
  const ModelInfo& info = model.engine->model();
  const MemoryPlan plan = plan_memory(*model.file, needed);

  std::vector<double> prefill;
  std::vector<double> decode;
  // One run more than is counted: the first pays for pages and pipelines.
  for (uint32_t run = 0; run <= options.bench_repeat; ++run) {
    const std::vector<int32_t> prompt = made_up(depth + n_prompt, info.n_vocab, depth, run);
    if (depth > 0) session.sync(std::span(prompt).first(depth));
    Clock::time_point start = Clock::now();
    const SyncResult result = session.sync(prompt);
    const double prefill_seconds = seconds_since(start);

    session.sync(std::span(prompt).first(depth + 1));
    Sampler sampler(settings_from(options, script_settings()).sampler);  // greedy if nothing else is said
    DecodeOptions how;
    how.max_tokens = n_decode;
    uint32_t made = 0;
    start = Clock::now();
    session.decode(sampler, how, [&](const SampledToken&) { return ++made, true; });
    const double decode_seconds = seconds_since(start);
    if (made == 0) throw Error(ErrorKind::runtime, "bench: the model's logits are not numbers");
    if (run == 0) continue;
    prefill.push_back(result.evaluated / prefill_seconds);
    decode.push_back(made / decode_seconds);
  }

  const Figures p = figures(prefill);
  const Figures d = figures(decode);
  // What one decoded token has to read: all weights once, and half of what it writes of keys and values.
  const double kv = needed == 0 ? 0 : static_cast<double>(plan.kv_cache) / needed * (depth + n_decode / 2.0);
  // On the CPU the copy of a large head in 8 bits is read in place of the head.
  const bool shortlisted = model.engine->device().cpu && plan.head_copy != 0;
  const uint64_t head = shortlisted ? plan.head_copy : plan.embedding;
  const double bytes = static_cast<double>(plan.ternary + head + plan.norms) + kv;
  const double gigabytes = bytes * d.median / 1e9;
  // Measured in the same minute as the rest: what the memory gives, and what decode with all of the head's
  // F16 rows could reach at best with it.
  const double reading = model.engine->read_bandwidth();
  const double percent = reading > 0 ? 100 * gigabytes * 1e9 / reading : 0;
  const double plain = reading / (static_cast<double>(plan.ternary + plan.embedding + plan.norms) + kv);
  if (options.json) {
    const nlohmann::ordered_json j = {
        {"model", info.name},
        {"fingerprint", info.fingerprint},
        {"device", model.engine->device().name},
        {"driver", model.engine->device().driver},
        {"depth", depth},
        {"runs", options.bench_repeat},
        {"load",
         {{"bytes", info.file_bytes},
          {"seconds", model.load_seconds},
          {"upload_seconds", model.upload_seconds}}},
        {"prefill", {{"tokens", n_prompt}, {"median", p.median}, {"min", p.least}, {"max", p.most}}},
        {"decode",
         {{"tokens", n_decode},
          {"median", d.median},
          {"min", d.least},
          {"max", d.most},
          {"bytes_per_token", bytes},
          {"gb_per_s", gigabytes},
          {"percent_of_copy_speed",
           reading > 0 ? nlohmann::ordered_json(percent) : nlohmann::ordered_json()}}},
        {"read_gb_per_s", reading / 1e9},
        {"plain_head_bound", plain}};
    out.write(j.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
    return;
  }
  out.write(fmt::format("{} on {}\n", printable(info.name), printable(model.engine->device().name)));
  out.write(fmt::format("loading {:.2f} s, of which {:.2f} s took the weights to the device\n",
                        model.load_seconds, model.upload_seconds));
  out.write(fmt::format("prefill {:>6} tokens at depth {}: {:>10.1f} tokens/s (min {:.1f}, max {:.1f})\n",
                        n_prompt, depth, p.median, p.least, p.most));
  out.write(fmt::format(
      "decode  {:>6} tokens at depth {}: {:>10.1f} tokens/s (min {:.1f}, max {:.1f}), {:.2f} GB/s\n",
      n_decode, depth, d.median, d.least, d.most, gigabytes));
  if (reading > 0)
    out.write(
        fmt::format("memory  {:.2f} GB/s here and now, of which decode has {:.0f} %; with the whole head at "
                    "F16 that is {:.1f} tokens/s at best, "
                    "decode is {:.2f} times as fast\n",
                    reading / 1e9, percent, plain, d.median / plain));
}

}  // namespace bitnet
