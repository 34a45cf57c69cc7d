#include "commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "app/base/nearest.h"
#include "app/base/places.h"
#include "app/text/text_file.h"
#include "app/text/text_safe.h"
#include "chat_core.h"

namespace bitnet {
namespace {

constexpr size_t kMostSystemBytes = 1 << 20;
constexpr size_t kMostFiles = 500;  // that a completion names
constexpr int64_t kMostConversations = 100;

std::string_view trim(std::string_view s) {
  const size_t begin = s.find_first_not_of(" \t\n");
  if (begin == std::string_view::npos) return {};
  return s.substr(begin, s.find_last_not_of(" \t\n") - begin + 1);
}

int64_t whole_number(std::string_view text, const char* wanted) {
  int64_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw Error(ErrorKind::usage, fmt::format("wanted {}, found '{}'", wanted, printable(text, 40)));
  }
  return id;
}

int64_t conversation_id(std::string_view text) {
  return whole_number(text, "a conversation's number as /list shows it");
}

int64_t message_number(std::string_view text) {
  return whole_number(text, "a message's number as /goto and /branches show it");
}

size_t token_number(std::string_view text) {
  const int64_t number = whole_number(text, "a number as /tokens or /alt show it");
  return static_cast<size_t>(std::max<int64_t>(number, 0));
}

// 0: all at once.
double replay_speed(std::string_view text) {
  if (text.empty()) return 1;
  if (text == "instant") return 0;
  double speed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), speed);
  if (error != std::errc() || end != text.data() + text.size() || !(speed >= 0.01 && speed <= 1000)) {
    throw Error(ErrorKind::usage,
                fmt::format("wanted a speed of 0.01 to 1000, or instant, found '{}'", printable(text, 40)));
  }
  return speed;
}

// The first word of `line`, and what follows it.
std::pair<std::string_view, std::string_view> split(std::string_view line) {
  const size_t end = line.find_first_of(" \t\n");
  if (end == std::string_view::npos) return {line, {}};
  return {line.substr(0, end), trim(line.substr(end))};
}

std::string usage_line(const Command& command) {
  return *command.arguments == '\0' ? std::string(command.name)
                                    : fmt::format("{} {}", command.name, command.arguments);
}

// Quotes around a file's name are no part of it.
std::string unquoted(std::string_view name) {
  const char quote = name.empty() ? '\0' : name.front();
  if (name.size() > 2 && (quote == '"' || quote == '\'') && name.back() == quote)
    name = name.substr(1, name.size() - 2);
  return std::string(name);
}

NamedFile file_to_write(std::string_view name) {
  const bool forced = name.size() > 1 && name.ends_with('!');
  return {unquoted(forced ? name.substr(0, name.size() - 1) : name), forced};
}

void help(ChatCore& chat, std::string_view arguments) {
  std::string text;
  if (arguments == "keys") {
    text = chat.front_.keys_text();
    return chat.front_.command_output("help", text.empty() ? "There are no keys here." : text);
  }
  if (!arguments.empty()) {
    const std::string name =
        arguments.starts_with('/') ? std::string(arguments) : fmt::format("/{}", arguments);
    const Command* command = find_command(name);
    if (command == nullptr)
      throw Error(ErrorKind::usage, fmt::format("there is no command {}", printable(name, 40)));
    text = fmt::format("{}\n  {}", usage_line(*command), command->help);
    if (*command->more != '\0') text += fmt::format("\n  {}", command->more);
    if (*command->aliases != '\0') text += fmt::format("\n  also: {}", command->aliases);
    chat.front_.command_output("help", text);
    return;
  }
  for (const Command& command : command_table())
    text += fmt::format("{:<26} {}\n", usage_line(command), command.help);
  text += "A line that begins with // is a turn that begins with a slash; /help keys lists the keys.";
  chat.front_.command_output("help", text);
}

void set(ChatCore& chat, std::string_view arguments) {
  const auto [name, value] = split(arguments);
  if (!value.empty()) {
    ChatSettings changed = chat.settings_;
    set_from(SettingSource::person, changed, name, value);
    chat.change_settings(std::move(changed));
  }
  chat.front_.command_output("set", chat.settings_text(name));
}

void seed(ChatCore& chat, std::string_view arguments) {
  if (!arguments.empty()) set_from(SettingSource::person, chat.settings_, "seed", arguments);
  chat.front_.command_output("seed", chat.settings_text("seed"));
}

void reset(ChatCore& chat, std::string_view) {
  ChatSettings changed = chat.defaults_;
  changed.system = chat.settings_.system;
  chat.change_settings(std::move(changed));
  chat.front_.command_output("reset", chat.settings_text(""));
}

