// Runs a model with its weights in different places and says where anything differs from all of them on the
// device: logits of each token of a prompt, the residual stream, greedy and sampled tokens, keys and values.
// Budgets go from the smallest one to one for all; weights in host memory are read there, or copied through
// slots that are overwritten behind each use, in two bits or 1.6, or stay in the file; experts have as many
// places as fit, and each one that is missed takes a place. Then the same with copies that arrive late.
//
//   placement_soak FILE... [--device NAME] [--tokens 256] [--budgets 7] [--ways 0123456] [--as-gpu]
//
// --ways: only these of the ways below (kWays), by number.
// --as-gpu: a software device gets the kernels of a GPU and its chain of stages; with one thread
// (LP_NUM_THREADS=1).
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/kernel_options.h"
#include "engine/open_model.h"
#include "late_copies.h"

namespace {

using namespace bitnet;

constexpr uint32_t kPrompt = 40;  // tokens

struct Results {
  std::vector<float> logits, hidden;
  std::vector<int32_t> greedy, sampled;
  std::vector<std::byte> kv;
};

std::vector<int32_t> decoded(Session& session, uint32_t n, const SamplerParams& params) {
  std::vector<int32_t> ids;
  Sampler sampler(params);
  session.decode(sampler, {.max_tokens = n}, [&](const SampledToken& token) {
    ids.push_back(token.id);
    return true;
  });
  return ids;
}

Results results_of(Engine& model, uint32_t n_ctx, uint32_t tokens) {
  std::vector<int32_t> prompt(kPrompt);
  for (size_t i = 0; i < prompt.size(); ++i)
    prompt[i] = static_cast<int32_t>((i * 7919 + 5) % model.model().n_vocab);
  Results r;
  const auto session = Session::create(model, n_ctx);
  const Observation last{{Stage::residual},
                         0,
                         UINT32_MAX,
                         static_cast<uint32_t>(prompt.size() - 1),
                         [&](auto, auto, auto, auto, std::span<const float> rows) {
                           r.hidden.insert(r.hidden.end(), rows.begin(), rows.end());
                         }};
  SyncOptions options;
  options.on_logits = [&](uint32_t, std::span<const float> row) {
    r.logits.insert(r.logits.end(), row.begin(), row.end());
  };
  session->sync(prompt, options);
  session->sync(std::span(prompt).first(1));
  options = {.observe = &last};
  session->sync(prompt, options);
  r.greedy = decoded(*session, tokens, {});
  r.sampled = decoded(*session, tokens, {.temperature = 0.9F, .top_k = 40, .top_p = 0.95F, .seed = 3});
  r.kv = session->save();
  return r;
}

// What differs, or an empty text.
std::string difference(const Results& a, const Results& b) {
  std::string text;
  const auto compare = [&](const auto& x, const auto& y, const char* name) {
    if (x != y) text += std::string(" ") + name;
  };
  compare(a.logits, b.logits, "logits");
  compare(a.hidden, b.hidden, "residual stream");
  compare(a.greedy, b.greedy, "greedy tokens");
  compare(a.sampled, b.sampled, "sampled tokens");
  compare(a.kv, b.kv, "keys and values");
  return text;
}

struct Way {
  const char* name;
  HostWeights how;
  bool from_file, poisoned;
};
constexpr Way kWays[] = {{"fast", HostWeights::fast, false, false},
                         {"read where they lie", HostWeights::read, false, true},
                         {"copied for batches", HostWeights::in_batches, false, true},
                         {"copied", HostWeights::copied, false, true},
                         {"copied in 1.6 bits", HostWeights::fives, false, true},
                         {"from the file", HostWeights::fast, true, true},
                         {"from the file in 1.6 bits", HostWeights::fives, true, true}};

class Soak {
 public:
  Soak(const std::string& path, EngineOptions options, uint32_t tokens, bool as_gpu)
      : file_(open_model(path)), options_(std::move(options)), tokens_(tokens), as_gpu_(as_gpu) {
    options_.n_ctx = std::min(kPrompt + 2 * tokens, read_model_info(*file_).n_ctx_train);
    plan_ = plan_memory(*file_, options_.n_ctx);
    all_ = place(plan_.fixed(), plan_.pieces, {}).on_device;
    wanted_ = run({"", HostWeights::fast, false, false}, all_);
    fmt::print("{}: {} to {}, {} greedy and {} sampled tokens\n", path, size_option(plan_.fixed()),
               size_option(all_), wanted_.greedy.size(), wanted_.sampled.size());
  }

