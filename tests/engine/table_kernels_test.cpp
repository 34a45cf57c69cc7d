// Tests the kernels that read the token embedding and the LM head, in every type of table.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "engine/gguf.h"
#include "engine/layouts/file_types.h"
#include "tests/engine/kernels.h"

namespace bitnet {
namespace {

struct TableCase {
  TensorType type;
  std::vector<uint32_t> halves;  // where the blocks have F16
  std::vector<uint32_t> widths;  // features of a row
};

const std::vector<TableCase> kDense = {
    {TensorType::f32, {}, {192, 2560}},     {TensorType::f16, {0}, {192, 2560}},
    {TensorType::bf16, {}, {192, 2560}},    {TensorType::q4_0, {0}, {2560}},
    {TensorType::q5_0, {0}, {192}},         {TensorType::q8_0, {0}, {192, 8256}},
    {TensorType::q4_k, {0, 2}, {2560}},     {TensorType::q5_k, {0, 2}, {256}},
    {TensorType::q6_k, {208}, {256, 4096}},
};

// Rows of random blocks. Their F16 are of both signs, some subnormal and none above 1/16; floats are as
// small.
std::vector<std::byte> random_rows_of(const TableCase& c, uint32_t rows, uint32_t n_embd, std::mt19937& rng) {
  const FileType& type = *find_file_type(c.type);
  std::vector<std::byte> bytes(rows * type.row_bytes(n_embd));
  for (std::byte& b : bytes) b = static_cast<std::byte>(rng());
  for (size_t at = 0; at < bytes.size(); at += type.block_bytes) {
    for (const uint32_t half : c.halves) {
      const auto bits = static_cast<uint16_t>((rng() & 0x8000) | rng() % 0x2C00);
      std::memcpy(&bytes[at + half], &bits, sizeof bits);
    }
    if (c.halves.empty()) {  // F32, BF16: an exponent of at most -4
      std::byte& last = bytes[at + type.block_bytes - 1];
      last = (last & std::byte{0x80}) | static_cast<std::byte>(0x30 + rng() % 14);
    }
  }
  return bytes;
}

Table in_chunks(Backend& b, const TableCase& c, const std::vector<std::byte>& bytes, uint32_t n_embd,
                const std::vector<uint32_t>& rows) {
  Table table;
  table.n_embd = n_embd;
  table.type = c.type;
  const size_t row_bytes = find_file_type(c.type)->row_bytes(n_embd);
  for (const uint32_t n : rows) {
    const auto begin = bytes.begin() + static_cast<ptrdiff_t>(table.n_vocab * row_bytes);
    table.chunks.push_back(
        {table.n_vocab, n, put(b, std::vector<std::byte>(begin, begin + ptrdiff_t(n * row_bytes))), nullptr});
    table.n_vocab += n;
  }
  return table;
}

TEST_P(Kernels, RowsOfEveryTypeAreTheirFloats) {
  for (const TableCase& c : kDense)
    for (const uint32_t n_embd : c.widths) {
      SCOPED_TRACE(shown_name(c.type) + " of " + std::to_string(n_embd));
      const FileType& type = *find_file_type(c.type);
      const std::vector<std::byte> bytes = random_rows_of(c, 75, n_embd, rng);
      const Table table = in_chunks(*backend, c, bytes, n_embd, {33, 41, 1});
      const std::vector<int32_t> tokens = {0, 32, 33, 73, 74, 7, 8, 40};
      const auto n = static_cast<uint32_t>(tokens.size());
      const BufferPtr x = backend->allocate(n * n_embd * sizeof(float), BufferUse::device);
      run(
          *backend, [&](Recorder& r) { r.embed(table, {}, *x, n); }, 0, tokens);
      const auto found = get<float>(*backend, *x, n * n_embd);
      std::vector<float> wanted(n_embd);
      for (uint32_t t = 0; t < n; ++t) {
        row_floats(c.type, &bytes[size_t(tokens[t]) * type.row_bytes(n_embd)], n_embd, wanted.data());
        for (uint32_t i = 0; i < n_embd; ++i)
          ASSERT_EQ(found[t * n_embd + i], wanted[i]) << "token " << t << " feature " << i;
      }
    }
}

// A damaged scale must be seen in the result.
TEST_P(Kernels, AnInfiniteScaleStaysInfinite) {
  const TableCase c{TensorType::q8_0, {0}, {}};
  std::vector<std::byte> bytes(64 / 32 * 34, std::byte{5});
  const uint16_t infinite = 0xFC00;
  for (const size_t block : {0, 34}) std::memcpy(&bytes[block], &infinite, sizeof infinite);
  const Table table = in_chunks(*backend, c, bytes, 64, {1});
  const BufferPtr x = backend->allocate(64 * sizeof(float), BufferUse::device);
  run(*backend, [&](Recorder& r) { r.embed(table, {}, *x, 1); }, 0, {0});
  EXPECT_EQ(get<float>(*backend, *x, 64), std::vector<float>(64, -std::numeric_limits<float>::infinity()));
}

// Eight rows of logits at once are those of one at a time.
TEST_P(Kernels, TheHeadOfEveryTypeIsItsProduct) {
  constexpr uint32_t kRows = 8;
  std::normal_distribution<float> normal;
  for (const TableCase& c : kDense)
    for (const uint32_t n_embd : c.widths) {
      SCOPED_TRACE(shown_name(c.type) + " of " + std::to_string(n_embd));
      const FileType& type = *find_file_type(c.type);
      const std::vector<std::byte> bytes = random_rows_of(c, 75, n_embd, rng);
      const Table table = in_chunks(*backend, c, bytes, n_embd, {33, 41, 1});
      std::vector<float> y(size_t{kRows} * n_embd);
      for (float& v : y) v = normal(rng);
      const BufferPtr all_y = put(*backend, y),
                      all = put(*backend, std::vector<float>(size_t{kRows} * table.n_vocab));
      run(*backend, [&](Recorder& r) { r.head(table, *all_y, *all, kRows); });
      const auto found = get<float>(*backend, *all, size_t{kRows} * table.n_vocab);
      std::vector<float> row(n_embd);
      for (uint32_t i = 0; i < table.n_vocab; ++i) {
        row_floats(c.type, &bytes[i * type.row_bytes(n_embd)], n_embd, row.data());
        for (uint32_t t = 0; t < kRows; ++t) {
          double wanted = 0, size = 0;
          for (uint32_t j = 0; j < n_embd; ++j) {
            wanted += double{row[j]} * y[t * n_embd + j];
            size += std::abs(double{row[j]} * y[t * n_embd + j]);
          }
          ASSERT_NEAR(found[t * table.n_vocab + i], wanted, 1e-6 * size) << "row " << i << " of " << t;
        }
      }
      for (const uint32_t t : {0U, 7U}) {
        const BufferPtr one_y = put(
            *backend, std::vector<float>(y.begin() + t * n_embd, y.begin() + (t + 1) * ptrdiff_t{n_embd}));
        const BufferPtr one = put(*backend, std::vector<float>(table.n_vocab));
        run(*backend, [&](Recorder& r) { r.head(table, *one_y, *one, 1); });
        const auto single = get<float>(*backend, *one, table.n_vocab);
        EXPECT_TRUE(std::equal(single.begin(), single.end(), found.begin() + t * table.n_vocab)) << t;
      }
    }
}

// What a shortlist leaves: the largest logits of each row with the bits of the whole head, others that are
// smaller, and the same largest one, of tables and vectors of which bounds can and cannot be computed.
TEST_P(Kernels, AShortlistedHeadHasTheLargestLogits) {
  if (!GetParam().cpu_kernels.empty()) GTEST_SKIP() << "the CPU's is tested by cpu/shortlist_test.cpp";
  constexpr uint32_t kVocab = 3000, kEmbd = 192, kTokens = 5, kWant = 12;
  constexpr float kInfinite = std::numeric_limits<float>::infinity();
  std::normal_distribution<float> normal;
  std::vector<Table> tables;  // a backend knows a head by its buffer, so none may take the place of another
  for (const bool broken : {false, true})
    for (const TensorType type : {TensorType::f32, TensorType::f16, TensorType::bf16}) {
      SCOPED_TRACE(shown_name(type) + (broken ? ", broken" : ""));
      const TableCase c{
          type, type == TensorType::f16 ? std::vector<uint32_t>{0} : std::vector<uint32_t>{}, {}};
      std::vector<std::byte> bytes = random_rows_of(c, kVocab, kEmbd, rng);
      if (type == TensorType::f32) {
        std::vector<float> values(kVocab * kEmbd);
        for (float& v : values) v = 0.02F * normal(rng);
        std::fill_n(&values[77 * kEmbd], kEmbd, 0.0F);
        std::fill_n(&values[78 * kEmbd], kEmbd, 1e-20F);
        std::copy_n(&values[1000 * kEmbd], kEmbd, &values[2999 * kEmbd]);  // so that two are the same
        if (broken) values[79 * kEmbd + 3] = kInfinite, values[80 * kEmbd + 190] = -std::nanf("");
        std::memcpy(bytes.data(), values.data(), bytes.size());
      }
      tables.push_back(in_chunks(*backend, c, bytes, kEmbd, {kVocab}));
      const Table& table = tables.back();
      std::vector<float> y(size_t{kTokens} * kEmbd);
      for (float& v : y) v = normal(rng);
      if (type == TensorType::f32)
        std::memcpy(&y[kEmbd], &bytes[size_t{1000} * kEmbd * sizeof(float)], kEmbd * 4);
      std::fill_n(&y[2 * kEmbd], kEmbd, 0.0F);
      if (broken) y[3 * kEmbd + 100] = kInfinite, y[4 * kEmbd + 7] = std::nanf("");
      SamplingInput input{.recipe = {.top_k = kWant}, .want = kWant, .history = {}};
      const SamplingBuffers wanting{
          put(*backend, std::vector<SamplingInput>{input}),
          backend->allocate(kSampleRandoms * sizeof(uint64_t), BufferUse::shared),
          put(*backend, std::vector<uint32_t>(kTokens * kSampleScratch / sizeof(uint32_t)))};
      const Norm norm = broken ? Norm() : rms_of(BufferPtr(), 1e-5F);
      const BufferPtr x = put(*backend, y), vectors = put(*backend, y), normed = put(*backend, y),
                      whole = put(*backend, std::vector<float>(size_t{kTokens} * kVocab)),
                      some = put(*backend, std::vector<float>(size_t{kTokens} * kVocab)),
                      partial = put(*backend, std::vector<ArgmaxResult>(kTokens * kArgmaxPartials)),
                      best = put(*backend, std::vector<ArgmaxResult>(2 * kTokens));
      run(*backend, [&](Recorder& r) {
        r.norm(*x, 0, norm, kEmbd, *vectors, kTokens);
        r.head(table, *vectors, *whole, kTokens);
        r.argmax(*whole, kVocab, *partial, *best, kTokens);
      });
      const auto all = get<float>(*backend, *whole, size_t{kTokens} * kVocab);
      const auto largest = get<ArgmaxResult>(*backend, *best, kTokens);
      for (const SamplingBuffers* sampling : {static_cast<const SamplingBuffers*>(nullptr), &wanting}) {
        run(*backend, [&](Recorder& r) {
          r.head_and_choose(table, {*x, 0, norm, {}, *normed}, *some, {*partial, *best, sampling}, kTokens);
        });
        const auto found = get<float>(*backend, *some, size_t{kTokens} * kVocab);
        const auto first = get<ArgmaxResult>(*backend, *best, kTokens);
        for (const uint32_t n : {1U, 2U, 3U}) {  // as of more tokens
          run(*backend, [&](Recorder& r) {
            r.head_and_choose(table, {*x, 0, norm, {}, *normed}, *some, {*partial, *best, sampling}, n);
          });
          const auto few = get<float>(*backend, *some, size_t{n} * kVocab);
          const auto same = get<ArgmaxResult>(*backend, *best, n);
          for (uint32_t t = 0; t < n; ++t) {
            if (largest[t].non_finite) continue;
            EXPECT_EQ(std::memcmp(&same[t], &first[t], sizeof first[t]), 0) << t << " of " << n;
            const size_t row = size_t{t} * kVocab;
            EXPECT_TRUE(std::ranges::equal(std::span(few).subspan(row, kVocab),
                                           std::span(found).subspan(row, kVocab)))
                << t << " of " << n;
          }
        }
        for (uint32_t t = 0; t < kTokens; ++t) {
          EXPECT_EQ(first[t].non_finite, largest[t].non_finite) << t;
          if (largest[t].non_finite) continue;
          EXPECT_EQ(first[t].index, largest[t].index) << t;
          EXPECT_EQ(first[t].largest, largest[t].largest) << t;
          EXPECT_NEAR(first[t].sum_exp, largest[t].sum_exp, 0.1 * largest[t].sum_exp) << t;
          const float *row = &all[size_t{t} * kVocab], *got = &found[size_t{t} * kVocab];
          std::vector<float> sorted(row, row + kVocab);
          const uint32_t want = sampling ? kWant : 1;
          std::ranges::nth_element(sorted, sorted.begin() + want - 1, std::greater<>());
          uint32_t approximated = 0;
          for (uint32_t i = 0; i < kVocab; ++i) {
            if (got[i] == row[i]) continue;
            ++approximated;
            EXPECT_LT(std::max(got[i], row[i]), sorted[want - 1]) << i << " of " << t;
          }
          EXPECT_TRUE(type != TensorType::f32 || t >= 2 || approximated > kVocab / 2) << t;
        }
      }
    }
}

// One token is sampled from the rows that the shortlist leaves: a few; nearly all of them; or more than it
// has room for, when that is left to the host.
TEST_P(Kernels, AShortlistedHeadSamplesFromWhatItFinds) {
  if (!backend->runs_ahead()) GTEST_SKIP() << "the host samples for this device";
  constexpr uint32_t kEmbd = 192;
  std::normal_distribution<float> normal;
  const TableCase c{TensorType::f32, {}, {}};
  std::vector<Table> tables;
  for (const auto& [n_vocab, alike] : {std::pair{3000U, 0.0F}, {3000U, 1.0F}, {5000U, 1.0F}}) {
    SCOPED_TRACE(std::to_string(n_vocab) + " rows, alike " + std::to_string(alike));
    std::vector<float> values(size_t{n_vocab} * kEmbd);
    for (size_t i = 0; i < values.size(); ++i)
      values[i] =
          i < kEmbd ? normal(rng) : alike * values[i % kEmbd] + (alike != 0 ? 1e-4F : 0.02F) * normal(rng);
    std::vector<std::byte> bytes(values.size() * sizeof(float));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    tables.push_back(in_chunks(*backend, c, bytes, kEmbd, {n_vocab}));
    std::vector<float> y(kEmbd);
    for (float& v : y) v = normal(rng);
    const BufferPtr x = put(*backend, y), normed = put(*backend, y),
                    whole = put(*backend, std::vector<float>(n_vocab)),
                    some = put(*backend, std::vector<float>(n_vocab)),
                    partial = put(*backend, std::vector<ArgmaxResult>(kArgmaxPartials)),
                    result =
                        backend->allocate(sizeof(ArgmaxResult) + sizeof(ChoiceResult), BufferUse::shared);
    run(*backend, [&](Recorder& r) { r.head(tables.back(), *x, *whole, 1); });
    const auto logits = get<float>(*backend, *whole, n_vocab);
    for (uint64_t seed = 1; seed <= 8; ++seed) {
      Sampler device({.temperature = 1.0F, .top_k = 40, .top_p = 0.9F, .seed = seed}), host = device;
      const SamplingRecipe& recipe = device.recipe();
      const SamplingBuffers buffers{
          put(*backend, std::vector<SamplingInput>{{recipe, recipe.top_k + recipe.n_recent, {}}}),
          backend->allocate(kSampleRandoms * sizeof(uint64_t), BufferUse::shared),
          put(*backend, std::vector<uint32_t>(kSampleScratch / sizeof(uint32_t)))};
      const uint64_t random = device.random(0);
      std::memcpy(buffers.randoms->mapped().data() + sizeof random, &random, sizeof random);
      run(*backend, [&](Recorder& r) {
        r.head_and_choose(tables.back(), {*x, 0, Norm(), {}, *normed}, *some, {*partial, *result, &buffers},
                          1);
      });
      ChoiceResult choice{};
      std::memcpy(&choice, result->mapped().data() + sizeof(ArgmaxResult), sizeof choice);
      EXPECT_EQ(choice.undecided, n_vocab > 4096 ? 1U : 0U);
      if (choice.undecided) continue;
      const auto wanted = host.sample(logits, std::vector<int32_t>{0});
      EXPECT_EQ(static_cast<int32_t>(choice.index), wanted->id);
      EXPECT_EQ(choice.logit, logits[choice.index]);
    }
  }
}

TEST_P(Kernels, RowsOfATernaryTableAreTheirFloats) {
  for (const auto& [type, scale] : {std::pair{TensorType::tq1_0, 1.0F},
                                    {TensorType::tq2_0, 0.37F},
                                    {TensorType::q2_0, 1.0F},
                                    {TensorType::q2_0_by_128, 1.0F},
                                    {TensorType::i2_s, 0.7F}})
    for (const uint32_t n_embd : {256U, 1280U}) {
      const bool one_scale = type == TensorType::i2_s;
      const uint32_t rows = 41, every = one_scale ? n_embd : find_file_type(type)->scale_every;
      SCOPED_TRACE(shown_name(type) + " of " + std::to_string(n_embd));
      Table table;
      table.n_vocab = rows;
      table.n_embd = n_embd;
      table.type = type;
      table.scale_every = every;
      table.scale = scale;
      std::vector<uint8_t> codes(size_t{rows} * n_embd);
      for (uint8_t& code : codes) code = static_cast<uint8_t>(rng() % 3);
      std::vector<uint16_t> scales(size_t{rows} * (n_embd / every));
      for (uint16_t& s : scales) s = static_cast<uint16_t>(one_scale ? 0x3C00 : 0x0100 + rng() % 0x3000);
      const auto part = [&](uint32_t begin, uint32_t n) {
        const Groups g = packed_groups(backend->group_layout(), n, n_embd, &codes[size_t{begin} * n_embd],
                                       n_embd / every, &scales[size_t{begin} * (n_embd / every)]);
        table.chunks.push_back({begin, n, put(*backend, g.codes), put(*backend, g.scales)});
      };
      part(0, 19);
      part(19, 21);
      part(40, 1);
      const std::vector<int32_t> tokens = {0, 18, 19, 39, 40};
      const auto n = static_cast<uint32_t>(tokens.size());
      const BufferPtr x = backend->allocate(n * n_embd * sizeof(float), BufferUse::device);
      run(
          *backend, [&](Recorder& r) { r.embed(table, {}, *x, n); }, 0, tokens);
      const auto found = get<float>(*backend, *x, n * n_embd);
      for (uint32_t t = 0; t < n; ++t)
        for (uint32_t i = 0; i < n_embd; ++i) {
          const size_t row = size_t(tokens[t]);
          const float of_group = from_half(scales[row * (n_embd / every) + i / every]) * scale;
          ASSERT_EQ(found[t * n_embd + i], static_cast<float>(codes[row * n_embd + i] - 1) * of_group)
              << "token " << t << " feature " << i;
        }
    }
}

}  // namespace
}  // namespace bitnet
