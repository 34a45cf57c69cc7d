// Completions for bash, zsh and fish.
#include <fmt/format.h>

#include <set>

#include "cli_help.h"

namespace bitnet {
namespace {

constexpr const char* kBashHead = R"SH(# bash completion for bitnet-chat. Made by: bitnet-chat print bash

# Offers those of its arguments that begin with what is typed. compgen -W would run what stands in them.
_bitnet_chat_words() {
  local word
  for word; do
    if [[ $word == "$cur"* ]]; then COMPREPLY+=("$word"); fi
  done
}

# Numbers of conversations, with --deleted of those in the trash. Nothing of a title gets here.
_bitnet_chat_ids() {
  local id title
  while read -r id title; do
    if [[ $id =~ ^[0-9]+$ ]]; then _bitnet_chat_words "$id"; fi
  done < <(bitnet-chat list "$@" 2>/dev/null)
}

_bitnet_chat_files() {
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen -f -- "$cur")
}

# The models that 'bitnet-chat pull' has fetched.
_bitnet_chat_pulled() {
  local models="${XDG_CACHE_HOME:-$HOME/.cache}/bitnet-chat/models/hub"
  mapfile -t COMPREPLY < <(
    [[ -d $models ]] && cd "$models" && printf '%s\n' */* | while read -r name; do
      [[ -d $name && $name == "$cur"* ]] && printf '%s\n' "$name"
    done
  )
}

# Folders, .gguf files, the models that 'bitnet-chat pull' has fetched and the names of what is here.
_bitnet_chat_models() {
  _bitnet_chat_pulled
  compopt -o filenames 2>/dev/null
  mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(
    compgen -d -- "$cur"
    compgen -f -X '!*.gguf' -- "$cur"
    bitnet-chat models --names 2>/dev/null | while read -r name; do
      [[ $name == "$cur"* ]] && printf '%s\n' "$name"
    done
  )
}

)SH";

constexpr const char* kZshHead = R"SH(#compdef bitnet-chat
# zsh completion for bitnet-chat. Made by: bitnet-chat print zsh

_bitnet_chat_list() {
  local -a rows
  rows=(${(f)"$(bitnet-chat list $@ 2>/dev/null | sed -nE 's/[\\:]/\\&/g; s/^ *([0-9]+) +/\1:/p')"})
  _describe conversation rows
}

_bitnet_chat_conversations() { _bitnet_chat_list; }
_bitnet_chat_deleted() { _bitnet_chat_list --deleted; }

# The models that 'bitnet-chat pull' has fetched.
_bitnet_chat_pulled() {
  local models=${XDG_CACHE_HOME:-$HOME/.cache}/bitnet-chat/models/hub
  local -a pulled
  pulled=($models/*/*(N/))
  pulled=(${pulled#$models/})
  compadd "$@" -a pulled
}

# .gguf files and the models that 'bitnet-chat pull' has fetched.
_bitnet_chat_models() {
  local -a names
  names=(${(f)"$(bitnet-chat models --names 2>/dev/null)"})
  _alternative 'files:GGUF file:_files -g "*.gguf"' 'pulled:pulled model:_bitnet_chat_pulled' \
    'names:model:compadd -a names'
}

_bitnet_chat_commands() {
  local -a commands
  commands=(
)SH";

constexpr const char* kZshMiddle = R"SH(  )
  _describe command commands
}

_bitnet_chat() {
  local -a common own
  common=(
)SH";

constexpr const char* kZshTail = R"SH(  esac
  if [[ -n $command ]]; then
    _arguments -s $own $common '1: :_bitnet_chat_commands'
  else
    _arguments -s $common '1: :{_bitnet_chat_commands; _bitnet_chat_models}'
  fi
}

if [[ $funcstack[1] == _bitnet_chat ]]; then
  _bitnet_chat "$@"
else
  compdef _bitnet_chat bitnet-chat
fi
)SH";

constexpr const char* kFishHead = R"SH(# fish completion for bitnet-chat. Made by: bitnet-chat print fish

function __bitnet_chat_conversations
    bitnet-chat list $argv 2>/dev/null | string replace -rf '^ *(\d+) +' '$1\t'
end

# The models that 'bitnet-chat pull' has fetched.
function __bitnet_chat_pulled
    set -l cache $XDG_CACHE_HOME
    test -n "$cache"; or set cache $HOME/.cache
    for folder in $cache/bitnet-chat/models/hub/*/*/
        string replace -r '.*/([^/]+/[^/]+)/$' '$1' $folder
    end
end

# .gguf files, those models and the names of what is here.
function __bitnet_chat_models
    __fish_complete_suffix .gguf
    __bitnet_chat_pulled
    bitnet-chat models --names 2>/dev/null
end

complete -c bitnet-chat -f
)SH";

// Adds `word` to a list with `between` between its words.
void append(std::string& list, const char* between, std::string_view word) {
  if (!list.empty()) list += between;
  list += word;
}

std::string shell_quoted(std::string_view text) {  // for a shell, between single quotes
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out.append("'");
}

std::string flag_list(std::span<const OptionRow> rows) {
  std::string list;
  for (const OptionRow& row : rows) {
    for (const std::string& flag : option_flags(row)) {
      if (flag.starts_with('-')) append(list, " ", flag);
    }
  }
  return list;
}

std::string common_flags() {
  std::string list;
  for (const OptionGroup& group : option_groups()) {
    const std::string flags = flag_list(group.rows);
    if (!flags.empty()) append(list, " ", flags);
  }
  return list;
}

std::string tool_names() {
  std::string names;
  for (const ToolRow& tool : tool_table()) append(names, " ", tool.name);
  return names;
}

std::string with_bars(const std::string& words) {
  std::string out;
  for (const std::string& word : split_words(words)) append(out, "|", word);
  return out;
}

bool takes_value(const OptionRow& row) { return *row.value != '\0' && row.flags[0] == '-'; }

// -- bash --

// Each word quoted, as the arguments of a function or the elements of an array.
std::string bash_list(std::string_view words) {
  std::string list;
  for (const std::string& word : split_words(words)) append(list, " ", shell_quoted(word));
  return list;
}

std::string bash_words(std::string_view words) {
  if (words == "%file") return "_bitnet_chat_files";
  if (words == "%model") return "_bitnet_chat_models";
  if (words == "%pulled") return "_bitnet_chat_pulled";
  if (words == "%id") return "_bitnet_chat_ids";
  if (words == "%deleted") return "_bitnet_chat_ids --deleted";
  if (words == "%command") return fmt::format("_bitnet_chat_words {}", bash_list(tool_names()));
  return words.empty() ? "COMPREPLY=()" : fmt::format("_bitnet_chat_words {}", bash_list(words));
}

std::string bash_values(std::span<const OptionRow> rows, const char* indent) {
  std::string text;
  for (const OptionRow& row : rows) {
    if (!takes_value(row)) continue;
    text += fmt::format("{}{}) {}; return ;;\n", indent, with_bars([&] {
                          std::string flags;
                          for (const std::string& flag : option_flags(row)) flags += flag + " ";
                          return flags;
                        }()),
                        bash_words(row.words));
  }
  return text;
}

// The flags that a value follows.
std::string bash_valued_flags() {
  std::string valued;
  std::set<std::string> seen;
  const auto add = [&](std::span<const OptionRow> rows) {
    for (const OptionRow& row : rows) {
      if (!takes_value(row)) continue;
      for (const std::string& flag : option_flags(row)) {
        if (seen.insert(flag).second) append(valued, "|", flag);
      }
    }
  };
  for (const OptionGroup& group : option_groups()) add(group.rows);
  for (const ToolRow& tool : tool_table()) add(tool.options);
  return valued;
}

// Finds out which command is typed already, and how many arguments.
std::string bash_look_at_line() {
  return fmt::format(R"SH(_bitnet_chat() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} command= arguments=0 i
  COMPREPLY=()
  if [[ $cur == '=' ]]; then
    cur=
  elif [[ $prev == '=' ]]; then
    prev=${{COMP_WORDS[COMP_CWORD-2]}}
  fi
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case ${{COMP_WORDS[i]}} in
      {}) [[ ${{COMP_WORDS[i+1]}} == '=' ]] && ((++i)); ((++i)) ;;
      -*) ;;
      {}) if [[ $command ]]; then ((++arguments)); else command=${{COMP_WORDS[i]}}; fi ;;
      *) ((++arguments)) ;;
    esac
  done

)SH",
                     bash_valued_flags(), with_bars(tool_names()));
}

