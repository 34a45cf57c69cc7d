// Measures the CPU's kernels on memory that no cache holds, on all threads, in GB/s of weights and in percent
// of plain reading.
//
//   cpu_kernels [THREADS]
//
// Each figure is the best of several passes, since other programs only make it smaller.
#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <new>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "engine/cpu/kernels.h"
#include "engine/cpu/thread_pool.h"

namespace {

using namespace bitnet::cpu;
using Clock = std::chrono::steady_clock;

constexpr size_t kBytes = size_t{512} << 20;
constexpr size_t kUnit = 64 << 10;  // about what a thread takes at a time
constexpr int kPasses = 5;

std::span<std::byte> random_weights() {
  void* mapped = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  madvise(mapped, kBytes, MADV_HUGEPAGE);
  const std::span memory(static_cast<std::byte*>(mapped), kBytes);
  std::mt19937_64 rng(1);
  for (size_t i = 0; i < kBytes; i += 8) {
    const uint64_t random = rng();
    // As codes they are 0 to 2, and as F16 small numbers.
    const uint64_t codes = random & ~(random >> 1 & 0x5555555555555555) & 0xAFFFAFFFAFFFAFFF;
    std::copy_n(reinterpret_cast<const std::byte*>(&codes), 8, memory.data() + i);
  }
  return memory;
}

// Some inputs that are all alike, with a sum of each `sum_every` and a factor of each `unit`.
class MadeInputs {
 public:
  MadeInputs(size_t n, uint32_t sum_every, uint32_t unit)
      : q_(n, 3), sums_(n / sum_every, static_cast<int32_t>(3 * sum_every)), factors_(n / unit, 0.5F) {}
  operator UnitInputs() const { return {q_.data(), sums_.data(), factors_.data()}; }

 private:
  std::vector<int8_t> q_;
  std::vector<int32_t> sums_;
  std::vector<float> factors_;
};

class Bench {
 public:
  explicit Bench(unsigned threads) : pool_(threads) {}

  void run() {
    reading_ = best_of(kBytes / kUnit, [&](size_t unit) {
      sink_ += kernel_choices().begin()->kernels->read(at<std::byte>(unit * kUnit), kUnit);
    });
    fmt::print("{} threads, {} MiB of weights\n", pool_.size(), kBytes >> 20);
    fmt::print("{:<12} {:<28} {:>8.2f} GB/s\n", "", "reading", kBytes / reading_ / 1e9);
    for (const KernelChoice& choice : kernel_choices()) {
      if (!choice.supported || choice.kernels == &kScalarKernels) continue;
      for (const uint32_t n_in : {2560U, 6912U}) ternary_rows(*choice.kernels, n_in);
      for (const uint32_t scale_every : {64U, 256U}) group_rows(*choice.kernels, scale_every);
      for (const Codes& codes : kBlockCodes) block_rows(*choice.kernels, codes);
      half_rows(*choice.kernels);
      table_rows(*choice.kernels);
      int8_rows(*choice.kernels);
      for (const uint32_t n_tokens : {32U, 512U}) tiles(*choice.kernels, n_tokens);
      group_tiles(*choice.kernels, 512);
      for (const Codes& codes : kBlockCodes) block_tiles(*choice.kernels, codes, 512);
    }
  }

  uint64_t sink() const { return sink_; }

 private:
  static constexpr uint32_t kWide = 2560;
  struct Codes {
    const char* name;
    uint32_t bits;
    bool has_min;
  };
  static constexpr Codes kBlockCodes[] = {{"Q8_0", 8, false}, {"Q4_0", 4, false}, {"Q5_0", 5, false},
                                          {"Q4_K", 4, true},  {"Q5_K", 5, true},  {"Q6_K", 6, false}};

  template <typename T>
  const T* at(size_t byte) const {
    return reinterpret_cast<const T*>(memory_.data() + byte);
  }

  // Seconds of the best pass in which work(unit) was done for all units, by all threads.
  template <typename Work>
  double best_of(size_t units, Work work) {
    double best = 1e9;
    for (int pass = 0; pass < kPasses; ++pass) {
      const auto start = Clock::now();
      const Step step{static_cast<uint32_t>(units), each([&](uint32_t unit, CacheLine*) { work(unit); })};
      pool_.run({&step, 1});
      best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
    }
    return best;
  }

  // The rate of work(first byte) over all units of unit_bytes.
  template <typename Work>
  void report(const CpuKernels& k, const std::string& what, size_t unit_bytes, Work work) {
    const size_t units = kBytes / unit_bytes;
    const double seconds = best_of(units, [&](size_t unit) { work(unit * unit_bytes); });
    const double rate = static_cast<double>(units * unit_bytes) / seconds;
    fmt::print("{:<12} {:<28} {:>8.2f} GB/s, {:.0f} % of reading\n", k.name, what, rate / 1e9,
               100 * rate / (kBytes / reading_));
  }

