// The thread that runs the model: it alone touches Engine and Session.
//
// Thread rule: the public calls belong to the loop's thread; what the thread produces waits in a bounded
// queue until take(). wake_fd() is readable while something waits there.
//
//   loop's thread                     worker's thread
//   start() --------------------->    opens the model
//   submit(job) ----------------->    does the job: sync (prefill), decode, ...
//   take() <--- queue, eventfd ---    LoadProgress, Loaded, NotReopened, PrefillProgress, Prefilled, Token,
//                                     Looked, ContextChanged, Finished, Failed
//   interrupt() ------------------>   Session::cancel
//   reopen(device) --------------->   the model again, there
//   switch_model(other) ---------->   another model
//
// A lost device ends the running job with the reason "device_lost"; the model is then opened once more. If
// that fails, or if the next job loses the device again, the worker has failed until reopen().
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "engine/engine.h"
#include "kv_files.h"
#include "model_file.h"

namespace bitnet {

struct LoadedModel {
  std::shared_ptr<const ModelText> text;
  std::unique_ptr<Engine> engine;
  std::unique_ptr<Session> session;  // after `engine`, so that it is destroyed first
  // Makes another session on the same engine; empty where its context cannot be changed.
  std::function<std::unique_ptr<Session>(uint32_t n_ctx)> create_session;
  std::string notice;   // about the options, or empty
  std::string warning;  // about the device (driver_check.h), or empty
};

// Opens a model on the worker's thread. on_progress (0..1) returns false to give up; an empty device means
// the one of the command line. Tests give a fake.
using OpenModel =
    std::function<LoadedModel(const std::function<bool(double)>& on_progress, const std::string& device)>;

// Reads and checks what another model is, on the worker's thread; what it gives opens it. Throws Error for a
// model that cannot be opened.
using MakeModel = std::function<OpenModel()>;

// Throws Error(device) where there is no device of this name; it opens nothing.
using CheckDevice = std::function<void(const std::string& device)>;

// Answers that are stored.
struct OtherAnswers {
  std::vector<std::vector<int32_t>> tokens;  // of each
  bool ends_with_sibling = false;            // the last of them answers the same turn

  bool operator==(const OtherAnswers&) const = default;
};

// Reads a prompt and answers it.
struct DecodeJob {
  std::vector<int32_t> tokens;  // the whole prompt, 1 <= size <= n_ctx
  SamplerParams sampler;
  DecodeOptions decode;
  bool draft = false;   // what comes next is guessed (engine/drafts.h)
  OtherAnswers others;  // like which this one may be
  // Whether the timeline may be kept on disk afterwards, and may be taken from there first (KvFiles).
  bool keep = false;
  bool restore = false;
};

// Evaluates tokens that are known and says what the model thought of them: a Looked for each from `first` on.
struct LookJob {
  std::vector<int32_t> tokens;  // prompt and answer, size <= n_ctx
  uint32_t first = 1;           // 1 <= first < tokens.size()
  uint32_t candidates = 1;      // how many of the likeliest to name
  bool keep = false;            // as of DecodeJob
};

// Makes a new, empty session of this size (0 = as trained); where that fails, one of the old size.
struct ContextJob {
  uint32_t n_ctx = 0;
};

struct JobStats {
  uint32_t prompt_tokens = 0;
  uint32_t reused_tokens = 0;
  uint32_t answer_tokens = 0;
  double prefill_seconds = 0;
  double decode_seconds = 0;
  uint32_t drafted_tokens = 0;  // that were guessed and tried
  uint32_t right_tokens = 0;    // of these, that came
  uint32_t differing_pass = 0;  // as of SessionStats, found by this job
  ExpertReads experts;
};

struct LoadProgress {
  double done;  // 0..1
};
struct Loaded {
  std::shared_ptr<const ModelText> text;
  ModelInfo model;
  DeviceInfo device;
  uint32_t n_ctx;
  Placement placement;  // of the weights
  std::string notice;   // as LoadedModel has them
  std::string warning;
};
struct PrefillProgress {
  uint64_t job;
  uint32_t done, total;
};
struct Prefilled {
  uint64_t job;
  SyncResult result;
};
struct Token {
  uint64_t job;
  SampledToken token;
  double seconds;  // since decoding began
};
struct Candidate {
  int32_t id;
  float logprob;  // natural log, in the model's own distribution
};
struct Looked {
  uint64_t job;
  Candidate token;              // the one that was looked at
  std::vector<Candidate> best;  // the likeliest in its place, the likeliest first; equal ones by id
};
struct ContextChanged {
  uint64_t job;
  uint32_t n_ctx;
};
struct Finished {
  uint64_t job;
  std::string reason;   // name_of(Finish), or "device_lost", or "failed"
  std::string message;  // of an error, else empty
  JobStats stats;
};
// The model cannot be used until it is opened again. This holds no Error, because copies of an Error share
// their text between threads.
struct Failed {
  ErrorKind kind;
  std::string message;
};
// The model could not be opened where reopen() asked for it, or the one that switch_model() asked for. The
// one that worked before is not lost: a Loaded of where it was follows, or Failed where that is gone too.
struct NotReopened {
  std::string message;
};
using WorkerEvent = std::variant<LoadProgress, Loaded, NotReopened, PrefillProgress, Prefilled, Token, Looked,
                                 ContextChanged, Finished, Failed>;

using Job = std::variant<DecodeJob, LookJob, ContextJob>;

class Worker {
 public:
  // Timelines that jobs want kept are written to `kv_files` while there is nothing else to do, and at the
  // end.
  explicit Worker(OpenModel open, KvFiles kv_files = {}, CheckDevice check_device = {});
  ~Worker();  // stops whatever runs and joins
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Begins to load; call it once, after what is stored was shown, since loading takes cores and disk.
  void start();