// The value of the option before the cursor: first those of the command, then those of every command.
std::string bash_complete_value() {
  std::string text = "  case $command in\n";
  for (const ToolRow& tool : tool_table()) {
    const std::string values = bash_values(tool.options, "        ");
    if (!values.empty()) {
      text += fmt::format("    {})\n      case $prev in\n{}      esac\n      ;;\n", tool.name, values);
    }
  }
  text += "  esac\n  case $prev in\n";
  for (const OptionGroup& group : option_groups()) text += bash_values(group.rows, "    ");
  return text + "  esac\n";
}

std::string bash_complete_flag() {
  std::string text = fmt::format("\n  local flags=({})\n  case $command in\n", bash_list(common_flags()));
  for (const ToolRow& tool : tool_table()) {
    if (!tool.options.empty()) {
      text += fmt::format("    {}) flags+=({}) ;;\n", tool.name, bash_list(flag_list(tool.options)));
    }
  }
  return text +
         "  esac\n  if [[ $cur == -* ]]; then\n    _bitnet_chat_words \"${flags[@]}\"\n    return\n  fi\n";
}

std::string bash_complete_argument() {
  std::string text = "  ((arguments == 0)) || return\n  case $command in\n";
  for (const ToolRow& tool : tool_table()) {
    if (*tool.words != '\0') text += fmt::format("    {}) {} ;;\n", tool.name, bash_words(tool.words));
  }
  return text +
         fmt::format("    '')\n      _bitnet_chat_models\n      _bitnet_chat_words {}\n      ;;\n  esac\n",
                     bash_list(tool_names()));
}

