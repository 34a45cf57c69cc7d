#include "models.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "app/base/places.h"
#include "app/base/sizes.h"
#include "engine/error.h"
#include "engine/lower.h"
#include "engine/open_model.h"

namespace bitnet {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostListed = 1000;
constexpr size_t kPieces = 64;  // into which a model of which only the size is known is cut

bool is_gguf(const fs::path& path) { return lower(path.extension().string()) == ".gguf"; }

uint64_t bytes_of(const fs::path& path) {
  std::error_code gone;
  if (!fs::is_directory(path, gone)) {
    const auto size = fs::file_size(path, gone);
    return gone ? 0 : size;
  }
  uint64_t sum = 0;
  for (fs::directory_iterator at(path, gone), end; !gone && at != end; at.increment(gone)) {
    std::error_code unknown;
    const auto size = at->is_regular_file(unknown) ? at->file_size(unknown) : 0;
    if (!unknown) sum += size;
  }
  return sum;
}

void add_bundled(std::vector<HereModel>& models) {
  const std::string path = bundled_model();
  std::error_code gone;
  if (fs::is_regular_file(path, gone))
    models.push_back({"bundled", path, ModelFrom::bundled, bytes_of(path), nullptr});
}

void add_pulled(std::vector<HereModel>& models) {
  std::vector<std::pair<std::string, const CatalogueRow*>> known;
  if (cache_folder().empty()) return;
  for (const CatalogueRow& row : catalogue()) {
    if (std::string path = find_pulled(row); !path.empty()) known.emplace_back(std::move(path), &row);
  }
  for (const PulledFile& file : pulled_files()) {
    const auto found =
        std::ranges::find(known, file.path.string(), [](const auto& pair) { return pair.first; });
    const CatalogueRow* row = found == known.end() ? nullptr : found->second;
    models.push_back(
        {row != nullptr ? row->name : file.name, file.path, ModelFrom::pulled, bytes_of(file.path), row});
  }
}

void add_folder(const std::string& folder, std::vector<HereModel>& models) {
  std::vector<HereModel> found;
  std::error_code gone;
  for (fs::directory_iterator at(folder, gone), end; !gone && at != end && found.size() < kMostListed;
       at.increment(gone)) {
    std::error_code unknown;
    const fs::path path = at->path();
    const bool is_file = is_gguf(path) && at->is_regular_file(unknown);
    const bool is_model = is_file || (at->is_directory(unknown) && fs::exists(path / "config.json", unknown));
    if (is_model)
      found.push_back(
          {is_file ? path.stem() : path.filename(), path, ModelFrom::folder, bytes_of(path), nullptr});
  }
  std::ranges::sort(found, {}, &HereModel::path);
  models.insert(models.end(), found.begin(), found.end());
}

// What lies where if nothing may take more memory than there is.
ModelFit fit_of(const MemoryPlan& plan, const DeviceInfo& device, EngineOptions engine) {
  ModelFit fit;
  fit.memory = plan.total();
  if (const uint64_t all = memory_of_computer(); !device.cpu && all != 0)
    engine.ram = std::min(engine.ram, all);
  try {
    const Placement p = place_model(plan, device, engine);
    if (device.cpu) fit.memory += p.head_copy;
    const uint64_t least = device.cpu ? p.on_device + p.for_reading : plan.fixed();
    fit.kind = !device.unusable.empty() || least > device.memory_bytes ? ModelFit::Kind::no
               : p.in_file != 0                                        ? ModelFit::Kind::in_file
               : p.in_host != 0                                        ? ModelFit::Kind::in_host
                                                                       : ModelFit::Kind::fits;
  } catch (const Error&) {
    fit.kind = ModelFit::Kind::no;
  }
  return fit;
}

}  // namespace

const char* name_of(ModelFrom from) {
  switch (from) {
    case ModelFrom::bundled:
      return "bundled";
    case ModelFrom::pulled:
      return "pulled";
    case ModelFrom::folder:
      break;
  }
  return "folder";
}

std::vector<HereModel> models_here(std::span<const std::string> folders) {
  std::vector<HereModel> models;
  add_bundled(models);
  add_pulled(models);
  for (const std::string& folder : folders) add_folder(folder, models);
  for (size_t i = 1; i < models.size(); ++i) {
    const auto before = models.begin() + static_cast<std::ptrdiff_t>(i);
    const bool is_taken = std::any_of(models.begin(), before,
                                      [&](const HereModel& other) { return other.name == models[i].name; }) ||
                          (models[i].row == nullptr && find_in_catalogue(models[i].name) != nullptr);
    if (is_taken) models[i].name = models[i].path;
  }
  return models;
}

std::optional<HereModel> find_here(std::string_view name, std::span<const std::string> folders) {
  for (HereModel& model : models_here(folders)) {
    if (model.name == name || model.path == name) return std::move(model);
  }
  return std::nullopt;
}

std::string name_of_model(const std::string& path, std::span<const std::string> folders) {
  std::error_code gone;
  for (const HereModel& model : models_here(folders)) {
    if (model.path == path || fs::equivalent(model.path, path, gone)) return model.name;
  }
  const fs::path file = path;
  return is_gguf(file) ? file.stem() : file.filename();
}

const char* name_of(ModelFit::Kind kind) {
  switch (kind) {
    case ModelFit::Kind::unknown:
      return "unknown";
    case ModelFit::Kind::fits:
      return "fits";
    case ModelFit::Kind::in_host:
      return "in_host";
    case ModelFit::Kind::in_file:
      return "in_file";
    case ModelFit::Kind::no:
      break;
  }
  return "no";
}

std::string text_of(const ModelFit& fit) {
  switch (fit.kind) {
    case ModelFit::Kind::unknown:
      return "";
    case ModelFit::Kind::fits:
      return "fits";
    case ModelFit::Kind::in_host:
      return "part in host memory";
    case ModelFit::Kind::in_file:
      return "too large: part in the file";
    case ModelFit::Kind::no:
      break;
  }
  return "does not fit";
}

ModelFit fit_of(const HereModel& model, const DeviceInfo& device, const ModelOptions& options) {
  try {
    const auto file = open_weights(model.path);
    const ModelInfo info = read_model_info(*file, options.activation);
    const uint32_t n_ctx = options.ctx == 0 ? usual_context(info) : std::min(options.ctx, info.n_ctx_train);
    return fit_of(plan_memory(*file, n_ctx), device, engine_options(options));
  } catch (const std::exception& error) {
    ModelFit fit{.kind = ModelFit::Kind::no};
    fit.problem = error.what();
    return fit;
  }
}

ModelFit fit_of(const CatalogueRow& row, const DeviceInfo& device, const ModelOptions& options) {
  ModelFit fit;
  fit.problem = why_not_run(row.architecture, row.type);
  if (!fit.problem.empty() || row.bytes == 0) return fit;
  MemoryPlan plan;
  plan.projections = row.bytes;
  for (size_t i = 0; i < kPieces; ++i) {
    const uint64_t bytes = row.bytes / kPieces;
    plan.pieces.push_back(
        {.kind = WeightPiece::Kind::feed_forward, .bytes = bytes, .read = bytes, .file_bytes = bytes});
  }
  try {
    fit = fit_of(plan, device, engine_options(options));
    fit.about = true;
  } catch (const Error& error) {
    fit.problem = error.what();
  }
  return fit;
}

std::string size_text(const CatalogueRow& row) {
  if (row.bytes == 0) return "-";
  return fmt::format("{}{}", row.rounded ? "~" : "", size_text(row.bytes));
}

}  // namespace bitnet
