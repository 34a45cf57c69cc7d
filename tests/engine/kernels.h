// What the tests of kernels share: buffers in and out, and the fixture that runs a test on every backend.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "engine/backend.h"
#include "engine/cpu/kernels.h"
#include "engine/kernel_options.h"
#include "engine/layouts/pack.h"
#include "tests/engine/i2s_pack.h"
#include "tests/engine/rolled.h"

namespace bitnet {

template <typename T>
BufferPtr put(Backend& b, const std::vector<T>& values) {
  BufferPtr buffer = b.allocate(values.size() * sizeof(T), BufferUse::device);
  b.upload(*buffer, 0, std::as_bytes(std::span(values)));
  b.finish_uploads();
  return buffer;
}

template <typename T>
std::vector<T> get(Backend& b, const Buffer& buffer, size_t n) {
  std::vector<T> values(n);
  b.download(buffer, 0, std::as_writable_bytes(std::span(values)));
  return values;
}

inline std::vector<float> normal_floats(size_t n, std::mt19937& rng, float mean = 0, float size = 1) {
  std::normal_distribution<float> normal(mean, size);
  std::vector<float> values(n);
  for (float& v : values) v = normal(rng);
  return values;
}

// A ternary matrix in both forms: codes -1, 0, +1 by row, and packed i2_s.
struct Ternary {
  std::vector<int8_t> weights;  // [rows][n_in]
  Matrix matrix;
};

inline Ternary random_ternary(Backend& b, uint32_t n_in, std::vector<Matrix::Part> parts, std::mt19937& rng) {
  Ternary t;
  t.matrix.n_in = n_in;
  std::copy(parts.begin(), parts.end(), t.matrix.parts.begin());
  const size_t n = size_t{t.matrix.rows()} * n_in;
  t.weights = random_weights(n, rng);
  t.matrix.codes = put(b, i2s_pack(t.weights, I2sLayout::block128));
  return t;
}

// Of kernels that run once lavapipe optimises nothing, which takes another quarter off. It looks once, when
// devices are first listed.
inline const bool not_optimised =
    std::getenv("BITNET_ROLLED_KERNELS") && setenv("GALLIVM_PERF", "nopt", 0) == 0;

inline float from_half(uint16_t h) {
  const int exponent = h >> 10 & 31, mantissa = h & 1023;
  const float magnitude = exponent == 31  ? (mantissa ? NAN : INFINITY)
                          : exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -24)
                                          : std::ldexp(static_cast<float>(1024 + mantissa), exponent - 25);
  return h & 0x8000 ? -magnitude : magnitude;
}

// Rows of codes 0, 1, 2 [rows][n_in] and scales [rows][n_scales] as a layout of groups has them.
struct Groups {
  std::vector<std::byte> codes;
  std::vector<uint16_t> scales;
};

inline Groups packed_groups(Layout layout, uint32_t rows, uint32_t n_in, const uint8_t* codes,
                            uint32_t n_scales, const uint16_t* scales) {
  Groups g;
  if (layout == Layout::groups) {
    g.codes.resize(size_t{rows} * n_in / 4);
    for (size_t r = 0; r < rows; ++r) pack_groups(codes + r * n_in, n_in, &g.codes[r * n_in / 4]);
    g.scales.assign(scales, scales + size_t{rows} * n_scales);
    return g;
  }
  const size_t whole = (size_t{rows} + kRowsTogether - 1) / kRowsTogether * kRowsTogether;
  std::vector<uint8_t> all_codes(whole * n_in, 1);
  std::vector<uint16_t> all_scales(whole * n_scales, 0);
  std::copy_n(codes, size_t{rows} * n_in, all_codes.begin());
  std::copy_n(scales, size_t{rows} * n_scales, all_scales.begin());
  const size_t row_bytes = code_bytes(layout, n_in);
  g.codes.resize(whole * row_bytes);
  g.scales.resize(whole * n_scales);
  for (size_t r = 0; r < whole; r += kRowsTogether) {
    (layout == Layout::fives16 ? pack_fives16 : pack_groups16)(&all_codes[r * n_in], n_in,
                                                               &g.codes[r * row_bytes]);
    pack_scales16(all_scales.data() + r * n_scales, n_scales, g.scales.data() + r * n_scales);
  }
  return g;
}

inline void run(Backend& b, const std::function<void(Recorder&)>& kernels, uint32_t position = 0,
                std::vector<int32_t> tokens = {}) {
  const auto program = b.record(kernels);
  b.run(*program, position, tokens);
}

// KernelOptions::groups_at_once as a large GPU has them, more than most of these products have sets of rows.
constexpr uint32_t kManyGroups = 132;

