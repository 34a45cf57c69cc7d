// 'bitnet-chat bench': how fast a device reads a prompt and writes an answer, and which part of its memory's
// speed that is.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <span>

#include "app/base/clock.h"
#include "app/base/sizes.h"
#include "app/model/link_reads.h"
#include "app/model/model_open.h"
#include "bench_report.h"
#include "engine/engine.h"
#include "engine/error.h"
#include "engine/open_model.h"
#include "running_model.h"
#include "safe_output.h"
#include "tools.h"

namespace bitnet {
namespace {

using Clock = std::chrono::steady_clock;

// Tokens a second over the runs.
struct Figures {
  double median, least, most;
};

Figures figures(std::vector<double> rates) {
  std::sort(rates.begin(), rates.end());
  const size_t n = rates.size();
  const double median = n % 2 == 1 ? rates[n / 2] : (rates[n / 2 - 1] + rates[n / 2]) / 2;
  return {median, rates.front(), rates.back()};
}

// Ids as a text could have them. From position `from` on they differ from run to run, so that nothing is
// reused.
std::vector<int32_t> made_up(uint32_t count, uint32_t n_vocab, uint32_t from, uint32_t run) {
  std::vector<int32_t> ids(count);
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t step = i < from ? 0 : run + 1;
    ids[i] = static_cast<int32_t>((uint64_t{i} * 7919 + step * 104729 + 17) % n_vocab);
  }
  return ids;
}

struct Speeds {
  Figures prefill;
  Figures decode;
};

// Prefills and decodes as often as the command line says, and once more before that: the first run pays for
// pages and pipelines, and does not count.
Speeds measure(const Options& options, Session& session, uint32_t n_vocab) {
  const uint32_t depth = options.bench_depth;
  std::vector<double> prefill;
  std::vector<double> decode;
  for (uint32_t run = 0; run <= options.bench_repeat; ++run) {
    const std::vector<int32_t> prompt = made_up(depth + options.bench_prompt, n_vocab, depth, run);
    if (depth > 0) session.sync(std::span(prompt).first(depth));
    Clock::time_point start = Clock::now();
    const SyncResult result = session.sync(prompt);
    const double prefill_seconds = seconds_since(start);

    session.sync(std::span(prompt).first(depth + 1));
    Sampler sampler(settings_from(options, script_settings()).sampler);  // greedy if nothing else is said
    DecodeOptions how;
    how.max_tokens = options.bench_tokens;
    uint32_t made = 0;
    start = Clock::now();
    session.decode(sampler, how, [&](const SampledToken&) { return ++made, true; });
    const double decode_seconds = seconds_since(start);
    if (made == 0) throw Error(ErrorKind::runtime, "bench: the model's logits are not numbers");
    if (run == 0) continue;
    prefill.push_back(result.evaluated / prefill_seconds);
    decode.push_back(made / decode_seconds);
  }
  return {figures(prefill), figures(decode)};
}

// What decode reads, against what the memory gives in the same minute.
struct Traffic {
  // All weights once, and half of the keys and values that the run writes. On the CPU, which keeps weights in
  // other ways than the file and reads a copy of a large head, they are counted as they lie in the file.
  double bytes_per_token;
  double gb_per_s;       // of decode
  double read_gb_per_s;  // of the device's memory; 0: not known
  double percent;        // of read_gb_per_s that decode has
  double link_gb_per_s;  // of weights in host memory, while it decodes
  double link_speed;     // GB/s, of that link; 0: it is not used
  double plain_bound;    // tokens/s that decode could reach at best if it read all as it lies in the file
  FileReads reads;       // of weights that stay in the file, in all runs
  ExpertReads experts;   // in all runs
};

Traffic traffic_of(const Options& options, const RunningModel& model, uint32_t n_ctx, double tokens_per_s) {
  const MemoryPlan plan = plan_memory(*model.file, n_ctx);
  const uint32_t middle = options.bench_depth + options.bench_tokens / 2;  // of the positions decoded
  const auto kv = static_cast<double>(plan_memory(*model.file, std::max(middle, 1U)).kv_read);
  const double plain_bytes = static_cast<double>(plan.decode_file) + kv;
  const double bytes = model.engine->device().cpu
                           ? plain_bytes
                           : static_cast<double>(plan.projections + plan.head + plan.norms) + kv;
  const double gb_per_s = bytes * tokens_per_s / 1e9;
  const double reading = model.engine->read_bandwidth();
  const ExpertReads experts = model.engine->expert_reads();
  const auto streamed = static_cast<double>(read_in_host(model.engine->placement(), experts));
  const ReadSpeeds speeds = streamed == 0 ? ReadSpeeds() : read_speeds(engine_options(options));
  const double link = model.engine->placement().fives ? speeds.of_copies : speeds.of_host;
  return {bytes,
          gb_per_s,
          reading / 1e9,
          reading > 0 ? 100 * gb_per_s * 1e9 / reading : 0,
          streamed * tokens_per_s / 1e9,
          link / 1e9,
          reading / plain_bytes,
          model.engine->file_reads(),
          experts};
}

// Bytes a second that its threads read of the file, while they read.
double file_rate(const FileReads& reads) {
  return reads.seconds > 0 ? kWeightReaders * static_cast<double>(reads.bytes) / reads.seconds : 0;
}

nlohmann::ordered_json json_report(const Options& options, const RunningModel& model, const Speeds& speeds,
                                   const Traffic& traffic) {
  using nlohmann::ordered_json;
  const ModelInfo& info = model.engine->model();
  return {{"model", info.name},
          {"fingerprint", info.fingerprint},
          {"device", model.engine->device().name},
          {"driver", model.engine->device().driver},
          {"depth", options.bench_depth},
          {"runs", options.bench_repeat},
          {"load",
           {{"bytes", info.file_bytes},
            {"seconds", model.load_seconds},
            {"upload_seconds", model.upload_seconds}}},
          {"prefill",
           {{"tokens", options.bench_prompt},
            {"median", speeds.prefill.median},
            {"min", speeds.prefill.least},
            {"max", speeds.prefill.most}}},
          {"decode",
           {{"tokens", options.bench_tokens},
            {"median", speeds.decode.median},
            {"min", speeds.decode.least},
            {"max", speeds.decode.most},
            {"dispatches_per_token", model.session->stats().token_dispatches},
            {"bytes_per_token", traffic.bytes_per_token},
            {"gb_per_s", traffic.gb_per_s},
            {"percent_of_copy_speed",
             traffic.read_gb_per_s > 0 ? ordered_json(traffic.percent) : ordered_json()}}},
          {"read_gb_per_s", traffic.read_gb_per_s},
          {"placement",
           {{"on_device", model.engine->placement().on_device},
            {"in_host", model.engine->placement().in_host},
            {"read_in_host", model.engine->placement().read_in_host},
            {"in_file", model.engine->placement().in_file},
            {"read_in_file", model.engine->placement().read_in_file},
            {"file_gb_per_s", file_rate(traffic.reads) / 1e9},
            {"link_gb_per_s", traffic.link_gb_per_s},
            {"percent_of_link", traffic.link_speed > 0
                                    ? ordered_json(100 * traffic.link_gb_per_s / traffic.link_speed)
                                    : ordered_json()},
            {"expert_places", model.engine->placement().expert_places},
            {"expert_uses", traffic.experts.uses},
            {"expert_hits", traffic.experts.hits},
            {"expert_copies", traffic.experts.copies}}},
          {"plain_head_bound", traffic.plain_bound}};
}

std::string text_report(const Options& options, const RunningModel& model, const Speeds& speeds,
                        const Traffic& traffic) {
  const Figures& p = speeds.prefill;
  const Figures& d = speeds.decode;
  std::string text = fmt::format("{} on {}\n", printable(model.engine->model().name),
                                 printable(model.engine->device().name));
  const std::string behind =
      options.bench_depth == 0 ? "" : fmt::format(", behind {} others", options.bench_depth);
  text += fmt::format("loading    {:.2f} s, of which {:.2f} s took the weights to the device\n",
                      model.load_seconds, model.upload_seconds);
  text += fmt::format("reading    {:>10.1f} tokens/s ({:.1f} to {:.1f}; {} tokens of a prompt{})\n", p.median,
                      p.least, p.most, options.bench_prompt, behind);
  text += fmt::format("answering  {:>10.1f} tokens/s ({:.1f} to {:.1f}; {} tokens{})\n", d.median, d.least,
                      d.most, options.bench_tokens, behind);
  if (const uint32_t n = model.session->stats().token_dispatches; n != 0) {
    const bool many = !model.engine->device().software && n > model.engine->model().n_layer;
    text += fmt::format("dispatches {} a token{}\n", n,
                        many ? ": its blocks do not run as one, which would be faster" : "");
  }
  const Placement places = model.engine->placement();
  if (places.in_host != 0)
    text += fmt::format(
        "weights    {} on the device, {} in the computer's memory, of which a token reads {}\n"
        "           at {:.2f} GB/s, {:.0f} % of what the link gives {}\n",
        size_text(places.on_device), size_text(places.in_host), size_text(places.read_in_host),
        traffic.link_gb_per_s, 100 * traffic.link_gb_per_s / traffic.link_speed,
        places.fives ? "copies" : "a kernel");
  if (const ExpertReads& e = traffic.experts; e.uses != 0)
    text += fmt::format(
        "experts    {} places a layer; {:.1f} % of those that tokens used had one, and copies were {:.1f} %\n",
        places.expert_places, 1e2 * static_cast<double>(e.hits) / static_cast<double>(e.uses),
        1e2 * static_cast<double>(e.copies) / static_cast<double>(e.uses));
  if (places.in_file != 0)
    text += fmt::format(
        "file       {} stay in it, of which a token reads {}, at {:.2f} GB/s\n"
        "           {}through the system's cache\n",
        size_text(places.in_file), size_text(places.read_in_file), file_rate(traffic.reads) / 1e9,
        traffic.reads.past_cache ? "not " : "");
  if (traffic.read_gb_per_s > 0)
    text += fmt::format("memory     {:.1f} GB/s here and now, of which answering takes {:.0f} %\n",
                        traffic.read_gb_per_s, traffic.percent);
  if (!options.verbose) return text;
  text += fmt::format("detail     {:.2f} GB/s of weights while it answers\n", traffic.gb_per_s);
  if (traffic.read_gb_per_s > 0)
    text += fmt::format(
        "           all weights as they lie in the file, the head of {} among them, would allow "
        "{:.1f} tokens/s; this is {:.2f} times as fast\n",
        model.engine->model().head_type, traffic.plain_bound, d.median / traffic.plain_bound);
  return text;
}

}  // namespace

