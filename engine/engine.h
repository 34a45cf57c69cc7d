// The engine: a model loaded on a device, and timelines of tokens that run on it.
//
// Thread rule: an Engine may be shared; its Sessions share one device queue, so at most one of them may be
// inside sync, decode, save or load at a time, and each Session belongs to one thread. Session::cancel may be
// called from any thread and from a signal handler.
//
// No text and no Vulkan here. Errors: Error(model) for a file that cannot be run, Error(device) for a device
// that is missing, too small or lost (the Session is then dead and the Engine must be opened again; the
// tokens stay with the caller), Error(usage) for arguments out of range.
//
// engine/forward.cpp begins with the formulas, engine/model/families.h has the families.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/devices.h"
#include "engine/drafts.h"
#include "engine/error.h"
#include "engine/gguf.h"
#include "engine/model_info.h"
#include "engine/observation.h"
#include "engine/sampler.h"

namespace bitnet {

struct KernelOptions;  // engine/kernel_options.h

// How much of a device's memory may be taken. `automatic` is what is free, less a margin; where the driver
// still gives less, more weights lie in host memory.
struct VramBudget {
  enum class Kind { automatic, bytes, percent };  // percent: of all memory
  Kind kind = Kind::automatic;
  uint64_t value = 0;
};

struct EngineOptions {
  // Index or part of a name as list_devices gives them, or "cpu", in any case; of several devices with that
  // part a GPU comes first. Empty = the best GPU, and the CPU where there is none or only a software one.
  std::string device;
  I2sLayout layout = I2sLayout::block128;
  Activation activation = Activation::of_file;
  std::string cache_folder;  // where compiled kernels are kept between runs; empty = nowhere
  uint32_t threads = 0;      // of the CPU; 0 = as many as the process may use at once
  std::shared_ptr<const KernelOptions> kernels;  // for tests and measurements; null = the best for the device
  // What may be taken of memory. The weights leave room for one session of n_ctx tokens (0:
  // usual_context()). Where a number is given for vram, nothing is allocated past it. The CPU knows `ram`
  // alone, for everything; without it, that is memory_of_computer() less a margin. What there is no room for
  // stays in the file.
  VramBudget vram;
  uint64_t ram =
      kNoLimit;  // bytes of weights in host memory, and of the places that weights of the file go to
  uint32_t n_ctx = 0;
  Interventions interventions;
  // A file to which a session writes which experts each token has, a line of ids a token and layer; empty:
  // none. Error(usage) where the model has no experts.
  std::string expert_trace;
  // Called on the opening thread while weights are copied to the device, first with 0 and at last with all
  // bytes. If it returns false, opening ends with Error(runtime).
  std::function<bool(uint64_t done_bytes, uint64_t total_bytes)> on_progress;
};

// 32 hex digits of XXH3-128 over every byte of the file and every option that changes the model's numbers.
// This takes 0.1 s a gigabyte on two cores, once: the hash of the file is kept in the cache folder.
std::string fingerprint_of(const Checkpoint& file, const EngineOptions& options);

// The device that Engine::open would open. Throws its Error(device) where there is no such device or it
// cannot be used. Opens nothing.
DeviceInfo find_device(const EngineOptions& options);

// The bytes that a budget gives on a device: where nobody says a number, what the driver says is free less a
// margin, and kNoLimit of a software device.
uint64_t vram_budget(const VramBudget& budget, const DeviceInfo& device);

// Where the weights would lie on this device. Throws Error(device) that names the smallest budget that works
// where one of the options is too small. Where nobody gives a number, what cannot stay in the file is placed
// whether there is as much or not.
Placement place_model(const MemoryPlan& plan, const DeviceInfo& device, const EngineOptions& options);

// What was read of weights that stay in the file.
struct FileReads {
  uint64_t bytes = 0;
  double seconds = 0;       // of kWeightReaders threads together
  double waited = 0;        // seconds for which the computation waited for them
  bool past_cache = false;  // by O_DIRECT, which was the faster way
};

// What decoded tokens used of experts that have no room on the device all together.
struct ExpertReads {
  uint64_t uses = 0, hits = 0;  // experts of a matrix, and those that had a copy on the device
  uint64_t copies = 0;          // that were made meanwhile
};

class Engine {
 public:
  // `file` has to outlive this call only. On the CPU the Engine keeps its mapping until it is destroyed.
  static std::unique_ptr<Engine> open(const Checkpoint& file, const EngineOptions& options);
  virtual ~Engine() = default;

