// What the program says about itself, all of it made from the tables of options, commands and settings:
// --help, the man page, the example config file and the completions of shells.
//
// Thread rule: free functions; any thread.
#pragma once

#include <string>

#include "option_table.h"

namespace bitnet {

// For a terminal of 80 columns.
std::string help_text();
std::string tool_help_text(const ToolRow& tool);

std::string example_config();  // every key with its help and default, commented out
std::string manual_page();     // man(7) source
std::string bash_completion();
std::string zsh_completion();
std::string fish_completion();

// `text` broken at spaces into lines of at most `columns`, each after the first begun with `indent` spaces.
// The first is taken to begin at column `used`.
std::string wrap_words(const std::string& text, size_t columns, size_t indent, size_t used);

}  // namespace bitnet