struct Variant {
  std::string name;
  IntegerDot dot = IntegerDot::never;
  std::string cpu_kernels;     // empty means Vulkan
  bool as_gpu = false;         // the kernels that a GPU gets
  uint32_t subgroup_size = 0;  // in shared memory; 0: the device's own
  bool emulate_matrices = false;
  uint32_t row_size = 0;  // KernelOptions::row_size
  uint32_t groups_at_once = kManyGroups;
};

inline void PrintTo(const Variant& variant, std::ostream* out) { *out << variant.name; }

// Every way in which the kernels can be built for this machine.
inline std::vector<Variant> kernel_variants() {
  std::vector<Variant> all = {{"VulkanInteger", IntegerDot::always, ""},
                              {"VulkanEmulated", IntegerDot::never, ""},
                              {"GpuInteger", IntegerDot::always, "", true},
                              {"GpuEmulated", IntegerDot::never, "", true},
                              {"GpuMatrix", IntegerDot::matrix, "", true}};
  for (const uint32_t lanes : {8U, 16U, 32U, 64U})
    all.push_back({"SubgroupsOf" + std::to_string(lanes), IntegerDot::never, "", true, lanes});
  all.push_back({"EmulatedMatrices", IntegerDot::never, "", true, 32, true});
  all.push_back({"RowsOf384", IntegerDot::always, "", true, 0, false, 384});
  all.push_back({"ThreeAtATime", IntegerDot::never, "", true, 0, false, 0, 3});
  all.push_back({"IntegerThree", IntegerDot::always, "", true, 0, false, 0, 3});
  for (const cpu::KernelChoice& choice : cpu::kernel_choices()) {
    if (!choice.supported) continue;
    std::string name = std::string("Cpu_") + choice.kernels->name;
    std::replace(name.begin(), name.end(), '-', '_');
    all.push_back({name, IntegerDot::never, choice.kernels->name});
  }
  return all;
}

class Kernels : public testing::TestWithParam<Variant> {
 protected:
  void SetUp() override {
    const Variant& variant = GetParam();
    const DeviceInfo device = list_devices().at(0);
    const testing::TestInfo& of = *testing::UnitTest::GetInstance()->current_test_info();
    const std::string test = std::string(of.test_suite_name()) + of.name();
    if (variant.emulate_matrices && test.find("Attention") == test.npos)
      GTEST_SKIP() << "SubgroupsOf32 shows the same: only attention differs";
    const bool divides_otherwise = variant.row_size != 0 || variant.groups_at_once != kManyGroups;
    if (divides_otherwise && test.find("Steps") == test.npos && test.find("OfOneToken") == test.npos)
      GTEST_SKIP() << "GpuInteger shows the same: only products of a token and its attention differ";
    // A software device has a chain with one thread alone, where what a stage waits for is there already. With
    // two, lavapipe of Mesa 22.3 shows one thread too late what the other has stored, and tokens differ; with
    // Mesa 25.0 and 26.2 none did.
    const char* threads = std::getenv("LP_NUM_THREADS");
    const bool chained = !device.software || (threads && std::string(threads) == "1");
    if (variant.groups_at_once != kManyGroups && !chained) GTEST_SKIP() << "there is no chain";
    rolled.emplace(device);
    EngineOptions options;
    options.kernels = share(
        {.integer_dot = variant.dot,
         .chained_decode = chained ? ChainedDecode::always : ChainedDecode::never,
         .as_gpu = variant.as_gpu,
         .subgroup_size = variant.subgroup_size,
         .emulate_matrices = variant.emulate_matrices,
         .assume_reconvergence = variant.as_gpu,  // so that nothing relies on the barriers it saves
         .row_size = variant.row_size,
         .groups_at_once = variant.groups_at_once,
         .cpu_kernels = variant.cpu_kernels,
         .head_shortlist = variant.cpu_kernels.empty() ? HeadShortlist::always : HeadShortlist::where_large});
    options.threads = 3;
    if (variant.cpu_kernels.empty() && device.cpu) GTEST_SKIP() << "there is no Vulkan device";
    if (variant.dot == IntegerDot::always && !device.integer_dot) GTEST_SKIP() << "the device has none";
    if (variant.dot == IntegerDot::matrix && !device.int8_matrix) GTEST_SKIP() << "the device has none";
    backend = variant.cpu_kernels.empty() ? open_vulkan(options) : open_cpu(options);
  }

  // What a product gives for n tokens where there were fours before.
  std::vector<float> product(const Matrix& w, const Quantised& q, Out::Kind kind, Act act, uint32_t n) {
    const size_t n_out = kind == Out::Kind::gate ? w.rows() / 2 : w.rows();
    const BufferPtr y = put(*backend, std::vector<float>(n * n_out, 4.0F));
    run(*backend, [&](Recorder& r) { r.product(w, q, {*y, kind, act}, n); });
    return get<float>(*backend, *y, n * n_out);
  }

  std::optional<RolledLoops> rolled;
  std::unique_ptr<Backend> backend;
  std::mt19937 rng{7};
};

}  // namespace bitnet
