// What the program says about itself: --help, the man page, the example config file and the completions of
// shells. All of it is made from the tables of options, commands and settings.
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

// Breaks `text` at spaces into lines of at most `columns`. The first line begins at column `used`; each other
// line begins with `indent` spaces.
std::string wrap_words(const std::string& text, size_t columns, size_t indent, size_t used);

}  // namespace bitnet
