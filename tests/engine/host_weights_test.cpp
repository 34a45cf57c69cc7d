// Tests that products give the same bits wherever their matrices lie: on the device, or in the host's memory,
// in two bits or 1.6, read there or copied through slots. Slots are overwritten behind each use, so that a
// kernel that reads too early or too late gives something else.
#include "tests/engine/groups.h"

namespace bitnet {
namespace {

struct Way {
  std::string name;
  HostWeights how;
  bool fives;
  uint64_t read_at_once = uint64_t{512} << 20;
};
void PrintTo(const Way& way, std::ostream* out) { *out << way.name; }

// The codes 0, 1, 2 of weights as Layout::fives16 has them.
std::vector<std::byte> in_fives(const std::vector<int8_t>& weights, uint32_t n_in) {
  std::vector<uint8_t> codes;
  for (const int8_t w : weights) codes.push_back(static_cast<uint8_t>(w + 1));
  return packed_groups(Layout::fives16, static_cast<uint32_t>(weights.size() / n_in), n_in, codes.data(), 0,
                       nullptr)
      .codes;
}

class HostWeightsTest : public testing::TestWithParam<Way> {
 protected:
  void SetUp() override {
    if (list_devices().at(0).cpu) GTEST_SKIP() << "there is no Vulkan device";
    EngineOptions options;
    options.kernels = share({.chained_decode = ChainedDecode::never,
                             .host_weights = GetParam().how,
                             .poison_slots = true,
                             .read_at_once = GetParam().read_at_once});
    backend = open_vulkan(options);
  }

  template <typename T>
  BufferPtr put_in_host(const std::vector<T>& values) {
    BufferPtr buffer = backend->allocate(values.size() * sizeof(T), BufferUse::host_weights);
    backend->upload(*buffer, 0, std::as_bytes(std::span(values)));
    return buffer;
  }

  // The matrix, moved to the host's memory.
  Matrix in_host(const Matrix& w, const std::vector<int8_t>& weights) {
    Matrix there = w;
    there.codes = GetParam().fives ? put_in_host(in_fives(weights, w.n_in))
                                   : put_in_host(get<std::byte>(*backend, *w.codes, w.codes->size()));
    there.in_fives = GetParam().fives;
    if (w.scales) there.scales = put_in_host(get<std::byte>(*backend, *w.scales, w.scales->size()));
    return there;
  }

  // A matrix of `layout` on the device and its twin in the host's memory.
  std::pair<Matrix, Matrix> random_pair(Layout layout, uint32_t n_in, std::vector<uint32_t> rows) {
    if (layout == Layout::groups) {
      const Grouped g = random_groups(*backend, n_in, rows, 64, Input::int8_units, rng);
      return {g.matrix, in_host(g.matrix, g.weights)};
    }
    std::vector<Matrix::Part> parts;
    for (const uint32_t n : rows) parts.push_back({n, 0.5F});
    const Ternary t = random_ternary(*backend, n_in, parts, rng);
    return {t.matrix, in_host(t.matrix, t.weights)};
  }