uint32_t bench_context(const Options& options) {
  const ModelInfo info =
      read_model_info(*open_model(find_model(options.model, options.model_folders)), options.activation);
  const uint32_t needed = options.bench_depth + std::max(options.bench_prompt, options.bench_tokens + 1);
  if (needed > info.n_ctx_train) {
    throw Error(ErrorKind::usage,
                fmt::format("bench: {} tokens asked for, the model's context holds {}; give smaller "
                            "-d, -p or -n",
                            needed, info.n_ctx_train));
  }
  return needed;
}

nlohmann::ordered_json bench_report(const Options& options, const RunningModel& model, uint32_t n_ctx) {
  const Speeds speeds = measure(options, *model.session, model.engine->model().n_vocab);
  return json_report(options, model, speeds, traffic_of(options, model, n_ctx, speeds.decode.median));
}

void tool_bench(const Options& options, Output& out) {
  const uint32_t n_ctx = bench_context(options);
  const RunningModel model = open_running_model(options, n_ctx);
  if (options.json) return print_json(out, bench_report(options, model, n_ctx));
  const Speeds speeds = measure(options, *model.session, model.engine->model().n_vocab);
  print_safe(out,
             text_report(options, model, speeds, traffic_of(options, model, n_ctx, speeds.decode.median)));
}

}  // namespace bitnet
