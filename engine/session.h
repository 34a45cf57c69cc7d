// The one implementation of Engine and Session, on any backend.
//
// Thread rule: as engine.h.
#pragma once

#include <map>
#include <set>
#include <tuple>

#include "batch_size.h"
#include "engine/kernel_options.h"
#include "engine/read_ahead.h"
#include "engine/weight_reader.h"
#include "expert_trace.h"
#include "forward.h"
#include "snapshots.h"
#include "watch.h"

namespace bitnet {

class LoadedEngine : public Engine {
 public:
  LoadedEngine(std::shared_ptr<const void> file, std::unique_ptr<Backend> b, Model m, KernelOptions k,
               Placement p)
      : mapping(b->device().cpu ? std::move(file) : nullptr),
        backend(std::move(b)),
        weights(std::move(m)),
        kernels(std::move(k)),
        places(std::move(p)) {}

  const ModelInfo& model() const override { return weights.config; }
  const DeviceInfo& device() const override { return backend->device(); }
  Placement placement() const override { return places; }
  FileReads file_reads() const override { return reader ? reader->stats() : FileReads(); }
  ExpertReads expert_reads() const override { return backend->expert_reads(); }
  double read_bandwidth() override { return backend->read_bandwidth(); }

  // Throws Error(model) where the bytes that the backend adopted may be others by now.
  void check_files() const {
    for (const auto& file : files)
      if (was_changed(*file))
        throw Error(ErrorKind::model,
                    printable(file->path()) + ": the file has changed since it was opened; open it again");
  }

  // Begins to read the weights that stay in the file.
  void read_with(std::unique_ptr<WeightReader> with, std::vector<BufferPtr> into) {
    places_in_host = std::move(into);
    reader = std::move(with);
    std::vector<std::span<std::byte>> memory;
    for (const BufferPtr& place : places_in_host) memory.push_back(place->mapped());
    reader->begin(std::move(memory), kernels.poison_slots);
    backend->read_weights_with(*reader);
  }

  std::shared_ptr<const void> mapping;                   // of the file, where the backend adopted its bytes
  std::vector<std::shared_ptr<const MappedFile>> files;  // whose mapping that is
  std::unique_ptr<const ReadAhead> ahead;                // of its bytes
  std::unique_ptr<Backend> backend;                      // outlives the buffers of the weights
  Model weights;
  const KernelOptions kernels;
  Placement places;
  std::vector<BufferPtr> places_in_host;
  std::unique_ptr<WeightReader> reader;  // of weights that stay in the file, or null
  std::string expert_trace;              // as of EngineOptions
  std::set<uint32_t> compared_passes;    // kinds of them, as DeviceSession::trusts_pass has them
  uint32_t differing_pass = 0;           // as of SessionStats
};

class DeviceSession : public Session {
 public:
  DeviceSession(LoadedEngine& engine, uint32_t n_ctx);

  uint32_t n_ctx() const override { return n_ctx_; }
  std::span<const int32_t> tokens() const override { return tokens_; }
  SyncResult sync(std::span<const int32_t> tokens, const SyncOptions& options) override;
  Finish decode(Sampler& sampler, const DecodeOptions& options,
                const std::function<bool(const SampledToken&)>& on_token) override;
  std::span<const float> logits() override;
  void cancel() noexcept override { cancelled_ = true; }
  uint64_t save_bytes() const override;
  std::vector<std::byte> save() override;
  void load(std::span<const std::byte> payload) override;
  SessionStats stats() const override { return stats_; }

