#include "options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <span>

#include "app/base/nearest.h"
#include "app/chat/personas.h"
#include "app/model/model_file.h"
#include "app/model/models.h"
#include "app/pull/pulled.h"
#include "app/text/text_file.h"
#include "cli_help.h"
#include "config_file.h"
#include "engine/error.h"
#include "option_table.h"
#include "option_values.h"

namespace bitnet {
namespace {

constexpr int kMostWords = 10000;

const OptionRow* row_of_flag(std::span<const OptionRow> rows, const std::string& flag) {
  const auto found = std::ranges::find_if(
      rows, [&](const OptionRow& row) { return std::ranges::count(option_flags(row), flag) != 0; });
  return found == rows.end() ? nullptr : &*found;
}

// `tool`: the command that stands before the flag, whose own options come first; nullptr: none does.
const OptionRow* row_of_flag(const ToolRow* tool, const std::string& flag) {
  const OptionRow* row = tool == nullptr ? nullptr : row_of_flag(tool->options, flag);
  for (const OptionGroup& group : option_groups()) {
    if (row == nullptr) row = row_of_flag(group.rows, flag);
  }
  return row;
}

// Whether the word after `word` is the value of an option: of "-p", "--prompt" and "-cp", but not of
// "-pTEXT".
bool takes_next_word(const ToolRow* tool, const std::string& word) {
  const auto takes_value = [](const OptionRow* row) { return row != nullptr && *row->value != '\0'; };
  if (!word.starts_with('-')) return false;
  if (word.starts_with("--")) return takes_value(row_of_flag(tool, word));
  for (size_t i = 1; i < word.size(); ++i) {
    if (takes_value(row_of_flag(tool, {'-', word[i]}))) return i + 1 == word.size();
  }
  return false;
}

// CLI11 takes "--now=" for "--now": a script meant to say so only where its variable is set.
void refuse_empty_flag(const ToolRow* tool, const std::string& word) {
  if (!word.starts_with("--") || !word.ends_with('=')) return;
  const std::string flag = word.substr(0, word.size() - 1);
  if (const OptionRow* row = row_of_flag(tool, flag); row != nullptr && *row->value == '\0')
    throw Error(ErrorKind::usage, fmt::format("{}: wanted {} alone, or on or off behind the =", word, flag));
}

// A word after "--" is neither an option nor a command, whatever it looks like. CLI11 forgets that once a
// command has its words, so each such word gets this mark, which is taken off where the word is read. So do a
// "--" that is the value of an option, and "++", with which CLI11 would end the command.
constexpr char kIsWord = '\x01';

std::vector<std::string> mark_words(int argc, const char* const* argv) {
  std::vector<std::string> marked;
  const ToolRow* tool = nullptr;
  bool is_value = false;
  bool only_words = false;
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    if (word == "--" && !is_value && !only_words) {
      only_words = true;
      continue;
    }
    if (tool == nullptr && !is_value && !only_words) tool = find_tool(word);
    if (!is_value && !only_words) refuse_empty_flag(tool, word);
    const bool has_mark = only_words || word == "--" || word == "++";
    is_value = !only_words && !is_value && takes_next_word(tool, word);
    if (has_mark) word.insert(0, 1, kIsWord);
    marked.push_back(std::move(word));
  }
  return marked;
}

std::string without_mark(const std::string& word) {
  return word.starts_with(kIsWord) ? word.substr(1) : word;
}

// An option of the table and what the command line gave for it, still as text: the config file is read first.
struct Given {
  const OptionRow* row;
  CLI::Option* option;
};

Given add_row(CLI::App& app, const OptionRow& row) {
  const std::string_view flags = row.flags;
  if (flags.find("--help") != std::string_view::npos) return {&row, nullptr};  // CLI11 has its own
  CLI::Option* option = *row.value == '\0' ? app.add_flag(row.flags) : app.add_option(row.flags);
  if (*row.value != '\0') option->expected(1)->type_name(row.value);
  if (row.repeats) {
    option->take_all();
  } else {
    option->take_last();
  }
  return {&row, option};
}

void read_given(const std::vector<Given>& given, Options& options) {
  for (const auto& [row, option] : given) {
    if (option == nullptr || option->count() == 0) continue;
    const std::vector<std::string> values = option->results();
    for (size_t i = row->repeats ? 0 : values.size() - 1; i < values.size(); ++i) {
      read_option(*row, options, without_mark(values[i]));
    }
  }
}

bool was_given(const std::vector<Given>& given, std::string_view flag) {
  return std::any_of(given.begin(), given.end(), [&](const Given& g) {
    return g.option != nullptr && g.option->count() > 0 && option_flags(*g.row).back() == flag;
  });
}

// A command of the table as CLI11 knows it.
struct ParsedTool {
  const ToolRow* row;
  CLI::App* app;
  CLI::Option* argument;
  std::vector<Given> given;
};

ParsedTool add_tool(CLI::App& app, const ToolRow& row) {
  ParsedTool tool{&row, app.add_subcommand(row.name), nullptr, {}};
  tool.app->fallthrough();
  tool.app->allow_extras();
  if (*row.argument != '\0') {
    std::string name = row.argument;
    const bool required = !name.starts_with('[');
    const bool several = name.ends_with("...");
    const size_t space = name.find(' ');  // of two words
    const int words = space == std::string::npos ? 1 : 2;
    if (words == 2) name.resize(space);
    if (!required) name = name.substr(1, name.size() - 2);
    if (several) name.resize(name.size() - 3);
    tool.argument = tool.app->add_option(name)
                        ->expected(required ? words : 1, several ? kMostWords : words)
                        ->required(required);
    if (several || (words == 2 && !required)) tool.argument->take_all()->allow_extra_args();
  }
  for (const OptionRow& option : row.options) tool.given.push_back(add_row(*tool.app, option));
  return tool;
}

// The tables as CLI11 knows them and, after parse_words, what the command line has of them.
struct CommandLine {
  CommandLine() {
    app.require_subcommand(0, 1);
    app.allow_extras();
    for (const OptionGroup& group : option_groups()) {
      for (const OptionRow& row : group.rows) given.push_back(add_row(app, row));
    }
    for (const ToolRow& row : tool_table()) tools.push_back(add_tool(app, row));
  }

