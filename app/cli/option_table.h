// The command line as tables: the options (option_table.cpp), the commands that are no chat
// (tool_table.cpp), and the JSON that they print (json_table.cpp). The parser, the config file, --help, the
// man page and the completions are made from them.
//
// Thread rule: constant data and free functions; any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "options.h"

namespace bitnet {

struct OptionRow {
  const char* flags;              // "-p,--prompt": short ones first; "MODEL": no flag, an argument
  const char* value = "";         // the value after it, as help shows it; "" = on or off
  const char* words = "";         // completions of the value: words, or one of %file %model %pulled %id
                                  // %deleted %command
  const char* help = "";          // without a full stop
  const char* setting = nullptr;  // a row of the settings table gives the range, the help and the reader
  const char* example =
      nullptr;           // a value for the example config file; nullptr = a config file cannot set it
  bool repeats = false;  // may be given several times: each adds a value
  void (*read)(Options&, std::string_view value) = nullptr;  // throws Error(usage): name, wanted, found
};

struct OptionGroup {
  const char* title;
  std::span<const OptionRow> rows;
};

struct ToolRow {
  const char* name;
  Mode mode;
  const char* argument;  // "ID"; "[MODEL]" = may be left out; "TEXT..." = one or more; "A B", "[A] [B]" =
                         // two; "" = none
  const char* words;     // as in OptionRow
  const char* help;
  void (*read)(Options&, std::string_view argument);  // called once for each argument
  std::span<const OptionRow> options;
};

std::span<const OptionGroup> option_groups();
std::span<const ToolRow> tool_table();
const ToolRow* find_tool(std::string_view name);

struct TextRow {
  const char* name;
  const char* help;
};
std::span<const TextRow> exit_codes();
std::span<const TextRow> environment_variables();
std::span<const TextRow> file_places();
std::span<const TextRow> terminals();  // what each needs for the mouse
std::span<const TextRow> script_verbs();
std::span<const TextRow> server_members();  // of a request of `serve`

// An object of the JSON that the program prints.
struct JsonRow {
  const char* name;  // the command, or the value of "type" in a line of --output jsonl
  const char* part;  // where in what a command prints, as jq writes it; of a line "command": which one
  const char* keys;  // with spaces between; in brackets those that are not always there
  const char* help;  // without a full stop
};
std::span<const JsonRow> json_of_commands();
std::span<const JsonRow> json_events();

std::vector<std::string> option_flags(const OptionRow& row);  // "-p", "--prompt"
std::string option_key(const OptionRow& row);                 // as a config file names it: "prompt"
std::string option_help(const OptionRow& row);                // with the range of a setting
std::vector<std::string> split_words(std::string_view words);

// Gives `value` to `row`. Throws Error(usage).
void read_option(const OptionRow& row, Options& options, std::string_view value);

}  // namespace bitnet
