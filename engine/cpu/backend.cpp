// The CPU backend: puts the kernels and the threads behind backend.h. A program is a list of steps; all
// threads walk it together, take units of a step as they come free and meet at a barrier behind each.
#include "backend.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <deque>
#include <fstream>

#include "cpu/recorder.h"

namespace bitnet {
namespace {

using namespace cpu;

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name") && line.find(": ") != std::string::npos)
      return line.substr(line.find(": ") + 2);
  return "unknown processor";
}

const Kernels& choose(const std::string& wanted) {
  std::string there;
  for (const KernelChoice& choice : kernel_choices()) {
    if (choice.supported && (wanted.empty() || wanted == choice.kernels->name)) return *choice.kernels;
    if (choice.supported) there += std::string(there.empty() ? "" : ", ") + choice.kernels->name;
  }
  throw Error(ErrorKind::usage,
              fmt::format("this machine has no CPU kernels \"{}\"; it has {}", printable(wanted), there));
}

DeviceInfo describe(const std::string& kernels, unsigned threads) {
  DeviceInfo d;
  d.name = fmt::format("CPU ({})", processor_name());
  d.driver = fmt::format("{}, {} {}", kernels, threads, threads == 1 ? "thread" : "threads");
  d.cpu = true;
  d.memory_bytes =
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  d.integer_dot = d.fast_integer_dot = kernels != "scalar" && kernels != "sse4" && kernels != "avx2";
  d.max_buffer_bytes = d.memory_bytes;
  return d;
}

class CpuBackend : public Backend {
 public:
  explicit CpuBackend(const EngineOptions& options)
      : kernels_(choose(options.cpu_kernels)),
        pool_(options.threads != 0 ? options.threads : usable_threads()),
        device_(describe(kernels_.name, pool_.size())),
        scratch_(pool_.size()) {}

  const DeviceInfo& device() const override { return device_; }

  BufferPtr allocate(uint64_t bytes, BufferUse) override { return std::make_unique<CpuBuffer>(bytes); }

  BufferPtr adopt(std::span<const std::byte> bytes) override { return std::make_unique<CpuBuffer>(bytes); }

  void upload(Buffer& to, uint64_t offset, std::span<const std::byte> bytes) override {
    assert(offset + bytes.size() <= to.size());
    if (!bytes.empty()) std::memcpy(cpu_buffer(to).data() + offset, bytes.data(), bytes.size());
  }

  void finish_uploads() override {}

  void download(const Buffer& from, uint64_t offset, std::span<std::byte> bytes) override {
    assert(offset + bytes.size() <= from.size());
    if (!bytes.empty()) std::memcpy(bytes.data(), cpu_buffer(from).data() + offset, bytes.size());
  }

  std::unique_ptr<Program> record(const std::function<void(Recorder&)>& kernels) override {
    auto program = std::make_unique<CpuProgram>();
    CpuRecorder recorder(kernels_, pool_.size(), input_, *program);
    kernels(recorder);
    for (auto& s : scratch_) s.resize(std::max(s.size(), program->scratch_bytes));
    return program;
  }

  void run(Program& program, uint32_t position, std::span<const int32_t> tokens) override {
    assert(tokens.size() <= kMaxBatch);
    auto& steps = static_cast<CpuProgram&>(program).steps;
    input_ = {position, tokens.data()};
    for (CpuStep& step : steps) step.rewind();
    pool_.run([&](unsigned thread) {
      for (CpuStep& step : steps) {
        step.take_part(thread, scratch_[thread].data());
        if (&step != &steps.back()) pool_.barrier();
      }
    });
  }

 private:
  const Kernels& kernels_;
  ThreadPool pool_;
  DeviceInfo device_;
  RunInput input_;
  std::vector<Scratch> scratch_;  // one a thread
};

}  // namespace

namespace cpu {

CpuBuffer::CpuBuffer(uint64_t bytes) : size_(bytes), owned_(true) {
  // Pages come as they are touched, so that a context costs what it holds.
  void* mapped =
      mmap(nullptr, std::max<uint64_t>(bytes, 1), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED)
    throw Error(ErrorKind::device,
                fmt::format("{:.1f} MB of memory cannot be had; a smaller --ctx takes less",
                            static_cast<double>(bytes) / 1e6));
  data_ = static_cast<std::byte*>(mapped);
}

CpuBuffer::CpuBuffer(std::span<const std::byte> bytes)
    : data_(const_cast<std::byte*>(bytes.data())), size_(bytes.size()), owned_(false) {}

CpuBuffer::~CpuBuffer() {
  if (owned_) munmap(data_, std::max<uint64_t>(size_, 1));
}

}  // namespace cpu

DeviceInfo describe_cpu(const EngineOptions& options) {
  return describe(choose(options.cpu_kernels).name,
                  options.threads != 0 ? options.threads : usable_threads());
}

std::unique_ptr<Backend> open_cpu(const EngineOptions& options) {
  return std::make_unique<CpuBackend>(options);
}

}  // namespace bitnet
