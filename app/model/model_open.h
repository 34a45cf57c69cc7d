// Opens a model for work: file, tokenizer, engine on a device, session.
//
// Thread rule: free functions; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "worker.h"

namespace bitnet {

// A vector of an .npy file that is added, `scale` times, to the residual stream after a layer.
struct SteerOption {
  uint32_t layer = 0;
  std::string file;
  float scale = 1;
};

// Which model, and where it runs.
struct ModelOptions {
  std::string model;  // a file or the name of one that is here (models.h); empty: the bundled one
  std::vector<std::string> model_folders;  // with more models
  std::string chat_template;               // a file; empty: the model's own
  std::string device;
  uint32_t threads = 0;  // of the CPU; 0 = what the process may use
  I2sLayout i2s_layout = I2sLayout::block128;
  Activation activation = Activation::of_file;
  uint32_t ctx = 0;  // 0 = usual_context()
  VramBudget vram;
  uint64_t ram = kNoLimit;
  std::vector<SteerOption> steers;
  std::vector<Interventions::Head> ablated;
  std::string expert_trace;  // a file; empty: none
};

// What is to be said of --vram on this device; empty where it has its usual meaning.
std::string vram_notice(const VramBudget& vram, const DeviceInfo& device);

// What the options say about the device, the weights and interventions. Throws Error(usage) for more threads
// than this process may run at once, and for a file of --steer that has no vector.
EngineOptions engine_options(const ModelOptions& options);

// Timelines in the folder kv of the cache folder, at most so many MiB of them.
KvFiles kv_files(uint32_t mebibytes);

// What a Worker calls before it closes a model that works, to open it on another device.
CheckDevice device_check_for(const ModelOptions& options);

// What a Worker or a tool calls to open the model of these options. The file is opened and checked by this
// call already, so that what cannot be run is an Error(model) before anything else begins.
OpenModel opener_for(const ModelOptions& options);
// The same for a model that takes the place of another: of a larger context than it was trained for it has
// what it was trained for.
OpenModel other_opener_for(ModelOptions options);

// How a chat opens other models.
struct ModelSource {
  ModelOptions options;                                                     // of the one that it began with
  std::function<OpenModel(const ModelOptions&)> opener = other_opener_for;  // tests give a fake
};

}  // namespace bitnet
