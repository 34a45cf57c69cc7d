// The models of this machine: what is here, under which names, and what would fit.
//
// Thread rule: free functions and plain values; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/pull/catalogue.h"
#include "engine/can_run.h"
#include "engine/engine.h"
#include "model_open.h"

namespace bitnet {

enum class ModelFrom { bundled, pulled, folder };
const char* name_of(ModelFrom from);

struct HereModel {
  // By which it may be given, as long as no file has that name: of the catalogue, OWNER/REPO/FILE, or that of
  // its file without .gguf. Where another has it already, it is the path.
  std::string name;
  std::string path;  // of a GGUF file or a folder of safetensors
  ModelFrom from = ModelFrom::bundled;
  uint64_t bytes = 0;                 // of the file, or of all files in the folder
  const CatalogueRow* row = nullptr;  // which one of the catalogue it is, if any
};

// The bundled model, what was pulled, and what lies in these folders, in this order. No file is opened. What
// vanishes meanwhile is left out.
std::vector<HereModel> models_here(std::span<const std::string> folders);

// By its name or its path.
std::optional<HereModel> find_here(std::string_view name, std::span<const std::string> folders);
// The name of the model at this path, or what is shown of one that has none: its file's.
std::string name_of_model(const std::string& path, std::span<const std::string> folders);

// What a model takes on a device.
struct ModelFit {
  enum class Kind { unknown, fits, in_host, in_file, no } kind = Kind::unknown;
  uint64_t memory = 0;  // bytes that it takes there and in the computer; 0: not known
  bool about = false;   // `memory` is that of the weights alone
  std::string problem;  // why it cannot be run
};
const char* name_of(ModelFit::Kind kind);  // "fits", "no": for programs
std::string text_of(const ModelFit& fit);  // "fits", "fits, part in host memory", ...: for people

// Reads the model's metadata, and no weights. It never throws: what cannot be read has a problem.
ModelFit fit_of(const HereModel& model, const DeviceInfo& device, const ModelOptions& options);
// The same by its size alone, for a model that is not here.
ModelFit fit_of(const CatalogueRow& row, const DeviceInfo& device, const ModelOptions& options);

// "1.11 GiB", "~954 MiB" where it is a round number, "-" where it is not known.
std::string size_text(const CatalogueRow& row);

}  // namespace bitnet