  // Requires that the Finished of the job before was taken: there is one job at a time, of any kind. Returns
  // the job's number.
  uint64_t submit(Job job);
  void interrupt();  // the submitted job, started or not, finishes with "interrupted"
  // Opens the model again, on this device (EngineOptions::device; empty: where it was); a Loaded or Failed
  // follows. A model that works is closed only once check_device accepted the device. Requires that no job
  // runs.
  void reopen(std::string device);
  // Opens another model in place of this one, which is closed only once `other` has not thrown. Where there
  // is no room for it after all, this one is opened again. Likewise requires that no job runs.
  void switch_model(MakeModel other);

  std::vector<WorkerEvent> take();  // everything that waits; it never blocks
  int wake_fd() const { return wake_fd_; }

  // Takes every timeline off the disk; the present one does not get there either.
  void forget_timelines();

 private:
  void run();
  void load();
  std::optional<Failed> try_load();
  Loaded loaded() const;
  struct Reopening {
    std::string device;
    MakeModel other;  // empty: the same model
  };
  void ask_reopening(Reopening wanted);
  void load_elsewhere(Reopening wanted);
  void stay(std::string message);
  void run_job(uint64_t id, const Job& job);
  void close_model();
  void do_job(const DecodeJob& job, Finished& finished);
  Drafts* drafts_for(const DecodeJob& job);
  void do_job(const LookJob& job, Finished& finished);
  void do_job(const ContextJob& job, Finished& finished);
  void push(WorkerEvent event);
  void begin_timeline(bool keep);
  void restore(const std::vector<int32_t>& tokens);
  std::string computation() const;
  size_t unsaved() const;  // tokens of the timeline that should be on disk and are not
  void save();
  SyncOptions reporting(uint64_t job);  // pushes PrefillProgress, stops where that was asked
  bool stop_asked(uint64_t job) const;

  OpenModel open_;
  const CheckDevice check_device_;
  const KvFiles kv_files_;
  std::mutex files_mutex_;          // held while files are written or taken away
  std::atomic<bool> keep_ = false;  // the timeline is of a job that wants it kept
  int64_t last_clear_ = 0;          // worker's thread only: of the files, as the timeline's job began
  std::vector<int32_t> saved_;      // worker's thread only: the timeline that is on disk
  Drafts drafts_;                   // worker's thread only
  OtherAnswers drafts_learned_;     // worker's thread only: the texts in there
  LoadedModel model_;               // worker's thread only; without a session where it is not open
  std::string device_;              // worker's thread only: as reopen() had it
  bool lost_in_a_row_ = false;      // worker's thread only: the last job lost its device

  mutable std::mutex mutex_;
  std::condition_variable job_there_;
  std::condition_variable space_;
  std::deque<WorkerEvent> events_;                // guarded by mutex_
  std::optional<std::pair<uint64_t, Job>> next_;  // guarded by mutex_
  std::optional<Reopening> reopen_;               // guarded by mutex_
  Session* cancellable_ = nullptr;                // guarded by mutex_: alive while set
  uint64_t last_job_ = 0;                         // loop's thread only
  std::atomic<uint64_t> interrupted_up_to_{0};
  std::atomic<bool> quit_{false};
  int wake_fd_ = -1;
  std::thread thread_;
};

}  // namespace bitnet
