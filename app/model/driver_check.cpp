#include "driver_check.h"

#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <span>
#include <sstream>
#include <system_error>
#include <vector>

#include "engine/error.h"

namespace bitnet {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kTokens = 10;       // more than kernels for a few tokens take together
constexpr double kLeastCosine = 0.99;  // a value at a tie that is rounded otherwise costs less
constexpr size_t kKept = 256;          // models and drivers that agreed; the oldest are forgotten
constexpr size_t kDigits = 16;         // of the hash that is kept of them

double cosine(std::span<const float> a, std::span<const float> b) {
  double product = 0, of_a = 0, of_b = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    product += double{a[i]} * b[i];
    of_a += double{a[i]} * a[i];
    of_b += double{b[i]} * b[i];
  }
  return of_a == of_b && of_a == 0 ? 1 : product / std::sqrt(of_a * of_b);
}

bool are_numbers(std::span<const float> values) {
  return std::ranges::all_of(values, [](float v) { return std::isfinite(v); });
}

std::vector<float> logits_of(Session& session, std::span<const int32_t> tokens, uint32_t batch) {
  const int32_t other = tokens[0] == 0 ? 1 : 0;
  session.sync(std::span(&other, 1));  // so that no token of them is there
  session.sync(tokens, {.batch = batch});
  const std::span<const float> logits = session.logits();
  return {logits.begin(), logits.end()};
}

bool agree(Session& session, uint32_t n_vocab) {
  std::vector<int32_t> tokens;
  for (uint32_t i = 0; i < kTokens; ++i) tokens.push_back(static_cast<int32_t>((1 + 7919 * i) % n_vocab));
  const std::vector<float> one_by_one = logits_of(session, tokens, 1),
                           together = logits_of(session, tokens, 0);
  if (!are_numbers(one_by_one) && !are_numbers(together)) return true;  // which is the model's own
  return cosine(one_by_one, together) >= kLeastCosine;                  // not where it is no number
}

std::vector<std::string> read_lines(const fs::path& path) {
  std::string text(kKept * (kDigits + 1), '\0');
  std::ifstream file(path);
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  std::vector<std::string> lines;
  std::istringstream all(text);
  for (std::string line; std::getline(all, line);)
    if (line.size() == kDigits) lines.push_back(line);
  return lines;
}

// Nothing happens where the disk is full or read-only: then they are compared again.
void keep(const fs::path& path, std::vector<std::string> lines, const std::string& line) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (lines.size() >= kKept) lines.erase(lines.begin(), lines.end() - (kKept - 1));
  lines.push_back(line);
  const std::string unfinished = fmt::format("{}.{}", path.string(), getpid());
  {
    std::ofstream file(unfinished);
    for (const std::string& l : lines) file << l << '\n';
    if (!file.flush()) error = std::make_error_code(std::errc::io_error);
  }
  if (!error) fs::rename(unfinished, path, error);
  if (error) fs::remove(unfinished, error);
}

}  // namespace

std::string driver_warning(const Engine& engine,
                           const std::function<std::unique_ptr<Session>(uint32_t n_ctx)>& create_session,
                           const std::string& cache_folder) {
  const DeviceInfo& device = engine.device();
  const Placement placement = engine.placement();
  const bool reads_again = placement.in_host != 0 || placement.in_file != 0;
  if (device.cpu || device.software || reads_again || cache_folder.empty()) return "";
  const ModelInfo& model = engine.model();
  const std::string key = fmt::format("{}\n{}\n{}\n{}\n" BITNET_VERSION, model.fingerprint, device.name,
                                      device.driver, device.arithmetic);
  const std::string line = fmt::format("{:016x}", XXH3_64bits(key.data(), key.size()));
  const fs::path path = fs::path(cache_folder) / "agreed";
  std::vector<std::string> lines = read_lines(path);
  if (std::ranges::find(lines, line) != lines.end()) return "";
  try {
    const std::unique_ptr<Session> session = create_session(kTokens);
    if (!agree(*session, model.n_vocab))
      return fmt::format(
          "{} ({}) computes tokens of this model one by one otherwise than together, so its answers can be "
          "wrong. "
          "`bitnet-chat bench validate` says where; --device cpu computes them right.",
          device.name, device.driver);
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::device) throw;
    return "";
  }
  keep(path, std::move(lines), line);
  return "";
}

}  // namespace bitnet
