#include "probe_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <numeric>
#include <optional>
#include <set>

#include "app/base/clock.h"
#include "app/base/descriptor.h"
#include "app/base/npy.h"
#include "app/base/places.h"
#include "app/base/sha256.h"
#include "engine/error.h"
#include "journal.h"
#include "sidecar.h"
#include "stimuli.h"

namespace bitnet {
namespace {

using nlohmann::ordered_json;

// A stimulus under one template, with the tokens that each position looks at.
struct Row {
  Stimulus stimulus;
  PromptText prompt;
  std::vector<std::vector<size_t>> tokens;  // of each position
};

struct Target {
  std::string path, of_template;
  size_t position = 0;
};

std::string safe_part(const std::string& text) {
  std::string part;
  for (const char c : text)
    part += std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' ? c : '_';
  return part;
}

std::vector<Target> outputs_of(const ProbeJob& job, const std::string& of_template) {
  const bool several = job.templates.size() > 1 || job.positions.size() > 1;
  std::vector<Target> outputs;
  for (size_t i = 0; i < job.positions.size(); ++i)
    outputs.push_back({several ? beside(job.out, fmt::format("_{}_{}_activations.npy", safe_part(of_template),
                                                             safe_part(job.positions[i].name)))
                               : job.out,
                       of_template, i});
  return outputs;
}

void refuse_doubles(const ProbeJob& job) {
  std::set<std::string> paths;
  for (const std::string& name : job.templates)
    for (const Target& output : outputs_of(job, name))
      if (!paths.insert(output.path).second)
        throw Error(ErrorKind::usage, fmt::format("{} would be written twice", printable(output.path)));
}

void refuse_outputs_there(const std::vector<Target>& outputs) {
  for (const Target& output : outputs) {
    refuse_existing(output.path, false);
    for (const char* ending : {"_metadata.json", "_correctness.json"})
      refuse_existing(beside(output.path, ending), false);
  }
}

// Whether this has what TemplateProbe says of a stimulus.
bool is_record(const ordered_json& record) {
  const auto all = [&](std::initializer_list<const char*> keys, auto is) {
    return std::ranges::all_of(keys,
                               [&](const char* key) { return record.contains(key) && (record[key].*is)(); });
  };
  const auto is_token = [](const ordered_json& id) { return id.is_number_unsigned(); };
  return record.is_object() &&
         all({"index", "predicted_id", "next_token_id"}, &ordered_json::is_number_integer) &&
         all({"root", "pattern", "expected", "predicted", "next_token_predicted", "generated",
              "probe_template"},
             &ordered_json::is_string) &&
         all({"generated_exact_match", "generated_contains_match", "correct"}, &ordered_json::is_boolean) &&
         all({"generated_ids"}, &ordered_json::is_array) &&
         std::ranges::all_of(record["generated_ids"], is_token);
}

// The probe of one template: check, compute, write and forget are called in this order. What a probe that was
// stopped while it wrote its results has written of them may be written again.
class TemplateProbe {
 public:
  TemplateProbe(const ProbedModel& model, const ProbeJob& job, const std::string& stimuli_bytes,
                const std::string& name)
      : model_(model),
        job_(job),
        name_(name),
        shape_(shape_of(model.engine.model(), job.first_layer, job.end_layer)) {
    Stimuli stimuli = read_stimuli(stimuli_bytes, job.stimuli, name, job.limit);
    stimuli_sha256_ = stimuli.sha256;
    for (Stimulus& s : stimuli.rows) {
      PromptText prompt = read_prompt(model.tokenizer, s.prompt, job.special);
      Row row{std::move(s), std::move(prompt), {}};
      for (const ProbePosition& position : job.positions)
        row.tokens.push_back(position.tokens_of(row.prompt, row.stimulus.root, row.stimulus.pattern));
      n_ctx_ = std::max(n_ctx_, row.prompt.ids.size() + job.generate);
      rows_.push_back(std::move(row));
    }
    if (n_ctx_ > model.engine.model().n_ctx_train)
      throw Error(ErrorKind::usage,
                  fmt::format("a prompt and its continuation have {} tokens, the model's context holds {}",
                              n_ctx_, model.engine.model().n_ctx_train));
  }