  // The command that was given; nullptr: none, so it is a chat.
  const ParsedTool* tool() const {
    const auto found =
        std::find_if(tools.begin(), tools.end(), [](const ParsedTool& t) { return t.app->parsed(); });
    return found == tools.end() ? nullptr : &*found;
  }
  // The word that stands where MODEL may stand, the first row of the table. Requires that it was given.
  std::string model_word() const { return given.front().option->results().front(); }

  CLI::App app{"", "bitnet-chat"};
  std::vector<Given> given;
  std::vector<ParsedTool> tools;
};

std::string nearest_tool(const std::string& word) {
  std::vector<std::string> names;
  for (const ToolRow& row : tool_table()) names.emplace_back(row.name);
  return nearest(word, names);
}

// A person who types "serch whale" means a command; the parser sees a model's name and one word too many.
void refuse_mistyped_tool(const std::string& word) {
  std::error_code ignored;
  const std::string meant = nearest_tool(word);
  if (meant.empty() || std::filesystem::exists(word, ignored)) return;
  throw Error(ErrorKind::usage,
              fmt::format("there is no command {}; did you mean '{}'?", printable(word, 40), meant));
}

bool opens_model(const Options& options) {
  switch (options.mode) {
    case Mode::chat:
    case Mode::info:
    case Mode::tokenize:
    case Mode::detokenize:
    case Mode::render:
    case Mode::logits:
    case Mode::probe:
    case Mode::perplexity:
    case Mode::bench:
    case Mode::plan:
    case Mode::serve:
      return true;
    case Mode::replay:
      return options.verify;
    case Mode::devices:
      return !options.model.empty();
    default:
      return false;
  }
}

std::string help_about(const std::string& command) {
  if (command.empty()) return help_text();
  if (const ToolRow* row = find_tool(command)) return tool_help_text(*row);
  refuse_mistyped_tool(command);
  throw Error(ErrorKind::usage,
              fmt::format("there is no command {}; 'bitnet-chat help' lists them", printable(command, 40)));
}

// Refuses an option that there is, but of another command or after its command alone.
void refuse_misplaced(const std::string& flag, const ParsedTool* tool) {
  if (tool != nullptr && row_of_flag(tool->row->options, flag) != nullptr)
    throw Error(ErrorKind::usage,
                fmt::format("{0} belongs after the command: bitnet-chat {1} {0}", flag, tool->row->name));
  std::vector<std::string> commands;
  for (const ToolRow& row : tool_table()) {
    if (row_of_flag(row.options, flag) != nullptr) commands.emplace_back(row.name);
  }
  if (commands.empty()) return;
  throw Error(ErrorKind::usage,
              fmt::format("{} belongs after a command that takes it: {}", flag, fmt::join(commands, ", ")));
}

bool is_option(const std::string& word) { return word.starts_with('-') && word != "-"; }

[[noreturn]] void refuse_extra(const std::string& given, const ParsedTool* tool) {
  const std::string extra = without_mark(given);
  if (!is_option(given)) {
    throw Error(ErrorKind::usage,
                fmt::format("what is '{}' for? (bitnet-chat {}--help shows what there is)",
                            printable(extra, 40), tool == nullptr ? "" : std::string(tool->row->name) + " "));
  }
  const std::string typed = extra.substr(0, extra.find('='));
  refuse_misplaced(typed, tool);
  std::vector<std::string> known;
  const auto add = [&](std::span<const OptionRow> rows) {
    for (const OptionRow& row : rows) {
      for (const std::string& flag : option_flags(row)) {
        if (flag.size() > 2) known.push_back(flag);
      }
    }
  };
  if (tool != nullptr) add(tool->row->options);
  for (const OptionGroup& group : option_groups()) add(group.rows);
  const std::string meant = nearest(typed, known);
  throw Error(ErrorKind::usage, fmt::format("there is no option {}; {}", printable(typed, 40),
                                            meant.empty() ? "bitnet-chat --help shows what there is"
                                                          : "did you mean " + meant + "?"));
}

// A folder that the config file names may be on a disk that is not there today, so only those of the command
// line are checked.
void check_model_folders(std::span<const std::string> folders) {
  std::error_code ignored;
  for (const std::string& folder : folders) {
    if (!std::filesystem::is_directory(folder, ignored))
      refuse_value("models", "a folder that is there", folder);
  }
}

void check_together(const Options& o) {
  if (o.question && !o.script.empty()) throw Error(ErrorKind::usage, "-p and --script exclude each other");
  if (o.resume_last && o.conversation && o.mode == Mode::chat) {
    throw Error(ErrorKind::usage, "-c and --resume exclude each other");
  }
  if (o.is_private && !o.db.empty()) throw Error(ErrorKind::usage, "--private and --db exclude each other");
  if (o.is_private && o.mode == Mode::chat && !o.record.empty() && !o.force) {
    throw Error(
        ErrorKind::usage,
        "--private keeps nothing, and --record would keep what is shown; --force records all the same");
  }
  if (o.is_private && o.mode == Mode::chat && (o.resume_last || o.conversation)) {
    throw Error(
        ErrorKind::usage,
        "--private keeps nothing, so there is no conversation to go on with (--private=off allows it)");
  }
}

// Takes back what the config file says where the command line or the environment says otherwise.
void yield_to_command_line(Options& o, const std::vector<Given>& given) {
  if (was_given(given, "--stop")) std::erase_if(o.settings, [](const auto& s) { return s.first == "+stop"; });
  Options told;
  for (const auto& [row, option] : given) {
    if (option_key(*row) == "private" && option->count() > 0)
      read_option(*row, told, option->results().back());
  }
  if (told.is_private) o.db.clear();
  if (was_given(given, "--db")) o.is_private = false;
  if (wants_no_color(Options())) o.theme.clear();
  const char* model = std::getenv("BITNET_CHAT_MODEL");
  if ((model != nullptr && *model != '\0') || o.mode == Mode::replay) o.model.clear();
}

// Of an option that is the last word, CLI11 says "--device: 1 required N|NAME|cpu missing".
void refuse_option_without_value(const CommandLine& line, const CLI::ParseError& error) {
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) == nullptr) return;
  const auto check = [&](const std::vector<Given>& given) {
    for (const auto& [row, option] : given) {
      if (option == nullptr || *row->value == '\0' || option->get_positional()) continue;
      const std::string name = option->get_name();
      if (std::string_view(error.what()).starts_with(name + ":"))
        throw Error(ErrorKind::usage, fmt::format("{}: wanted {} after it, found nothing", name, row->value));
    }
  };
  if (line.tool() != nullptr) check(line.tool()->given);
  check(line.given);
}

