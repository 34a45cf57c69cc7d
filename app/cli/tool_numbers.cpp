// 'bitnet-chat logits' and 'bitnet-chat perplexity': what the model says of tokens.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>

#include "app/base/npy.h"
#include "app/model/model_file.h"
#include "app/model/model_open.h"
#include "app/probe/perplexity.h"
#include "app/probe/prompt_text.h"
#include "app/probe/sidecar.h"
#include "app/text/text_file.h"
#include "engine/engine.h"
#include "engine/error.h"
#include "engine/open_model.h"
#include "running_model.h"
#include "safe_output.h"
#include "tools.h"

namespace bitnet {
namespace {

using nlohmann::ordered_json;

constexpr uint32_t kWindow = 512;              // tokens
constexpr size_t kMostText = size_t{1} << 30;  // bytes

// A list of {id, text, logit, probability}, the likeliest first; of equal ones that of the lowest id. Throws
// Error(runtime) where the chat would not choose a token either.
ordered_json likeliest(std::span<const float> logits, uint32_t n, const Tokenizer& tokenizer) {
  const auto is_impossible = [](float logit) { return logit == -INFINITY; };
  if (!std::ranges::all_of(logits, [](float logit) { return logit < INFINITY; }) ||
      std::ranges::all_of(logits, is_impossible))
    throw Error(ErrorKind::runtime, "the model's output is not a number (NaN or Inf)");
  std::vector<int32_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto logit = [&](int32_t id) { return logits[static_cast<size_t>(id)]; };
  const auto end = ids.begin() + std::min<ptrdiff_t>(n, static_cast<ptrdiff_t>(ids.size()));
  std::partial_sort(ids.begin(), end, ids.end(),
                    [&](int32_t a, int32_t b) { return logit(a) != logit(b) ? logit(a) > logit(b) : a < b; });
  double sum = 0;
  for (const float l : logits) sum += std::exp(double{l} - logit(ids[0]));
  ordered_json list = ordered_json::array();
  for (auto it = ids.begin(); it != end; ++it)
    list.push_back({{"id", *it},
                    {"text", tokenizer.decode(std::span(&*it, 1), /*show_special=*/true)},
                    {"logit", logit(*it)},
                    {"probability", std::exp(double{logit(*it)} - logit(ids[0])) / sum}});
  return list;
}

void check_tokens(const Options& options, const ModelInfo& info) {
  const char* given = options.question ? "--prompt" : "--tokens";
  for (const int32_t id : options.tokens)
    if (static_cast<uint32_t>(id) >= info.n_vocab)
      throw Error(ErrorKind::usage,
                  fmt::format("{}: {} is past the vocabulary of {} tokens", given, id, info.n_vocab));
  if (options.tokens.size() > info.n_ctx_train)
    throw Error(ErrorKind::usage, fmt::format("{}: {} tokens, the model's context holds {}", given,
                                              options.tokens.size(), info.n_ctx_train));
}

void write_logits(const Options& options, const RunningModel& model, Session& session) {
  NpyFile out(options.out, {.overwrite = options.force},
              {options.tokens.size(), model.engine->model().n_vocab});
  SyncOptions sync;
  sync.batch = options.prefill;
  sync.on_logits = [&](uint32_t, std::span<const float> logits) { out.write(logits); };
  session.sync(options.tokens, sync);
  out.finish();
}

// Those after the last token of a prompt, and beside them what they were made from.
void write_prompt_logits(const Options& options, const RunningModel& model, std::span<const float> logits,
                         const Tokenizer& tokenizer, const PromptText& prompt) {
  NpyFile out(options.out, {.overwrite = options.force}, {1, logits.size()});
  out.write(logits);
  out.finish();
  ordered_json metadata = describe_model(*model.file, *model.engine, options, options.hash_model);
  metadata.update(ordered_json{{"output_path", options.out},
                               {"logits_sha256", out.sha256()},
                               {"prompt", prompt.text},
                               {"context_limit", model.session->n_ctx()},
                               {"logits_shape", {1, logits.size()}},
                               {"token_audit", token_audit(*model.file, tokenizer, prompt)},
                               {"run_timestamp_unix", unix_seconds()}});
  write_file(beside(options.out, "_metadata.json"), json_text(metadata), {.overwrite = options.force});
}

}  // namespace

RunningModel open_for_prompt(const Options& options, const PromptText* prompt) {
  const ModelInfo info =
      read_model_info(*open_model(find_model(options.model, options.model_folders)), options.activation);
  Options named = options;
  if (prompt != nullptr) named.tokens = prompt->ids;
  check_tokens(named, info);
  return open_running_model(options, static_cast<uint32_t>(named.tokens.size()));
}

void check_prompt_options(const Options& options) {
  if (options.tokens.empty() == !options.question)
    throw Error(ErrorKind::usage, fmt::format("wanted --tokens or --prompt{}, and one alone",
                                              options.mode == Mode::probe ? " or --stimuli" : ""));
  if (options.hash_model && (!options.question || options.out.empty()))
    throw Error(ErrorKind::usage,
                "--record-model-sha256: the metadata that has it is written with --prompt and --out");
}

void tool_logits(const Options& options, Output& out) {
  check_prompt_options(options);
  if (options.out.empty() && options.top == 0) throw Error(ErrorKind::usage, "wanted --out or --top");
  const auto file = open_model(find_model(options.model, options.model_folders));
  std::unique_ptr<const Tokenizer> tokenizer;
  PromptText prompt;
  if (options.question || options.top != 0) tokenizer = read_tokenizer(*file);
  if (options.question) prompt = read_prompt(*tokenizer, *options.question, options.special);
  if (options.question && !options.out.empty()) {
    refuse_existing(options.out, options.force);
    refuse_existing(beside(options.out, "_metadata.json"), options.force);
  }
  const RunningModel model = open_for_prompt(options, options.question ? &prompt : nullptr);
  Session& session = *model.session;
  if (options.question) {
    session.sync(prompt.ids, {.batch = options.prefill});
    if (!options.out.empty()) write_prompt_logits(options, model, session.logits(), *tokenizer, prompt);
  } else if (options.out.empty()) {
    session.sync(options.tokens, {.batch = options.prefill});
  } else {
    write_logits(options, model, session);
  }
  if (options.top == 0) return;
  const ordered_json report = {{"model", model.engine->model().name},
                               {"fingerprint", model.engine->model().fingerprint},
                               {"token_ids", options.question ? prompt.ids : options.tokens},
                               {"top", likeliest(session.logits(), options.top, *tokenizer)}};
  print_json(out, report, 1);
}

void tool_perplexity(const Options& options, Output& out, Output& err) {
  const auto file = open_model(find_model(options.model, options.model_folders));
  const auto tokenizer = read_tokenizer(*file);
  const bool has_bos = tokenizer->add_bos() && tokenizer->bos() >= 0;
  std::vector<int32_t> ids =
      tokenizer->encode(read_file(options.file, kMostText, Pipes::of_the_shell), false);
  if (has_bos) ids.insert(ids.begin(), tokenizer->bos());
  const ModelInfo info = read_model_info(*file, options.activation);
  const uint32_t window = std::min(options.ctx == 0 ? kWindow : options.ctx, info.n_ctx_train);
  const RunningModel model = open_running_model(options, window);
  const Perplexity p = measure_perplexity(
      *model.session, ids, window, options.stride, options.limit, has_bos ? tokenizer->bos() : -1,
      [&](const Perplexity& so_far, uint64_t n_windows) {
        if (err.is_terminal())
          err.write(fmt::format("\r{} of {} windows, {:.4f} \x1b[K{}", so_far.n_windows, n_windows,
                                so_far.value(), so_far.n_windows == n_windows ? "\n" : ""));
      });
  if (!options.json) {
    out.write(fmt::format("perplexity {:.4f} +- {:.4f} over {} of {} tokens, in {} windows of {}\n",
                          p.value(), p.standard_error(), p.n_predicted, ids.size(), p.n_windows, window));
    return;
  }
  const ordered_json report = {
      {"model", info.name},
      {"fingerprint", model.engine->model().fingerprint},
      {"device", model.engine->device().name},
      {"arithmetic", model.engine->device().arithmetic},
      {"file", options.file},
      {"tokens", ids.size()},
      {"window", window},
      {"stride", options.stride == 0 ? ordered_json() : ordered_json(options.stride)},
      {"windows", p.n_windows},
      {"predicted", p.n_predicted},
      {"nll", p.nll / static_cast<double>(p.n_predicted)},
      {"perplexity", p.value()},
      {"standard_error", p.standard_error()}};
  print_json(out, report, 1);
}

}  // namespace bitnet
