// The CPU's kernels on memory that no cache holds, in GB/s of weights beside plain reading, on all threads.
//
//   cpu_kernels [THREADS]
//
// Each figure is the best of several passes: other programs only make it smaller.
#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <random>
#include <vector>

#include "engine/cpu/kernels.h"
#include "engine/cpu/thread_pool.h"

namespace {

using namespace bitnet::cpu;
using Clock = std::chrono::steady_clock;

constexpr size_t kBytes = size_t{512} << 20;
constexpr size_t kUnit = 64 << 10;  // about what a thread takes at a time
constexpr int kPasses = 5;

// Seconds of the best pass in which work(unit) was done for all units, by all threads.
template <typename Work>
double best_of(ThreadPool& pool, size_t units, Work work) {
  double best = 1e9;
  for (int pass = 0; pass < kPasses; ++pass) {
    const auto start = Clock::now();
    const Step step{static_cast<uint32_t>(units), [&](uint32_t unit, CacheLine*) { work(unit); }};
    pool.run({&step, 1});
    best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  ThreadPool pool(argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : usable_threads());
  auto* memory = static_cast<std::byte*>(
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (memory == MAP_FAILED) return 1;
  madvise(memory, kBytes, MADV_HUGEPAGE);
  std::mt19937_64 rng(1);
  for (size_t i = 0; i < kBytes; i += 8) {
    const uint64_t random = rng();
    // Codes 0 to 2, and as F16 small numbers.
    const uint64_t codes = random & ~(random >> 1 & 0x5555555555555555) & 0xAFFFAFFFAFFFAFFF;
    std::copy_n(reinterpret_cast<const std::byte*>(&codes), 8, memory + i);
  }
  std::atomic<uint64_t> sink = 0;
  const double reading = best_of(pool, kBytes / kUnit, [&](size_t unit) {
    sink += kernel_choices().begin()->kernels->read(memory + unit * kUnit, kUnit);
  });
  fmt::print("{} threads, {} MiB of weights\n", pool.size(), kBytes >> 20);
  fmt::print("{:<12} {:<28} {:>8.2f} GB/s\n", "", "reading", kBytes / reading / 1e9);

  for (const KernelChoice& choice : kernel_choices()) {
    if (!choice.supported || choice.kernels == &kScalarKernels) continue;
    const CpuKernels& k = *choice.kernels;
    const auto report = [&](const std::string& what, size_t bytes, double seconds) {
      fmt::print("{:<12} {:<28} {:>8.2f} GB/s, {:.0f} % of reading\n", k.name, what, bytes / seconds / 1e9,
                 100 * (bytes / seconds) / (kBytes / reading));
    };
    for (const uint32_t n_in : {2560U, 6912U}) {
      std::vector<int8_t> q(n_in, 3);
      const size_t row_bytes = n_in / 4;
      const auto rows = static_cast<uint32_t>(kUnit / row_bytes / 8 * 8);
      const size_t unit_bytes = rows * row_bytes, units = kBytes / unit_bytes;
      report(fmt::format("ternary rows of {}", n_in), units * unit_bytes,
             best_of(pool, units, [&](size_t unit) {
               int32_t sums[1024];
               k.ternary_rows(reinterpret_cast<const uint8_t*>(memory + unit * unit_bytes), n_in, rows,
                              q.data(), sums);
               sink += static_cast<uint64_t>(sums[0]);
             }));
    }
    {
      constexpr uint32_t kWide = 2560, kRows = kUnit / (2 * kWide);
      const std::vector<float> y(kWide, 0.5F);
      const size_t unit_bytes = size_t{kRows} * kWide * 2, units = kBytes / unit_bytes;
      report("F16 rows of 2560", units * unit_bytes, best_of(pool, units, [&](size_t unit) {
               float out[kRows];
               k.half_rows(reinterpret_cast<const uint16_t*>(memory + unit * unit_bytes), kWide, kRows,
                           y.data(), out);
               sink += static_cast<uint64_t>(out[0]);
             }));
    }
    {
      constexpr uint32_t kWide = 2560, kRows = kUnit / kWide / 8 * 8;
      const std::vector<int16_t> p(kWide, 100);
      const size_t unit_bytes = size_t{kRows} * kWide, units = kBytes / unit_bytes;
      report("shortlist rows of 2560", units * unit_bytes, best_of(pool, units, [&](size_t unit) {
               int32_t sums[kRows];
               k.int8_rows(reinterpret_cast<const int8_t*>(memory + unit * unit_bytes), kWide, kRows,
                           p.data(), sums);
               sink += static_cast<uint64_t>(sums[0]);
             }));
    }
    for (const uint32_t n_tokens : {32U, 512U}) {
      constexpr uint32_t kIn = 2560, kTiles = 64, kAtOnce = 96;
      const std::vector<int8_t> q(size_t{kIn} * n_tokens, 3);
      const double seconds = best_of(pool, kTiles, [&](size_t unit) {
        std::vector<uint8_t> tile(size_t{kIn} * kTileRows);
        std::vector<int32_t> sums(size_t{kAtOnce} * kTileRows);
        const uint8_t* rows[kTileRows];
        for (uint32_t r = 0; r < kTileRows; ++r)
          rows[r] = reinterpret_cast<const uint8_t*>(memory) + (unit * kTileRows + r) * (kIn / 4);
        k.unpack_tile(rows, kIn, tile.data());
        for (uint32_t t = 0; t < n_tokens; t += kAtOnce)
          k.tile_product(tile.data(), kIn, q.data() + size_t{kIn} * t, std::min(kAtOnce, n_tokens - t),
                         sums.data());
        sink += static_cast<uint64_t>(sums[0]);
      });
      fmt::print("{:<12} {:<28} {:>8.2f} billion products/s\n", k.name,
                 fmt::format("tiles, {} tokens", n_tokens),
                 double{kTiles} * kTileRows * kIn * n_tokens / seconds / 1e9);
    }
  }
  return sink == 1 ? 1 : 0;  // somebody has to look at the sums
}