 private:
  class DeviceDecode;
  uint32_t near_end(uint32_t kept, uint32_t last, uint32_t most) const;
  Writing next_batch(uint32_t most, uint32_t end) const;
  KvCache::Earlier saved_with() const;
  void stop_reading_with_cancel();  // whoever waits for weights from the file looks at cancelled_ then
  uint32_t cut(uint32_t position);
  void give_up_begun();
  bool evaluate(std::span<const int32_t> batch, const Writing& writing, bool last,
                const SyncOptions& options);
  std::vector<size_t> piece_ends(uint32_t n) const;
  bool run_pieces(std::span<const int32_t> batch, uint32_t position,
                  const std::function<void(Recorder&, size_t begin, size_t end)>& blocks);
  void use_place(size_t outcome);
  void trace(uint32_t position, uint32_t n, size_t outcome);
  // What a head leaves of its rows: the largest logits, with them what the device samples, or with them all
  // logits in host_logits_.
  enum class Leaves { largest, choice, logits };
  Leaves leaves_for_host() const { return copies_logits_ ? Leaves::logits : Leaves::largest; }
  // The same where this sampler chooses on the host: one that looks at all logits would else have the CPU
  // find the largest first, and then compute all.
  Leaves leaves_for_host(const Sampler& sampler) const {
    return sampler.wanted() == 0 ? Leaves::logits : leaves_for_host();
  }
  void record_rows(Recorder& r, uint32_t first, uint32_t rows, Leaves leaves, size_t outcome = 0);
  Finish decode_on_host(Sampler& sampler, const DecodeOptions& options, uint32_t& produced,
                        const std::function<bool(const SampledToken&)>& on_token);
  Finish decode_on_device(Sampler& sampler, const DecodeOptions& options, uint32_t& produced,
                          const std::function<bool(const SampledToken&)>& on_token);
  std::optional<SampledToken> sample_on_host(Sampler& sampler);
  // Guesses of what comes next (session_drafts.cpp).
  using OnToken = std::function<bool(const SampledToken&)>;
  struct Guess {
    std::array<int32_t, Drafts::kMost> tokens{};
    uint32_t n = 0;
    bool is_worth_waiting = false;  // as of DraftLength
  };
  struct Pass {
    bool stopped = false;              // by on_token or a cancel; else
    std::optional<SampledToken> next;  // the choice behind the timeline, nullopt where logits are not numbers
  };
  bool can_draft() const;
  bool checks_passes() const;
  bool trusts_pass(const SampledToken& token, const Guess& guess);
  Guess guess_behind(const SampledToken& token, const DecodeOptions& options, uint32_t produced);
  Pass evaluate_guess(const SampledToken& token, const Guess& guess, Sampler& sampler,
                      const DecodeOptions& options, uint32_t& produced, const OnToken& on_token);
  Leaves begin_pass(Sampler& sampler, std::span<const int32_t> batch);
  bool run_pass(std::span<const int32_t> batch, uint32_t position, Leaves leaves);
  void run_heads(uint32_t first, uint32_t rows, uint32_t position, Leaves leaves);
  ArgmaxResult argmax() const;
  std::optional<SampledToken> choose(Sampler& sampler);
  bool sample_on_device(Sampler& sampler);
  std::optional<SampledToken> choice_of_device(Sampler& sampler, const ArgmaxResult& best) const;
  std::optional<SampledToken> sample_as_device(Sampler& sampler);
  void evaluate_alone(const SampledToken& token, Leaves leaves);
  bool device_can(const Sampler& sampler) const;
  void prepare_sampling();
  void begin_sampling(const SamplingRecipe& recipe, std::span<const int32_t> next_tokens);
  void give_random(Sampler& sampler, size_t n, uint32_t position);
  std::optional<Finish> finish_at(const std::optional<SampledToken>& token, const DecodeOptions& options,
                                  uint32_t produced) const;
  void read_whole_head(std::span<std::byte> host);
  bool report_logits(uint32_t n, const SyncOptions& options);
  void check_tokens(std::span<const int32_t> tokens) const;

  LoadedEngine& engine_;
  Backend& backend_;
  const uint32_t n_ctx_;
  const uint32_t max_batch_;
  KvCache cache_;
  Snapshots snapshots_;
  Activations activations_;
  std::optional<ExpertTrace> trace_;
  // What a submission leaves of its last token. The first outcome is that of a sync and of a token that the
  // host chose; those of tokens that the device chose are the others, in turn.
  struct Outcome {
    BufferPtr logits;  // [n_vocab] f32; of the first [kMaxLogitRows][n_vocab]
    // ArgmaxResult [rows], ChoiceResult [rows]; up to kMaxLogitRows in the first. The host sees it.
    BufferPtr result;
  };
  std::vector<Outcome> outcomes_;
  struct Last {
    size_t outcome = 0;
    uint32_t row = 0, rows = 1;          // of the first outcome
    std::optional<uint32_t> x_row = {};  // of Activations::x, which has the token's
  };
  Last last_;              // where the outcome of the timeline's last token is
  BufferPtr host_logits_;  // [kMaxLogitRows][n_vocab]
  // The commands of a decoded token are the same every time and recorded once. `first` evaluates a token that
  // the host gives. `next` has a program for each outcome behind the first, which evaluates what the device
  // chose; it is empty where the device does not run ahead.
  struct DecodePrograms {
    std::unique_ptr<Program> first;
    std::vector<std::unique_ptr<Program>> next;
  };
  DecodePrograms record_decode(bool sample);
  DecodePrograms greedy_;
  DecodePrograms sampled_;                  // and the buffers below: made when first needed
  std::unique_ptr<Program> sample_logits_;  // of the first outcome
  SamplingBuffers sampling_;
  BufferPtr
      given_sampling_;  // one SamplingInput that the host writes, and programs of the first outcome copy
  // All logits go to the host with every token that it chooses; on the CPU only where the sampler looks at
  // all of them, so that decode_logits_, of a token that leaves them all, is made there when first needed.
  const bool copies_logits_;
  std::unique_ptr<Program> decode_logits_;
  Program& token_program(Leaves leaves);
  std::vector<TokenLogit> largest_;  // reused
  const bool knows_all_logits_;      // which head_and_choose leaves
  bool can_draft_;
  DraftLength draft_length_;
  // Passes over so many tokens with the head for the first kMaxLogitRows of them, by what that leaves; and
  // heads for the rest, by the first row and the number of rows. Made when first needed.
  static constexpr uint32_t kMostInPass = Drafts::kMost + 1;
  static_assert(kMostInPass < kSampleRandoms && kMostInPass < kSampleHistory);
  std::map<std::pair<uint32_t, Leaves>, std::unique_ptr<Program>> passes_;
  std::set<std::pair<uint32_t, Leaves>> passes_tried_;  // passes of pieces too
  std::map<std::tuple<uint32_t, uint32_t, Leaves>, std::unique_ptr<Program>> heads_;

  std::vector<int32_t> tokens_;
  bool evaluated_ = false;    // the device has the logits of the last token
  bool logits_read_ = false;  // and host_logits_ too
  Observer observer_;
  BatchSize batch_;  // of the next prefill submission; follows the device's speed
  std::atomic<bool> cancelled_ = false;
  SessionStats stats_;
};

}  // namespace bitnet
