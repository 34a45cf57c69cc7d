#include "catalogue.h"

#include <algorithm>

namespace bitnet {
namespace {

const CatalogueRow kCatalogue[] = {
    {.name = "bitnet-2b4t",
     .title = "BitNet b1.58 2B4T",
     .repo = "microsoft/bitnet-b1.58-2B-4T-gguf",
     .file = "ggml-model-i2_s.gguf",
     .bytes = 1187801280,
     .architecture = "bitnet-b1.58",
     .type = "i2_s"},
    {.name = "falcon-e-1b",
     .title = "Falcon-E 1B Instruct",
     .repo = "tiiuae/Falcon-E-1B-Instruct-GGUF",
     .file = "",
     .bytes = 666324256,
     .architecture = "llama",
     .type = "i2_s"},
    {.name = "falcon-e-3b",
     .title = "Falcon-E 3B Instruct",
     .repo = "tiiuae/Falcon-E-3B-Instruct-GGUF",
     .file = "",
     .bytes = 999000000,
     .rounded = true,
     .architecture = "llama",
     .type = "i2_s"},
    {.name = "bonsai-1.7b",
     .title = "Ternary-Bonsai 1.7B",
     .repo = "prism-ml/Ternary-Bonsai-1.7B-gguf",
     .file = "Ternary-Bonsai-1.7B-Q2_0_g64.gguf",
     .bytes = 490163968,
     .architecture = "qwen3",
     .type = "q2_0",
     .licence = "Apache-2.0"},
    {.name = "bonsai-4b",
     .title = "Ternary-Bonsai 4B",
     .repo = "prism-ml/Ternary-Bonsai-4B-gguf",
     .file = "Ternary-Bonsai-4B-Q2_0_g64.gguf",
     .bytes = 1137806656,
     .architecture = "qwen3",
     .type = "q2_0",
     .licence = "Apache-2.0"},
    {.name = "bonsai-8b",
     .title = "Ternary-Bonsai 8B",
     .repo = "prism-ml/Ternary-Bonsai-8B-gguf",
     .file = "Ternary-Bonsai-8B-Q2_0_g64.gguf",
     .bytes = 2310125920,
     .architecture = "qwen3",
     .type = "q2_0",
     .licence = "Apache-2.0"},
    {.name = "bonsai-8b-pq2",
     .title = "Ternary-Bonsai 8B, PQ2_0",
     .repo = "prism-ml/Ternary-Bonsai-8B-gguf",
     .file = "Ternary-Bonsai-8B-PQ2_0.gguf",
     .bytes = 2182000000,
     .rounded = true,
     .architecture = "qwen3",
     .type = "pq2_0",
     .licence = "Apache-2.0"},
    {.name = "bonsai-27b",
     .title = "Ternary-Bonsai 27B",
     .repo = "prism-ml/Ternary-Bonsai-27B-gguf",
     .file = "Ternary-Bonsai-27B-PQ2_0.gguf",
     .bytes = 7165121600,
     .architecture = "qwen35",
     .type = "pq2_0"},
    {.name = "bonsai-27b-q2",
     .title = "Ternary-Bonsai 27B, Q2_0",
     .repo = "prism-ml/Ternary-Bonsai-27B-gguf",
     .file = "Ternary-Bonsai-27B-Q2_g64.gguf",
     .bytes = 7585330240,
     .architecture = "qwen35",
     .type = "q2_0"},
    {.name = "bonsai2-27b",
     .title = "Ternary-Bonsai-2 27B",
     .repo = "prism-ml/Ternary-Bonsai-2-27B-gguf",
     .file = "Ternary-Bonsai-2-27B-PTQ1_0.gguf",
     .bytes = 5946648928,
     .architecture = "qwen35",
     .type = "ptq1_0"},
    {.name = "maple-20b",
     .title = "maple 20B-A1B, TQ1_0",
     .repo = "deepgrove/maple-preview-GGUF",
     .file = "maple-preview-TQ1_0-head-Q4_K.gguf",
     .bytes = 4984016416,
     .architecture = "maple",
     .type = "tq1_0",
     .licence = "MIT"},
    {.name = "maple-20b-tq2",
     .title = "maple 20B-A1B, TQ2_0",
     .repo = "deepgrove/maple-preview-GGUF",
     .file = "maple-preview-TQ2_0-head-Q4_K.gguf",
     .bytes = 5901782560,
     .architecture = "maple",
     .type = "tq2_0",
     .licence = "MIT"},
    {.name = "falcon3-1b",
     .title = "Falcon3 1B Instruct",
     .repo = "tiiuae/Falcon3-1B-Instruct-1.58bit",
     .file = "",
     .bytes = 1300000000,
     .rounded = true,
     .architecture = "llama",
     .type = "i2_s",
     .is_folder = true},
    {.name = "falcon3-3b",
     .title = "Falcon3 3B Instruct",
     .repo = "tiiuae/Falcon3-3B-Instruct-1.58bit",
     .file = "",
     .bytes = 2100000000,
     .rounded = true,
     .architecture = "llama",
     .type = "i2_s",
     .is_folder = true},
    {.name = "falcon3-7b",
     .title = "Falcon3 7B Instruct",
     .repo = "tiiuae/Falcon3-7B-Instruct-1.58bit",
     .file = "",
     .bytes = 3270000000,
     .rounded = true,
     .architecture = "llama",
     .type = "i2_s",
     .is_folder = true},
    {.name = "falcon3-10b",
     .title = "Falcon3 10B Instruct",
     .repo = "tiiuae/Falcon3-10B-Instruct-1.58bit",
     .file = "",
     .architecture = "llama",
     .type = "i2_s",
     .is_folder = true},
    {.name = "llama3-8b",
     .title = "Llama3 8B 1.58, 100B tokens",
     .repo = "HF1BitLLM/Llama3-8B-1.58-100B-tokens",
     .file = "",
     .bytes = 3600000000,
     .rounded = true,
     .architecture = "llama",
     .type = "i2_s",
     .is_folder = true},
};

}  // namespace

std::span<const CatalogueRow> catalogue() { return kCatalogue; }

const CatalogueRow* find_in_catalogue(std::string_view name) {
  const auto* found =
      std::ranges::find_if(kCatalogue, [&](const CatalogueRow& row) { return name == row.name; });
  return found == std::end(kCatalogue) ? nullptr : found;
}

ModelName model_name_of(const CatalogueRow& row) {
  const std::string_view repo = row.repo;
  const size_t slash = repo.find('/');
  return {std::string(repo.substr(0, slash)), std::string(repo.substr(slash + 1)), row.file, ""};
}

std::string find_pulled(const CatalogueRow& row) {
  return row.is_folder ? "" : find_pulled(model_name_of(row));
}

std::string begun_file(const ModelName& name) {
  namespace fs = std::filesystem;
  constexpr std::string_view kPart = ".part";
  std::error_code none;
  const fs::path place = place_of(name);
  if (!name.file.empty() || !name.url.empty())
    return fs::is_regular_file(place.string() + std::string(kPart), none) ? place.string() : "";
  for (fs::recursive_directory_iterator at(place, none), end; !none && at != end; at.increment(none)) {
    std::string path = at->path();
    std::error_code gone;
    if (!path.ends_with(kPart) || !at->is_regular_file(gone)) continue;
    path.resize(path.size() - kPart.size());
    return path;
  }
  return "";
}

uint64_t begun_bytes(const CatalogueRow& row) {
  const std::string file = row.is_folder ? "" : begun_file(model_name_of(row));
  if (file.empty()) return 0;
  std::error_code gone;
  const auto size = std::filesystem::file_size(file + ".part", gone);
  return gone ? 0 : size;
}

}  // namespace bitnet
