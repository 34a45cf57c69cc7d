// Compares the kernels of each instruction set that runs here with the scalar reference, bit for bit.
#include "engine/cpu/kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "engine/layouts/pack.h"

namespace bitnet::cpu {
namespace {

template <typename Check>
void for_each_simd(Check check) {
  for (const KernelChoice& choice : kernel_choices()) {
    if (!choice.supported || choice.kernels == &kScalarKernels) continue;
    SCOPED_TRACE(choice.kernels->name);
    check(*choice.kernels);
  }
}

TEST(CpuKernels, EveryHalfAndItsNeighboursConvertAlike) {
  std::vector<uint16_t> halves(1 << 16);
  for (size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<uint16_t>(i);
  const auto n = static_cast<uint32_t>(halves.size());
  std::vector<float> wanted(n), floats;
  kScalarKernels.to_floats(halves.data(), n, wanted.data());
  for (const float f : wanted) {  // and the values a third, half and two thirds of the way to the next
    const uint32_t bits = std::bit_cast<uint32_t>(f);
    for (const uint32_t more : {0U, 0xAAAU, 0xFFFU, 0x1000U, 0x1001U, 0x1555U})
      floats.push_back(std::bit_cast<float>(bits + more));
  }
  const auto n_floats = static_cast<uint32_t>(floats.size());
  std::vector<uint16_t> wanted_halves(n_floats);
  kScalarKernels.to_halves(floats.data(), n_floats, wanted_halves.data());
  for_each_simd([&](const CpuKernels& k) {
    std::vector<float> got(n);
    k.to_floats(halves.data(), n, got.data());
    std::vector<uint16_t> got_halves(n_floats);
    k.to_halves(floats.data(), n_floats, got_halves.data());
    for (uint32_t i = 0; i < n; ++i) {
      if (std::isnan(wanted[i])) {
        ASSERT_TRUE(std::isnan(got[i])) << i;
      } else {
        ASSERT_EQ(std::bit_cast<uint32_t>(got[i]), std::bit_cast<uint32_t>(wanted[i])) << i;
      }
    }
    for (uint32_t i = 0; i < n_floats; ++i) {
      if (std::isnan(floats[i])) continue;
      ASSERT_EQ(got_halves[i], wanted_halves[i]) << floats[i];
    }
  });
}

// Among the inputs are the codes and activations that make the largest sums. The fourth code does not occur,
// because files that have it are refused.
TEST(CpuKernels, IntegerSumsAreThoseOfTheReference) {
  std::mt19937 rng(3);
  for (const uint32_t n_in : {128U, 384U, 2560U, 6912U}) {
    constexpr uint32_t kRows = kTileRows, kTokens = 29;
    std::vector<uint8_t> codes(size_t{kRows} * n_in / 4);
    for (uint8_t& c : codes) {
      const auto bits = static_cast<uint8_t>(rng());
      c = static_cast<uint8_t>(bits & ~(bits >> 1 & bits & 0x55));  // 3 becomes 2
    }
    std::fill_n(codes.begin(), n_in / 4, uint8_t{0xAA});
    std::vector<int8_t> q(size_t{kTokens} * n_in), shortlist(size_t{kRows} * n_in);
    for (int8_t& v : q) v = static_cast<int8_t>(rng());
    std::fill_n(q.begin(), n_in, int8_t{-128});
    for (int8_t& v : shortlist) v = static_cast<int8_t>(static_cast<int>(rng() % 255) - 127);
    std::fill_n(shortlist.begin(), n_in, int8_t{127});
    std::vector<int16_t> p(n_in, static_cast<int16_t>(std::min(32767.0, 2147483647.0 / (127.0 * n_in))));
    for (uint32_t i = 0; i < n_in; i += 3) p[i] = static_cast<int16_t>(-p[i]);

    constexpr uint32_t kVectors = 6;  // which are taken together, and alone
    std::vector<std::vector<int16_t>> turned(kVectors, p);
    const int16_t* vectors[kVectors];
    for (uint32_t v = 0; v < kVectors; ++v) {
      std::rotate(turned[v].begin(), turned[v].begin() + v, turned[v].end());
      vectors[v] = turned[v].data();
    }

    struct Sums {
      std::vector<int32_t> rows, tile, shortlisted;
      bool operator==(const Sums&) const = default;
    };
    const auto sums_of = [&](const CpuKernels& k) {
      Sums s{std::vector<int32_t>(kTokens * kRows), std::vector<int32_t>(kTokens * kTileRows),
             std::vector<int32_t>(kVectors * kRows)};
      k.ternary_rows(codes.data(), n_in, kRows - 1, q.data(), kTokens, kRows,
                     s.rows.data());  // these fill no tile
      const uint8_t* rows[kTileRows];
      for (uint32_t r = 0; r < kTileRows; ++r) rows[r] = codes.data() + size_t{r} * n_in / 4;
      std::vector<uint8_t> tile(size_t{n_in} * kTileRows);
      k.unpack_tile(rows, n_in, tile.data());
      k.tile_product(tile.data(), n_in, q.data(), kTokens, s.tile.data());
      k.int8_rows(shortlist.data(), n_in, kRows - 1, vectors, kVectors, s.shortlisted.data());
      return s;
    };
    const Sums wanted = sums_of(kScalarKernels);
    for_each_simd([&](const CpuKernels& k) { EXPECT_EQ(sums_of(k), wanted) << n_in; });
  }
}

// A made matrix of groups, an input for it, and what each row gives by the formula.
struct MadeGroups {
  uint32_t n_in, scale_every, rows, tokens;
  std::vector<uint8_t> codes;    // [rows][n_in]
  std::vector<uint16_t> scales;  // [rows / 16][n_in / scale_every][16]
  std::vector<int8_t> q;         // [tokens][n_in]
  std::vector<float> factors;    // [tokens][n_in / 64]
  std::vector<int32_t> q_sums;   // [tokens][n_in / 64]
  std::vector<int32_t> wanted;   // [tokens][rows]
  float fixed = 1024;
  std::vector<int8_t> rest = {};  // as q, of inputs of 16 bits

  std::vector<uint8_t> packed(Layout layout) const {
    std::vector<uint8_t> bytes(rows * code_bytes(layout, n_in));
    for (size_t r = 0; r < rows; r += kBandRows)
      (layout == Layout::fives16 ? pack_fives16 : pack_groups16)(
          &codes[r * n_in], n_in, reinterpret_cast<std::byte*>(&bytes[r * code_bytes(layout, n_in)]));
    return bytes;
  }
};

// The first row and the first token have the codes and activations that make the largest sums.
MadeGroups made_groups(uint32_t n_in, uint32_t scale_every, uint32_t tokens, std::mt19937& rng,
                       bool has_rest = false) {
  MadeGroups m{n_in, scale_every, kTileRows, tokens, {}, {}, {}, {}, {}, {}};
  const uint32_t groups = n_in / 64, scales = n_in / scale_every;
  m.codes.resize(size_t{m.rows} * n_in);
  m.scales.resize(size_t{m.rows} * scales);
  m.q.resize(size_t{tokens} * n_in);
  m.factors.resize(size_t{tokens} * groups);
  m.q_sums.resize(size_t{tokens} * groups);
  m.wanted.resize(size_t{tokens} * m.rows);
  std::vector<float> row_scales(m.rows * scales);
  for (uint32_t r = 0; r < m.rows; ++r)
    for (uint32_t s = 0; s < scales; ++s) {
      uint16_t& half = m.scales[(r / 16 * scales + s) * 16 + r % 16];
      const float scale = std::ldexp(static_cast<float>(static_cast<int>(rng() % 2001) - 1000), -20);
      kScalarKernels.to_halves(&scale, 1, &half);
      kScalarKernels.to_floats(&half, 1, &row_scales[r * scales + s]);
    }
  std::vector<int> trits(size_t{m.rows} * n_in);
  for (uint32_t r = 0; r < m.rows; ++r)
    for (uint32_t i = 0; i < n_in; ++i) {
      const uint32_t code = r == 0 ? 2 : rng() % 3;
      trits[size_t{r} * n_in + i] = static_cast<int>(code) - 1;
      m.codes[size_t{r} * n_in + i] = static_cast<uint8_t>(code);
    }
  for (uint32_t t = 0; t < tokens; ++t)
    for (uint32_t g = 0; g < groups; ++g) {
      int8_t* inputs = &m.q[size_t{t} * n_in + 64 * g];
      std::vector<int32_t> whole;
      for (uint32_t i = 0; i < 64; ++i) {
        const int least = has_rest ? -127 : -128;
        const auto value = [&] { return t == 0 ? least : least + static_cast<int>(rng() % 255); };
        whole.push_back(value());
        inputs[i] = static_cast<int8_t>(whole[i]);
        if (has_rest) {
          m.rest.push_back(static_cast<int8_t>(value()));
          whole[i] = whole[i] * 254 + m.rest.back();
        }
        m.q_sums[t * groups + g] += whole[i];
      }
      float& of_unit = m.factors[t * groups + g];
      of_unit = t == 0 ? 1 : static_cast<float>(rng() % 1001) / 1000;
      for (uint32_t r = 0; r < m.rows; ++r) {
        int64_t sum = 0;
        for (uint32_t i = 0; i < 64; ++i) sum += trits[size_t{r} * n_in + 64 * g + i] * whole[i];
        const float factor = row_scales[r * scales + 64 * g / scale_every] * m.fixed * of_unit;
        m.wanted[t * m.rows + r] += static_cast<int32_t>(std::nearbyint(static_cast<float>(sum) * factor));
      }
    }
  return m;
}

TEST(CpuKernels, SumsOfGroupsAreThoseOfTheFormula) {
  std::mt19937 rng(5);
  for (const uint32_t n_in : {64U, 192U, 512U, 640U, 1536U, 6912U})
    for (const uint32_t scale_every : {64U, 128U, 256U, n_in}) {
      if (n_in % scale_every != 0) continue;
      constexpr uint32_t kTokens = 23;
      const bool has_rest = n_in % 128 == 0;  // some of each
      const MadeGroups m = made_groups(n_in, scale_every, kTokens, rng, has_rest);
      const UnitInputs in{m.q.data(), m.q_sums.data(), m.factors.data(), has_rest ? m.rest.data() : nullptr};
      const uint32_t scales = n_in / scale_every;
      for (const KernelChoice& choice : kernel_choices()) {
        if (!choice.supported) continue;
        const CpuKernels& k = *choice.kernels;
        SCOPED_TRACE(k.name);
        std::vector<int32_t> rows(size_t{kTokens} * m.rows), tiles(rows.size(), -1);
        const std::vector<uint8_t> codes = m.packed(k.group_layout);
        const GroupRows w{codes.data(), m.scales.data(), n_in, scale_every, m.fixed};
        k.group_rows(w, m.rows / kBandRows, in, kTokens, m.rows, rows.data());
        EXPECT_EQ(rows, m.wanted) << n_in << " " << scale_every;
        std::vector<uint8_t> tile(size_t{n_in} * kTileRows);
        std::vector<float> tile_scales(size_t{scales} * kTileRows);
        const uint8_t* bands[] = {codes.data(), codes.data() + kBandRows * code_bytes(k.group_layout, n_in)};
        const uint16_t* band_scales[] = {m.scales.data(), m.scales.data() + size_t{kBandRows} * scales};
        k.unpack_bands(bands, n_in, tile.data());
        k.unpack_scales(band_scales, scales, m.fixed, tile_scales.data());
        k.group_tile({tile.data(), tile_scales.data(), n_in, scale_every}, in, kTokens, tiles.data());
        EXPECT_EQ(tiles, m.wanted) << n_in << " " << scale_every;
      }
    }
}

TEST(CpuKernels, SumsOfRowsInFivesAreExact) {
  std::mt19937 rng(7);
  for (const uint32_t n_in : {128U, 640U, 1152U, 6912U}) {
    constexpr uint32_t kTokens = 23;
    const MadeGroups m = made_groups(n_in, n_in, kTokens, rng);
    std::vector<int32_t> wanted;
    for (uint32_t t = 0; t < kTokens; ++t)
      for (uint32_t r = 0; r < m.rows; ++r)
        wanted.push_back(std::inner_product(&m.q[size_t{t} * n_in], &m.q[size_t{t} * n_in] + n_in,
                                            &m.codes[size_t{r} * n_in], 0));
    const std::vector<uint8_t> codes = m.packed(Layout::fives16);
    const uint8_t* bands[] = {codes.data(), codes.data() + kBandRows * code_bytes(Layout::fives16, n_in)};
    for_each_simd([&](const CpuKernels& k) {
      EXPECT_EQ(k.fives_rows != nullptr, k.group_layout == Layout::fives16);
      if (!k.fives_rows) return;
      std::vector<int32_t> rows(wanted.size()), tiles(wanted.size(), -1);
      uint32_t t = 0;
      for (const uint32_t n : {1U, 2U, 3U, 4U, 5U, 8U}) {
        k.fives_rows(codes.data(), n_in, 2, &m.q[size_t{t} * n_in], n, m.rows, &rows[t * m.rows]);
        t += n;
      }
      ASSERT_EQ(t, kTokens);
      EXPECT_EQ(rows, wanted) << n_in;
      std::vector<uint8_t> tile(size_t{n_in} * kTileRows);
      k.unpack_fives(bands, n_in, tile.data());
      k.tile_product(tile.data(), n_in, m.q.data(), kTokens, tiles.data());
      EXPECT_EQ(tiles, wanted) << n_in;
    });
  }
}

// A token's logits are the same bits whether it is decoded alone or with others.
TEST(CpuKernels, ProductsOfHalvesHaveTheSameBitsForAnyNumberOfTokens) {
  constexpr uint32_t kRows = 7, kMostTokens = 9;
  std::mt19937 rng(9);
  std::normal_distribution<float> normal;
  for (const uint32_t n : {16U, 48U, 128U, 512U, 1008U}) {
    std::vector<float> floats(size_t{kRows} * n), y(size_t{kMostTokens} * n);
    for (auto* values : {&floats, &y}) std::ranges::generate(*values, [&] { return normal(rng); });
    std::vector<uint16_t> rows(floats.size());
    kScalarKernels.to_halves(floats.data(), static_cast<uint32_t>(floats.size()), rows.data());
    std::vector<float> wanted(size_t{kMostTokens} * kRows);
    for (uint32_t t = 0; t < kMostTokens; ++t)
      kScalarKernels.half_rows(rows.data(), n, kRows, &y[size_t{t} * n], &wanted[size_t{t} * kRows]);
    for_each_simd([&](const CpuKernels& k) {
      for (uint32_t tokens = 1; k.half_tokens && tokens <= kMostTokens; ++tokens) {
        std::vector<float> got(size_t{tokens} * kRows);
        k.half_tokens(rows.data(), n, kRows, y.data(), tokens, kRows, got.data());
        EXPECT_TRUE(std::equal(got.begin(), got.end(), wanted.begin())) << n << ", " << tokens << " tokens";
      }
    });
  }
}

// A unit of zeros, one of tiny values and one with values that are no numbers are among them.
TEST(CpuKernels, InputsAreRoundedByTheRowOrByUnits) {
  std::mt19937 rng(6);
  std::normal_distribution<float> normal;
  constexpr uint32_t kIn = 320;
  std::vector<float> x(kIn), weight(kIn);
  for (float& v : x) v = normal(rng);
  for (float& v : weight) v = normal(rng);
  for (uint32_t i = 64; i < 128; ++i) x[i] = i < 96 ? 0 : 1e-35F * x[i];
  x[3] = 0;
  x[200] = std::numeric_limits<float>::quiet_NaN();
  x[300] = std::numeric_limits<float>::infinity();
  const auto rounded = [](float v, float least) {
    return v > least ? std::nearbyint(std::min(v, 127.0F)) : least;
  };
  for (const float* w : {static_cast<const float*>(nullptr), static_cast<const float*>(weight.data())})
    for (const KernelChoice& choice : kernel_choices()) {
      if (!choice.supported) continue;
      const CpuKernels& k = *choice.kernels;
      SCOPED_TRACE(k.name);
      const auto v = [&](uint32_t i) { return w ? x[i] * w[i] : x[i]; };
      std::vector<int8_t> q(kIn);
      for (const uint32_t unit : {32U, 64U}) {
        std::vector<float> m(kIn / unit), squares(m.size());
        k.quantise_units(x.data(), w, kIn, unit, q.data(), m.data(), squares.data());
        for (uint32_t u = 0; u < kIn / unit; ++u) {
          float most = 1e-30F;
          for (uint32_t i = u * unit; i < (u + 1) * unit; ++i)
            most = std::abs(v(i)) > most ? std::abs(v(i)) : most;
          ASSERT_EQ(m[u], most) << unit << " " << u;
          for (uint32_t i = u * unit; i < (u + 1) * unit; ++i)
            ASSERT_EQ(q[i], rounded(v(i) * (127 / most), -127)) << i;
        }
        m.resize(unit == 32 ? 9 : 4);  // without the unit that is infinite
        const std::vector<float> before = m;
        const float most = *std::max_element(m.begin(), m.end());
        const size_t broken = 200 / unit;
        squares[broken] = 1;
        const UnitTotals row =
            k.unit_factors(m.data(), squares.data(), static_cast<uint32_t>(m.size()), m.data());
        EXPECT_EQ(row.largest, most);
        double sum = 0, exact = 1;
        for (size_t i = 0; i < m.size() * unit; ++i) exact += i / unit == broken ? 0 : double{x[i]} * x[i];
        for (size_t u = 0; u < m.size(); ++u) sum += squares[u];
        EXPECT_NEAR(row.squares, sum, sum * 1e-6);
        EXPECT_NEAR(sum, exact, exact * 1e-6);
        for (size_t u = 0; u < m.size(); ++u) ASSERT_EQ(m[u], before[u] < most ? before[u] / most : 1) << u;
      }
      std::vector<int32_t> sums(kIn / 16);
      k.sums_of_64(q.data(), kIn, sums.data());
      for (uint32_t i = 0; i < kIn; i += 64) ASSERT_EQ(sums[i / 64], std::accumulate(&q[i], &q[i] + 64, 0));

      const float inverse = w ? 0.75F : 1;
      const auto y = [&](uint32_t i) { return w ? x[i] * inverse * w[i] : x[i]; };
      float largest = 0;
      for (uint32_t i = 0; i < 192; ++i) largest = std::max(largest, std::abs(y(i)));
      EXPECT_EQ(k.largest_normalised(x.data(), w, 192, inverse), largest);
      const float too_large = 140 / largest;
      const int32_t sum = k.quantise(x.data(), w, kIn, inverse, too_large, q.data());
      for (uint32_t i = 0; i < kIn; ++i) ASSERT_EQ(q[i], rounded(y(i) * too_large, -128)) << i;
      EXPECT_EQ(sum, std::accumulate(q.begin(), q.end(), 0));
    }
}

// Whether two floats are of the same bits; sse4, which has no fused multiply-add, may be off by some of the
// last.
void expect_alike(const CpuKernels& k, const std::vector<float>& got, const std::vector<float>& wanted) {
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (std::string(k.name) != "sse4")
      ASSERT_EQ(std::bit_cast<uint32_t>(got[i]), std::bit_cast<uint32_t>(wanted[i])) << i;
    else
      ASSERT_NEAR(got[i], wanted[i], std::abs(wanted[i]) * 1e-6F) << i;
  }
}

TEST(CpuKernels, SiluIsThatOfTheFormula) {
  std::mt19937 rng(7);
  for (const uint32_t n : {1U, 16U, 45U, 4096U}) {
    std::vector<int32_t> gate(n), up(n);
    for (uint32_t i = 0; i < n; ++i) {
      gate[i] = static_cast<int32_t>(rng() % 200000) - 100000;
      up[i] = static_cast<int32_t>(rng() % 200000) - 100000;
    }
    const auto silu = [&](const CpuKernels& k) {
      std::vector<float> y(n);
      k.silu_sums(gate.data(), up.data(), n, 7, 1e-3F, 2e-3F, y.data());
      return y;
    };
    const std::vector<float> wanted = silu(kScalarKernels);
    for (uint32_t i = 0; i < n; ++i) {
      const double g = static_cast<float>(gate[i] - 7) * 1e-3F, u = static_cast<float>(up[i] - 7) * 2e-3F;
      const double exact = g / (1 + std::exp(-g)) * u;
      ASSERT_NEAR(wanted[i], exact, std::abs(exact) * 1e-6 + 1e-30) << g;
    }
    for_each_simd([&](const CpuKernels& k) { expect_alike(k, silu(k), wanted); });
  }
}

TEST(CpuKernels, HeadsOfAnySizeAreNormed) {
  std::mt19937 rng(8);
  std::normal_distribution<float> normal;
  for (const uint32_t n : {8U, 16U, 40U, 80U, 128U}) {
    std::vector<float> x(n), weight(n);
    for (float& v : x) v = normal(rng);
    for (float& v : weight) v = normal(rng);
    const auto normed = [&](const CpuKernels& k) {
      std::vector<float> y = x;
      k.norm_head(y.data(), weight.data(), n, 1e-6F);
      return y;
    };
    const std::vector<float> wanted = normed(kScalarKernels);
    double squares = 0;
    for (const float v : x) squares += double{v} * v;
    for (uint32_t i = 0; i < n; ++i) {
      const double exact = x[i] / std::sqrt(squares / n + 1e-6) * weight[i];
      ASSERT_NEAR(wanted[i], exact, std::abs(exact) * 1e-6);
    }
    for_each_simd([&](const CpuKernels& k) { expect_alike(k, normed(k), wanted); });
  }
}

// A score that is +Inf or no number at all has no softmax, and one of -Inf weighs next to nothing.
TEST(CpuKernels, AttentionDoesNotHideAScoreThatIsNoNumber) {
  constexpr uint16_t kOne = 0x3C00, kInfinity = 0x7C00, kNan = 0x7E00;
  constexpr uint32_t kDim = 24, kHeads = 4;
  constexpr float kNear = 1e-6F;
  std::vector<const CpuKernels*> all = {&kScalarKernels};
  for_each_simd([&](const CpuKernels& k) { all.push_back(&k); });
  for (const CpuKernels* k : all)
    for (const uint32_t n_keys : {1U, 16U, 21U, 40U})
      for (uint32_t bad = 0; bad < n_keys; ++bad)
        for (const uint16_t key : {kInfinity, kNan}) {
          SCOPED_TRACE(testing::Message() << k->name << ' ' << n_keys << " keys, number " << bad);
          std::vector<uint16_t> keys(size_t{n_keys} * kDim, kOne), values(size_t{n_keys} * kDim, kOne);
          keys[bad * kDim + 3] = key;
          std::vector<float> queries(size_t{kHeads} * kDim, 0.5F), out(queries.size()),
              scratch(attention_scratch(n_keys));
          queries[3] = -0.5F;  // of the first head
          k->attention({.keys = keys.data(),
                        .values = values.data(),
                        .row = kDim,
                        .rows = n_keys,
                        .first = 0,
                        .n_keys = n_keys,
                        .head_dim = kDim,
                        .n_heads = kHeads,
                        .queries = queries.data(),
                        .scale = 0.2F,
                        .out = out.data(),
                        .scratch = scratch.data()});
          const bool others = key == kInfinity && n_keys > 1;
          for (uint32_t i = 0; i < kDim && others; ++i) ASSERT_NEAR(out[i], 1, kNear) << i;
          for (size_t i = others ? kDim : 0; i < out.size(); ++i) ASSERT_TRUE(std::isnan(out[i])) << i;
        }
}

}  // namespace
}  // namespace bitnet::cpu
