// Tests the CPU's kernels of quantised dense rows, and the projections made of them, on each instruction set:
// they are what the formula gives, bit for bit, and a token gives the same in every batch.
#include "tests/engine/blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "engine/cpu/kernels.h"
#include "engine/gguf.h"

namespace bitnet {
namespace {

using cpu::kBandRows, cpu::kTileRows, cpu::CpuKernels;

constexpr TensorType kTypes[] = {TensorType::q8_0, TensorType::q4_0, TensorType::q5_0,
                                 TensorType::q4_k, TensorType::q5_k, TensorType::q6_k};

TEST(CpuBlocks, SumsAreThoseOfTheFormula) {
  std::mt19937 rng(5);
  for (const TensorType type : kTypes)
    for (const uint32_t n_in : {256U, 288U, 1536U}) {
      if (n_in % find_file_type(type)->block != 0) continue;
      constexpr uint32_t kTokens = 23;
      const BlockWeights w = random_blocks(type, kTileRows, n_in, rng);
      const RoundedInput q = random_input(n_in, kTokens, rng);
      const cpu::UnitInputs all{q.q.data(), q.sums.data(), q.factors.data()};
      std::vector<int32_t> wanted;
      for (uint32_t t = 0; t < kTokens; ++t)
        for (uint32_t r = 0; r < kTileRows; ++r) wanted.push_back(w.sum(r, q, t));
      const BlockType& b = *find_block_type(type);
      const PackedWeights packed = pack_sixteens(w);
      const cpu::BlockBands bands{
          packed.codes.data(), packed.scales.data(), n_in, b.bits, b.has_min, w.fixed};
      for (const cpu::KernelChoice& choice : cpu::kernel_choices()) {
        if (!choice.supported) continue;
        const CpuKernels& k = *choice.kernels;
        SCOPED_TRACE(shown_name(type) + ", " + k.name + ", " + std::to_string(n_in));
        std::vector<int32_t> rows(kTileRows), tiled(kTokens * kTileRows), q_sums(n_in / 16);
        for (const uint32_t t : {0U, 7U}) {
          const cpu::UnitInputs in = cpu::inputs_from(all, t, n_in, 16, 32);
          k.block_rows(bands, 2, in, rows.data());
          ASSERT_TRUE(std::equal(rows.begin(), rows.end(), wanted.begin() + t * kTileRows)) << t;
          k.sums_of_16(in.q, n_in, q_sums.data());
          ASSERT_TRUE(std::equal(q_sums.begin(), q_sums.end(), in.sums));
        }
        std::vector<uint8_t> codes(size_t{n_in} * kTileRows);
        std::vector<float> scales(size_t{n_in} / b.unit * kTileRows), minima(scales.size());
        for (const uint32_t half : {0U, 1U}) {
          cpu::BlockBands band = bands;
          band.codes += half * bands.band_codes();
          band.scales += half * bands.band_scales();
          k.unpack_block_band(band, half, codes.data(), scales.data(), minima.data());
        }
        k.block_tile({codes.data(), scales.data(), b.has_min ? minima.data() : nullptr, n_in, b.bits}, all,
                     kTokens, tiled.data());
        EXPECT_EQ(tiled, wanted);
      }
    }
}

// Far below zero gelu is next to nothing, and the rounding of its exponent shows.
TEST(CpuBlocks, ActivationsAreTheirFormulas) {
  std::vector<float> x, times;
  for (int i = -400; i <= 400; ++i) {
    x.push_back(static_cast<float>(i) * 0.05F);
    times.push_back(static_cast<float>(i % 7) - 2.5F);
  }
  const auto n = static_cast<uint32_t>(x.size());
  const auto gelu = [](double v) {
    return v / (1 + std::exp(-2 * std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v)));
  };
  std::vector<float> reference;
  for (const cpu::KernelChoice& choice : cpu::kernel_choices()) {
    if (!choice.supported) continue;
    const CpuKernels& k = *choice.kernels;
    SCOPED_TRACE(k.name);
    std::vector<float> y(n), all;
    const auto check = [&](auto kernel, auto exact) {
      for (const float* by : {static_cast<const float*>(nullptr), static_cast<const float*>(times.data())}) {
        kernel(x.data(), by, n, y.data());
        all.insert(all.end(), y.begin(), y.end());
        for (uint32_t i = 0; i < n; ++i) {
          const double wanted = exact(double{x[i]}) * (by ? double{by[i]} : 1.0);
          ASSERT_NEAR(y[i], wanted, std::abs(wanted) * 4e-6 + 1e-12) << x[i];
        }
      }
    };
    check(k.relu2, [](double v) { return v > 0 ? v * v : 0; });
    check(k.silu, [](double v) { return v / (1 + std::exp(-v)); });
    check(k.gelu, gelu);
    if (std::string(k.name) == "sse4") continue;  // it has no fused multiply-add
    if (reference.empty()) reference = all;
    EXPECT_EQ(all, reference);
  }
}

}  // namespace
}  // namespace bitnet