  void ternary_rows(const CpuKernels& k, uint32_t n_in) {
    const std::vector<int8_t> q(n_in, 3);
    const auto rows = static_cast<uint32_t>(kUnit / (n_in / 4) / 8 * 8);
    report(k, fmt::format("ternary rows of {}", n_in), rows * (size_t{n_in} / 4), [&](size_t byte) {
      int32_t sums[1024];
      k.ternary_rows(at<uint8_t>(byte), n_in, rows, q.data(), 1, rows, sums);
      sink_ += static_cast<uint64_t>(sums[0]);
    });
  }

  // The scales lie behind the codes of their unit, and are read with them.
  void group_rows(const CpuKernels& k, uint32_t scale_every) {
    constexpr uint32_t kIn = 4096;
    const MadeInputs in(kIn, 64, 64);
    constexpr uint32_t kBands = 4;
    const size_t codes = size_t{kBands} * kBandRows * bitnet::code_bytes(k.group_layout, kIn);
    const size_t unit = codes + size_t{2} * kBands * kBandRows * (kIn / scale_every);
    for (const char* where : {"", ", cached"}) {
      report(k, fmt::format("groups, scale every {}{}", scale_every, where), unit, [&](size_t byte) {
        if (*where != 0) byte = 0;
        int32_t sums[kBands * kBandRows];
        const GroupRows w{at<uint8_t>(byte), at<uint16_t>(byte + codes), kIn, scale_every, 1024};
        k.group_rows(w, kBands, in, 1, 0, sums);
        sink_ += static_cast<uint64_t>(sums[0]);
      });
    }
  }

  // As group_rows.
  void block_rows(const CpuKernels& k, const Codes& codes) {
    constexpr uint32_t kBands = 2;
    const MadeInputs in(kWide, 16, 32);
    BlockBands w{nullptr, nullptr, kWide, codes.bits, codes.has_min, 1024};
    const size_t code_bytes = kBands * w.band_codes(), unit = code_bytes + kBands * w.band_scales();
    for (const char* where : {"", ", cached"})
      report(k, fmt::format("{} as blocks{}", codes.name, where), unit, [&](size_t byte) {
        if (*where != 0) byte = 0;
        int32_t sums[kBands * kBandRows];
        BlockBands bands = w;
        bands.codes = at<uint8_t>(byte);
        bands.scales = at<uint8_t>(byte + code_bytes);
        k.block_rows(bands, kBands, in, sums);
        sink_ += static_cast<uint64_t>(sums[0]);
      });
  }

  void half_rows(const CpuKernels& k) {
    constexpr uint32_t kRows = kUnit / (2 * kWide);
    const std::vector<float> y(kWide, 0.5F);
    report(k, fmt::format("F16 rows of {}", kWide), size_t{kRows} * kWide * 2, [&](size_t byte) {
      float out[kRows];
      k.half_rows(at<uint16_t>(byte), kWide, kRows, y.data(), out);
      sink_ += static_cast<uint64_t>(out[0]);
    });
  }

  // Rows of a head that are of other types: each becomes floats, which are multiplied.
  void table_rows(const CpuKernels& k) {
    constexpr uint32_t kRows = 16;
    const std::vector<float> y(kWide, 0.5F);
    struct Type {
      const char* name;
      RowFloats floats;
      size_t block, bytes;
    };
    for (const Type& type : {Type{"Q8_0", k.q8_0_floats, 32, 34}, Type{"Q4_0", k.q4_0_floats, 32, 18},
                             Type{"Q5_0", k.q5_0_floats, 32, 22}, Type{"Q4_K", k.q4_k_floats, 256, 144},
                             Type{"Q5_K", k.q5_k_floats, 256, 176}, Type{"Q6_K", k.q6_k_floats, 256, 210}}) {
      const size_t row_bytes = kWide / type.block * type.bytes;
      report(k, fmt::format("{} rows of {}", type.name, kWide), kRows * row_bytes, [&](size_t byte) {
        float row[kWide], out = 0;
        for (uint32_t r = 0; r < kRows; ++r) {
          type.floats(at<std::byte>(byte + r * row_bytes), kWide, row);
          k.float_rows(row, kWide, 1, y.data(), &out);
        }
        sink_ += out > 0 ? 1 : 0;
      });
    }
  }

  void int8_rows(const CpuKernels& k) {
    constexpr uint32_t kRows = kUnit / kWide / 8 * 8;
    constexpr uint32_t kMost = 8;
    const std::vector<int16_t> p(kWide, 100);
    const std::vector<const int16_t*> vectors(kMost, p.data());
    for (const uint32_t n : {1U, 4U, kMost})
      report(k, fmt::format("int8 rows of {}, {} vectors", kWide, n), size_t{kRows} * kWide,
             [&](size_t byte) {
               int32_t sums[kMost * kRows];
               k.int8_rows(at<int8_t>(byte), kWide, kRows, vectors.data(), n, sums);
               sink_ += static_cast<uint64_t>(sums[0]);
             });
  }

