// The CPU backend, which implements backend.h with the kernels and the threads. A program is a list of steps.
// All threads work on one step together, each takes units of it as it comes free, and the next step waits for
// all units.
#include "engine/backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>

#include "engine/kernel_options.h"
#include "engine/weight_reader.h"
#include "recorder.h"

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

const CpuKernels& choose(const std::string& wanted) {
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
  d.arithmetic = kernels == "sse4" ? "cpu, int8 units, without fused multiply-add" : "cpu, int8 units";
  d.memory_bytes = memory_of_computer();
  d.integer_dot = d.fast_integer_dot = kernels != "scalar" && kernels != "sse4" && kernels != "avx2";
  d.max_buffer_bytes = d.free_bytes = d.memory_bytes;
  d.unified = true;
  return d;
}

constexpr const char* kLessWeights = "with --ram SIZE weights that have no room stay in the model's file";

// Memory for so many bytes of weights and for others behind them, where there is more.
std::shared_ptr<Memory> memory_for_weights(uint64_t bytes) {
  constexpr uint64_t kTogether = 256 << 20;
  if (bytes < kTogether) try {
      return std::make_shared<Memory>(kTogether);
    } catch (const Error&) {  // as under a limit of addresses
    }
  return std::make_shared<Memory>(bytes, kLessWeights);
}

class CpuBackend : public Backend {
 public:
  explicit CpuBackend(const EngineOptions& options)
      : kernels_(choose(kernels_of(options).cpu_kernels)),
        pool_(options.threads != 0 ? options.threads : usable_threads()),
        device_(describe(kernels_.name, pool_.size())),
        head_shortlist_(kernels_of(options).head_shortlist) {}

  const DeviceInfo& device() const override { return device_; }
  Layout group_layout() const override { return kernels_.group_layout; }
  Layout block_layout() const override { return Layout::blocks16; }

  // Weights lie one behind the other while a model is loaded, so that large pages hold them.
  BufferPtr allocate(uint64_t bytes, BufferUse use) override {
    if (use != BufferUse::weights || loaded_) {
      const bool of_weights = use == BufferUse::host_weights || use == BufferUse::weights;
      auto memory =
          of_weights ? std::make_shared<Memory>(bytes, kLessWeights) : std::make_shared<Memory>(bytes);
      const auto all = memory->bytes();
      return std::make_unique<CpuBuffer>(std::move(memory), all.first(bytes));
    }
    constexpr uint64_t kLine = 64;
    const uint64_t taken = (bytes + kLine - 1) / kLine * kLine;
    if (free_weights_.size() < taken) {
      weights_ = memory_for_weights(taken);
      weights_->prefer_large_pages();
      free_weights_ = weights_->bytes();
    }
    const auto part = free_weights_.first(bytes);
    free_weights_ = free_weights_.subspan(taken);
    to_read_.push_back(part);
    return std::make_unique<CpuBuffer>(weights_, part);
  }

  BufferPtr adopt(std::span<const std::byte> bytes) override {
    to_read_.push_back(bytes);
    return std::make_unique<CpuBuffer>(bytes);
  }

  BufferPtr part_of(const BufferPtr& whole, uint64_t offset, uint64_t bytes) override {
    return std::make_unique<CpuBuffer>(cpu_buffer(*whole), offset, bytes);
  }
  void read_weights_with(WeightReader& reader) override { reader_ = &reader; }
  void allow_head_copy() override { may_copy_head_ = true; }

  void upload(Buffer& to, uint64_t offset, std::span<const std::byte> bytes) override {
    assert(offset + bytes.size() <= to.size());
    if (!bytes.empty()) std::memcpy(cpu_buffer(to).data() + offset, bytes.data(), bytes.size());
  }

  void finish_uploads() override {
    loaded_ = true;
    if (weights_) weights_->shorten(weights_->bytes().size() - free_weights_.size());
    free_weights_ = {};
  }

  void download(const Buffer& from, uint64_t offset, std::span<std::byte> bytes) override {
    assert(offset + bytes.size() <= from.size());
    if (const auto unfinished = cpu_buffer(from).unfinished) finish(cpu_buffer(from), *unfinished);
    if (!bytes.empty()) std::memcpy(bytes.data(), cpu_buffer(from).data() + offset, bytes.size());
  }

  bool largest_logits(Buffer& logits, uint32_t row, uint32_t n, std::vector<TokenLogit>& to) override {
    const auto& unfinished = cpu_buffer(logits).unfinished;
    if (!unfinished || row >= unfinished->head->tokens.size()) return false;
    ShortlistedHead& head = *unfinished->head;
    ShortlistedHead::Token& token = head.tokens[row];
    if (n > token.bounds.size()) return false;
    lower_.clear();
    for (const Shortlist::Bounds& bounds : token.bounds) lower_.push_back(bounds.lower);
    std::ranges::nth_element(lower_, lower_.begin() + (n - 1), std::greater());
    token.border = lower_[n - 1];
    head.token = row;
    pool_.run(head.rescore->steps);
    const std::span values(data_of<const float>(logits) + size_t{row} * head.rows, head.rows);
    to.clear();
    for (size_t unit = 0; unit < token.bounds.size(); ++unit) {
      if (token.bounds[unit].upper < token.border) continue;
      const size_t begin = unit * head.rows_a_unit, end = std::min(values.size(), begin + head.rows_a_unit);
      for (size_t r = begin; r < end; ++r)
        if (values[r] >= token.border) to.push_back({static_cast<int32_t>(r), values[r]});
    }
    return true;
  }

