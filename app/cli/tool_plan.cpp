// 'bitnet-chat plan': what of a model would lie where, and how fast it would be.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "app/base/sizes.h"
#include "app/model/model_file.h"
#include "app/model/model_open.h"
#include "engine/engine.h"
#include "engine/open_model.h"
#include "safe_output.h"
#include "tools.h"

namespace bitnet {
namespace {

// What a GPU takes for a layer beside reading weights, on an H200: five stages that wait for each other.
constexpr double kSecondsALayer = 17e-6;
// The part of its memory's speed that the CPU has while it decodes (bench/speed/cpu.md, "CPU, 2 cores").
constexpr double kPartOnCpu = 0.9;

struct Plan {
  ModelInfo model;
  DeviceInfo device;
  MemoryPlan memory;
  Placement placement;
  uint32_t n_ctx = 0;
  uint64_t budget = kNoLimit;  // of the device
  bool is_automatic = true;    // the budget
  ReadSpeeds speeds, cpu;
  std::string notice;
};

// Tokens a second with weights in these places; nothing where it cannot be told before it is tried.
std::optional<double> rate_of(const Plan& plan, const Placement& placement) {
  if (plan.device.software || plan.speeds.of_device <= 0 || plan.speeds.of_host <= 0) return std::nullopt;
  if (placement.in_file != 0) return std::nullopt;  // of the disk nothing is known
  if (plan.device.cpu) return kPartOnCpu * plan.cpu.of_host / static_cast<double>(plan.memory.decode_file);
  const double link = placement.fives ? plan.speeds.of_copies : plan.speeds.of_host;
  const double seconds = static_cast<double>(placement.read_in_host) / link +
                         static_cast<double>(placement.read_on_device) / plan.speeds.of_device +
                         kSecondsALayer * plan.model.n_layer;
  return 1 / seconds;
}

double cpu_rate(const Plan& plan) {
  return kPartOnCpu * plan.cpu.of_host / static_cast<double>(plan.memory.decode_file);
}

uint64_t all_on_device(const Plan& plan) {
  const uint64_t snapshots = plan.device.cpu ? plan.memory.snapshots : 0;
  return place(plan.memory.fixed() + snapshots, plan.memory.pieces, {}).on_device;
}

Plan make_plan(const Options& options) {
  const auto file = open_model(find_model(options.model, options.model_folders));
  Plan plan;
  plan.model = read_model_info(*file, options.activation);
  if (options.ctx > plan.model.n_ctx_train)
    throw Error(ErrorKind::usage, fmt::format("--ctx {}: the model was trained for {} tokens of context",
                                              options.ctx, plan.model.n_ctx_train));
  const EngineOptions engine = engine_options(options);
  plan.n_ctx = options.ctx == 0 ? usual_context(plan.model) : options.ctx;
  plan.memory = plan_memory(*file, plan.n_ctx);
  plan.device = find_device(engine);
  plan.is_automatic = engine.vram.kind == VramBudget::Kind::automatic;
  if (!plan.device.cpu) plan.budget = vram_budget(engine.vram, plan.device);
  EngineOptions on_cpu = engine;
  on_cpu.device = "cpu";
  plan.cpu = read_speeds(on_cpu);
  plan.speeds = plan.device.cpu ? plan.cpu : read_speeds(engine);
  if (!fives_pay(plan.speeds)) plan.device.has_copy_queue = false;  // as the engine has it
  plan.placement = place_model(plan.memory, plan.device, engine);
  plan.notice = vram_notice(engine.vram, plan.device);
  return plan;
}

// Whether the device's memory is the computer's.
bool has_one_memory(const Plan& plan) {
  return plan.device.cpu || (plan.device.unified && plan.is_automatic);
}

// A row of the table: what lies where of all pieces of a kind.
struct Row {
  std::string name;
  uint64_t on_device = 0, in_host = 0, read = 0, in_file = 0;
};

std::vector<Row> rows_of(const Plan& plan) {
  using enum WeightPiece::Kind;
  std::vector<Row> rows;
  for (const auto& [kind, name] :
       {std::pair(head, fmt::format("LM head, {}",
                                    plan.model.tied_head ? plan.model.embedding_type : plan.model.head_type)),
        std::pair(attention, fmt::format("attention of {} layers", plan.model.n_layer)),
        std::pair(feed_forward, fmt::format("feed-forward of {} layers", plan.model.n_layer)),
        std::pair(experts, fmt::format("experts of {} layers", plan.model.n_layer)),
        std::pair(embedding, fmt::format("embedding, {}", plan.model.embedding_type))}) {
    Row row{name};
    for (size_t i = 0; i < plan.placement.pieces.size(); ++i) {
      const WeightPiece& piece = plan.placement.pieces[i];
      if (piece.kind != kind) continue;
      const Home home = plan.placement.homes[i];
      (home == Home::device ? row.on_device : home == Home::host ? row.in_host : row.in_file) += piece.bytes;
      row.read += piece.read;
    }
    if (row.on_device + row.in_host + row.in_file != 0) rows.push_back(row);
  }
  rows.push_back({fmt::format("KV cache of {} tokens", plan.n_ctx), plan.memory.kv_cache});
  if (plan.memory.state != 0) rows.push_back({"state of layers without keys", plan.memory.state});
  rows.push_back({"activations, norms, commands", plan.memory.activations + plan.memory.norms});
  const Placement& p = plan.placement;
  if (const uint64_t snapshots = std::min(plan.memory.snapshots, p.snapshots);
      plan.device.cpu && snapshots != 0)
    rows.push_back({"earlier states, to go back to", snapshots});
  if (p.expert_places != 0)
    rows.push_back({fmt::format("copies of {} experts a layer", p.expert_places), p.expert_bytes});
  if (p.head_copy != 0) rows.push_back({"copy of the head in 8 bits", p.head_copy});
  if (p.slots != 0) rows.push_back({"room for what is copied", kWeightSlots * p.slots});
  if (p.places != 0) {
    const bool one_memory = has_one_memory(plan);
    rows.push_back({"room for what is read", one_memory ? p.for_reading : 0, one_memory ? 0 : p.for_reading});
  }
  return rows;
}

Row sum_of(const Plan& plan) {
  const Placement& p = plan.placement;
  Row all{"in all", p.on_device, p.in_host, p.read_on_device + p.read_in_host + p.read_in_file, p.in_file};
  (has_one_memory(plan) ? all.on_device : all.in_host) += p.for_reading;
  return all;
}

std::string cell(uint64_t bytes) { return bytes == 0 ? "-" : size_text(bytes); }

std::string table_text(const Plan& plan) {
  const bool has_file = plan.placement.in_file != 0;
  std::string s;
  const auto add = [&](const std::string& name, const std::string& device, const std::string& host,
                       const std::string& read, const std::string& file) {
    std::string text = fmt::format("{:<30}{:>11}", printable(name, 29), device);  // 80 columns at most
    if (!plan.device.cpu) text += fmt::format("{:>11}", host);
    text += fmt::format("{:>15}", read);
    if (has_file) text += fmt::format("{:>13}", file);
    s += text + '\n';
  };
  add("", plan.device.cpu ? "memory" : "device", "computer", "a token reads", "in the file");
  std::vector<Row> rows = rows_of(plan);
  rows.push_back(sum_of(plan));
  for (const Row& row : rows)
    add(row.name, cell(row.on_device), cell(row.in_host), cell(row.read), cell(row.in_file));
  return s;
}

std::string rate_text(double rate) { return fmt::format("about {:.{}f} tokens/s", rate, rate < 10 ? 1 : 0); }

std::string speed_text(const Plan& plan) {
  const Placement& p = plan.placement;
  const std::optional<double> rate = rate_of(plan, p);
  if (p.in_file != 0)
    return fmt::format(
        "speed         that of the disk, of which a token reads {}\n"
        "              1 GB/s gives {:.2g} tokens/s\n",
        size_text(p.read_in_file), 1e9 / static_cast<double>(p.read_in_file));
  if (!rate) return "speed         not known before it is measured: 'bitnet-chat bench' does\n";
  const double link = p.fives ? plan.speeds.of_copies : plan.speeds.of_host;
  std::string s = fmt::format("speed         {}\n", rate_text(*rate));
  if (p.read_in_host != 0)
    s += fmt::format("link          {:.1f} GB/s to the device; a token's {} take {:.1f} ms\n", link / 1e9,
                     size_text(p.read_in_host), 1e3 * static_cast<double>(p.read_in_host) / link);
  if (p.fives && p.in_host != 0)
    s += "packing       a ternary weight takes 1.6 bits in the computer's memory, and 2 on the device\n";
  return s;
}

std::string text_of(const Plan& plan) {
  const Placement& p = plan.placement;
  std::string s = fmt::format(
      "{} on {}\n", printable(plan.model.name.empty() ? plan.model.architecture : plan.model.name, 40),
      printable(plan.device.name, 36));
  if (!plan.device.cpu) {
    s += fmt::format("memory        {}, {} free", size_text(plan.device.memory_bytes),
                     size_text(plan.device.free_bytes));
    s += plan.budget == kNoLimit ? "\n" : fmt::format("; {} may be taken\n", size_text(plan.budget));
  }
  s += '\n' + table_text(plan) + '\n' + speed_text(plan);
  if (!plan.notice.empty()) s += fmt::format("note          {}\n", plan.notice);
  if (plan.device.cpu) return s;
  if (p.in_host + p.in_file != 0) {
    const uint64_t all = all_on_device(plan);
    const std::optional<double> rate = rate_of(plan, place(plan.memory.fixed(), plan.memory.pieces, {}));
    s += fmt::format("to hold all   --vram {}{}\n", size_option(all), rate ? ": " + rate_text(*rate) : "");
  }
  s += fmt::format("the smallest  --vram {}\n", size_option(plan.memory.fixed()));
  const double cpu = cpu_rate(plan);
  const std::optional<double> rate = rate_of(plan, p);
  s += fmt::format("the CPU alone {}, with memory of {:.0f} GB/s{}\n", rate_text(cpu), plan.cpu.of_host / 1e9,
                   rate && cpu > *rate ? ": --device cpu is faster" : "");
  return s;
}

nlohmann::ordered_json json_of(const Plan& plan) {
  using nlohmann::ordered_json;
  const auto number = [](const std::optional<double>& value) {
    return value ? ordered_json(*value) : ordered_json();
  };
  ordered_json rows = ordered_json::array();
  for (const Row& row : rows_of(plan))
    rows.push_back({{"what", row.name},
                    {"on_device", row.on_device},
                    {"in_host", row.in_host},
                    {"in_file", row.in_file},
                    {"read_a_token", row.read}});
  const Placement& p = plan.placement;
  return {{"model", plan.model.name},
          {"device", plan.device.name},
          {"memory_bytes", plan.device.memory_bytes},
          {"free_bytes", plan.device.free_bytes},
          {"budget_bytes", plan.budget == kNoLimit ? ordered_json() : ordered_json(plan.budget)},
          {"context", plan.n_ctx},
          {"on_device", p.on_device},
          {"in_host", p.in_host},
          {"read_on_device", p.read_on_device},
          {"read_in_host", p.read_in_host},
          {"in_file", p.in_file},
          {"read_in_file", p.read_in_file},
          {"rows", rows},
          {"device_gb_per_s", plan.speeds.of_device / 1e9},
          {"link_gb_per_s", plan.speeds.of_host / 1e9},
          {"copies_gb_per_s", p.fives ? plan.speeds.of_copies / 1e9 : 0},
          {"tokens_per_s", number(rate_of(plan, p))},
          {"all_on_device", all_on_device(plan)},
          {"least_on_device", plan.memory.fixed()},
          {"cpu", {{"gb_per_s", plan.cpu.of_host / 1e9}, {"tokens_per_s", cpu_rate(plan)}}}};
}

}  // namespace

void tool_plan(const Options& options, Output& out) {
  const Plan plan = make_plan(options);
  if (options.json)
    print_json(out, json_of(plan));
  else
    print_safe(out, text_of(plan));
}

}  // namespace bitnet