  void check() {
    may_overwrite_ = job_.overwrite || Journal::writes(part_path(), job_text());
    if (!may_overwrite_) refuse_outputs_there(outputs_of(job_, name_));
    if (!Journal::is_there(part_path(), job_text()))
      Journal::make_room(part_path(), job_text(), job_.overwrite);
  }

  void compute(const std::function<void(const std::string&, bool)>& tell) {
    const auto start = std::chrono::steady_clock::now();
    const auto session = Session::create(model_.engine, static_cast<uint32_t>(n_ctx_));
    RowKeeper keeper(job_.what, shape_);
    std::vector<size_t> order(rows_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::sort(order, {},
                      [&](size_t i) -> const std::vector<int32_t>& { return rows_[i].prompt.ids; });
    size_t n_done = 0, n_tokens = 0, n_reused = 0;
    keeper.read(*session, rows_[order[0]].prompt.ids, false);  // which tells how wide rows are
    a_position_ = shape_.n_layers * keeper.width();
    journal_ = std::make_unique<Journal>(part_path(), job_text(), rows_.size(),
                                         a_position_ * job_.positions.size(), is_record, may_overwrite_);
    const size_t before = journal_->done().size();
    for (const size_t i : order) {
      if (journal_->done().contains(i)) continue;
      const Row& row = rows_[i];
      n_reused += keeper.read(*session, row.prompt.ids, job_.reuse);
      n_tokens += row.prompt.ids.size();
      std::vector<float> values;
      for (const auto& tokens : row.tokens) {
        const std::vector<float> mean = keeper.mean_of(tokens);
        values.insert(values.end(), mean.begin(), mean.end());
      }
      journal_->add(i, values, continuation(*session, row));
      ++n_done;
      tell(
          fmt::format("{}: {} of {} stimuli, {:.1f} a second, {} of {} tokens reused", name_, n_done + before,
                      rows_.size(), static_cast<double>(n_done) / seconds_since(start), n_reused, n_tokens),
          n_done + before == rows_.size());
    }
  }

  void write() {
    if (!may_overwrite_) {
      refuse_outputs_there(outputs_of(job_, name_));  // something may have come while values were computed
      journal_->note_writes();
    }
    for (const Target& output : outputs_of(job_, name_)) write(output, a_position_);
  }
  void forget() { journal_->remove(); }

 private:
  std::string part_path() const {
    return beside(expand_home(job_.out), fmt::format("_{}.part", safe_part(name_)));
  }

  // Whatever changes a value is in here.
  std::string job_text() const {
    std::vector<std::string> positions;
    for (const ProbePosition& p : job_.positions) positions.push_back(p.name);
    const ordered_json job = {{"stimuli_sha256", stimuli_sha256_},
                              {"fingerprint", model_.engine.model().fingerprint},
                              {"arithmetic", model_.engine.device().arithmetic},
                              {"template", name_},
                              {"positions", positions},
                              {"what", name_of(job_.what)},
                              {"layers", {shape_.first_layer, shape_.n_layers}},
                              {"generate", job_.generate},
                              {"limit", job_.limit},
                              {"special", job_.special}};
    return job.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  }

  // What follows the prompt, whose logits the session has.
  ordered_json continuation(Session& session, const Row& row) const {
    const std::span<const float> logits = session.logits();
    const auto likeliest = static_cast<int32_t>(std::ranges::max_element(logits) - logits.begin());
    std::vector<int32_t> ids;
    if (job_.generate != 0) {
      DecodeOptions how{.max_tokens = job_.generate, .stop_tokens = {}};
      how.stop_tokens.assign(model_.tokenizer.end_of_turn().begin(), model_.tokenizer.end_of_turn().end());
      Sampler greedy({});
      session.decode(greedy, how, [&](const SampledToken& token) {
        ids.push_back(token.id);
        return true;
      });
    }
    const std::string next = trimmed(model_.tokenizer.decode(std::span(&likeliest, 1), false));
    const std::string generated = trimmed(model_.tokenizer.decode(ids, false));
    const AnswerMatch match = match_of(generated, row.stimulus.expected);
    return {{"index", row.stimulus.index},
            {"root", row.stimulus.root},
            {"pattern", row.stimulus.pattern},
            {"expected", row.stimulus.expected},
            {"predicted", next},
            {"predicted_id", likeliest},
            {"next_token_predicted", next},
            {"next_token_id", likeliest},
            {"generated", generated},
            {"generated_ids", ids},
            {"generated_exact_match", match.exact},
            {"generated_contains_match", match.contains},
            {"correct", match.exact || match.contains},
            {"probe_template", name_}};
  }

  void write(const Target& output, size_t floats) const {
    const std::string& position = job_.positions[output.position].name;
    ordered_json correctness = ordered_json::array(), selections = ordered_json::array();
    std::vector<size_t> indices;
    NpyFile file(output.path, {.overwrite = may_overwrite_},
                 {rows_.size(), shape_.n_layers, floats / shape_.n_layers});
    for (size_t i = 0; i < rows_.size(); ++i) {
      file.write(journal_->values(i, output.position * floats, floats));
      const auto& tokens = rows_[i].tokens[output.position];
      ordered_json record = journal_->done().at(i);
      record["probe_position"] = position;
      record["probe_generate_tokens"] = job_.generate;
      record["probe_token_indices"] = tokens;
      correctness.push_back(std::move(record));
      selections.push_back({{"index", rows_[i].stimulus.index},
                            {"prompt", rows_[i].prompt.text},
                            {"token_count", rows_[i].prompt.ids.size()},
                            {"probe_token_indices", tokens}});
      indices.push_back(rows_[i].stimulus.index);
    }
    file.finish();
    const std::string correctness_path = beside(output.path, "_correctness.json"),
                      text = json_text(correctness);
    write_file(correctness_path, text, {.overwrite = may_overwrite_});
    std::vector<std::string> positions;
    for (const ProbePosition& p : job_.positions) positions.push_back(p.name);
    ordered_json metadata = describe_model(model_.file, model_.engine, model_.options, job_.hash_model);
    metadata.update(
        ordered_json{{"stimuli_path", job_.stimuli},
                     {"stimuli_sha256", stimuli_sha256_},
                     {"output_path", output.path},
                     {"activations_sha256", file.sha256()},
                     {"probe_template", name_},
                     {"probe_position", position},
                     {"probe_what", name_of(job_.what)},
                     {"probe_first_layer", shape_.first_layer},
                     {"probe_generate_tokens", job_.generate},
                     {"probe_limit", job_.limit == 0 ? ordered_json() : ordered_json(job_.limit)},
                     {"context_limit", n_ctx_},
                     {"n_stimuli", rows_.size()},
                     {"n_layers", shape_.n_layers},
                     {"embed_dim", floats / shape_.n_layers},
                     {"model_vocab_size", model_.engine.model().n_vocab},
                     {"activation_shape", {rows_.size(), size_t{shape_.n_layers}, floats / shape_.n_layers}},
                     {"correctness_path", correctness_path},
                     {"correctness_sha256", sha256_of(text)},
                     {"token_selections", selections},
                     {"run_timestamp_unix", unix_seconds()},
                     {"git_commit", nullptr},
                     {"batched_probe_extraction", true},
                     {"row_order", "source stimulus array order"},
                     {"row_indices", indices},
                     {"batched_probe_positions", positions}});
    write_file(beside(output.path, "_metadata.json"), json_text(metadata), {.overwrite = may_overwrite_});
  }

  const ProbedModel& model_;
  const ProbeJob& job_;
  const std::string name_;
  const ProbeShape shape_;
  std::string stimuli_sha256_;
  std::vector<Row> rows_;
  size_t n_ctx_ = 0;
  size_t a_position_ = 0;  // floats of a row at one position
  bool may_overwrite_ = false;
  std::unique_ptr<Journal> journal_;
};

}  // namespace

ProbeShape shape_of(const ModelInfo& model, uint32_t first_layer, uint32_t end_layer) {
  const uint32_t end = end_layer == UINT32_MAX ? model.n_layer : end_layer;
  if (first_layer >= end || end > model.n_layer)
    throw Error(ErrorKind::usage, fmt::format("layers: wanted layers from 0 to {}, found {} to {}",
                                              model.n_layer - 1, first_layer, end - 1));
  return {first_layer, end - first_layer};
}

RowKeeper::RowKeeper(Stage what, const ProbeShape& shape) : shape_(shape), rows_(shape.n_layers) {
  observation_ = {{what}, shape.first_layer, shape.first_layer + shape.n_layers, 0, {}};
  observation_.on_rows = [this](Stage, uint32_t layer, uint32_t position, uint32_t n,
                                std::span<const float> rows) {
    const uint64_t width = rows.size() / n;
    if (width_ == 0) width_ = width;
    if (width != width_)
      throw Error(ErrorKind::usage,
                  "layers: these layers differ in width; --layers can name some that do not");
    std::vector<float>& kept = rows_[layer - shape_.first_layer];
    kept.resize(position * width);
    kept.insert(kept.end(), rows.begin(), rows.end());
  };
}

uint32_t RowKeeper::read(Session& session, const std::vector<int32_t>& ids, bool reuse) {
  const auto common = [&](std::span<const int32_t> other) {
    return static_cast<size_t>(std::ranges::mismatch(other, ids).in1 - other.begin());
  };
  // The cache may have more of the prompt than is kept here: what was generated after the one before.
  const size_t known = reuse ? common(known_) : 0;
  const SyncOptions options{.observe = &observation_};
  known_.clear();
  if (common(session.tokens()) > known && known + 1 < ids.size()) {
    std::vector<int32_t> other = ids;  // the same up to what is known, and then another token
    other.resize(known + 2);
    other[known] = other[known] == 0 ? 1 : 0;
    session.sync(other);
  }
  const uint32_t reused = session.sync(ids, options).reused;
  known_ = ids;
  return reused;
}

std::vector<float> RowKeeper::mean_of(const std::vector<size_t>& tokens) const {
  std::vector<float> mean;
  for (const std::vector<float>& rows : rows_)
    for (uint64_t i = 0; i < width_; ++i) {
      double sum = 0;
      for (const size_t t : tokens) sum += rows[t * width_ + i];
      mean.push_back(static_cast<float>(sum / static_cast<double>(tokens.size())));
    }
  return mean;
}

void run_probe(const ProbedModel& model, const ProbeJob& job,
               const std::function<void(const std::string&, bool)>& tell) {
  if (job.what == Stage::weights)
    throw Error(ErrorKind::usage,
                "what: weights are as many as a prompt has tokens; --prompt takes one prompt");
  refuse_doubles(job);
  std::vector<TemplateProbe> probes;
  const std::string stimuli = read_stimuli_file(job.stimuli);
  for (const std::string& name : job.templates) probes.emplace_back(model, job, stimuli, name);
  for (TemplateProbe& probe : probes) probe.check();
  for (TemplateProbe& probe : probes) probe.compute(tell);
  for (TemplateProbe& probe : probes) probe.write();
  for (TemplateProbe& probe : probes) probe.forget();
}

}  // namespace bitnet