  std::unique_ptr<Backend> backend;
  std::mt19937 rng{5};
};

TEST_P(HostWeightsTest, ProductsAreThoseOfTheDevice) {
  backend->make_slots(1 << 20);
  for (const Layout layout : {Layout::trits, Layout::groups})
    for (uint32_t n_in = 128; n_in <= 1280; n_in += n_in < 768 ? 128 : 64) {
      if (layout == Layout::trits && n_in % 128 != 0) continue;
      const auto [device, host] = random_pair(layout, n_in, {33, 16, 1});
      for (const uint32_t n : {1U, 3U, 20U}) {
        SCOPED_TRACE(std::to_string(n_in) + " inputs, tokens: " + std::to_string(n));
        const RoundedRows q = random_rounded_rows(*backend, device, n, rng);
        const auto product = [&](const Matrix& w) {
          const BufferPtr y = put(*backend, std::vector<float>(n * w.rows(), -1.0F));
          run(*backend, [&](Recorder& r) { r.product(w, q.device, store(*y), n); });
          return get<float>(*backend, *y, n * w.rows());
        };
        ASSERT_EQ(product(host), product(device));
      }
    }
}

// More matrices than slots, on both sides of what is on the device; and programs that begin before those in
// front of them have ended.
TEST_P(HostWeightsTest, ProgramsOfManyMatricesInARow) {
  backend->make_slots(1 << 20);
  constexpr uint32_t kFeatures = 640, kMatrices = 8;
  std::vector<Matrix> on_device, mixed;
  for (uint32_t i = 0; i < kMatrices; ++i) {
    auto [device, host] = random_pair(Layout::trits, kFeatures, {kFeatures});
    device.parts[0].scale = host.parts[0].scale = 0.01F * static_cast<float>(i + 1);
    on_device.push_back(device);
    mixed.push_back(i == 0 || i == 5 ? device : host);
  }
  std::vector<float> first(20 * kFeatures);
  for (float& v : first) v = static_cast<float>(rng() % 2001) / 1000 - 1;
  for (const uint32_t n : {1U, 20U}) {
    const auto results = [&](const std::vector<Matrix>& matrices) {
      const BufferPtr x = put(*backend, first), h = put(*backend, first);
      const Quantised q{put(*backend, std::vector<int8_t>(n * kFeatures)),
                        put(*backend, std::vector<float>(2 * n)),
                        put(*backend, std::vector<int32_t>(n * kFeatures / 64))};
      const auto kernels = [&](Recorder& r) {
        for (size_t i = 0; i < matrices.size(); i += 2) {
          r.linear(matrices[i], {*x, {}, q}, store(*h), n);
          r.linear(matrices[i + 1], {*h, {}, q}, add(*x), n);
        }
      };
      const auto one = backend->record(kernels), two = backend->record_next(kernels);
      for (int turn = 0; turn < 3; ++turn) {
        backend->start(*one, 0, {});
        backend->start_next(*two);
        backend->wait(*one);
        backend->wait(*two);
      }
      return get<float>(*backend, *x, n * kFeatures);
    };
    EXPECT_EQ(results(mixed), results(on_device)) << "tokens: " << n;
  }
}

// What is larger than a slot is read where it lies.
TEST_P(HostWeightsTest, AMatrixThatFitsNoSlotIsReadWhereItLies) {
  if (GetParam().fives) GTEST_SKIP() << "which cannot be read there";
  backend->make_slots(4096);
  const auto [device, host] = random_pair(Layout::groups, 256, {256});
  const RoundedRows q = random_rounded_rows(*backend, device, 20, rng);
  const auto product = [&](const Matrix& w) {
    const BufferPtr y = put(*backend, std::vector<float>(20 * w.rows(), -1.0F));
    run(*backend, [&](Recorder& r) { r.product(w, q.device, store(*y), 20); });
    return get<float>(*backend, *y, 20 * w.rows());
  };
  EXPECT_EQ(product(host), product(device));
}

// What is read where it lies in front of what is copied may be several submissions.
TEST_P(HostWeightsTest, MatricesThatFitNoSlotInFrontOfOnesThatDo) {
  if (GetParam().fives) GTEST_SKIP() << "which cannot be read there";
  backend->make_slots(1 << 15);
  constexpr uint32_t kFeatures = 640;
  std::vector<Matrix> on_device, in_host;
  for (const uint32_t rows : {kFeatures, kFeatures, kFeatures, 33U, 16U}) {
    const auto [device, host] = random_pair(Layout::trits, kFeatures, {rows});
    on_device.push_back(device);
    in_host.push_back(host);
  }
  for (const uint32_t n : {1U, 20U}) {
    const RoundedRows q = random_rounded_rows(*backend, on_device[0], n, rng);
    const auto results = [&](const std::vector<Matrix>& matrices) {
      std::vector<BufferPtr> ys;
      for (const Matrix& w : matrices) ys.push_back(put(*backend, std::vector<float>(n * w.rows(), -1.0F)));
      const auto program = backend->record([&](Recorder& r) {
        for (size_t i = 0; i < matrices.size(); ++i) r.product(matrices[i], q.device, store(*ys[i]), n);
      });
      for (int turn = 0; turn < 2; ++turn) backend->run(*program, 0, {});
      std::vector<float> all;
      for (size_t i = 0; i < matrices.size(); ++i) {
        const auto y = get<float>(*backend, *ys[i], n * matrices[i].rows());
        all.insert(all.end(), y.begin(), y.end());
      }
      return all;
    };
    EXPECT_EQ(results(in_host), results(on_device)) << "tokens: " << n;
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, HostWeightsTest,
                         testing::Values(Way{"Read", HostWeights::read, false},
                                         Way{"ReadInParts", HostWeights::read, false, 4096},
                                         Way{"CopiedInParts", HostWeights::copied, false, 4096},
                                         Way{"Copied", HostWeights::copied, false},
                                         Way{"InBatches", HostWeights::in_batches, false},
                                         Way{"Fives", HostWeights::fives, true}),
                         [](const auto& info) { return info.param.name; });

// Every one of the 243 bytes, in each of its places in a word and in each word of each row.
class Fives : public testing::TestWithParam<Layout> {};

TEST_P(Fives, AllBytesAreExpanded) {
  if (list_devices().at(0).cpu) GTEST_SKIP() << "there is no Vulkan device";
  EngineOptions options;
  options.kernels = share({.host_weights = HostWeights::fives, .poison_slots = true});
  const auto backend = open_vulkan(options);
  backend->make_slots(1 << 20);
  constexpr uint32_t kRows = 64, kInputs = 640;
  const auto expanded = [&](uint32_t shift) {
    // Codes by rows: byte b of word i of five groups holds the elements 4 i + b of each.
    std::vector<int8_t> weights(kRows * kInputs);
    for (uint32_t row = 0; row < kRows; ++row)
      for (uint32_t i = 0; i < kInputs; ++i) {
        uint32_t number = (row * 128 + i / 320 * 64 + i % 64 + shift) % 243;
        for (uint32_t digit = 0; digit < i % 320 / 64; ++digit) number /= 3;
        weights[row * kInputs + i] = static_cast<int8_t>(number % 3) - 1;
      }
    Matrix w;
    w.n_in = kInputs;
    w.layout = GetParam();
    w.parts[0] = {kRows, 1};
    w.in_fives = true;
    const std::vector<std::byte> codes = in_fives(weights, kInputs);
    w.codes = backend->allocate(codes.size(), BufferUse::host_weights);
    backend->upload(*w.codes, 0, codes);
    // One token a feature: its product is a column of the matrix.
    std::vector<int8_t> q(size_t{kInputs} * kInputs);
    std::vector<int32_t> sums(kInputs * kInputs / 64);
    std::vector<uint32_t> info;
    for (uint32_t i = 0; i < kInputs; ++i) {
      q[size_t{i} * kInputs + i] = 1;
      sums[i * (kInputs / 64) + i / 64] = 1;
      info.insert(info.end(), {std::bit_cast<uint32_t>(1.0F), 1});
    }
    w.scale_every = kInputs;
    w.fixed = 1;
    if (w.layout == Layout::groups) w.scales = put(*backend, std::vector<uint16_t>(kRows, 0x3C00));
    const Quantised in{put(*backend, q), put(*backend, info), put(*backend, sums)};
    const BufferPtr y = put(*backend, std::vector<float>(kInputs * kRows));
    run(*backend, [&](Recorder& r) { r.product(w, in, store(*y), kInputs); });
    const auto result = get<float>(*backend, *y, kInputs * kRows);
    for (uint32_t row = 0; row < kRows; ++row)
      for (uint32_t i = 0; i < kInputs; ++i)
        ASSERT_EQ(result[i * kRows + row], weights[row * kInputs + i]) << "row " << row << " element " << i;
  };
  for (uint32_t shift = 0; shift < 4; ++shift) expanded(shift * 61);
}
INSTANTIATE_TEST_SUITE_P(Layouts, Fives, testing::Values(Layout::trits, Layout::groups),
                         [](const auto& info) { return info.param == Layout::trits ? "Trits" : "Groups"; });

}  // namespace
}  // namespace bitnet
