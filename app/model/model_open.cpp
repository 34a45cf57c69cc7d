#include "model_open.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <memory>

#include "app/base/npy.h"
#include "app/base/places.h"
#include "app/text/text_file.h"
#include "driver_check.h"
#include "engine/error.h"
#include "engine/open_model.h"

namespace bitnet {

EngineOptions engine_options(const ModelOptions& options) {
  EngineOptions engine;
  engine.device = options.device;
  if (const uint32_t most = most_threads(); options.threads > most)
    throw Error(ErrorKind::usage,
                fmt::format("threads: wanted {}, as many as this process may run at once, found {}",
                            most == 1 ? "1" : fmt::format("1 to {}", most), options.threads));
  engine.threads = options.threads;
  engine.layout = options.i2s_layout;
  engine.activation = options.activation;
  engine.vram = options.vram;
  engine.ram = options.ram;
  engine.n_ctx = options.ctx;
  engine.expert_trace = options.expert_trace;
  for (const SteerOption& steer : options.steers) {
    auto [shape, vector] = read_npy(read_file(steer.file, kMostNpyBytes), steer.file);
    if (std::ranges::count_if(shape, [](size_t n) { return n != 1; }) > 1)
      throw Error(ErrorKind::usage,
                  fmt::format("{}: wanted one vector, found rows of them", printable(steer.file)));
    for (float& value : vector) value *= steer.scale;
    engine.interventions.steers.push_back({steer.layer, std::move(vector)});
  }
  engine.interventions.ablated = options.ablated;
  engine.cache_folder = cache_folder();
  return engine;
}

std::string vram_notice(const VramBudget& vram, const DeviceInfo& device) {
  if (!device.cpu || vram.kind == VramBudget::Kind::automatic) return "";
  return "--vram limits nothing here, because the CPU computes; --ram limits its memory.";
}

KvFiles kv_files(uint32_t mebibytes) {
  const std::string folder = cache_folder();
  return folder.empty() ? KvFiles() : KvFiles(folder + "/kv", uint64_t{mebibytes} << 20);
}

CheckDevice device_check_for(const ModelOptions& options) {
  return [options](const std::string& device) {
    EngineOptions engine = engine_options(options);
    if (!device.empty()) engine.device = device;
    find_device(engine);
  };
}

namespace {

OpenModel opener_of(std::shared_ptr<const Checkpoint> file, const ModelOptions& options) {
  engine_options(options);  // so that what it refuses is refused now
  return [file, options](const std::function<bool(double)>& on_progress, const std::string& device) {
    LoadedModel model;
    on_progress(0);
    // The tokenizer is made while the weights are on their way.
    auto text = std::async(std::launch::async | std::launch::deferred,  // behind them where no thread is had
                           [&] { return read_model_text(*file, options.chat_template); });
    EngineOptions engine = engine_options(options);
    if (!device.empty()) engine.device = device;
    engine.on_progress = [&](uint64_t done, uint64_t total) {
      return on_progress(total == 0 ? 1.0 : static_cast<double>(done) / static_cast<double>(total));
    };
    model.engine = Engine::open(*file, engine);
    model.create_session = [engine = model.engine.get()](uint32_t n_ctx) {
      return Session::create(*engine, n_ctx);
    };
    if (options.expert_trace.empty())  // of which these tokens are no part
      model.warning = driver_warning(*model.engine, model.create_session, engine.cache_folder);
    model.notice = vram_notice(options.vram, model.engine->device());
    model.session = model.create_session(options.ctx);
    model.text = text.get();
    return model;
  };
}

}  // namespace

OpenModel opener_for(const ModelOptions& options) {
  std::shared_ptr<const Checkpoint> file = open_model(find_model(options.model, options.model_folders));
  read_model_info(*file, options.activation);
  return opener_of(std::move(file), options);
}

OpenModel other_opener_for(ModelOptions options) {
  std::shared_ptr<const Checkpoint> file = open_model(find_model(options.model, options.model_folders));
  options.ctx = std::min(options.ctx, read_model_info(*file, options.activation).n_ctx_train);
  read_model_text(*file, options.chat_template);  // before the model that works is closed
  return opener_of(std::move(file), options);
}

}  // namespace bitnet
