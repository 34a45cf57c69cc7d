#include "validation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "app/model/driver_check.h"
#include "engine/error.h"
#include "sidecar.h"

namespace bitnet {
namespace {

struct StageRow {
  Stage stage;
  const char* meaning;  // where to look when it is the first to fail
  double first_bar;     // of 1 - cosine, in the first layer
};

// Where inputs become int8, a value near a tie is rounded otherwise in another order of sums, and differences
// grow from stage to stage and from layer to layer (engine/README.md, "Numbers"). The first norm is exact.
constexpr StageRow kStageRows[] = {
    {Stage::input, "the norm in front of attention", 1e-9},
    {Stage::query, "the projection of q, its norm, or RoPE", 2e-4},
    {Stage::heads, "attention itself, or keys and values", 3e-4},
    {Stage::attention, "the projection behind attention, or all of a DeltaNet", 5e-4},
    {Stage::ffn, "the feed-forward", 1e-3},
    {Stage::residual, "the sum of the residual stream", 1e-3},
};
constexpr double kLaterBar = 5e-3;  // in the layers up to kLaterLayers, and in proportion past them
constexpr double kLaterLayers = 8;

const StageRow& row_of(Stage stage) { return *std::ranges::find(kStageRows, stage, &StageRow::stage); }

double bar_of(Stage stage, uint32_t layer) {
  return layer == 0 ? row_of(stage).first_bar : kLaterBar * std::max(1.0, layer / kLaterLayers);
}

std::vector<uint32_t> layers_of(uint32_t n_layer) {
  std::vector<uint32_t> layers;
  for (const uint32_t layer : {0U, n_layer / 2, n_layer - 1})
    if (layers.empty() || layer != layers.back()) layers.push_back(layer);
  return layers;
}

std::vector<float> floats_of(const GgufTensor& tensor) {
  std::vector<float> floats(tensor.data.size() / sizeof(float));
  std::memcpy(floats.data(), tensor.data.data(), floats.size() * sizeof(float));
  return floats;
}

// The name under which the file of golden values has this model; empty: it does not.
std::string name_in(const Checkpoint& golden, const Checkpoint& model) {
  const std::vector<std::string> names = golden.find_strings("stages.models");
  std::string sha256;
  for (const std::string& name : names) {
    if (golden.get_u32(name + ".bytes") != model.size()) continue;
    if (sha256.empty()) sha256 = model_sha256(model);
    if (golden.get_string(name + ".sha256") == sha256) return name;
  }
  return {};
}

}  // namespace

std::optional<StageValues> golden_values(const Checkpoint& model, uint32_t n_layer, const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return std::nullopt;
  const Checkpoint golden(path);
  const std::string name = name_in(golden, model);
  if (name.empty()) return std::nullopt;
  StageValues values{golden.find_ints(name + ".tokens"), {}};
  const std::vector<uint32_t> layers = layers_of(n_layer);
  for (const StageRow& row : kStageRows) {
    const GgufTensor* tensor = golden.find_tensor(fmt::format("{}.{}", name, name_of(row.stage)));
    if (tensor == nullptr || tensor->type != TensorType::f32 || tensor->shape.size() != 2 ||
        tensor->shape[1] != layers.size() || values.tokens.empty())
      throw Error(ErrorKind::model, fmt::format("{}: the golden values of {} are not whole", path, name));
    const std::vector<float> floats = floats_of(*tensor);
    const auto width = static_cast<ptrdiff_t>(tensor->shape[0]);
    for (size_t i = 0; i < layers.size(); ++i) {
      const auto begin = floats.begin() + static_cast<ptrdiff_t>(i) * width;
      values.rows[{layers[i], row.stage}] = {begin, begin + width};
    }
  }
  return values;
}

StageValues observed_values(Session& session, const std::vector<int32_t>& tokens, uint32_t n_layer,
                            uint32_t batch) {
  StageValues values{tokens, {}};
  const std::vector<uint32_t> layers = layers_of(n_layer);
  Observation what;
  for (const StageRow& row : kStageRows) what.stages.push_back(row.stage);
  what.from = static_cast<uint32_t>(tokens.size()) - 1;
  what.skips_missing = true;
  what.on_rows = [&](Stage stage, uint32_t layer, uint32_t, uint32_t, std::span<const float> row) {
    if (std::ranges::find(layers, layer) != layers.end())
      values.rows[{layer, stage}] = {row.begin(), row.end()};
  };
  start_over(session, tokens[0]);
  session.sync(tokens, {.batch = batch, .observe = &what});
  return values;
}

std::vector<StageDifference> differences(const StageValues& reference, const StageValues& found,
                                         const std::string& pass) {
  std::vector<StageDifference> all;
  for (const auto& [key, wanted] : reference.rows) {
    StageDifference difference{pass, key.first, key.second, 0, 1 - bar_of(key.second, key.first), 0, 0};
    const auto row = found.rows.find(key);
    double product = 0, of_wanted = 0, of_found = 0;
    for (size_t i = 0; i < wanted.size(); ++i) {
      const double a = wanted[i],
                   b = row == found.rows.end() || i >= row->second.size() ? NAN : row->second[i];
      product += a * b;
      of_wanted += a * a;
      of_found += b * b;
      difference.largest_difference =
          std::isnan(b) ? b : std::max(difference.largest_difference, std::abs(a - b));
      difference.largest_value = std::max(difference.largest_value, std::abs(a));
      if (std::isnan(b)) break;
    }
    const double cosine = product / std::sqrt(of_wanted * of_found);
    if (of_wanted == 0 && of_found == 0)
      difference.cosine = 1;
    else if (std::isfinite(cosine))
      difference.cosine = cosine;
    all.push_back(difference);
  }
  return all;
}

std::string describe(const StageDifference& d) {
  return fmt::format("{}, layer {}, {}: cosine {:.8f} (bar {:.8f}); look at {}", d.pass, d.layer,
                     name_of(d.stage), d.cosine, d.bar, row_of(d.stage).meaning);
}

}  // namespace bitnet
