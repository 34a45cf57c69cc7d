// The config file: `key = value` lines that set what the command line sets.
//
//     # a comment has a line of its own
//     temp = 0.5
//     model = ~/models/ggml-model-i2_s.gguf
//     system = "Answer in one line.\nBe kind."
//
// A key is the long name, with - or _, of an option that has an example in the table (option_table.h). A
// value is the rest of the line, or a JSON string in double quotes. A relative path begins at the folder of
// the config file, and ~/ is the home folder. A key may stand in one line only, unless its option may be
// given several times.
//
// Thread rule: free functions; main's thread.
#pragma once

#include <string>

#include "options.h"

namespace bitnet {

// $XDG_CONFIG_HOME/bitnet-chat/config, or the same in ~/.config; empty if neither variable names a folder.
std::string default_config_path();

// Sets in `options` what the file says. Throws Error(usage) that names file, line and key, and for an unknown
// key the nearest one. A missing file is an error only if it is `required`.
void read_config(const std::string& path, bool required, Options& options);

}  // namespace bitnet