// Returns the text that --help asks for, or "" where nothing is to be printed.
std::string parse_words(CommandLine& line, int argc, const char* const* argv) {
  try {
    std::vector<std::string> arguments = mark_words(argc, argv);
    std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
    line.app.parse(arguments);
  } catch (const CLI::CallForHelp&) {
    return line.tool() == nullptr ? help_text() : tool_help_text(*line.tool()->row);
  } catch (const CLI::ParseError& error) {
    const ParsedTool* tool = line.tool();
    refuse_option_without_value(line, error);
    // An unknown option is more likely what is wrong than that a word is missing.
    for (const std::string& extra : line.app.remaining(/*recurse=*/true)) {
      if (is_option(extra)) refuse_extra(extra, tool);
    }
    if (tool && tool->argument && std::string(error.what()).starts_with(tool->argument->get_name()))
      throw Error(ErrorKind::usage,
                  fmt::format("{0}: wanted {1} (bitnet-chat {0} --help shows what there is)", tool->row->name,
                              tool->row->argument));
    throw Error(ErrorKind::usage,
                fmt::format("{} (bitnet-chat --help shows what there is)", printable(error.what(), 300)));
  }
  return {};
}

// Refuses words that neither an option nor the command takes, and a MODEL before a command.
void refuse_extras(const CommandLine& line, const ParsedTool* tool) {
  const bool has_model = was_given(line.given, "MODEL");
  const auto extras = line.app.remaining(/*recurse=*/true);
  if (!extras.empty()) {
    if (tool == nullptr && has_model) refuse_mistyped_tool(without_mark(line.model_word()));
    refuse_extra(extras.front(), tool);
  }
  if (tool != nullptr && has_model) refuse_extra(line.model_word(), tool);
}

