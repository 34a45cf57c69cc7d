// 'bitnet-chat bench validate': whether a device computes what it should, stage by stage and in batches of
// any size, and what is needed to look into it elsewhere: one file to attach to the report of a bug.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/base/exit_code.h"
#include "app/base/places.h"
#include "app/model/driver_check.h"
#include "app/model/model_file.h"
#include "app/model/model_open.h"
#include "app/probe/validation.h"
#include "bench_report.h"
#include "commit.h"
#include "engine/engine.h"
#include "engine/open_model.h"
#include "engine/plain_kernels.h"
#include "running_model.h"
#include "safe_output.h"
#include "tools.h"

namespace bitnet {
namespace {

using nlohmann::ordered_json;

// What the stages are compared with.
struct Reference {
  const char* kind;  // "golden" or "cpu"
  std::string words;
  StageValues values;
};

// The values of the CPU's plain kernels, which no instruction set and no driver has a part in.
StageValues computed_plainly(const Options& options, const Checkpoint& file,
                             const std::vector<int32_t>& tokens) {
  EngineOptions plain = engine_options(options);
  plain.device = "cpu";
  plain.kernels = plain_kernels();
  plain.n_ctx = static_cast<uint32_t>(tokens.size());
  plain.vram = {};
  plain.interventions = {};  // they are a mistake that is wanted, to see it found
  plain.expert_trace.clear();
  const auto engine = Engine::open(file, plain);
  const auto session = Session::create(*engine, plain.n_ctx);
  return observed_values(*session, tokens, engine->model().n_layer, 0);
}

ordered_json of_build() {
  const std::string commit = kCommit;
  return {{"version", BITNET_VERSION},
          {"commit", commit.empty() ? ordered_json() : ordered_json(commit)},
          {"compiler", BITNET_COMPILER},
          {"flags", BITNET_FLAGS}};
}

ordered_json of_device(const DeviceInfo& device) {
  return {{"name", device.name},
          {"driver", device.driver},
          {"api", device.api},
          {"software", device.software},
          {"memory_bytes", device.memory_bytes},
          {"unified", device.unified},
          {"subgroup_size", device.subgroup_size},
          {"integer_dot", device.integer_dot},
          {"fast_integer_dot", device.fast_integer_dot},
          {"int8_matrix", device.int8_matrix},
          {"copy_queue", device.has_copy_queue},
          {"arithmetic", device.arithmetic}};
}

ordered_json of_stage(const StageDifference& d) {
  return {{"pass", d.pass},
          {"layer", d.layer},
          {"stage", name_of(d.stage)},
          {"cosine", d.cosine},
          {"bar", d.bar},
          {"largest_difference", d.largest_difference},
          {"largest_value", d.largest_value},
          {"good", d.good()}};
}

std::string line_of(const StageDifference& d) {
  return fmt::format(
      "{:<5}{:<8} layer {:<3} {:<10} 1 - cosine {:.1e} (bar {:.0e}), largest difference {:.2e} of {:.2e}\n",
      d.good() ? "ok" : "FAIL", d.pass, d.layer, name_of(d.stage), 1 - d.cosine, 1 - d.bar,
      d.largest_difference, d.largest_value);
}

ordered_json of_batch(const BatchDifference& d) {
  return {{"batch", d.batch},
          {"same", d.same},
          {"largest_difference", d.largest_difference},
          {"largest_value", d.largest_value}};
}

std::string text_of(const ordered_json& report, const std::vector<StageDifference>& all,
                    const std::vector<BatchDifference>& batches) {
  std::string text =
      fmt::format("{} on {}, {}\ncompared with {}\n", printable(report["model"]["name"].get<std::string>()),
                  printable(report["device"]["name"].get<std::string>()),
                  printable(report["device"]["driver"].get<std::string>()),
                  report["compared_with"]["what"].get<std::string>());
  for (const StageDifference& d : all) text += line_of(d);
  for (const BatchDifference& d : batches)
    text += fmt::format("{:<5}{}\n", d.same ? "ok" : "FAIL", describe(d));
  text += fmt::format("prefill {:.1f} tokens/s, decode {:.1f} tokens/s\n",
                      report["bench"]["prefill"]["median"].get<double>(),
                      report["bench"]["decode"]["median"].get<double>());
  if (report["good"]) return text + "all stages and batches agree\n";
  return text + fmt::format("the first to fail: {}\n", report["first_failure"].get<std::string>());
}

}  // namespace

int tool_validate(const Options& options, Output& out, Output& err) {
  const auto file = open_model(find_model(options.model, options.model_folders));
  std::vector<StageValues> found;
  std::vector<BatchDifference> batches;
  ordered_json report = {{"schema_version", 3}, {"good", true}, {"first_failure", nullptr}};
  std::optional<StageValues> golden;
  {
    const uint32_t n_ctx = bench_context(options);
    const RunningModel model = open_running_model(options, std::max(n_ctx, 16U));
    const ModelInfo& info = model.engine->model();
    golden = golden_values(*file, info.n_layer, shared_folder() / "stages.gguf");
    const std::vector<int32_t> tokens = golden ? golden->tokens : tokens_to_validate(info.n_vocab);
    for (const uint32_t batch : {0, 1})
      found.push_back(observed_values(*model.session, tokens, info.n_layer, batch));
    batches = batch_differences(*model.session, tokens, {2, 3, 4, 8, 0});
    report["compared_with"] = nullptr;
    report["build"] = of_build();
    report["device"] = of_device(model.engine->device());
    report["model"] = ordered_json{
        {"name", info.name},      {"file", std::filesystem::path(file->path()).filename().string()},
        {"bytes", file->size()},  {"architecture", info.architecture},
        {"layers", info.n_layer}, {"fingerprint", info.fingerprint}};
    report["tokens"] = tokens;
    report["stages"] = report["batches"] = ordered_json::array();
    report["bench"] = bench_report(options, model, n_ctx);
  }
  // The device is free again before the CPU takes as much memory.
  if (!golden && err.is_terminal())
    err.write("computing the same with the CPU's plain kernels, which takes its time\n");
  const StageValues reference = golden ? *golden : computed_plainly(options, *file, found[0].tokens);
  report["compared_with"] = ordered_json{{"kind", golden ? "golden" : "cpu"},
                                         {"what", golden ? "golden values, computed in float64"
                                                         : "the plain C++ kernels of the CPU, here and now"}};
  std::vector<StageDifference> all = differences(reference, found[0], "prefill");
  std::ranges::copy(differences(reference, found[1], "decode"), std::back_inserter(all));
  for (const StageDifference& d : all) {
    report["stages"].push_back(of_stage(d));
    if (d.good() || !report["good"]) continue;
    report["good"] = false;
    report["first_failure"] = describe(d);
  }
  for (const BatchDifference& d : batches) {
    report["batches"].push_back(of_batch(d));
    if (d.same || !report["good"]) continue;
    report["good"] = false;
    report["first_failure"] = describe(d);
  }
  if (options.json)
    print_json(out, report, 1);
  else
    print_safe(out, text_of(report, all, batches));
  return report["good"] ? 0 : exit_code_of(ErrorKind::mismatch);
}

}  // namespace bitnet
