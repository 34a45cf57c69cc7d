#include "driver_check.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>
#include <span>
#include <system_error>
#include <vector>

#include "engine/cache_file.h"
#include "engine/error.h"

namespace bitnet {

constexpr const char* kAdvice =
    "`bitnet-chat bench validate` says where, and --device cpu computes them right.";

std::vector<int32_t> tokens_to_validate(uint32_t n_vocab) {
  std::vector<int32_t> tokens(12);
  for (size_t i = 0; i < tokens.size(); ++i)
    tokens[i] = static_cast<int32_t>((uint64_t{i} * 7919 + 17) % n_vocab);
  return tokens;
}

void start_over(Session& session, int32_t first) {
  const int32_t other = first == 0 ? 1 : 0;
  session.sync(std::span(&other, 1));
}

std::vector<BatchDifference> batch_differences(Session& session, const std::vector<int32_t>& tokens,
                                               const std::vector<uint32_t>& batches) {
  const auto logits_of = [&](uint32_t batch) {
    start_over(session, tokens[0]);
    session.sync(tokens, {.batch = batch});
    const std::span<const float> logits = session.logits();
    return std::vector<float>(logits.begin(), logits.end());
  };
  const std::vector<float> one_by_one = logits_of(1);
  std::vector<BatchDifference> all;
  for (const uint32_t batch : batches) {
    const std::vector<float> found = logits_of(batch);
    BatchDifference difference{.batch = batch};
    for (size_t i = 0; i < found.size(); ++i) {
      if (std::isnan(found[i]) && std::isnan(one_by_one[i])) continue;
      difference.same &= std::bit_cast<uint32_t>(found[i]) == std::bit_cast<uint32_t>(one_by_one[i]);
      const double off = std::abs(double{found[i]} - one_by_one[i]);
      if (!(off <= difference.largest_difference)) difference.largest_difference = off;
      difference.largest_value = std::max(difference.largest_value, std::abs(double{one_by_one[i]}));
    }
    all.push_back(difference);
  }
  return all;
}

std::string describe(const BatchDifference& d) {
  const std::string how = d.batch == 0 ? "all tokens together" : fmt::format("passes of {} tokens", d.batch);
  if (d.same) return how + ": the logits of one by one, bit for bit";
  return fmt::format("{}: logits differ by up to {:.2e} of {:.2e} from those of one by one; look at {}", how,
                     d.largest_difference, d.largest_value,
                     d.batch == 0 ? "the stages above" : "what computes a token, and a few together");
}

std::string differing_pass_warning(const DeviceInfo& device, uint32_t tokens) {
  return fmt::format(
      "{} ({}) computes {} tokens of this model together otherwise than one by one. From now on nothing is "
      "guessed, but prompts are computed together too, so answers can be wrong; {}",
      device.name, device.driver, tokens, kAdvice);
}

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
  const std::filesystem::path agreed = std::filesystem::path(cache_folder) /
                                       fmt::format("agreed-{:016x}", XXH3_64bits(key.data(), key.size()));
  std::error_code ignored;
  if (std::filesystem::exists(agreed, ignored)) return "";
  try {
    const std::vector<int32_t> tokens = tokens_to_validate(model.n_vocab);
    const std::unique_ptr<Session> session = create_session(static_cast<uint32_t>(tokens.size()));
    const BatchDifference d = batch_differences(*session, tokens, {0})[0];
    if (!d.same)
      return fmt::format(
          "{} ({}) computes this model's tokens one by one otherwise than together: logits differ by up to "
          "{:.2e} of {:.2e}. So answers can be wrong; {}",
          device.name, device.driver, d.largest_difference, d.largest_value, kAdvice);
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::device) throw;
    return "";
  }
  // Where nothing can be written they are compared again the next time.
  write_cache_file(agreed.string(), {});
  return "";
}

}  // namespace bitnet
