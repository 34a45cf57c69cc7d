// Opens a model for work: file, tokenizer, engine on a device, session.
//
// Thread rule: free functions; any thread.
#pragma once

#include <string>

#include "options.h"
#include "worker.h"

namespace bitnet {

// What the command line says about the device and the weights. Throws Error(usage) for more threads than this
// process may run at once.
EngineOptions engine_options(const Options& options);

// Where timelines are kept, and how many bytes: $XDG_CACHE_HOME/bitnet-chat/kv.
KvFiles kv_files_for(const Options& options);

// What a Worker calls before it closes a model that works to open it on another device.
CheckDevice device_check_for(const Options& options);

// What a Worker or a tool calls to open the model of these options. The file is opened and checked by this
// call already, so that what cannot be run is an Error(model) before anything else begins.
OpenModel opener_for(const Options& options);

}  // namespace bitnet
