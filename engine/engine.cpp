#include "engine/engine.h"

#include <algorithm>
#include <cctype>

#include "engine/error.h"
#include "engine/kernel_options.h"
#include "engine/lower.h"
#include "engine/read_ahead.h"
#include "engine/weights/loader.h"
#include "fingerprint.h"
#include "plain_kernels.h"
#include "session.h"
#include "watch.h"

namespace bitnet {
namespace {

bool is_cpu_by_name(const std::string& wanted) { return lower(wanted) == "cpu"; }

// Requires hold_vulkan.
bool is_for_cpu(const EngineOptions& options) {
  const std::string& wanted = options.device;
  if (is_cpu_by_name(wanted)) return true;
  const std::vector<DeviceInfo> devices = list_devices();  // the CPU is the last one
  const auto is_gpu = [](const DeviceInfo& d) { return !d.cpu && !d.software && d.unusable.empty(); };
  if (wanted.empty()) return std::ranges::none_of(devices, is_gpu);
  if (std::ranges::all_of(wanted, [](unsigned char c) { return std::isdigit(c) != 0; }))
    return wanted == std::to_string(devices.back().index);
  const auto first = std::ranges::find_if(
      devices, [&](const DeviceInfo& d) { return lower(d.name).find(lower(wanted)) != std::string::npos; });
  return first != devices.end() && first->cpu;
}

std::unique_ptr<Backend> open_backend(const EngineOptions& options) {
  const auto vulkan = is_cpu_by_name(options.device) ? nullptr : hold_vulkan();
  return is_for_cpu(options) ? open_cpu(options) : open_vulkan(options);
}

}  // namespace

std::shared_ptr<const KernelOptions> plain_kernels() {
  return share({.cpu_kernels = "scalar", .head_shortlist = HeadShortlist::never});
}

std::vector<DeviceInfo> list_devices() {
  std::vector<DeviceInfo> devices = list_vulkan_devices();
  DeviceInfo cpu = describe_cpu({});
  cpu.index = static_cast<uint32_t>(devices.size());
  devices.push_back(std::move(cpu));
  return devices;
}

DeviceInfo find_device(const EngineOptions& options) {
  const auto vulkan = is_cpu_by_name(options.device) ? nullptr : hold_vulkan();
  return is_for_cpu(options) ? describe_cpu(options) : find_vulkan(options);
}

ReadSpeeds read_speeds(const EngineOptions& options) {
  const auto vulkan = is_cpu_by_name(options.device) ? nullptr : hold_vulkan();
  return is_for_cpu(options) ? cpu_speeds(options) : vulkan_speeds(options);
}

std::unique_ptr<Engine> Engine::open(const Checkpoint& file, const EngineOptions& options) {
  const ModelFile files = read_model(file, options.activation);  // checked before a device is touched
  if (!options.expert_trace.empty() && files.config.n_expert == 0)
    throw Error(ErrorKind::usage, "--expert-trace: this model has no experts, so there is nothing to write");
  auto ahead = std::make_unique<const ReadAhead>(file.files());
  FileHash hash(file, options.cache_folder);  // beside the loading
  std::unique_ptr<Backend> backend = open_backend(options);
  backend->suit(files.config);
  const bool is_automatic = options.vram.kind == VramBudget::Kind::automatic;
  const MemoryPlan plan = plan_memory(files, options.n_ctx);
  DeviceInfo device = backend->device();
  Placement placement = place_model(plan, device, options);
  if (placement.fives && placement.in_host != 0) {
    const ReadSpeeds speeds = read_speeds(options);
    backend->choose_way(speeds);
    device.has_copy_queue = fives_pay(speeds);
    if (!device.has_copy_queue) placement = place_model(plan, device, options);
  }
  if (!is_automatic) backend->limit_memory(vram_budget(options.vram, backend->device()));
  try {
    backend->make_slots(placement.slots);
  } catch (const Error&) {
    if (!is_automatic) throw;
    placement.slots = 0;  // the device has less memory than its driver said
  }
  if (placement.head_copy) backend->allow_head_copy();
  backend->make_expert_places(placement.expert_places);
  std::unique_ptr<WeightReader> reader;
  std::vector<BufferPtr> places;
  if (placement.in_file != 0) {
    reader = std::make_unique<WeightReader>(file.files());
    while (places.size() < kWeightPlaces)
      places.push_back(backend->allocate(placement.places, BufferUse::host_weights));
  }
  const bool may_move = is_automatic && !backend->device().unified && options.ram == kNoLimit;
  Model model = load_model(files, *backend, options.layout, {placement, may_move, reader.get(), places},
                           options.on_progress);
  intervene(model, *backend, options.interventions);
  model.config.fingerprint = fingerprint(hash.wait(), options);
  for (WeightPiece& piece : placement.pieces) piece.tensor = nullptr;  // the file may go
  auto engine = std::make_unique<LoadedEngine>(file.mapping(), std::move(backend), std::move(model),
                                               kernels_of(options), std::move(placement));
  engine->expert_trace = options.expert_trace;
  if (reader) engine->read_with(std::move(reader), std::move(places));
  if (engine->mapping) engine->files = file.files();
  if (engine->mapping) engine->ahead = std::move(ahead);  // its pages are wanted by the first token
  return engine;
}

std::unique_ptr<Session> Session::create(Engine& engine, uint32_t n_ctx) {
  return std::make_unique<DeviceSession>(static_cast<LoadedEngine&>(engine), n_ctx);
}

const char* name_of(Finish finish) {
  switch (finish) {
    case Finish::stop:
      return "stop";
    case Finish::length:
      return "length";
    case Finish::context:
      return "context";
    case Finish::interrupted:
      return "interrupted";
    case Finish::numeric:
      return "numeric";
  }
  return "";
}

}  // namespace bitnet
