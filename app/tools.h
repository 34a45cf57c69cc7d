// The commands of the command line that are no chat. Each returns the exit code or throws Error.
//
// Thread rule: free functions; main's thread.
#pragma once

#include <string>
#include <vector>

#include "options.h"
#include "output.h"
#include "store.h"

namespace bitnet {

// tool_files.cpp
void tool_info(const Options& options, Output& out);
void tool_devices(const Options& options, Output& out);
void tool_tokenize(const Options& options, Output& out);
void tool_detokenize(const Options& options, Output& out);
void tool_render(const Options& options, Output& out);

// tool_numbers.cpp
void tool_logits(const Options& options);
void tool_probe(const Options& options);
void tool_bench(const Options& options, Output& out);

// tool_chats.cpp
void tool_list(Store& store, const Options& options, Output& out);
void tool_show(Store& store, int64_t id, Output& out);
int tool_search(Store& store, const Options& options, Output& out, Output& err);  // 1: no hit
void tool_export(Store& store, const Options& options, Output& out);
void tool_import(Store& store, const Options& options, Output& out);
void tool_delete(Store& store, const Options& options, Output& out);
void tool_undelete(Store& store, int64_t id, Output& out);

// tool_files.cpp; `what` as the option table has it for 'print'
void tool_print(const std::string& what, Output& out);

// As /list and /search show them, for people; what was found stands between kMarkOn and kMarkOff.
std::string list_text(Store& store, int64_t current, bool archived);
std::string trash_text(Store& store);
// Past the trash: the rows, then every word. What a person is told of it.
std::string purge_text(Store& store, int64_t id);
// The conversation, if it is there, not in the trash, and sound; else Error(runtime or database) says what to
// do.
StoredConversation conversation_to_open(Store& store, int64_t id);
std::string search_text(Store& store, std::string_view words);

// The conversations of a file (chat_file.h; "-": standard input) into the store; their ids.
std::vector<int64_t> import_file(Store& store, const std::string& file);

}  // namespace bitnet
