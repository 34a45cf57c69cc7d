#include "sidecar.h"

#include <fmt/format.h>

#include <filesystem>

#include "app/base/clock.h"
#include "app/base/places.h"
#include "app/base/sha256.h"
#include "app/model/gguf_number.h"
#include "engine/error.h"

namespace bitnet {
namespace {

namespace fs = std::filesystem;

using nlohmann::ordered_json;

// An array is told by its length, because a vocabulary is long.
ordered_json value_of(const Checkpoint& file, const std::string& key, const GgufValue& value) {
  ordered_json found;
  if (take_number(value, [&](auto number) { found = number; })) return found;
  if (value.type == GgufType::boolean) return *file.find_bool(key);
  if (value.type == GgufType::string) return file.get_string(key);
  return {{"array_of", name_of(value.element_type)}, {"count", value.count}};
}

std::string tokenizer_sha256(const Checkpoint& file) {
  Sha256 hash;
  for (const auto& [key, value] : file.metadata()) {
    if (!key.starts_with("tokenizer.")) continue;
    hash.add(fmt::format("{} {} {}\n", key, name_of(value.type), value.count));
    hash.add(value.raw);
  }
  return hash.digits();
}

ordered_json manifest(const Engine& engine, const ModelOptions& options) {
  const DeviceInfo& device = engine.device();
  ordered_json steers = ordered_json::array(), heads = ordered_json::array();
  for (const SteerOption& s : options.steers)
    steers.push_back({{"layer", s.layer}, {"file", s.file}, {"scale", s.scale}});
  for (const auto& [layer, head] : options.ablated) heads.push_back({{"layer", layer}, {"head", head}});
  return {{"engine", "bitnet-chat " BITNET_VERSION},
          {"fingerprint", engine.model().fingerprint},
          {"device", device.name},
          {"driver", device.driver},
          {"arithmetic", device.arithmetic},
          {"steer", steers},
          {"ablate_head", heads}};
}

}  // namespace

std::string model_sha256(const Checkpoint& file) {
  Sha256 hash;
  for (const auto& part : file.files()) hash.add(part->bytes());
  return hash.digits();
}

ordered_json describe_model(const Checkpoint& file, const Engine& engine, const ModelOptions& options,
                            bool hash_model) {
  ordered_json metadata = ordered_json::object();
  for (const auto& [key, value] : file.metadata()) metadata[key] = value_of(file, key, value);
  return {{"model_path", file.path()},
          {"architecture", engine.model().architecture},
          {"tokenizer_path", file.path()},
          {"tokenizer_sha256", tokenizer_sha256(file)},
          {"model_file_size_bytes", file.size()},
          {"model_sha256", hash_model ? ordered_json(model_sha256(file)) : ordered_json()},
          {"gguf_metadata", metadata},
          {"run_manifest", manifest(engine, options)}};
}

ordered_json token_audit(const Checkpoint& file, const Tokenizer& tokenizer, const PromptText& prompt) {
  return {{"schema_version", 1},
          {"prompt", prompt.text},
          {"tokenizer_path", file.path()},
          {"tokenizer_sha256", tokenizer_sha256(file)},
          {"bos_token_id", tokenizer.bos() < 0 ? ordered_json() : ordered_json(tokenizer.bos())},
          {"token_ids", prompt.ids},
          {"token_count", prompt.ids.size()},
          {"offsets", prompt.offsets},
          {"offset_unit", "unicode_character_index"},
          {"encode_with_offsets_matches_encode", prompt.spelled}};
}

int64_t unix_seconds() { return now_milliseconds() / 1000; }

std::string beside(const std::string& path, const std::string& ending) {
  const fs::path file(path);
  return (file.parent_path() / (file.stem().string() + ending)).string();
}

void refuse_existing(const std::string& path, bool overwrite) {
  std::error_code unknown;
  const fs::path file = expand_home(path);
  const fs::file_status target = fs::status(file, unknown);
  if (overwrite || fs::is_fifo(target) || fs::is_character_file(target)) return;  // these are written into
  if (fs::exists(fs::symlink_status(file, unknown)))
    throw Error(
        ErrorKind::runtime,
        fmt::format("{}: {}", printable(path),
                    fs::is_directory(target) ? "is a folder" : "is there already; --force overwrites it"));
}

std::string json_text(const ordered_json& value) {
  return value.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace bitnet