// -- zsh --

std::string zsh_description(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_action(std::string_view words) {
  if (words == "%file") return "_files";
  if (words == "%model") return "_bitnet_chat_models";
  if (words == "%pulled") return "_bitnet_chat_pulled";
  if (words == "%id") return "_bitnet_chat_conversations";
  if (words == "%deleted") return "_bitnet_chat_deleted";
  if (words == "%command") return "_bitnet_chat_commands";
  return words.empty() ? " " : fmt::format("({})", words);
}

std::string zsh_option(const OptionRow& row) {
  const auto flags = option_flags(row);
  if (!flags.front().starts_with('-')) return "";
  std::string names;
  for (const std::string& flag : flags) append(names, ",", flag);
  const std::string tail = fmt::format(
      "[{}]{}", zsh_description(option_help(row)),
      *row.value == '\0' ? "" : fmt::format(":{}:{}", zsh_description(row.value), zsh_action(row.words)));
  std::string exclusive = row.repeats ? "*" : "";
  if (flags.size() == 1) return fmt::format("    {}\n", shell_quoted(exclusive + names + tail));
  std::string together = names;
  for (char& c : together) {
    if (c == ',') c = ' ';
  }
  return fmt::format("    {}{{{}}}{}\n", shell_quoted("(" + together + ")"), names, shell_quoted(tail));
}

// -- fish --

std::string fish_option(const OptionRow& row, const std::string& condition) {
  const auto flags = option_flags(row);
  if (!flags.front().starts_with('-')) return "";
  std::string line = fmt::format("complete -c bitnet-chat{}", condition);
  for (const std::string& flag : flags) {
    const bool is_long = flag.starts_with("--");
    line += fmt::format(" -{} {}", is_long ? 'l' : 's', flag.substr(is_long ? 2 : 1));
  }
  if (*row.value != '\0') {
    const std::string_view words = row.words;
    if (words == "%file") {
      line += " -r -F";
    } else if (words == "%model") {
      line += " -x -a '(__bitnet_chat_models)'";
    } else if (words == "%id") {
      line += " -x -a '(__bitnet_chat_conversations)'";
    } else {
      line += words.empty() ? " -x" : fmt::format(" -x -a {}", shell_quoted(words));
    }
  }
  return fmt::format("{} -d {}\n", line, shell_quoted(option_help(row)));
}

std::string fish_argument(const ToolRow& tool) {
  const std::string_view words = tool.words;
  if (words == "%model") return "(__bitnet_chat_models)";
  if (words == "%pulled") return "(__bitnet_chat_pulled)";
  if (words == "%id") return "(__bitnet_chat_conversations)";
  if (words == "%deleted") return "(__bitnet_chat_conversations --deleted)";
  if (words == "%command") return tool_names();
  return std::string(words);
}

}  // namespace

