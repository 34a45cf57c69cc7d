// 'bitnet-chat probe': the values inside a model, after one prompt or after many.
#include <fmt/format.h>

#include <algorithm>

#include "app/base/npy.h"
#include "app/model/model_file.h"
#include "app/model/model_open.h"
#include "app/probe/probe_run.h"
#include "app/probe/sidecar.h"
#include "engine/engine.h"
#include "engine/error.h"
#include "engine/open_model.h"
#include "running_model.h"
#include "tools.h"

namespace bitnet {
namespace {

uint32_t end_layer_of(const Options& options) {
  return options.layers.second == UINT32_MAX ? UINT32_MAX : options.layers.second + 1;
}

// Softmax of attention in one layer, [n_head, tokens, tokens].
void write_weights(const Options& options, const std::string& path, Session& session,
                   const std::vector<int32_t>& ids, uint32_t layer) {
  const size_t n = ids.size();
  std::vector<float> all;
  size_t n_head = 0;
  const Observation what{
      {Stage::weights},
      layer,
      layer + 1,
      0,
      [&](Stage, uint32_t, uint32_t position, uint32_t rows, std::span<const float> weights) {
        const size_t keys = position + rows;
        n_head = weights.size() / rows / keys;
        all.resize(n_head * n * n);
        for (size_t row = 0; row < rows; ++row)
          for (size_t head = 0; head < n_head; ++head)
            std::copy_n(weights.begin() + static_cast<ptrdiff_t>((row * n_head + head) * keys), keys,
                        all.begin() + static_cast<ptrdiff_t>((head * n + position + row) * n));
      }};
  session.sync(ids, {.observe = &what});
  NpyFile out(path, {.overwrite = options.force}, {n_head, n, n});
  out.write(all);
  out.finish();
}

// The file for one stage.
std::string path_of(const Options& options, Stage stage) {
  return options.what.size() == 1 ? options.out : beside(options.out, fmt::format("_{}.npy", name_of(stage)));
}

// Writes what one stage has at these tokens.
void write_stage(const Options& options, Stage stage, const ProbeShape& shape, const std::string& path,
                 const RunningModel& model, const PromptText& prompt, const std::vector<size_t>& tokens) {
  if (stage == Stage::weights) {
    write_weights(options, path, *model.session, prompt.ids, shape.first_layer);
    return;
  }
  RowKeeper keeper(stage, shape);
  keeper.read(*model.session, prompt.ids, false);
  NpyFile out(path, {.overwrite = options.force}, {shape.n_layers, keeper.width()});
  out.write(keeper.mean_of(tokens));
  out.finish();
}

void describe(const Options& options, Stage stage, const std::string& path, const RunningModel& model,
              const Tokenizer& tokenizer, const PromptText& prompt, const std::vector<size_t>& tokens) {
  auto metadata = describe_model(*model.file, *model.engine, options, options.hash_model);
  metadata.update(nlohmann::ordered_json{{"output_path", path},
                                         {"probe_what", name_of(stage)},
                                         {"probe_position", options.positions[0]},
                                         {"probe_token_indices", tokens},
                                         {"run_timestamp_unix", unix_seconds()},
                                         {"token_audit", token_audit(*model.file, tokenizer, prompt)}});
  write_file(beside(path, "_metadata.json"), json_text(metadata), {.overwrite = options.force});
}

void probe_one(const Options& options) {
  check_prompt_options(options);
  if (options.positions.size() != 1)
    throw Error(ErrorKind::usage, "position: several of them are for --stimuli");
  const auto file = open_model(find_model(options.model, options.model_folders));
  const ProbeShape shape =
      shape_of(read_model_info(*file, options.activation), options.layers.first, end_layer_of(options));
  if (shape.n_layers != 1 && std::ranges::find(options.what, Stage::weights) != options.what.end())
    throw Error(ErrorKind::usage, "what: weights are those of one layer, as in --layers 3");
  std::unique_ptr<const Tokenizer> tokenizer;
  PromptText prompt{"", options.tokens, {}, true};
  prompt.offsets.assign(options.tokens.size(), {0, 1});  // all of them are text as far as is known
  if (options.question) {
    tokenizer = read_tokenizer(*file);
    prompt = read_prompt(*tokenizer, *options.question, options.special);
  }
  const ProbePosition position = ProbePosition::read(options.positions[0]);
  const std::vector<size_t> tokens = position.tokens_of(prompt, "", "");
  for (const Stage stage : options.what) {
    const std::string path = path_of(options, stage);
    refuse_existing(path, options.force);
    if (options.question) refuse_existing(beside(path, "_metadata.json"), options.force);
  }
  const RunningModel model = open_for_prompt(options, &prompt);
  for (const Stage stage : options.what) {
    const std::string path = path_of(options, stage);
    write_stage(options, stage, shape, path, model, prompt, tokens);
    if (options.question) describe(options, stage, path, model, *tokenizer, prompt, tokens);
  }
}

void probe_many(const Options& options, Output& err) {
  if (!options.tokens.empty() || options.question)
    throw Error(ErrorKind::usage, "--stimuli have prompts of their own; --tokens and --prompt are for one");
  if (options.what.size() != 1)
    throw Error(ErrorKind::usage, "what: several stages are for --prompt and --tokens");
  ProbeJob job{options.stimuli,  options.templates,    {},
               options.what[0],  options.layers.first, end_layer_of(options),
               options.generate, options.limit,        options.special,
               options.reuse,    options.hash_model,   options.force,
               options.out};
  for (const std::string& word : options.positions) job.positions.push_back(ProbePosition::read(word));
  EngineOptions engine_with = engine_options(options);
  const auto file = open_model(find_model(options.model, options.model_folders));
  const auto tokenizer = read_tokenizer(*file);
  const auto engine = Engine::open(*file, engine_with);
  run_probe({*file, *tokenizer, *engine, options}, job, [&](const std::string& line, bool last) {
    if (err.is_terminal())
      err.write(fmt::format("\r{}\x1b[K{}", line, last ? "\n" : ""));
    else if (last)
      err.write(line + "\n");
  });
}

}  // namespace

void tool_probe(const Options& options, Output& err) {
  if (options.out.empty()) throw Error(ErrorKind::usage, "wanted --out, the .npy file to write");
  options.stimuli.empty() ? probe_one(options) : probe_many(options, err);
}

}  // namespace bitnet
