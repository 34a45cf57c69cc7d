#include "command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <sstream>

#include "app/base/counted.h"
#include "app/base/nearest.h"
#include "app/base/places.h"
#include "app/base/sizes.h"
#include "arguments.h"
#include "engine/lower.h"
#include "mentions.h"
#include "model_menu.h"
#include "personas.h"
#include "refuse.h"
#include "settings.h"

namespace bitnet {
namespace {

constexpr size_t kMostWords = 500;  // that a completion names
constexpr int64_t kMostConversations = 100;
constexpr int64_t kMostSearched = 1000;  // for those among them that are archived

// The nearest by edit distance; empty where none is near.
std::string nearest_command(std::string_view name) {
  std::vector<std::string> names;
  for (const Command& command : command_table()) names.emplace_back(command.name);
  return nearest(lower(name), names);
}

// Paths that begin like `begun`; folders end with a slash.
void add_files(std::string_view begun, std::vector<std::string>& words) {
  std::string quote;
  if (begun.starts_with('"') || begun.starts_with('\'')) {
    quote = begun.front();
    begun.remove_prefix(1);
  }
  const size_t slash = begun.rfind('/');
  const std::string folder(begun.substr(0, slash == std::string_view::npos ? 0 : slash + 1));
  const std::string_view name = begun.substr(folder.size());
  const std::string place = folder.empty() ? "." : expand_home(folder);
  std::error_code error;  // what cannot be read completes to nothing
  for (std::filesystem::directory_iterator at(place, error), end; at != end && !error; at.increment(error)) {
    const std::string entry = at->path().filename();
    if (!entry.starts_with(name) || (name.empty() && entry.starts_with('.'))) continue;
    std::error_code unknown;
    words.push_back(quote + folder + entry + (at->is_directory(unknown) ? "/" : quote));
    if (words.size() == kMostWords) break;
  }
  std::sort(words.begin(), words.end());
}

struct NamedPath {
  std::string path;
  std::string line;  // the whole line with it
  bool is_folder;
};

// Where `line` ends in @ and the beginning of a path.
std::vector<NamedPath> complete_mention(std::string_view line) {
  std::vector<NamedPath> found;
  const BegunMention begun = begun_mention(line);
  if (begun.begin == line.size()) return found;
  std::vector<std::string> paths;
  add_files(begun.path, paths);
  for (std::string& path : paths) {
    const bool is_folder = path.ends_with('/');
    const std::string word = mention_of(path, begun.quote, is_folder);
    if (word.empty()) continue;
    found.push_back({std::move(path), fmt::format("{}{}", line.substr(0, begun.begin), word), is_folder});
  }
  return found;
}

// `what` is one side of the "|" in Command::completion.
std::vector<std::string> completions(Store& database, const std::vector<std::string>& model_folders,
                                     std::string_view what, std::string_view begun) {
  std::vector<std::string> words;
  std::istringstream list{std::string(what)};
  std::string word;
  while (list >> word) {
    if (word == "%settings") {
      for (const Setting& setting : settings_table()) words.emplace_back(setting.name);
    } else if (word == "%commands") {
      for (const Command& other : command_table()) words.emplace_back(other.name + 1);
    } else if (word == "%ids") {
      for (const StoredConversation& row : database.conversations(kMostConversations))
        words.push_back(std::to_string(row.id));
    } else if (word == "%archived") {
      for (const StoredConversation& row : database.conversations(kMostSearched, true)) {
        if (row.archived && words.size() < kMostConversations) words.push_back(std::to_string(row.id));
      }
    } else if (word == "%deleted") {
      for (const StoredConversation& row : database.trash()) words.push_back(std::to_string(row.id));
    } else if (word == "%personas" || word == "%prompts") {
      for (const NamedText& text : word == "%personas" ? all_personas() : all_prompts())
        words.push_back(text.name);
    } else if (word == "%models") {
      words = model_names(model_folders);
      if (begun.find('/') != std::string_view::npos) add_files(begun, words);
    } else if (word == "%files") {
      add_files(begun, words);
    } else if (word == "%@files" && begun.starts_with('@')) {
      std::vector<std::string> files;
      add_files(begun.substr(1), files);
      for (const std::string& file : files) words.push_back("@" + file);
    } else if (!word.starts_with('%')) {
      words.push_back(word);
    }
  }
  return words;
}

}  // namespace

bool is_command(std::string_view typed) {
  if (!typed.starts_with('/') || typed.starts_with("//")) return false;
  const auto [name, rest] = split(typed);
  if (find_command(name) != nullptr) return true;
  const std::string_view word = name.substr(1, name.find_last_not_of(".,;:!?"));
  const bool like_a_name = std::all_of(word.begin(), word.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
  });
  return like_a_name && (rest.empty() || !nearest_command(fmt::format("/{}", word)).empty());
}

std::string_view turn_of(std::string_view typed) { return typed.substr(typed.starts_with("//") ? 1 : 0); }

std::string typed_form(std::string_view turn) {
  const bool needs_slash = turn.starts_with("//") || is_command(turn);
  return fmt::format("{}{}", needs_slash ? "/" : "", turn);
}

