// The tools: the commands of the command line that are no chat. Each throws Error; one that returns an int
// returns the exit code.
//
// Thread rule: free functions; main's thread.
#pragma once

#include <string>

#include "app/base/output.h"
#include "app/store/store.h"
#include "options.h"

namespace bitnet {

// tool_files.cpp
void tool_info(const Options& options, Output& out);
void tool_devices(const Options& options, Output& out);
void tool_tokenize(const Options& options, Output& out);
void tool_detokenize(const Options& options, Output& out);
void tool_render(const Options& options, Output& out);

// tool_numbers.cpp; progress goes to `err`
void tool_logits(const Options& options, Output& out);
void tool_perplexity(const Options& options, Output& out, Output& err);

// tool_probe.cpp
void tool_probe(const Options& options, Output& err);

// tool_bench.cpp
void tool_bench(const Options& options, Output& out);

// tool_validate.cpp; 3: a stage is beyond its bar
int tool_validate(const Options& options, Output& out, Output& err);

// tool_plan.cpp
void tool_plan(const Options& options, Output& out);

// tool_models.cpp
void tool_models(const Options& options, Output& out);
int tool_pull(const Options& options, Output& out, Output& err);
void tool_remove(const Options& options, Output& out, Output& err);

// tool_chats.cpp
void tool_list(Store& store, const Options& options, Output& out);
void tool_show(Store& store, const Options& options, Output& out, Output& err);
int tool_search(Store& store, const Options& options, Output& out, Output& err);  // 1: nothing was found
void tool_export(Store& store, const Options& options, Output& out, Output& err);
void tool_import(Store& store, const Options& options, Output& out);
void tool_delete(Store& store, const Options& options, Output& out);
void tool_undelete(Store& store, int64_t id, Output& out);

// tool_files.cpp; `what` is a word that the table has for 'print'
void tool_print(const std::string& what, Output& out);

}  // namespace bitnet
