#include "hub_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "config.h"
#include "convert.h"
#include "fields.h"
#include "metadata.h"
#include "names.h"
#include "safetensors.h"
#include "tokens.h"

namespace bitnet {
namespace {

namespace fs = std::filesystem;
using namespace hub;

constexpr JsonLimits kSmall{.bytes = 1 << 20, .values = 100'000, .names_once = true};
constexpr JsonLimits kIndex{.bytes = 16 << 20, .values = 500'000, .names_once = true};
constexpr size_t kMostTemplate = 16 << 20;  // bytes
constexpr size_t kMostShards = 1024;
constexpr size_t kMostTensors = 1 << 16;
constexpr uint64_t kMostRows = 1 << 21;  // of an embedding: far above any vocabulary

constexpr const char* kIndexName = "model.safetensors.index.json";
constexpr const char* kWholeName = "model.safetensors";

class Folder {
 public:
  explicit Folder(const std::string& path) : path_(path) {}

  bool has(const std::string& name) const {
    std::error_code none;
    return fs::symlink_status(path_ / name, none).type() != fs::file_type::not_found;
  }

  // A file of the folder, which counts from now on.
  std::shared_ptr<const MappedFile> file(const std::string& name) {
    const std::string path = (path_ / name).string();
    check_link(path);
    return files.emplace_back(std::make_shared<const MappedFile>(path, "file"));
  }

  json read(const std::string& name, const JsonLimits& limits) {
    const auto from = file(name);
    return parse(text_of(*from), limits, from->path());
  }
  // Null where it is absent.
  json read_if_there(const std::string& name, const JsonLimits& limits) {
    return has(name) ? read(name, limits) : json();
  }

  std::string string() const { return path_.string(); }
  std::vector<std::shared_ptr<const MappedFile>> files;  // in the order in which they were read

 private:
  void check_link(const std::string& path) const {
    std::error_code none;
    if (!fs::is_symlink(fs::symlink_status(path, none))) return;
    const fs::path target = fs::canonical(path, none), folder = fs::canonical(path_, none);
    const fs::path place = target.parent_path();
    const bool of_cache = folder.parent_path().filename() == "snapshots" &&
                          place == folder.parent_path().parent_path() / "blobs";
    if (target.empty() || (place != folder && !of_cache))
      fail(path,
           "wanted a file of this folder, got a link that leads out of it or nowhere; cannot follow it");
  }

  const fs::path path_;
};

// The folder's name. In the hub's cache that is a hash, but models--OWNER--NAME stands above.
std::string name_of(const std::string& path) {
  std::error_code none;
  const fs::path folder = fs::canonical(path, none);
  std::string name = folder.filename().string();
  if (folder.parent_path().filename() == "snapshots")
    name = folder.parent_path().parent_path().filename().string();
  const size_t owner = name.rfind("--");
  return name.starts_with("models--") && owner != std::string::npos ? name.substr(owner + 2) : name;
}

Shard read_shard(Folder& folder, const std::string& name) {
  const auto file = folder.file(name);
  return {file->path(), read_safetensors(*file)};
}

// The shards that the index names, each with the tensors that it says they have.
std::vector<Shard> read_shards(Folder& folder) {
  const json index = folder.read(kIndexName, kIndex);
  const Fields fields(index, (fs::path(folder.string()) / kIndexName).string());
  const json& map = fields.get("weight_map");
  if (!map.is_object() || map.empty())
    fields.fail("weight_map", fmt::format("wanted an object with tensors, got {}", shown(map)));
  std::map<std::string, std::set<std::string>> wanted;
  for (const auto& [tensor, file] : map.items()) {
    const std::string name = file.is_string() ? file.get<std::string>() : "";
    if (!name.ends_with(".safetensors") || name.find('/') != std::string::npos ||
        printable(name, 256) != name)
      fields.fail("weight_map",
                  fmt::format("{}: wanted the name of a .safetensors file of this folder, got {}",
                              printable(tensor), shown(file)));
    wanted[name].insert(tensor);
  }
  if (wanted.size() > kMostShards)
    fields.fail("weight_map", fmt::format("wanted at most {} files, got {}", kMostShards, wanted.size()));
  std::vector<Shard> shards;
  for (auto& [name, tensors] : wanted) {
    if (!folder.has(name)) fail((fs::path(folder.string()) / name).string(), "this shard is missing");
    shards.push_back(read_shard(folder, name));
    for (const HubTensor& t : shards.back().tensors) tensors.erase(t.name);
    if (!tensors.empty())
      fail(shards.back().path,
           fmt::format("tensor {} is missing, which {} names", printable(*tensors.begin()), kIndexName));
  }
  return shards;
}

std::vector<Shard> read_weights(Folder& folder) {
  std::vector<Shard> shards;
  if (folder.has(kWholeName))
    shards.push_back(read_shard(folder, kWholeName));
  else if (folder.has(kIndexName))
    shards = read_shards(folder);
  else
    fail(folder.string(), fmt::format("wanted {} or {}, got a folder without them", kWholeName, kIndexName));
  std::set<std::string_view> names;
  for (const Shard& shard : shards)
    for (const HubTensor& t : shard.tensors)
      if (!names.insert(t.name).second)
        fail(shard.path, fmt::format("tensor {}: wanted it once, got it twice", printable(t.name)));
  if (names.size() > kMostTensors)
    fail(folder.string(), fmt::format("wanted at most {} tensors, got {}", kMostTensors, names.size()));
  return shards;
}

uint32_t rows_of_embedding(const Folder& folder, const std::vector<Shard>& shards, const Config& config) {
  for (const Shard& shard : shards)
    for (const HubTensor& t : shard.tensors) {
      const auto place = place_of(config.architecture, t.name);
      if (!place || place->name != "token_embd" || place->part != "weight") continue;
      if (t.shape.size() != 2 || t.shape[0] > kMostRows)
        fail(shard.path, fmt::format("tensor {}: wanted at most {} rows of an embedding, got another shape",
                                     printable(t.name), kMostRows));
      return static_cast<uint32_t>(t.shape[0]);
    }
  fail(folder.string(), "tensor model.embed_tokens.weight is missing");
}

// A tokenizer has a token for each row of the embedding, merges, of which Llama 3 has 2.2 a row with up to
// three values each, and a few thousand added tokens of eight.
JsonLimits limits_of_tokenizer(uint32_t n_rows) {
  return {.bytes = std::min<size_t>(128 << 20, (4 << 20) + size_t{1024} * n_rows),
          .values = std::min<size_t>(8'000'000, 100'000 + size_t{16} * n_rows),
          .names_once = true};
}

Fields fields_of(const json& value, const Folder& folder, const char* name) {
  return Fields(value, (fs::path(folder.string()) / name).string());
}

std::optional<Fields> fields_if_there(const json& value, const Folder& folder, const char* name) {
  if (value.is_null()) return std::nullopt;
  return fields_of(value, folder, name);
}

// What stands in the folder about text, as keys of `to`.
void read_text(Folder& folder, const Fields& config, uint32_t n_rows, Metadata& to) {
  const json tokenizer = folder.read("tokenizer.json", limits_of_tokenizer(n_rows));
  const json tokenizer_config = folder.read_if_there("tokenizer_config.json", kIndex);
  const json generation = folder.read_if_there("generation_config.json", kSmall);
  TokenFiles files{config, fields_of(tokenizer, folder, "tokenizer.json"),
                   fields_if_there(tokenizer_config, folder, "tokenizer_config.json"),
                   fields_if_there(generation, folder, "generation_config.json"), std::nullopt};
  if (constexpr const char* kName = "chat_template.jinja"; folder.has(kName)) {
    const auto file = folder.file(kName);
    if (file->bytes().size() > kMostTemplate)
      fail(file->path(), fmt::format("wanted at most {} bytes, got {}", kMostTemplate, file->bytes().size()));
    files.chat_template = text_of(*file);
  }
  read_tokens(files, n_rows, to);
}

}  // namespace

std::unique_ptr<const Checkpoint> read_hub_folder(const std::string& path, bool with_text) {
  Folder folder(path);
  if (!folder.has("config.json"))
    fail(path,
         "wanted a GGUF file or a folder with config.json and safetensors, got another folder; name the "
         ".gguf file in it");
  const json config_json = folder.read("config.json", kSmall);
  const Fields config_fields = fields_of(config_json, folder, "config.json");
  if (!folder.has("tokenizer.json")) fail(path, "tokenizer.json is missing");
  Metadata metadata;
  const Config config = read_config(config_fields, metadata);
  metadata.text("general.name", name_of(path));

  // The headers of the weights come before the tokenizer, which is large and which they bound, but the files
  // of weights are the last to count.
  Folder of_weights(path);
  const std::vector<Shard> shards = read_weights(of_weights);
  const uint32_t n_rows = rows_of_embedding(folder, shards, config);
  if (with_text) read_text(folder, config_fields, n_rows, metadata);
  Converted converted = convert(shards, config);
  std::ranges::move(of_weights.files, std::back_inserter(folder.files));
  return std::make_unique<const Checkpoint>(Checkpoint::Parts{
      path, shards.size() == 1 ? "safetensors" : fmt::format("safetensors, {} shards", shards.size()),
      std::move(folder.files), metadata.file(), std::move(converted.tensors), std::move(converted.memory),
      std::move(converted.convert)});
}

}  // namespace bitnet