std::string bash_completion() {
  return kBashHead + bash_look_at_line() + bash_complete_value() + bash_complete_flag() +
         bash_complete_argument() + "}\n\ncomplete -F _bitnet_chat bitnet-chat\n";
}

std::string zsh_completion() {
  std::string text = kZshHead;
  for (const ToolRow& tool : tool_table()) {
    text +=
        fmt::format("    {}\n", shell_quoted(fmt::format("{}:{}", tool.name, zsh_description(tool.help))));
  }
  text += kZshMiddle;
  for (const OptionGroup& group : option_groups()) {
    for (const OptionRow& row : group.rows) text += zsh_option(row);
  }
  text +=
      fmt::format("  )\n  local command=${{words[(r)({})]}}\n  case $command in\n", with_bars(tool_names()));
  for (const ToolRow& tool : tool_table()) {
    text += fmt::format("    {})\n      own=(\n", tool.name);
    for (const OptionRow& row : tool.options) text += fmt::format("    {}", zsh_option(row));
    if (*tool.argument != '\0') {
      const bool several = std::string_view(tool.argument).ends_with("...");
      const std::string argument = fmt::format("{}:{}:{}", several ? "*" : "2",
                                               zsh_description(tool.argument), zsh_action(tool.words));
      text += fmt::format("        {}\n", shell_quoted(argument));
    }
    text += "      )\n      ;;\n";
  }
  return text + kZshTail;
}

std::string fish_completion() {
  std::string text = kFishHead;
  const std::string none =
      fmt::format(" -n {}", shell_quoted("not __fish_seen_subcommand_from " + tool_names()));
  text += fmt::format("complete -c bitnet-chat{} -a '(__bitnet_chat_models)'\n", none);
  for (const ToolRow& tool : tool_table()) {
    text += fmt::format("complete -c bitnet-chat{} -a {} -d {}\n", none, tool.name, shell_quoted(tool.help));
  }
  for (const OptionGroup& group : option_groups()) {
    for (const OptionRow& row : group.rows) text += fish_option(row, "");
  }
  for (const ToolRow& tool : tool_table()) {
    const std::string here = fmt::format(" -n '__fish_seen_subcommand_from {}'", tool.name);
    if (const std::string argument = fish_argument(tool); !argument.empty()) {
      text += fmt::format("complete -c bitnet-chat{} {}\n", here,
                          argument == "%file" ? "-F" : "-a " + shell_quoted(argument));
    }
    for (const OptionRow& row : tool.options) text += fish_option(row, here);
  }
  return text;
}

}  // namespace bitnet