void system_prompt(ChatCore& chat, std::string_view arguments) {
  if (arguments == "none") {
    chat.set_system("");
  } else if (arguments.starts_with('@')) {
    chat.set_system(read_text_file(unquoted(arguments.substr(1)), kMostSystemBytes));
  } else if (!arguments.empty()) {
    chat.set_system(arguments);
  }
  const std::string& system = chat.settings_.system;
  chat.front_.command_output("system",
                             system.empty() ? "The system prompt is empty." : "System prompt: " + system);
}

void show(ChatCore& chat, std::string_view subject) {
  std::string text;
  if (subject == "model") {
    text = chat.show_model();
  } else if (subject == "params") {
    text = chat.settings_text("");
  } else if (subject == "prompt") {
    text = chat.show_prompt();
  } else if (subject == "context") {
    text = chat.show_context();
  } else if (subject == "stats") {
    text = chat.show_stats();
  } else {
    throw Error(ErrorKind::usage,
                fmt::format("/show wants model, params, prompt, context or stats, found {}",
                            subject.empty() ? "nothing" : fmt::format("'{}'", printable(subject, 40))));
  }
  chat.front_.command_output(fmt::format("show {}", subject), text);
}

const Command kTable[] = {
    {"/help", "/?", "[COMMAND|keys]", "what there is to type", "keys %commands", false, help},
    {"/new", "/clear", "", "begin a new conversation; the old one stays stored", "", true,
     [](ChatCore& chat, std::string_view) { chat.new_conversation(); }},
    {"/open", "", "[ID]", "go on with a stored conversation, or pick one", "%ids", true,
     [](ChatCore& chat, std::string_view arguments) {
       if (arguments.empty()) return chat.choose_conversation();
       chat.open_conversation(conversation_id(arguments));
     },
     "Without ID, a list to pick from: type to narrow it. ^O does the same."},
    {"/list", "", "[all|deleted]", "the stored conversations, the latest first", "all deleted", false,
     [](ChatCore& chat, std::string_view arguments) {
       if (!arguments.empty() && arguments != "all" && arguments != "deleted") {
         throw Error(ErrorKind::usage, fmt::format("/list wants all, deleted or nothing, found '{}'",
                                                   printable(arguments, 40)));
       }
       chat.front_.command_output(
           "list", arguments == "deleted" ? chat.trash_text() : chat.list_text(!arguments.empty()));
     },
     "With all, archived ones too; with deleted, the trash."},
    {"/search", "", "TEXT", "find words in everything that was said", "", false,
     [](ChatCore& chat, std::string_view arguments) {
       chat.front_.marked_output("search", chat.search_text(arguments));
     },
     "Every word must be there; the last may be the beginning of one. Where no words match, parts of words "
     "do."},
    {"/title", "", "[TEXT]", "show or change the conversation's title", "", false,
     [](ChatCore& chat, std::string_view arguments) {
       if (!arguments.empty()) chat.set_title(arguments);
       chat.front_.command_output("title", one_line(chat.status_.title));
     }},
    {"/archive", "", "[ID|off [ID]]", "put a conversation away; off takes it back", "off %ids | %ids", true,
     [](ChatCore& chat, std::string_view arguments) {
       const auto [word, rest] = split(arguments);
       const bool archived = word != "off";
       const std::string_view id = archived ? arguments : rest;
       std::optional<int64_t> which;
       if (!id.empty()) which = conversation_id(id);
       chat.archive(which, archived);
     },
     "/list leaves it out, /list all and /search do not. Without ID, this conversation."},
    {"/delete", "", "[ID] [now]", "delete a conversation; /undelete brings it back", "now %ids | now", true,
     [](ChatCore& chat, std::string_view arguments) {
       auto [first, second] = split(arguments);
       if (first == "now") std::swap(first, second);
       if (!second.empty() && second != "now") {
         throw Error(ErrorKind::usage,
                     fmt::format("/delete wants a conversation's number, now, or both, found '{}'",
                                 printable(arguments, 40)));
       }
       std::optional<int64_t> id;
       if (!first.empty()) id = conversation_id(first);
       chat.delete_conversation(id, !second.empty());
     },
     "Without ID, this one. It lies in the trash for 30 days; with now it is gone at once, and no word of it "
     "stays in the database."},
    {"/undelete", "", "[ID]", "bring a conversation back from the trash", "%deleted", true,
     [](ChatCore& chat, std::string_view arguments) {
       std::optional<int64_t> id;
       if (!arguments.empty()) id = conversation_id(arguments);
       chat.undelete_conversation(id);
     },
     "Without ID, the one deleted last; /list deleted shows them."},
    {"/regen", "/retry", "", "another answer to the last turn", "", true,
     [](ChatCore& chat, std::string_view) { chat.regenerate(); },
     "The old one stays stored as its sibling: 2/2 stands under the new one, and /goto moves between them."},
    {"/undo", "", "", "step back one turn; /redo brings it back", "", true,
     [](ChatCore& chat, std::string_view) { chat.undo(); }},
    {"/redo", "", "", "bring back what /undo took away", "", true,
     [](ChatCore& chat, std::string_view) { chat.redo(); }},
    {"/edit", "", "[TEXT]", "rewrite your last turn", "", true,
     [](ChatCore& chat, std::string_view arguments) { chat.edit(arguments); },
     "TEXT takes its place and is sent; without TEXT the turn goes back to the input line. The old turn and "
     "what followed stay stored. /goto N first for an earlier turn."},
    {"/continue", "", "", "go on with the last answer where it stopped", "", true,
     [](ChatCore& chat, std::string_view) { chat.continue_answer(); }},
    {"/fork", "", "[N]", "begin a new branch, here or at message N", "", true,
     [](ChatCore& chat, std::string_view arguments) {
       std::optional<int64_t> number;
       if (!arguments.empty()) number = message_number(arguments);
       chat.fork(number);
     },
     "What is shown now stays as a branch of its own: /branches lists it, and /goto goes back to it."},
    {"/branches", "", "", "the branches of this conversation", "", false,
     [](ChatCore& chat, std::string_view) { chat.front_.command_output("branches", chat.branches_text()); },
     "Each with the number of its last message, the last turn and answer, and where it leaves the branch "
     "that is shown."},
    {"/goto", "", "[N]", "go to message N; without N, the numbers", "", true,
     [](ChatCore& chat, std::string_view arguments) {
       if (!arguments.empty()) return chat.go_to(message_number(arguments));
       chat.front_.command_output("goto", chat.numbers_text());
     },
     "N may be in any branch; a turn of yours is shown with its newest answer. What follows stays stored."},
    {"/set", "", "[NAME [VALUE]]", "show or change how answers are chosen", "%settings", false, set},
    {"/seed", "", "[N|random]", "show or change the seed", "random", false, seed},
    {"/reset", "", "", "all settings as they were at the start", "", false, reset},
    {"/system", "", "[TEXT|@FILE|none]", "show or change the system prompt", "none %@files", true,
     system_prompt},
    {"/show", "", "WHAT", "model, params, prompt, context or stats", "model params prompt context stats",
     false, show},
    {"/tokens", "", "[FROM]", "how likely each token of the last answer was", "", true,
     [](ChatCore& chat, std::string_view arguments) {
       chat.show_tokens(arguments.empty() ? 1 : token_number(arguments));
     },
     "From token FROM on. The probabilities are those of the model, before temperature and the other "
     "settings."},
    {"/alt", "", "[N [K]]", "what else was likely in the last answer", "", true,
     [](ChatCore& chat, std::string_view arguments) {
       const auto [token, candidate] = split(arguments);
       if (token.empty()) return chat.show_alternatives();
       if (candidate.empty()) return chat.show_alternatives(token_number(token));
       chat.go_on_from(token_number(token), token_number(candidate));
     },
     "/alt lists the tokens that were not certain, /alt N the candidates for token N, and /alt N K goes on "
     "from candidate K there, as another answer."},
    {"/read", "", "[FILE|none]", "put a text file into your next turn", "none %files", false,
     [](ChatCore& chat, std::string_view arguments) {
       if (arguments.empty()) return chat.front_.command_output("read", chat.read_text());
       if (arguments == "none") return chat.forget_files();
       chat.read_file(unquoted(arguments));
     },
     "Without FILE, what is in it; none takes everything out again. The file must be UTF-8 text and fit the "
     "context."},
    {"/compact", "", "", "sum up the older turns to make room", "", true,
     [](ChatCore& chat, std::string_view) { chat.compact(); },
     "The model writes the summary. It becomes a new branch, with the last turns word for word; the old "
     "branch stays, and /goto goes back to it."},
    {"/private", "", "[on|off]", "store nothing from here on; off stores again", "on off", true,
     [](ChatCore& chat, std::string_view arguments) {
       if (!arguments.empty() && arguments != "on" && arguments != "off") {
         throw Error(ErrorKind::usage,
                     fmt::format("/private wants on or off, found '{}'", printable(arguments, 40)));
       }
       chat.go_private(arguments != "off");
     },
     "What was said before stays stored. Input history is not kept either."},
    {"/reopen", "", "[DEVICE]", "open the model again, here or on another device", "cpu", true,
     [](ChatCore& chat, std::string_view arguments) { chat.reopen(std::string(arguments)); },
     "DEVICE is a number, a part of a name or cpu, as for --device. The conversation goes on there."},
    {"/export", "", "FORMAT [FILE]", "write this conversation to a file, or show it",
     "md json openai | %files", true,
     [](ChatCore& chat, std::string_view arguments) {
       const auto [format, file] = split(arguments);
       chat.export_chat(format, file_to_write(file));
     },
     "md is Markdown for people, json has everything, openai the messages alone. The file must be new, or "
     "its name end with a !, which overwrites it."},
    {"/import", "", "FILE", "store the conversations of a file and go on with it", "%files", true,
     [](ChatCore& chat, std::string_view arguments) { chat.import_chats(unquoted(arguments)); },
     "It may be what /export wrote, or ShareGPT."},
    {"/record", "", "FILE|off", "record what the terminal shows; off ends it", "off %files", false,
     [](ChatCore& chat, std::string_view arguments) {
       if (arguments.empty()) throw Error(ErrorKind::usage, "/record wants a file, or off");
       chat.record(arguments == "off" ? NamedFile() : file_to_write(arguments));
     },
     "The file is an asciicast (v3), which asciinema plays. FILE! overwrites one that is there, and records "
     "in private."},
    {"/replay", "", "[ID] [SPEED]", "show a conversation again as its answers came", "instant %ids | instant",
     true,
     [](ChatCore& chat, std::string_view arguments) {
       auto [first, second] = split(arguments);
       if (first == "instant") std::swap(first, second);
       std::optional<int64_t> id;
       if (!first.empty()) id = conversation_id(first);
       chat.replay(id, replay_speed(second));
     },
     "Without ID this one. SPEED 2 is twice as fast as it was, and instant all at once; Esc ends it, and the "
     "conversation goes on there."},
    {"/copy", "", "[N|answer]", "copy a code block or the answer", "answer", false,
     [](ChatCore& chat, std::string_view arguments) { chat.copy(arguments); },
     "N is the number at the code block. Without it, the last code block; where there is none, or with "
     "'answer', the whole last answer. It goes to the terminal's clipboard (OSC 52) and to wl-copy, xclip, "
     "xsel or pbcopy."},
    {"/quit", "/bye /exit", "", "end the program", "", false,
     [](ChatCore& chat, std::string_view) {
       chat.interrupt();
       chat.quit_ = chat.may_quit();
     }},
};

