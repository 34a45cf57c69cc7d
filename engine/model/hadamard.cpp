#include "hadamard.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <memory>

#include "families.h"
#include "tensors.h"

namespace bitnet {
namespace {

constexpr std::string_view kPrefix = "prism.hadamard.";

std::string key(const char* name) { return std::string(kPrefix) + name; }

void want(const Checkpoint& file, const char* name, const std::string& wanted) {
  const std::string found = file.get_string(key(name));
  if (found != wanted)
    fail(file, fmt::format("{} is \"{}\", wanted \"{}\"", key(name), printable(found), wanted));
}

// The signs of each width, which lie one behind the other.
std::map<uint32_t, std::vector<float>> read_signs(const Checkpoint& file) {
  const std::string mode = file.get_string(key("sign_mode"));
  if (mode == "identity") return {};
  if (mode != "explicit")
    fail(file,
         fmt::format("{} is \"{}\", wanted \"identity\" or \"explicit\"", key("sign_mode"), printable(mode)));
  const std::vector<int32_t> widths = file.find_ints(key("sign_widths")),
                             values = file.find_ints(key("sign_values"));
  uint64_t sum = 0;
  for (const int32_t width : widths) {
    if (width <= 0)
      fail(file, fmt::format("{} has a width of {}, wanted one above 0", key("sign_widths"), width));
    sum += static_cast<uint64_t>(width);
  }
  if (sum != values.size())
    fail(file, fmt::format("{} has {} values, wanted {} for the widths of {}", key("sign_values"),
                           values.size(), sum, key("sign_widths")));
  std::map<uint32_t, std::vector<float>> signs;
  size_t at = 0;
  for (const int32_t width : widths) {
    auto& of_width = signs[static_cast<uint32_t>(width)];
    if (!of_width.empty())
      fail(file, fmt::format("{} has {} twice, wanted it once", key("sign_widths"), width));
    for (int32_t i = 0; i < width; ++i, ++at) {
      if (values[at] != 1 && values[at] != -1)
        fail(file, fmt::format("{}: value {} is {}, wanted 1 or -1", key("sign_values"), at, values[at]));
      of_width.push_back(static_cast<float>(values[at]));
    }
  }
  return signs;
}

Hadamard read_keys(const Checkpoint& file) {
  constexpr uint32_t kNewest = 2;
  Hadamard h;
  const uint32_t version = file.get_u32(key("version"));
  if (version == 0 || version > kNewest)
    fail(file, fmt::format("{} is {}, wanted 1 or {}", key("version"), version, kNewest));
  want(file, "transform", "normalized-sylvester-walsh-hadamard");
  want(file, "axis", "input-last-dimension");
  h.block = file.get_u32(key("block_size"));
  if (h.block < kLeastRotated || h.block > kMostRotated || !std::has_single_bit(h.block))
    fail(file, fmt::format("{} is {}, wanted a power of two from {} to {}", key("block_size"), h.block,
                           kLeastRotated, kMostRotated));
  h.signs = read_signs(file);
  if (!file.find(key("weight_names"))) fail(file, fmt::format("key {} is missing", key("weight_names")));
  for (const std::string& name : file.find_strings(key("weight_names")))
    if (!h.folded.insert(name).second)
      fail(file, fmt::format("{} has \"{}\" twice, wanted it once", key("weight_names"), printable(name)));
  for (const std::string& name : file.find_strings(key("inverse_weight_names"))) {
    if (name != "token_embd.weight")
      fail(file, fmt::format("{} has \"{}\", wanted token_embd.weight alone", key("inverse_weight_names"),
                             printable(name)));
    h.embedding = true;
  }
  return h;
}

// What `name`, of inputs of this width, is folded with has to be known.
void check_width(const Checkpoint& file, const Hadamard& h, const std::string& name, uint64_t width) {
  if (width % h.block != 0)
    fail(file, fmt::format("tensor {} has {} inputs, wanted a multiple of {} ({})", printable(name), width,
                           h.block, key("block_size")));
  if (!h.signs.empty() && !h.signs.contains(static_cast<uint32_t>(width)))
    fail(file, fmt::format("{} has no {}, wanted by tensor {}", key("sign_widths"), width, printable(name)));
}

// The projections of blocks that are folded, which leave `unknown`.
void check_blocks(const Checkpoint& file, const ModelFile& m, const Hadamard& h,
                  std::set<std::string>& unknown) {
  const auto check = [&](const TensorStack& stack) {
    const std::string& first = stack.parts[0]->name;
    const bool folded = h.folded.contains(first);
    for (const GgufTensor* t : stack.parts) {
      if (!t) continue;
      if (h.folded.contains(t->name) != folded)
        fail(file,
             fmt::format("{} has one of the tensors {} and {}, which share their input: wanted both or none",
                         key("weight_names"), printable(first), printable(t->name)));
      if (!folded) continue;
      unknown.erase(t->name);
      check_width(file, h, t->name, t->shape[0]);
      if (stack.n_expert != 0)
        fail(file, fmt::format("tensor {} is of experts, which cannot be run with {}", printable(t->name),
                               key("weight_names")));
    }
  };
  for (const FileBlock& block : m.blocks) for_each_stack(block, check);
}

}  // namespace

void fold_hadamard(const Checkpoint& file, ModelFile& m) {
  const auto is_ours = [](const auto& entry) { return entry.first.starts_with(kPrefix); };
  if (std::ranges::none_of(file.metadata(), is_ours)) return;
  auto h = std::make_shared<Hadamard>(read_keys(file));
  std::set<std::string> unknown = h->folded;
  check_blocks(file, m, *h, unknown);
  const uint32_t n_embd = m.config.n_embd;
  const bool tied = m.config.tied_head, two = file.get_u32(key("version")) == 2;
  if ((two || h->embedding) && (two != tied || file.find_bool(key("tied_output")).value_or(tied) != tied))
    fail(file, fmt::format("{} is {}, but the file has {} output.weight, wanted version 2 where it has none",
                           key("version"), two ? 2 : 1, tied ? "no" : "an"));
  if (h->embedding) check_width(file, *h, "token_embd.weight", n_embd);
  if (tied && h->embedding) {  // a row whose embedding is s H row is one of a head that is folded
    unknown.erase(m.output->name);
    h->folded.insert(m.output->name);
  } else if (h->folded.contains("output.weight")) {
    unknown.erase("output.weight");
    check_width(file, *h, "output.weight", n_embd);
  }
  if (!unknown.empty())
    fail(file, fmt::format("{} has \"{}\", wanted names of projections of this model", key("weight_names"),
                           printable(*unknown.begin())));
  if (file.find_bool(key("gdn_v_grouped")).value_or(false))
    for (FileBlock& block : m.blocks) block.delta.shape.grouped = static_cast<bool>(block.delta);
  m.hadamard = std::move(h);
}

}  // namespace bitnet
