// The Vulkan backend, which implements backend.h with the device, its memory, the kernels and the recorder.
#include "engine/backend.h"

#include <algorithm>
#include <cassert>
#include <map>

#include "engine/kernel_options.h"
#include "kept_file.h"
#include "pipeline_cache.h"
#include "recorder.h"
#include "shaders/params.h"
#include "stream.h"

namespace bitnet {
namespace {

using namespace vk;

constexpr uint64_t kParamsBytes = (PARAMS_TOKENS + kMaxBatch) * sizeof(uint32_t);

bool use_integer_dot(const DeviceInfo& device, IntegerDot wanted) {
  if (wanted == IntegerDot::always && !device.integer_dot)
    throw Error(ErrorKind::device, device.name + " has no 4x8-bit integer dot product");
  const bool where_fast = wanted == IntegerDot::where_fast || wanted == IntegerDot::matrix;
  return wanted == IntegerDot::always || (where_fast && device.fast_integer_dot);
}

bool use_matrix(const DeviceInfo& device, IntegerDot wanted) {
  if (wanted == IntegerDot::matrix && !device.int8_matrix)
    throw Error(ErrorKind::device, device.name + " cannot multiply int8 matrices");
  return wanted == IntegerDot::matrix ||
         (wanted == IntegerDot::where_fast && device.int8_matrix && !device.software);
}

class VulkanBackend : public Backend {
 public:
  explicit VulkanBackend(const EngineOptions& options)
      : device_(options),
        pipelines_(device_, shader_folder().empty() ? options.cache_folder : std::string()),
        kernels_(device_, pipelines_.handle(),
                 use_integer_dot(device_.info(), kernels_of(options).integer_dot),
                 use_matrix(device_.info(), kernels_of(options).integer_dot), kernels_of(options)),
        transfer_(device_),
        stream_(device_, kernels_of(options)),
        places_(device_, transfer_, kernels_of(options).poison_slots),
        host_params_(device_, kParamsBytes, BufferUse::shared),
        params_(device_, kParamsBytes, BufferUse::device),
        split_sums_(device_, transfer_),
        decode_(device_, kernels_, transfer_, params_, kernels_of(options),
                StuckChains(kept_file(device_, options.cache_folder, "stuck"))),
        head_shortlist_(kernels_of(options).head_shortlist) {}

  // By now every kernel that was needed has been made.
  ~VulkanBackend() override { pipelines_.save(); }

  const DeviceInfo& device() const override { return info_; }
  Layout group_layout() const override { return Layout::groups; }
  Layout block_layout() const override { return Layout::blocks; }

  void suit(const ModelInfo& model) override {
    kernels_.suit(model);
    info_.arithmetic = device_.info().arithmetic + kernels_.arithmetic();
  }

  BufferPtr allocate(uint64_t bytes, BufferUse use) override {
    return std::make_unique<VulkanBuffer>(device_, bytes, use);
  }

  void limit_memory(uint64_t bytes) override { device_.use().most = bytes; }

  void upload(Buffer& to, uint64_t offset, std::span<const std::byte> bytes) override {
    transfer_.upload(vulkan(to), offset, bytes);
  }

  void finish_uploads() override { transfer_.finish(); }

  void download(const Buffer& from, uint64_t offset, std::span<std::byte> bytes) override {
    transfer_.download(vulkan(from), offset, bytes);
  }

  BufferPtr part_of(const BufferPtr& whole, uint64_t offset, uint64_t bytes) override {
    return std::make_unique<VulkanBuffer>(std::static_pointer_cast<VulkanBuffer>(whole), offset, bytes);
  }
  void choose_way(const ReadSpeeds& speeds) override { stream_.choose_way(speeds); }
  void read_weights_with(WeightReader& reader) override { stream_.read_with(reader); }
  BufferPtr addresses_of(const Matrix& w) override { return places_.addresses_of(w); }
  void make_expert_places(uint32_t n) override { places_.make(n); }
  ExpertReads expert_reads() const override { return places_.reads(); }
  void allow_head_copy() override { may_copy_head_ = true; }
  bool knows_all_logits(const Table& head) override { return shortlist_of(head) == nullptr; }
  void make_slots(uint64_t bytes) override { stream_.make_slots(bytes); }
  bool host_has_fives() const override { return stream_.has_fives(); }

