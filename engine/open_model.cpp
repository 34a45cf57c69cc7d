#include "engine/open_model.h"

#include <filesystem>

#include "engine/hub/hub_folder.h"

namespace bitnet {

std::unique_ptr<const Checkpoint> open_model(const std::string& path) {
  std::error_code none;
  if (std::filesystem::is_directory(path, none)) return read_hub_folder(path);
  return std::make_unique<const Checkpoint>(path);
}

}  // namespace bitnet
