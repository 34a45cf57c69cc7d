#include "running_model.h"

#include <chrono>

#include "app/base/clock.h"
#include "app/model/model_open.h"
#include "engine/open_model.h"

namespace bitnet {

RunningModel open_running_model(const Options& options, uint32_t n_ctx) {
  using Clock = std::chrono::steady_clock;
  RunningModel model;
  const Clock::time_point start = Clock::now();
  model.file = open_model(find_model(options.model, options.model_folders));
  EngineOptions engine = engine_options(options);
  engine.n_ctx = n_ctx;
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

}  // namespace bitnet