  std::unique_ptr<Program> record(const std::function<void(Recorder&)>& kernels) override {
    return record(kernels, &host_params_);
  }

  void run(Program& program, uint32_t position, std::span<const int32_t> tokens) override {
    start(program, position, tokens);
    wait(program);
  }

  bool runs_ahead() const override { return true; }
  double seconds_compiling() const override { return kernels_.seconds_compiling(); }

  std::unique_ptr<Program> record_next(const std::function<void(Recorder&)>& kernels) override {
    return record(kernels, nullptr);
  }

  void start(Program& program, uint32_t position, std::span<const int32_t> tokens) override {
    assert(tokens.size() <= kMaxBatch);
    auto* words = reinterpret_cast<uint32_t*>(host_params_.mapped().data());
    words[PARAMS_POSITION] = position;
    std::copy(tokens.begin(), tokens.end(), words + PARAMS_TOKENS);
    start_next(program);
  }

  void start_next(Program& program) override {
    auto& p = static_cast<VulkanProgram&>(program);
    unless_lost(p, [&] { stream_.submit(p.commands, p.copies, p.n_plain); });
  }

  void wait(Program& program) override {
    auto& p = static_cast<VulkanProgram&>(program);
    unless_lost(p, [&] { p.commands.wait(); });
    decode_.check();
    if (!p.experts.rows.empty()) places_.follow(p.experts);
  }

 private:
  template <typename Work>
  void unless_lost(const VulkanProgram& p, const Work& work) try {
    work();
  } catch (const DeviceLost&) {
    decode_.lost(p.decodes);
    throw;
  }

  // Where the device turns out not to run stages, what they compute is recorded without.
  std::unique_ptr<Program> record(const std::function<void(Recorder&)>& kernels,
                                  const VulkanBuffer* host_params) {
    try {
      return record_once(kernels, host_params);
    } catch (const StagesFailed&) {
    }
    return record_once(kernels, host_params);
  }

  std::unique_ptr<Program> record_once(const std::function<void(Recorder&)>& kernels,
                                       const VulkanBuffer* host_params) {
    auto program = std::make_unique<VulkanProgram>(device_, &spare_pools_);
    VulkanRecorder recorder(device_, kernels_, decode_, &stream_, &places_, &shortlists_of_, host_params,
                            params_, &split_sums_, *program);
    kernels(recorder);
    recorder.finish();
    return program;
  }

  // The shortlist of a head, which is made when it is first asked for; null where there is to be none.
  const Shortlist* shortlist_of(const Table& table) {
    const bool always = head_shortlist_ == HeadShortlist::always;
    if (head_shortlist_ == HeadShortlist::never || !Shortlist::is_possible(device_, table)) return nullptr;
    if (!always && !may_copy_head_) return nullptr;
    auto& shortlist = shortlists_[table.chunks[0].bytes.get()];
    if (!shortlist) {
      std::unique_ptr<Shortlist> made;
      try {
        made = std::make_unique<Shortlist>(device_, table);
      } catch (const Error&) {
        if (always) throw;
        may_copy_head_ = false;  // the device has less memory than its driver said
        return nullptr;
      }
      const auto program =
          record_next([&](Recorder& r) { static_cast<VulkanRecorder&>(r).make_shortlist(table, *made); });
      start_next(*program);
      wait(*program);
      shortlist = std::move(made);
    }
    return shortlist.get();
  }

  Device device_;
  SparePools spare_pools_;
  PipelineCache pipelines_;
  VulkanKernels kernels_;
  DeviceInfo info_ = device_.info();
  Transfer transfer_;
  Stream stream_;
  ExpertPlaces places_;
  VulkanBuffer host_params_;
  VulkanBuffer params_;
  SplitSums split_sums_;
  Decode decode_;
  const HeadShortlist head_shortlist_;
  bool may_copy_head_ = false;
  std::map<const Buffer*, std::unique_ptr<Shortlist>> shortlists_;  // by the buffer of a head's rows
  const ShortlistOf shortlists_of_ = [this](const Table& table) { return shortlist_of(table); };
};

}  // namespace

std::unique_ptr<Backend> open_vulkan(const EngineOptions& options) {
  return std::make_unique<VulkanBackend>(options);
}

}  // namespace bitnet
