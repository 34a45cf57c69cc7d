#include "engine/open_model.h"

#include <filesystem>

#include "engine/hub/hub_folder.h"

namespace bitnet {

namespace {

std::unique_ptr<const Checkpoint> open(const std::string& path, bool with_text) {
  std::error_code none;
  if (std::filesystem::is_directory(path, none)) return read_hub_folder(path, with_text);
  return std::make_unique<const Checkpoint>(path);
}

}  // namespace

std::unique_ptr<const Checkpoint> open_model(const std::string& path) { return open(path, true); }
std::unique_ptr<const Checkpoint> open_weights(const std::string& path) { return open(path, false); }

}  // namespace bitnet
