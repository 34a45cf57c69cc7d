// Measures products whose matrices lie in the host's memory, in each way in which a GPU comes by them, and
// prints CSV:
//   way,MB,tokens,us,GB/s
// of a matrix in a row of many. The bytes are those of two bits a weight in each way, so that the figures can
// be compared. `device` has the matrices on the device, `read` reads them over the link, `copied` copies them
// through slots, `fives` too, in 1.6 bits, and `expanded` has these on the device, so that it tells what the
// expansion takes.
//
//   host_weights [--device NAME]
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>

#include "engine/backend.h"
#include "engine/kernel_options.h"

namespace bitnet {
namespace {

constexpr uint32_t kInputs = 4096;
constexpr uint64_t kAllBytes = 256 << 20;  // of the matrices of a program

struct Way {
  const char* name;
  BufferUse use;
  HostWeights how;
  bool fives;
};
constexpr Way kWays[] = {{"device", BufferUse::device, HostWeights::read, false},
                         {"read", BufferUse::host_weights, HostWeights::read, false},
                         {"copied", BufferUse::host_weights, HostWeights::copied, false},
                         {"fives", BufferUse::host_weights, HostWeights::fives, true},
                         {"expanded", BufferUse::device, HostWeights::fives, true}};

class Bench {
 public:
  Bench(const std::string& device, const Way& way) : way_(way) {
    EngineOptions options;
    options.device = device;
    options.kernels = share({.host_weights = way.how});
    backend_ = open_vulkan(options);
  }

  void measure(uint64_t bytes, uint32_t tokens) {
    const auto rows = static_cast<uint32_t>(bytes / (kInputs / 4));
    backend_->make_slots(bytes);
    std::vector<Matrix> matrices(kAllBytes / bytes);
    for (Matrix& m : matrices) {
      m.n_in = kInputs;
      m.parts[0] = {rows, 1};
      m.in_fives = way_.fives;
      m.codes = filled(way_.fives ? rows * code_bytes(Layout::fives16, kInputs) : bytes, way_.use);
    }
    const Quantised q{filled(uint64_t{tokens} * kInputs, BufferUse::device),
                      filled(uint64_t{tokens} * 8, BufferUse::device), nullptr};
    const BufferPtr y = filled(uint64_t{tokens} * rows * 4, BufferUse::device);
    const double us = seconds([&](Recorder& r) {
                        for (const Matrix& m : matrices) r.product(m, q, store(*y), tokens);
                      }) /
                      static_cast<double>(matrices.size()) * 1e6;
    fmt::print("{},{:.1f},{},{:.1f},{:.1f}\n", way_.name, bytes / 1e6, tokens, us, bytes / us / 1e3);
    std::fflush(stdout);
  }

  std::string device() const { return backend_->device().name + ", " + backend_->device().driver; }

 private:
  BufferPtr filled(uint64_t bytes, BufferUse use) {
    std::vector<std::byte> some(std::min<uint64_t>(bytes, 1 << 20));
    std::mt19937 rng(1);
    for (std::byte& b : some) b = static_cast<std::byte>(rng() & 0x15);  // codes 0 and 1; of fives too
    BufferPtr buffer = backend_->allocate(bytes, use);
    for (uint64_t at = 0; at < bytes; at += some.size())
      backend_->upload(*buffer, at, std::span(some).first(std::min<uint64_t>(some.size(), bytes - at)));
    backend_->finish_uploads();
    return buffer;
  }

  double seconds(const std::function<void(Recorder&)>& kernels) {
    using Clock = std::chrono::steady_clock;
    const auto program = backend_->record(kernels);
    double best = 1e9;
    for (int i = 0; i < 4; ++i) {
      const auto start = Clock::now();
      backend_->run(*program, 0, {});
      best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
    }
    return best;
  }

  const Way& way_;
  std::unique_ptr<Backend> backend_;
};

}  // namespace
}  // namespace bitnet

int main(int argc, char** argv) try {
  std::string device;
  for (int i = 1; i + 1 < argc; i += 2)
    if (std::strcmp(argv[i], "--device") == 0) device = argv[i + 1];
  bool first = true;
  for (const bitnet::Way& way : bitnet::kWays) {
    bitnet::Bench bench(device, way);
    if (first) fmt::print("# {}\nway,MB,tokens,us,GB/s\n", bench.device());
    first = false;
    for (const uint64_t mebibytes : {1, 4, 28})
      for (const uint32_t tokens : {1U, 1024U}) bench.measure(mebibytes << 20, tokens);
  }
} catch (const bitnet::Error& error) {
  fmt::print(stderr, "host_weights: {}\n", error.what());
  return 1;
}