// Reads the config file into `options`, before what the command line gives is read over it.
void read_config_below(const CommandLine& line, const std::string& usual_config, Options& options) {
  std::string config;
  for (const auto& [row, option] : line.given) {
    if (option != nullptr && option_key(*row) == "config" && option->count() > 0)
      config = without_mark(option->results().back());
  }
  read_config(config.empty() ? usual_config : config, !config.empty(), options);
  yield_to_command_line(options, line.given);
  options.config_settings = options.settings.size();
  options.config_ctx = options.ctx;
}

void read_tool(const ParsedTool& tool, Options& options) {
  read_given(tool.given, options);
  if (tool.argument != nullptr && tool.argument->count() > 0) {
    for (const std::string& word : tool.argument->results()) tool.row->read(options, without_mark(word));
  }
}

}  // namespace

Options parse_options(int argc, const char* const* argv, const std::string& usual_config) {
  Options options;
  CommandLine line;
  options.print_and_exit = parse_words(line, argc, argv);
  if (!options.print_and_exit.empty()) return options;
  const ParsedTool* tool = line.tool();
  refuse_extras(line, tool);
  if (tool != nullptr) options.mode = tool->row->mode;
  if (was_given(line.given, "--version")) {
    options.print_and_exit = fmt::format("bitnet-chat {}\n", BITNET_VERSION);
    return options;
  }
  // What explains the config file and its options works with a broken one too.
  if (options.mode != Mode::print && options.mode != Mode::help)
    read_config_below(line, usual_config, options);
  const size_t config_folders = options.model_folders.size();
  read_given(line.given, options);
  options.asks_system = was_given(line.given, "--system");
  options.asks_persona = was_given(line.given, "--persona");
  check_model_folders(std::span(options.model_folders).subspan(config_folders));
  if (tool != nullptr) read_tool(*tool, options);
  check_together(options);
  if (options.mode == Mode::help) options.print_and_exit = help_about(options.words);
  return options;
}

void refuse_command_as_model(const Options& options) {
  if (!opens_model(options)) return;
  const std::string word = named_model(options.model);
  std::error_code ignored;
  if (word.empty() || std::filesystem::exists(word, ignored) || parse_model_name(word) ||
      find_in_catalogue(word) != nullptr || find_here(word, options.model_folders))
    return;
  const std::string meant = nearest_tool(word);
  if (meant.empty()) return;
  throw Error(ErrorKind::model,
              fmt::format("{}: no such model file; did you mean the command '{}'?", printable(word), meant));
}

bool wants_no_color(const Options& options) {
  const char* no_color = std::getenv("NO_COLOR");
  return options.no_color || (no_color != nullptr && no_color[0] != '\0');
}

WriteRules named_rules(const Options& options) { return {.overwrite = options.force}; }

ChatSettings settings_from(const Options& options, ChatSettings settings) {
  for (size_t i = 0; i < options.settings.size(); ++i) {
    const auto& [name, value] = options.settings[i];
    const SettingSource source =
        i < options.config_settings ? SettingSource::config : SettingSource::command_line;
    if (name == "+stop") {
      settings.stop.push_back(value);
      settings.sources.insert_or_assign("stop", source);
    } else {
      set_from(source, settings, name, value);
    }
  }
  settings.system = options.system.starts_with('@')
                        ? read_file(options.system.substr(1), kMostNamedBytes, Pipes::of_the_shell)
                        : options.system;
  if (!options.persona.empty()) {
    const PersonaFile persona = find_persona(options.persona);
    settings.persona = persona.persona;
    if (settings.system.empty()) settings.system = persona.system;
  }
  settings.verbose = options.verbose;
  settings.is_private = options.is_private;
  settings.ctx = options.ctx;
  if (options.ctx != 0) {
    settings.sources["ctx"] =
        options.ctx == options.config_ctx ? SettingSource::config : SettingSource::command_line;
  }
  return settings;
}

}  // namespace bitnet