bool has_alias(const Command& command, std::string_view name) {
  std::istringstream aliases{command.aliases};
  std::string alias;
  while (aliases >> alias) {
    if (alias == name) return true;
  }
  return false;
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
    if (words.size() == kMostFiles) break;
  }
  std::sort(words.begin(), words.end());
}

// `what` is a part of Command::completion.
std::vector<std::string> completions(ChatCore& chat, std::string_view what, std::string_view begun) {
  std::vector<std::string> words;
  std::istringstream list{std::string(what)};
  std::string word;
  while (list >> word) {
    if (word == "%settings") {
      for (const Setting& setting : settings_table()) words.emplace_back(setting.name);
    } else if (word == "%commands") {
      for (const Command& other : command_table()) words.emplace_back(other.name + 1);
    } else if (word == "%ids") {
      for (const StoredConversation& row : chat.database().conversations(kMostConversations))
        words.push_back(std::to_string(row.id));
    } else if (word == "%deleted") {
      for (const StoredConversation& row : chat.database().trash()) words.push_back(std::to_string(row.id));
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

std::span<const Command> command_table() { return kTable; }

const Command* find_command(std::string_view name) {
  for (const Command& command : kTable) {
    if (name == command.name || has_alias(command, name)) return &command;
  }
  return nullptr;
}

std::string nearest_command(std::string_view name) {
  std::vector<std::string> names;
  for (const Command& command : kTable) names.emplace_back(command.name);
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); });
  return nearest(lower, names);
}

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

const Command& checked_command(const ChatCore& chat, std::string_view line) {
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
  if (command->needs_idle && chat.busy()) {
    throw Error(ErrorKind::usage, fmt::format("{} has to wait: an answer is being made", command->name));
  }
  return *command;
}

std::string_view arguments_of(std::string_view line) { return split(line).second; }

std::vector<std::string> complete_command(ChatCore& chat, std::string_view line) {
  std::vector<std::string> lines;
  if (!line.starts_with('/') || line.starts_with("//")) return lines;
  const size_t space = line.find(' ');
  if (space == std::string_view::npos) {
    for (const Command& command : kTable) {
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
    for (const std::string& word : completions(chat, what, begun)) {
      if (word.starts_with(begun)) lines.push_back(fmt::format("{}{}", line.substr(0, begin), word));
    }
  } catch (const Error&) {
    // A database that cannot be read completes nothing.
  }
  return lines;
}

}  // namespace bitnet