  // Compares the budgets from number `from` to `to`, of which 0 is the smallest one and budgets - 1 is for
  // all. Returns how many gave other results.
  int compare(const Way& way, uint32_t from, uint32_t to, uint32_t budgets) {
    int differ = 0;
    for (uint32_t i = from; i < to; ++i) {
      const uint64_t vram = plan_.fixed() + (all_ - plan_.fixed()) * i / (budgets - 1);
      const auto start = std::chrono::steady_clock::now();
      std::string found;
      try {
        found = difference(run(way, vram), wanted_);
      } catch (const Error& error) {
        found = std::string(" ") + error.what();
      }
      const double mib = 1.0 / (1 << 20);
      fmt::print(
          "  {:26} {:8.1f} MiB there, {:8.1f} in host memory, {:8.1f} in the file, {} places of experts "
          "(hits {} of {}, {} copies), {:.1f} s: {}\n",
          way.name, mib * static_cast<double>(placed_.on_device), mib * static_cast<double>(placed_.in_host),
          mib * static_cast<double>(placed_.in_file), placed_.expert_places, experts_.hits, experts_.uses,
          experts_.copies, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(),
          found.empty() ? "the same" : "differ:" + found);
      std::fflush(stdout);
      differ += found.empty() ? 0 : 1;
    }
    return differ;
  }

 private:
  Results run(const Way& way, uint64_t vram) {
    KernelOptions kernels{.as_gpu = as_gpu_, .host_weights = way.how, .poison_slots = way.poisoned};
    if (as_gpu_) kernels.chained_decode = ChainedDecode::always;
    options_.kernels = share(kernels);
    options_.vram = {VramBudget::Kind::bytes, vram};
    options_.ram = kNoLimit;
    if (way.from_file) options_.ram = least_ram();
    const auto model = Engine::open(*file_, options_);
    placed_ = model->placement();
    Results results = results_of(*model, options_.n_ctx, tokens_);
    experts_ = model->expert_reads();
    return results;
  }

  // The least of host memory that Engine::open takes with the device's budget.
  uint64_t least_ram() const {
    const DeviceInfo device = find_device(options_);
    EngineOptions options = options_;
    uint64_t least = 0, most = all_ + (uint64_t{1} << 32);
    while (least < most) {
      options.ram = (least + most) / 2;
      try {
        place_model(plan_, device, options);
        most = options.ram;
      } catch (const Error&) {
        least = options.ram + 1;
      }
    }
    return least;
  }

  std::unique_ptr<const Checkpoint> file_;
  EngineOptions options_;
  uint32_t tokens_;
  bool as_gpu_;
  MemoryPlan plan_;
  uint64_t all_ = 0;
  Results wanted_;
  Placement placed_;  // of the last run
  ExpertReads experts_;
};

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> files;
  bitnet::EngineOptions options;
  options.cache_folder = std::filesystem::temp_directory_path() / "bitnet-placement-soak";
  uint32_t tokens = 256, budgets = 7;
  std::string ways = "0123456";
  bool as_gpu = false;
  const std::vector<std::string> args(argv + 1, argv + argc);
  for (size_t i = 0; i < args.size(); ++i) {
    const auto value = [&] { return i + 1 < args.size() ? args[++i] : std::string("1"); };
    if (args[i] == "--device")
      options.device = value();
    else if (args[i] == "--tokens")
      tokens = static_cast<uint32_t>(std::stoul(value()));
    else if (args[i] == "--budgets")
      budgets = std::max(3U, static_cast<uint32_t>(std::stoul(value())));
    else if (args[i] == "--ways")
      ways = value();
    else if (args[i] == "--as-gpu")
      as_gpu = true;
    else
      files.push_back(args[i]);
  }
  int differ = 0;
  for (const std::string& file : files) {
    Soak soak(file, options, tokens, as_gpu);
    for (const bool late : {false, true}) {
      bitnet::make_copies_late(late);
      if (late) fmt::print(" with copies that arrive late:\n");
      for (const Way& way : kWays)
        if (ways.find(static_cast<char>('0' + (&way - kWays))) == std::string::npos)
          continue;
        else if (!late)
          differ += soak.compare(way, 0, budgets, budgets);
        else if (way.poisoned)
          differ += soak.compare(way, budgets / 2, budgets / 2 + 2, budgets);
    }
    bitnet::make_copies_late(false);
  }
  fmt::print("{} differ\n", differ);
  return differ == 0 ? 0 : 1;
}
