#include "cli_help.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/chat/settings.h"

namespace bitnet {
namespace {

constexpr size_t kColumns = 79;  // some terminals wrap a line of 80
constexpr size_t kIndent = 28;

std::string two_columns(const std::string& left, const std::string& right) {
  std::string line = fmt::format("  {}", left);
  if (line.size() + 2 > kIndent) {
    line += fmt::format("\n{:{}}", "", kIndent);
  } else {
    line.resize(kIndent, ' ');
  }
  return line + wrap_words(right, kColumns, kIndent, kIndent) + "\n";
}

std::string option_column(const OptionRow& row) {
  const auto flags = option_flags(row);
  if (flags.front() == row.value) return flags.front();
  const char* indent = flags.front().starts_with("--") ? "    " : "";
  const std::string left = fmt::format("{}{}", indent, fmt::join(flags, ", "));
  return *row.value == '\0' ? left : fmt::format("{} {}", left, row.value);
}

std::string option_list(std::span<const OptionRow> rows) {
  std::string text;
  for (const OptionRow& row : rows) text += two_columns(option_column(row), option_help(row));
  return text;
}

std::string tool_usage(const ToolRow& tool) {
  return fmt::format("{}{}{}", tool.name, *tool.argument == '\0' ? "" : " ", tool.argument);
}

}  // namespace

std::string wrap_words(const std::string& text, size_t columns, size_t indent, size_t used) {
  std::string out;
  size_t at = used;
  for (const std::string& word : split_words(text)) {
    if (!out.empty() && at + 1 + word.size() > columns) {
      out += fmt::format("\n{:{}}", "", indent);
      at = indent;
    } else if (!out.empty()) {
      out += ' ';
      ++at;
    }
    out += word;
    at += word.size();
  }
  return out;
}

std::string help_text() {
  std::string text =
      "A chat in the terminal with ternary language models, on an engine of its own.\n"
      "\n"
      "  bitnet-chat [MODEL] [OPTION...]             chat\n"
      "  bitnet-chat [MODEL] -p TEXT                 one answer on standard output\n"
      "  bitnet-chat COMMAND [ARGUMENT] [OPTION...]  COMMAND --help explains it\n"
      "\n"
      "Without MODEL the bundled model answers. Text on standard input asks like -p.\n"
      "In the chat, F1 shows the keys and /help the commands.\n"
      "\n"
      "Commands:\n";
  for (const ToolRow& tool : tool_table()) text += two_columns(tool_usage(tool), tool.help);
  for (const OptionGroup& group : option_groups()) {
    text += fmt::format("\n{}:\n{}", group.title, option_list(group.rows));
  }
  text +=
      "\n"
      "A config file can set most of these: 'bitnet-chat print config' shows it and\n"
      "where it belongs. The command line wins over it.\n"
      "\n"
      "Exit codes:\n";
  for (const TextRow& row : exit_codes()) text += two_columns(row.name, row.help);
  return text;
}

std::string tool_help_text(const ToolRow& tool) {
  std::string text = fmt::format("bitnet-chat {}{}\n\n{}\n", tool_usage(tool), " [OPTION...]",
                                 wrap_words(tool.help, kColumns, 0, 0));
  if (*tool.words != '\0' && *tool.words != '%') {
    text += fmt::format("\n{}: {}\n", tool.argument, tool.words);
  }
  if (!tool.options.empty()) text += "\nOptions:\n" + option_list(tool.options);
  return text + "\n'bitnet-chat --help' has the options that every command takes.\n";
}

std::string example_config() {
  std::string text =
      "# Configuration of bitnet-chat. It belongs in $XDG_CONFIG_HOME/bitnet-chat/config, which is\n"
      "# ~/.config/bitnet-chat/config if that variable is not set; --config FILE reads another file.\n"
      "#\n"
      "# A line is KEY = VALUE; remove its # to set it. Options of the command line win over it. A comment "
      "needs\n"
      "# a line of its own. A value in \"double quotes\" keeps its spaces and may have \\n, \\t, \\\" and "
      "\\\\.\n"
      "# A relative path of a file begins at the folder of this file; ~/ is your home folder.\n";
  const ChatSettings defaults = interactive_settings();
  for (const OptionGroup& group : option_groups()) {
    std::string rows;
    for (const OptionRow& row : group.rows) {
      if (row.example == nullptr) continue;
      const std::string value =
          row.setting == nullptr ? row.example : find_setting(row.setting)->show(defaults);
      std::string help = wrap_words(option_help(row), 96, 0, 0);
      for (size_t at = 0; (at = help.find('\n', at)) != std::string::npos;) help.insert(++at, "# ");
      rows += fmt::format("\n# {}\n#{} = {}\n", help, option_key(row), value);
    }
    if (!rows.empty()) text += fmt::format("\n# --- {} ---\n{}", group.title, rows);
  }
  return text;
}

}  // namespace bitnet