const Command& checked_command(std::string_view line) {
  const auto [name, arguments] = split(line);
  const Command* command = find_command(name);
  if (command == nullptr) {
    const std::string nearest = nearest_command(name.substr(0, 40));
    throw Error(ErrorKind::usage,
                fmt::format("there is no command {}; {} (a turn that begins with a slash is written with //)",
                            printable(name, 40),
                            nearest.empty() ? "/help lists them" : "did you mean " + nearest + "?"));
  }
  if (!arguments.empty() && *command->arguments == '\0') {
    throw Error(ErrorKind::usage,
                fmt::format("{} takes no arguments, found '{}'", command->name, printable(arguments, 40)));
  }
  return *command;
}

bool names_conversation(std::string_view typed) {
  const Command* command = is_command(typed) ? find_command(split(typed).first) : nullptr;
  const std::string_view completion = command == nullptr ? "" : command->completion;
  const auto has = [&](std::string_view words) { return completion.find(words) != completion.npos; };
  if (!has("%ids") && !has("%archived") && !has("%deleted")) return false;
  std::istringstream list{std::string(arguments_of(typed))};
  std::string word;
  while (list >> word) {
    if (std::all_of(word.begin(), word.end(), [](unsigned char c) { return std::isdigit(c) != 0; }))
      return true;
  }
  return false;
}

std::string_view arguments_of(std::string_view line) { return split(line).second; }

namespace {

// Of the personas or templates whose name `line` begins.
std::vector<MenuEntry> named_texts_menu(std::string_view line) {
  std::vector<MenuEntry> entries;
  for (const std::string_view command : {"/persona ", "/prompt "}) {
    if (!line.starts_with(command)) continue;
    const std::string_view begun = line.substr(command.size());
    const bool is_persona = command == "/persona ";
    for (const NamedText& text : is_persona ? all_personas() : all_prompts()) {
      if (!text.name.starts_with(begun)) continue;
      entries.push_back({text.name, text.problem.empty() ? text.about : text.problem,
                         fmt::format("{}{}{}", command, text.name, is_persona ? "" : " "), is_persona});
    }
  }
  return entries;
}

}  // namespace

std::vector<MenuEntry> command_menu(std::string_view line) {
  std::vector<MenuEntry> entries = named_texts_menu(line);
  if (!entries.empty()) return entries;
  if (!line.starts_with('/') || line.find_first_of(" \n/", 1) != std::string_view::npos) return entries;
  for (const Command& command : command_table()) {
    std::istringstream names{fmt::format("{} {}", command.name, command.aliases)};
    std::string name;
    while (names >> name && !name.starts_with(line)) {
    }
    if (!name.starts_with(line)) continue;
    const bool takes = *command.arguments != '\0';
    entries.push_back({fmt::format("{}{}{}", name, takes ? " " : "", command.arguments), command.help,
                       fmt::format("{}{}", name, takes ? " " : ""), !takes || *command.arguments == '['});
  }
  return entries;
}

std::vector<MenuEntry> file_menu(std::string_view line) {
  std::vector<MenuEntry> entries;
  for (const NamedPath& named : complete_mention(line)) {
    std::error_code unknown;
    const auto bytes = named.is_folder ? 0 : std::filesystem::file_size(expand_home(named.path), unknown);
    const std::string size = unknown || named.is_folder ? ""
                             : bytes >= (1 << 20)       ? size_text(bytes)
                             : bytes >= (1 << 10)
                                 ? fmt::format("{:.1f} KiB", static_cast<double>(bytes) / 1024)
                                 : counted(bytes, "byte");
    entries.push_back({named.path, size, named.line + (named.is_folder ? "" : " "), false});
  }
  return entries;
}

std::vector<std::string> complete_command(Store& database, const std::vector<std::string>& model_folders,
                                          std::string_view line) {
  std::vector<std::string> lines;
  if (!line.starts_with('/') || line.starts_with("//")) {
    for (NamedPath& named : complete_mention(line)) lines.push_back(std::move(named.line));
    return lines;
  }
  const size_t space = line.find(' ');
  if (space == std::string_view::npos) {
    for (const Command& command : command_table()) {
      if (std::string_view(command.name).starts_with(line)) lines.emplace_back(command.name);
    }
    return lines;
  }
  const Command* command = find_command(line.substr(0, space));
  if (command == nullptr) return lines;
  std::string_view what = command->completion;
  size_t begin = space + 1;
  if (const size_t bar = what.find('|'); bar != std::string_view::npos) {
    const size_t second = line.find(' ', begin);
    if (second != std::string_view::npos) begin = second + 1;
    what = second == std::string_view::npos ? what.substr(0, bar) : what.substr(bar + 1);
  }
  const std::string_view begun = line.substr(begin);
  try {
    for (const std::string& word : completions(database, model_folders, what, begun)) {
      if (word.starts_with(begun)) lines.push_back(fmt::format("{}{}", line.substr(0, begin), word));
    }
  } catch (const Error&) {
    // A database that cannot be read completes nothing.
  }
  return lines;
}

}  // namespace bitnet
