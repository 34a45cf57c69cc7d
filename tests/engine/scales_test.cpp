// Tests that scales of a file reach the logits, each those of its own tensor.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>

#include "tests/engine/session.h"

namespace bitnet {
namespace {

class Scales : public OnDevice {
 protected:
  static std::vector<float> logits_of(const std::string& path) {
    const auto model = Engine::open(Checkpoint(path), on(current_device));
    const auto session = Session::create(*model, 0);
    session->sync(std::vector<int32_t>{5, 60, 7, 180, 33, 12});
    return copy(session->logits());
  }

  // As of a copy of the file in which the F16 that begins at byte `at` of each block of a tensor is changed.
  static std::vector<float> logits_of_changed(const std::string& from, const std::string& tensor,
                                              size_t block_bytes, size_t at,
                                              const std::function<uint16_t(uint16_t)>& change) {
    std::ifstream in(from, std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(in), {}};
    const Checkpoint file(from);
    const GgufTensor& t = *file.find_tensor(tensor);
    for (size_t block = t.offset; block < t.offset + t.data.size(); block += block_bytes) {
      uint16_t scale = 0;
      std::memcpy(&scale, &bytes[block + at], sizeof scale);
      scale = change(scale);
      std::memcpy(&bytes[block + at], &scale, sizeof scale);
    }
    const std::string path = fmt::format("{}scales_{}_{}.gguf", testing::TempDir(), current_device, getpid());
    std::ofstream(path, std::ios::binary) << bytes;
    auto logits = logits_of(path);
    std::filesystem::remove(path);
    return logits;
  }
};
INSTANTIATE_TEST_SUITE_P(On, Scales, testing::ValuesIn(devices()), name_of_device);

// Of features of a layer that are next to nothing and of such as are nothing the logits are almost the same,
// whatever a head of integers makes of its own scales.
TEST_P(Scales, OfAnotherTernaryTableDoNotReachTheHead) {
  constexpr uint16_t kTiny = 0x0001;  // 6e-8
  constexpr float kNear = 0.03F;      // where an input is rounded to another integer
  const auto with = [](uint16_t scale) {
    return logits_of_changed(BITNET_GEMMA_TERNARY, "per_layer_token_embd.weight", 66, 64,
                             [scale](uint16_t) { return scale; });
  };
  const auto tiny = with(kTiny), none = with(0);
  ASSERT_EQ(tiny.size(), none.size());
  for (size_t i = 0; i < tiny.size(); ++i) ASSERT_NEAR(tiny[i], none[i], kNear) << i;
}

TEST_P(Scales, OfATensorThatIsCutInTwoAreThoseOfBothHalves) {
  const auto doubled = [](uint16_t scale) { return static_cast<uint16_t>(scale + 0x0400); };
  const auto wanted = logits_of_changed(BITNET_PHI3, "blk.0.ffn_up.weight", 34, 0, doubled);
  const auto found = logits_of(BITNET_PHI3_SCALED);
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], wanted[i], 1e-4) << i;
}

// A driver may take a subnormal F16 for zero, so none gets onto a GPU. The same numbers without them: another
// power of two in each scale, and its inverse in the tensor's own.
TEST_P(Scales, ThatAreSubnormalAreExact) {
  const auto value = [](uint16_t scale) { return 1 + scale % 63U; };
  const auto subnormal = [&](uint16_t scale) { return static_cast<uint16_t>(value(scale)); };  // * 2^-24
  const auto normal = [&](uint16_t scale) {                                                    // * 2^-12
    const unsigned v = value(scale), bits = static_cast<unsigned>(std::bit_width(v)) - 1;
    return static_cast<uint16_t>((bits + 3) << 10 | (v << (10 - bits) & 0x3FFU));
  };
  constexpr size_t kBlock = 66, kAt = 64;
  const std::string tensor = "blk.0.ffn_up.weight";
  const auto wanted = logits_of_changed(BITNET_PHI3_TERNARY, tensor, kBlock, kAt, normal);
  EXPECT_NE(wanted, logits_of_changed(BITNET_PHI3_TERNARY, tensor, kBlock, kAt, [](uint16_t) { return 0; }));
  EXPECT_EQ(logits_of_changed(BITNET_PHI3_TERNARY_SCALED, tensor, kBlock, kAt, subnormal), wanted);
}

// Of a table, which is the embedding and the head; the norms between them undo most of its scale.
TEST_P(Scales, OfATableThatAreSubnormalReachTheLogits) {
  const auto with = [] {
    return logits_of_changed(BITNET_GEMMA_TERNARY, "token_embd.weight", 66, 64,
                             [](uint16_t scale) { return static_cast<uint16_t>(0x0200 + scale % 0x0200); });
  };
  const auto found = with();
  current_device = "cpu";
  const auto wanted = with();
  const auto magnitude = [](float a, float b) { return std::abs(a) < std::abs(b); };
  const float largest = std::abs(*std::ranges::max_element(wanted, magnitude));
  EXPECT_GT(largest, 0);
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], wanted[i], 0.05F * largest) << i;
}

}  // namespace
}  // namespace bitnet
