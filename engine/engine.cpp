#include "engine/engine.h"

#include "session.h"

namespace bitnet {

std::unique_ptr<Engine> Engine::open(const GgufFile& file, const EngineOptions& options) {
  const Config config = read_config(file);
  const ModelFiles files = find_tensors(file, config);  // the file is checked before a device is touched
  std::unique_ptr<Backend> backend = open_vulkan(options);
  Model model = load_model(config, files, *backend, options.layout, options.on_progress);
  return std::make_unique<LoadedEngine>(std::move(backend), std::move(model));
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
