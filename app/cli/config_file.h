// The config file: `key = value` lines that set what the command line sets.
//
//     # a comment has a line of its own
//     temp = 0.5
//     model = ~/models/ggml-model-i2_s.gguf
//     system = "Answer in one line.\nBe kind."
//
// A key is the long name of an option of the table (option_table.h) that has an example there, with - or _; a
// value is the rest of the line, or a JSON string in double quotes. A file is found from the folder of the
// config file, ~/ is the home folder. A key may be given once, unless its option may be given again.
//
// Thread rule: free functions; main's thread.
#pragma once

#include <string>

#include "options.h"

namespace bitnet {

// $XDG_CONFIG_HOME/bitnet-chat/config, or in ~/.config; empty where neither variable names a folder.
std::string default_config_path();

// Sets in `options` what the file says. Throws Error(usage) that names file, line and key, and the nearest
// key for an unknown one. A file that is not there is an error only if `required`.
void read_config(const std::string& path, bool required, Options& options);

}  // namespace bitnet