  void tiles(const CpuKernels& k, uint32_t n_tokens) {
    constexpr uint32_t kTiles = 64, kAtOnce = 96;
    const std::vector<int8_t> q(size_t{kWide} * n_tokens, 3);
    const double seconds = best_of(kTiles, [&](size_t unit) {
      std::vector<uint8_t> tile(size_t{kWide} * kTileRows);
      std::vector<int32_t> sums(size_t{kAtOnce} * kTileRows);
      const uint8_t* rows[kTileRows];
      for (uint32_t r = 0; r < kTileRows; ++r) rows[r] = at<uint8_t>((unit * kTileRows + r) * (kWide / 4));
      k.unpack_tile(rows, kWide, tile.data());
      for (uint32_t t = 0; t < n_tokens; t += kAtOnce)
        k.tile_product(tile.data(), kWide, q.data() + size_t{kWide} * t, std::min(kAtOnce, n_tokens - t),
                       sums.data());
      sink_ += static_cast<uint64_t>(sums[0]);
    });
    fmt::print("{:<12} {:<28} {:>8.2f} billion products/s\n", k.name,
               fmt::format("tiles, {} tokens", n_tokens),
               double{kTiles} * kTileRows * kWide * n_tokens / seconds / 1e9);
  }

  void group_tiles(const CpuKernels& k, uint32_t n_tokens) {
    constexpr uint32_t kTiles = 64, kAtOnce = 96, kEvery = 128;
    const MadeInputs in(kWide * n_tokens, 64, 64);
    const double seconds = best_of(kTiles, [&](size_t unit) {
      std::vector<uint8_t> tile(size_t{kWide} * kTileRows);
      std::vector<float> scales(size_t{kWide} / kEvery * kTileRows);
      std::vector<int32_t> sums(size_t{kAtOnce} * kTileRows);
      const size_t band_bytes = kBandRows * bitnet::code_bytes(k.group_layout, kWide);
      const uint8_t* bands[] = {at<uint8_t>(2 * unit * band_bytes), at<uint8_t>((2 * unit + 1) * band_bytes)};
      const uint16_t* band_scales[] = {at<uint16_t>(0), at<uint16_t>(0)};
      k.unpack_bands(bands, kWide, tile.data());
      k.unpack_scales(band_scales, kWide / kEvery, 1024, scales.data());
      for (uint32_t t = 0; t < n_tokens; t += kAtOnce)
        k.group_tile({tile.data(), scales.data(), kWide, kEvery}, inputs_from(in, t, kWide, 64, 64),
                     std::min(kAtOnce, n_tokens - t), sums.data());
      sink_ += static_cast<uint64_t>(sums[0]);
    });
    fmt::print("{:<12} {:<28} {:>8.2f} billion products/s\n", k.name,
               fmt::format("groups, {} tokens", n_tokens),
               double{kTiles} * kTileRows * kWide * n_tokens / seconds / 1e9);
  }

  void block_tiles(const CpuKernels& k, const Codes& codes, uint32_t n_tokens) {
    constexpr uint32_t kTiles = 64, kAtOnce = 96;
    const MadeInputs in(kWide * n_tokens, 16, 32);
    const double seconds = best_of(kTiles, [&](size_t unit) {
      std::vector<uint8_t> tile(size_t{kWide} * kTileRows);
      std::vector<float> scales(size_t{kWide} / 16 * kTileRows), minima(scales.size());
      std::vector<int32_t> sums(size_t{kAtOnce} * kTileRows);
      BlockBands w{nullptr, at<uint8_t>(0), kWide, codes.bits, codes.has_min, 1024};
      for (const uint32_t half : {0U, 1U}) {
        w.codes = at<uint8_t>((2 * unit + half) * w.band_codes());
        k.unpack_block_band(w, half, tile.data(), scales.data(), minima.data());
      }
      for (uint32_t t = 0; t < n_tokens; t += kAtOnce)
        k.block_tile({tile.data(), scales.data(), codes.has_min ? minima.data() : nullptr, kWide, codes.bits},
                     inputs_from(in, t, kWide, 16, 32), std::min(kAtOnce, n_tokens - t), sums.data());
      sink_ += static_cast<uint64_t>(sums[0]);
    });
    fmt::print("{:<12} {:<28} {:>8.2f} billion products/s\n", k.name,
               fmt::format("{} as blocks, {} tokens", codes.name, n_tokens),
               double{kTiles} * kTileRows * kWide * n_tokens / seconds / 1e9);
  }

  ThreadPool pool_;
  const std::span<std::byte> memory_ = random_weights();
  double reading_ = 0;  // seconds of reading all of it
  std::atomic<uint64_t> sink_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  Bench bench(argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : usable_threads());
  bench.run();
  return bench.sink() == 1 ? 1 : 0;  // the compiler must not leave out the sums
}