  virtual const ModelInfo& model() const = 0;
  virtual const DeviceInfo& device() const = 0;
  virtual Placement placement() const { return {}; }   // of the weights
  virtual FileReads file_reads() const { return {}; }  // any thread may ask
  virtual ExpertReads expert_reads() const { return {}; }

  // Measures how many bytes a second the device reads of the weights when it does nothing else, on all
  // threads; 0 where that cannot be measured. Requires: no Session works meanwhile.
  virtual double read_bandwidth() { return 0; }
};

struct SyncOptions {
  uint32_t batch = 0;  // most tokens per submission; 0 = the engine's choice, 1 = token by token
  // After each submission, in tokens; return false to stop as cancel does.
  std::function<bool(uint32_t done, uint32_t total)> on_progress;
  // Gets the position and the logits [n_vocab] of every token that this call evaluates, in order. Each costs
  // a readback.
  std::function<void(uint32_t position, std::span<const float> logits)> on_logits;
  const Observation* observe = nullptr;  // what else this call hands out; its batches may be smaller
};

struct SyncResult {
  uint32_t reused = 0;     // tokens whose keys and values were there; with windows maybe not the whole prefix
  uint32_t evaluated = 0;  // tokens computed by this call
  bool cancelled = false;
};

enum class Finish { stop, length, context, interrupted, numeric };
const char* name_of(Finish finish);

struct DecodeOptions {
  uint32_t max_tokens = 0;           // 0 = as many as the context holds
  std::vector<int32_t> stop_tokens;  // end the turn; not passed to on_token
  // Where guesses of what comes next are looked for, which are evaluated together where that is faster. The
  // tokens and all they come with are the same without. It has to be used with this session alone; null:
  // none.
  Drafts* drafts = nullptr;
};

struct SessionStats {
  double prefill_seconds = 0;  // since the session began
  double decode_seconds = 0;
  uint64_t drafted_tokens = 0;  // that were guessed and evaluated
  uint64_t right_tokens = 0;    // of these, that came
  // Tokens of a pass that a GPU computed otherwise than one by one, behind which nothing is guessed.
  uint32_t differing_pass = 0;
  uint32_t token_dispatches = 0;  // kernels that a GPU is given for a token; 0 on the CPU
};

class Session {
 public:
  // Allocates everything that the session will use: the KV cache for n_ctx tokens (F16), activations,
  // readback. n_ctx 0 is usual_context(). Throws Error(usage) past that, Error(device) with
  // sizes where memory is short. `engine` must outlive the session.
  static std::unique_ptr<Session> create(Engine& engine, uint32_t n_ctx);
  virtual ~Session() = default;

  virtual uint32_t n_ctx() const = 0;
  virtual std::span<const int32_t> tokens() const = 0;  // the timeline whose keys and values are cached

  // Makes the timeline equal to `tokens`: keeps the common prefix, drops the rest and evaluates what is new.
  // At least the last token is evaluated, so that its logits are there. Requires: 1 <= tokens.size() <=
  // n_ctx. After a cancel, or an exception on the way, the timeline is a prefix of `tokens`, without logits
  // unless all of it was evaluated.
  virtual SyncResult sync(std::span<const int32_t> tokens, const SyncOptions& options = {}) = 0;

  // Samples and evaluates token after token until there is a reason to finish. on_token returns false to
  // finish with `interrupted`. A token that was given to on_token is in the timeline when the call returns;
  // but where weights stay in the file, a cancel may come before its end, and then it is not. Nor is it after
  // an exception, on_token's own or one of the device or a file: the timeline is then a prefix of what it was
  // and of what was given, and wants a sync before its logits.
  // Requires: a completed sync.
  virtual Finish decode(Sampler& sampler, const DecodeOptions& options,
                        const std::function<bool(const SampledToken&)>& on_token) = 0;

  // The logits [n_vocab] after the last token of the timeline. They are valid until the next call on the
  // session.
  virtual std::span<const float> logits() = 0;

  // Makes a running sync or decode return soon: within one piece of a batch, which is some blocks that take a
  // tenth of a second or one that takes longer, one token, or one piece of the weights that stay in the file.
  // The request ends with that call; a cancel while none runs does nothing.
  virtual void cancel() noexcept = 0;

  // save gives the timeline with its keys and values as bytes (format: engine/kv_cache.h), save_bytes of
  // them, and load takes them back. load throws Error(runtime) for a payload of another model or format and
  // leaves the session empty.
  virtual uint64_t save_bytes() const = 0;
  virtual std::vector<std::byte> save() = 0;
  virtual void load(std::span<const std::byte> payload) = 0;

  virtual SessionStats stats() const = 0;
};

}  // namespace bitnet