  std::unique_ptr<Program> record(const std::function<void(Recorder&)>& kernels) override {
    auto program = std::make_unique<CpuProgram>();
    CpuRecorder recorder(
        kernels_, pool_.size(), input_, [this](const Table& table) { return shortlist_of(table); }, *program);
    kernels(recorder);
    pool_.reserve_scratch(program->scratch_lines);
    return program;
  }

  double read_bandwidth() override {
    constexpr size_t kUnit = 64 << 10;
    constexpr int kPasses = 5;  // other programs make a pass slower, never faster
    std::atomic<uint64_t> sink = 0;
    std::vector<std::span<const std::byte>> units;
    for (const auto all : to_read_)
      for (size_t at = 0; at + kUnit <= all.size(); at += kUnit) units.push_back(all.subspan(at, kUnit));
    const size_t bytes = units.size() * kUnit;
    const Step step{static_cast<uint32_t>(units.size()), each([&](uint32_t unit, CacheLine*) {
                      sink += kernels_.read(units[unit].data(), kUnit);
                    })};
    double best = 0;
    for (int pass = 0; pass < kPasses; ++pass) {
      const auto start = std::chrono::steady_clock::now();
      pool_.run({&step, 1});
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
      best = std::max(best, static_cast<double>(bytes) / seconds.count());
    }
    return best;
  }

  void run(Program& p, uint32_t position, std::span<const int32_t> tokens) override {
    assert(tokens.size() <= kMaxBatch);
    auto& program = static_cast<CpuProgram&>(p);
    for (const auto& head : program.shortlisted) head->logits->unfinished.reset();
    if (const auto last = last_shortlisted_.lock();
        last && std::ranges::find(program.norms, last->head->vectors) != program.norms.end())
      pool_.run(last->head->full->steps);  // before the vectors are overwritten
    input_ = {position, tokens.data()};
    run_steps(program);
    for (const auto& head : program.shortlisted) {
      if (!head->was_shortlisted) continue;
      head->logits->unfinished = std::make_shared<Unfinished>(Unfinished{head});
      last_shortlisted_ = head->logits->unfinished;
    }
  }

 private:
  void run_steps(const CpuProgram& program) {
    const std::span<const Step> steps = program.steps;
    size_t done = 0;
    for (const auto& [first, end, piece] : program.from_file) {
      if (first != done) pool_.run(steps.subspan(done, first - done));
      reader_->take(piece);
      pool_.run(steps.subspan(first, end - first));
      reader_->release(piece);
      done = end;
    }
    if (done != steps.size()) pool_.run(steps.subspan(done));
  }

  void finish(const CpuBuffer& logits, const Unfinished& unfinished) {
    pool_.run(unfinished.head->full->steps);
    logits.unfinished.reset();
  }

  const Shortlist* shortlist_of(const Table& table) {
    const auto& chunk = table.chunks[0];
    if (table.is_ternary() || table.wants_all_logits || table.chunks.size() != 1 || table.n_embd % 64 != 0 ||
        head_shortlist_ == HeadShortlist::never)
      return nullptr;
    const bool pays = may_copy_head_ && shortlist_pays(table.n_vocab, table.n_embd);
    if (head_shortlist_ != HeadShortlist::always && !pays) return nullptr;
    const auto [at, is_new] = shortlists_.try_emplace(chunk.bytes.get());
    auto& shortlist = at->second;
    if (is_new) try {
        shortlist = std::make_unique<Shortlist>(kernels_, rows_of(table, chunk), table.n_vocab);
      } catch (const std::exception&) {  // no memory, or no thread: the whole head gives the same
        if (head_shortlist_ == HeadShortlist::always) throw;
      }
    if (shortlist && head_shortlist_ == HeadShortlist::always) shortlist->wait();
    return shortlist.get();
  }

  const CpuKernels& kernels_;
  ThreadPool pool_;
  DeviceInfo device_;
  const HeadShortlist head_shortlist_;
  bool may_copy_head_ = false;
  RunInput input_;
  WeightReader* reader_ = nullptr;
  bool loaded_ = false;                              // all weights are there
  std::shared_ptr<Memory> weights_;                  // that were allocated last
  std::span<std::byte> free_weights_;                // what is left of it
  std::vector<std::span<const std::byte>> to_read_;  // weights, where they lie
  std::weak_ptr<Unfinished> last_shortlisted_;
  std::vector<float> lower_;  // of largest_logits
  std::map<const Buffer*, std::unique_ptr<Shortlist>>
      shortlists_;  // by the buffer of weights, which lives as long as the backend; null where none can be
                    // had
};

}  // namespace

DeviceInfo describe_cpu(const EngineOptions& options) {
  return describe(choose(kernels_of(options).cpu_kernels).name,
                  options.threads != 0 ? options.threads : usable_threads());
}

uint32_t most_threads() { return cpu::most_threads(); }

ReadSpeeds cpu_speeds(const EngineOptions& options) {
  constexpr uint64_t kBytes = 256 << 20;  // past any cache
  CpuBackend backend(options);
  const BufferPtr memory = backend.allocate(kBytes, BufferUse::weights);
  const std::vector<std::byte> some(1 << 20, std::byte{1});
  for (uint64_t at = 0; at < kBytes; at += some.size()) backend.upload(*memory, at, some);
  const double speed = backend.read_bandwidth();
  return {speed, speed};
}

std::unique_ptr<Backend> open_cpu(const EngineOptions& options) {
  return std::make_unique<CpuBackend>(options);
}

}  // namespace bitnet
