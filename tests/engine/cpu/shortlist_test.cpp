// Tests the shortlisted head of the CPU: its bounds hold for every row, and the winner is that of the full
// head.
#include "engine/cpu/shortlist.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <random>

#include "engine/backend.h"
#include "engine/kernel_options.h"
#include "engine/layouts/file_types.h"
#include "tests/support/no_threads.h"

namespace bitnet {
namespace {

using cpu::CpuKernels;
using cpu::KernelChoice;

constexpr uint32_t kWide = 384;

struct HalfTable {
  std::vector<uint16_t> halves;  // [rows][kWide]
  uint32_t rows() const { return static_cast<uint32_t>(halves.size() / kWide); }
  cpu::TableRows in_file() const {
    return {reinterpret_cast<const std::byte*>(halves.data()), 2 * kWide, kWide, TensorType::f16};
  }
  void add(const CpuKernels& k, const std::vector<float>& row) {
    halves.resize(halves.size() + kWide);
    k.to_halves(row.data(), kWide, halves.data() + halves.size() - kWide);
  }
};

std::vector<float> normal_vector(std::mt19937& rng, float deviation) {
  std::normal_distribution<float> normal(0, deviation);
  std::vector<float> v(kWide);
  for (float& x : v) x = normal(rng);
  return v;
}

// Returns rows that are hard to quantise, among ordinary ones.
HalfTable adversarial_table(const CpuKernels& k, const std::vector<float>& towards, std::mt19937& rng) {
  HalfTable table;
  for (int i = 0; i < 200; ++i) table.add(k, normal_vector(rng, 0.02F));
  for (int i = 0; i < 40; ++i) {  // these are less than a step of 8 bits apart
    std::vector<float> row = towards;
    for (float& x : row) x *= 0.01F;
    row[rng() % kWide] *= 1.001F;
    table.add(k, row);
  }
  for (const float outlier : {1.0F, 100.0F, 60000.0F}) {  // nothing is left of the other features
    std::vector<float> row = normal_vector(rng, 0.02F);
    row[rng() % kWide] = outlier;
    table.add(k, row);
  }
  table.add(k, std::vector<float>(kWide, 0.0F));
  table.add(k, std::vector<float>(kWide, 6e-8F));  // F16's smallest
  std::vector<float> halfway(kWide);               // all that 8 bits leave out points the same way
  for (uint32_t i = 0; i < kWide; ++i) halfway[i] = std::copysign(0.5F / 127, towards[i]);
  halfway[0] = 1;
  table.add(k, halfway);
  for (float& x : halfway) x = -x;
  table.add(k, halfway);
  return table;
}

std::vector<std::vector<float>> vectors(std::mt19937& rng) {
  std::vector<std::vector<float>> all = {normal_vector(rng, 1), normal_vector(rng, 1e-6F),
                                         normal_vector(rng, 1e4F)};
  all.push_back(normal_vector(rng, 1));
  all.back()[5] = 3000;  // an outlier, as trained models have
  all.emplace_back(kWide, 1.0F);
  all.emplace_back(kWide, 0.0F);
  all.back()[7] = -2;
  return all;
}

TEST(Shortlist, BoundsHoldForEveryRow) {
  std::mt19937 rng(1);
  for (const KernelChoice& choice : cpu::kernel_choices()) {
    if (!choice.supported) continue;
    const CpuKernels& k = *choice.kernels;
    for (const std::vector<float>& y : vectors(rng)) {
      HalfTable table = adversarial_table(k, y, rng);
      const uint32_t n_finite = table.rows();
      table.halves.resize(table.halves.size() + kWide, 0x7C00);  // Inf
      table.halves.resize(table.halves.size() + kWide, 0x7E00);  // NaN
      const cpu::Shortlist shortlist(k, table.in_file(), table.rows());
      shortlist.wait();
      cpu::ShortlistVector vector;
      shortlist.set_vector(y, vector);
      ASSERT_TRUE(vector.usable);
      std::vector<int32_t> scratch(table.rows());
      std::vector<float> approximations(table.rows()), full(table.rows());
      cpu::Shortlist::Bounds most{};
      shortlist.approximate({&vector, 1}, 0, n_finite, scratch.data(), approximations.data(), 0, &most);
      k.half_rows(table.halves.data(), kWide, table.rows(), y.data(), full.data());
      float best = -INFINITY;
      for (uint32_t r = 0; r < n_finite; ++r) {
        ASSERT_LE(shortlist.lower(vector, r, approximations[r]), full[r]) << k.name << " row " << r;
        ASSERT_GE(shortlist.upper(vector, r, approximations[r]), full[r]) << k.name << " row " << r;
        best = std::max(best, full[r]);
      }
      EXPECT_LE(most.lower, best);
      EXPECT_GE(most.upper, best);
      for (uint32_t r = n_finite; r < table.rows(); ++r) EXPECT_FALSE(shortlist.upper(vector, r, 0) < 1e30F);
    }
  }
}

TEST(Shortlist, AVectorWithoutABoundIsSaid) {
  const CpuKernels& k = cpu::kScalarKernels;
  const HalfTable table{std::vector<uint16_t>(kWide, 0x3C00)};
  const cpu::Shortlist shortlist(k, table.in_file(), 1);
  cpu::ShortlistVector vector;
  for (const float bad : {NAN, INFINITY, 0.0F, 1e-30F}) {
    shortlist.set_vector(std::vector<float>(kWide, bad), vector);
    EXPECT_FALSE(vector.usable) << bad;
  }
}

// What head and argmax give on a backend, and the logits that are read afterwards.
struct Outcome {
  ArgmaxResult argmax;
  std::vector<std::vector<TokenLogit>> largest;  // one for each of kLargest
  std::vector<float> logits;
};
constexpr uint32_t kLargest[] = {3, 1, 6};

// Of each of some vectors, which are one batch.
std::vector<Outcome> outcomes_of(const cpu::TableRows& rows, uint32_t n_rows,
                                 const std::vector<std::vector<float>>& ys, HeadShortlist shortlist,
                                 const std::string& kernels, bool has_threads = true) {
  EngineOptions options;
  options.kernels = share({.cpu_kernels = kernels, .head_shortlist = shortlist});
  options.threads = 2;
  const auto backend = open_cpu(options);
  backend->allow_head_copy();
  Table e;
  e.n_vocab = n_rows;
  e.n_embd = rows.n;
  e.type = rows.type;
  e.chunks.push_back({0, n_rows, backend->adopt({rows.bytes, n_rows * rows.row_bytes}), nullptr});
  const auto put = [&](const auto& values) {
    BufferPtr b = backend->allocate(values.size() * sizeof(values[0]), BufferUse::device);
    backend->upload(*b, 0, std::as_bytes(std::span(values)));
    return b;
  };
  std::vector<float> all;
  for (const std::vector<float>& y : ys) all.insert(all.end(), y.begin(), y.end());
  const auto n_tokens = static_cast<uint32_t>(ys.size());
  const BufferPtr x = put(all), logits = put(std::vector<float>(size_t{n_tokens} * n_rows));
  const BufferPtr partial =
      backend->allocate(n_tokens * kArgmaxPartials * sizeof(ArgmaxResult), BufferUse::device);
  const BufferPtr result = backend->allocate(n_tokens * sizeof(ArgmaxResult), BufferUse::shared);
  std::optional<NoThreads> none;
  if (!has_threads) none.emplace();
  const auto program = backend->record([&](Recorder& r) {
    r.head(e, *x, *logits, n_tokens);
    r.argmax(*logits, n_rows, *partial, *result, n_tokens);
  });
  backend->run(*program, 0, {});
  std::vector<Outcome> outcomes(n_tokens);
  for (uint32_t t = 0; t < n_tokens; ++t) {
    Outcome& outcome = outcomes[t];
    backend->download(*result, t * sizeof(ArgmaxResult),
                      std::as_writable_bytes(std::span(&outcome.argmax, 1)));
    for (const uint32_t n : kLargest) {
      outcome.largest.emplace_back();
      if (!backend->largest_logits(*logits, t, n, outcome.largest.back())) outcome.largest.pop_back();
    }
    EXPECT_FALSE(backend->largest_logits(*logits, t, n_rows, outcome.largest.emplace_back()));
    outcome.largest.pop_back();
  }
  for (uint32_t t = 0; t < n_tokens; ++t) {
    outcomes[t].logits.resize(n_rows);
    backend->download(*logits, size_t{t} * n_rows * sizeof(float),
                      std::as_writable_bytes(std::span(outcomes[t].logits)));
  }
  return outcomes;
}

Outcome outcome_of(const cpu::TableRows& rows, uint32_t n_rows, const std::vector<float>& y,
                   HeadShortlist shortlist, const std::string& kernels) {
  return outcomes_of(rows, n_rows, {y}, shortlist, kernels)[0];
}

TEST(Shortlist, TheWinnerAndTheLogitsAreThoseOfTheFullHead) {
  std::mt19937 rng(2);
  for (const KernelChoice& choice : cpu::kernel_choices()) {
    if (!choice.supported) continue;
    for (const std::vector<float>& y : vectors(rng)) {
      const HalfTable table = adversarial_table(*choice.kernels, y, rng);
      const Outcome full =
          outcome_of(table.in_file(), table.rows(), y, HeadShortlist::never, choice.kernels->name);
      const Outcome shortlisted =
          outcome_of(table.in_file(), table.rows(), y, HeadShortlist::always, choice.kernels->name);
      EXPECT_EQ(shortlisted.argmax.index, full.argmax.index) << choice.kernels->name;
      EXPECT_EQ(shortlisted.argmax.largest, full.argmax.largest);
      EXPECT_EQ(shortlisted.argmax.non_finite, 0U);
      EXPECT_EQ(shortlisted.logits, full.logits);
      EXPECT_TRUE(full.largest.empty());
      ASSERT_EQ(shortlisted.largest.size(), std::size(kLargest));
      for (size_t i = 0; i < std::size(kLargest); ++i) {
        std::vector<float> sorted = full.logits;
        std::ranges::sort(sorted, std::greater());
        size_t wanted = 0;
        for (const TokenLogit& t : shortlisted.largest[i]) {
          EXPECT_EQ(t.logit, full.logits[static_cast<size_t>(t.id)]);
          wanted += t.logit >= sorted[kLargest[i] - 1];
        }
        EXPECT_GE(wanted, kLargest[i]);
        EXPECT_TRUE(std::ranges::is_sorted(shortlisted.largest[i], std::less(), &TokenLogit::id));
        EXPECT_LT(shortlisted.largest[i].size(), full.logits.size());
      }
    }
    std::vector<float> broken(kWide, 1.0F);
    broken[3] = NAN;
    const HalfTable table = adversarial_table(*choice.kernels, std::vector<float>(kWide, 1.0F), rng);
    EXPECT_EQ(outcome_of(table.in_file(), table.rows(), broken, HeadShortlist::always, choice.kernels->name)
                  .argmax.non_finite,
              1U);
  }
}

TEST(Shortlist, TokensThatReadItTogetherGetWhatEachGetsAlone) {
  std::mt19937 rng(6);
  const CpuKernels& k = cpu::kScalarKernels;
  const std::vector<std::vector<float>> ys = vectors(rng);
  const HalfTable table = adversarial_table(k, ys[0], rng);
  for (const KernelChoice& choice : cpu::kernel_choices()) {
    if (!choice.supported) continue;
    const std::vector<Outcome> together =
        outcomes_of(table.in_file(), table.rows(), ys, HeadShortlist::always, choice.kernels->name);
    for (size_t t = 0; t < ys.size(); ++t) {
      SCOPED_TRACE(fmt::format("{} token {}", choice.kernels->name, t));
      const Outcome alone =
          outcome_of(table.in_file(), table.rows(), ys[t], HeadShortlist::always, choice.kernels->name);
      EXPECT_EQ(std::memcmp(&together[t].argmax, &alone.argmax, sizeof alone.argmax), 0);
      EXPECT_EQ(together[t].logits, alone.logits);
      ASSERT_EQ(together[t].largest.size(), alone.largest.size());
      for (size_t i = 0; i < alone.largest.size(); ++i)
        EXPECT_TRUE(std::ranges::equal(
            together[t].largest[i], alone.largest[i],
            [](const TokenLogit& a, const TokenLogit& b) { return a.id == b.id && a.logit == b.logit; }));
    }
  }
}

TEST(Shortlist, AHeadOfAnyDenseTypeMayHaveOne) {
  std::mt19937 rng(4);
  constexpr uint32_t kRows = 700, kIn = 512;
  std::normal_distribution<float> normal;
  std::vector<float> y(kIn);
  for (float& v : y) v = normal(rng);
  for (const TensorType type : {TensorType::f32, TensorType::bf16, TensorType::q8_0, TensorType::q4_0,
                                TensorType::q5_0, TensorType::q4_k, TensorType::q5_k, TensorType::q6_k}) {
    const FileType& of_file = *find_file_type(type);
    const size_t row_bytes = of_file.row_bytes(kIn);
    std::vector<std::byte> bytes(kRows * row_bytes);
    for (std::byte& b : bytes) b = static_cast<std::byte>(rng());
    for (size_t at = 0; at < bytes.size(); at += of_file.block_bytes) {  // small scales and floats
      const bool floats = type == TensorType::f32 || type == TensorType::bf16;
      const uint16_t half = (floats ? 0x3D00 : 0x2000) + rng() % 256, zero = 0;
      std::memcpy(&bytes[at + (type == TensorType::q6_k ? 208 : of_file.block_bytes == 4 ? 2 : 0)], &half, 2);
      if (type == TensorType::q4_k || type == TensorType::q5_k) std::memcpy(&bytes[at + 2], &zero, 2);
    }
    const cpu::TableRows rows{bytes.data(), row_bytes, kIn, type};
    for (const KernelChoice& choice : cpu::kernel_choices()) {
      if (!choice.supported) continue;
      SCOPED_TRACE(shown_name(type) + " on " + choice.kernels->name);
      const Outcome full = outcome_of(rows, kRows, y, HeadShortlist::never, choice.kernels->name);
      const Outcome shortlisted = outcome_of(rows, kRows, y, HeadShortlist::always, choice.kernels->name);
      EXPECT_EQ(shortlisted.argmax.index, full.argmax.index);
      EXPECT_EQ(shortlisted.argmax.largest, full.argmax.largest);
      EXPECT_EQ(shortlisted.logits, full.logits);
      EXPECT_EQ(shortlisted.largest.size(), std::size(kLargest));
    }
  }
}

TEST(Shortlist, WhereNoneCanBeHadTheHeadIsWhole) {
  constexpr uint32_t kRows = 22'000;  // as many as pay
  static_assert(uint64_t{kRows} * kWide >= 8 << 20);
  std::mt19937 rng(5);
  HalfTable table;
  table.halves.resize(size_t{kRows} * kWide);
  for (uint16_t& half : table.halves)
    half = static_cast<uint16_t>((rng() & 0x8000) | (0x2000 + rng() % 0x400));
  const std::vector<std::vector<float>> ys = {normal_vector(rng, 1)};
  const Outcome full = outcomes_of(table.in_file(), kRows, ys, HeadShortlist::never, "")[0];
  const Outcome found = outcomes_of(table.in_file(), kRows, ys, HeadShortlist::where_large, "", false)[0];
  EXPECT_TRUE(found.largest.empty());
  EXPECT_EQ(found.argmax.index, full.argmax.index);
  EXPECT_EQ(found.logits, full.logits);
}

}  // namespace
}  // namespace bitnet
