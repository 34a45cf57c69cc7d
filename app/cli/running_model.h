// A model that takes token ids, for the tools that need no text and so no tokenizer.
//
// Thread rule: belongs to main's thread.
#pragma once

#include <cstdint>
#include <memory>

#include "app/probe/prompt_text.h"
#include "engine/engine.h"
#include "options.h"

namespace bitnet {

struct RunningModel {
  std::unique_ptr<const Checkpoint> file;
  std::unique_ptr<Engine> engine;
  std::unique_ptr<Session> session;
  double load_seconds = 0;    // from the file's name to a session that takes tokens
  double upload_seconds = 0;  // the part of load_seconds in which weights went to the device
};

// The model and the device that the command line names, with a context of `n_ctx` tokens. Throws Error.
RunningModel open_running_model(const Options& options, uint32_t n_ctx);

// The same with room for a prompt, or for --tokens where it is null. They are checked before the model is
// loaded.
RunningModel open_for_prompt(const Options& options, const PromptText* prompt);

// Throws Error(usage) unless either --tokens or --prompt is given.
void check_prompt_options(const Options& options);

}  // namespace bitnet
