// The man page.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "app/chat/commands.h"
#include "app/text/keymap.h"
#include "cli_help.h"

namespace bitnet {
namespace {

// Escapes `text` for roff, so that it prints as it is: no escapes, no hyphen in place of a minus, no request.
std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if (c == '\'') {
      out += "\\(aq";
    } else if (c == '~') {
      out += "\\(ti";
    } else if (c == '^') {
      out += "\\(ha";
    } else {
      out += c;
    }
  }
  return out.starts_with('.') ? fmt::format("\\&{}", out) : out;
}

std::string sentence(std::string text) {
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  if (!text.ends_with('.')) text += '.';
  return roff(text);
}

std::string bold(std::string_view text) { return fmt::format("\\fB{}\\fR", roff(text)); }
std::string italic(std::string_view text) { return fmt::format("\\fI{}\\fR", roff(text)); }

std::string entry(const std::string& tag, const std::string& text) {
  return fmt::format(".TP\n{}\n{}\n", tag, text);
}

std::string option_entry(const OptionRow& row) {
  const auto flags = option_flags(row);
  std::string tag;
  if (flags.front() == row.value) {
    tag = italic(row.value);
  } else {
    for (const std::string& flag : flags) tag += fmt::format("{}{}", tag.empty() ? "" : ", ", bold(flag));
    if (*row.value != '\0') tag += fmt::format(" {}", italic(row.value));
  }
  return entry(tag, sentence(option_help(row)));
}

std::string rows_of(std::span<const TextRow> rows) {
  std::string text;
  for (const TextRow& row : rows) text += entry(bold(row.name), sentence(row.help));
  return text;
}

constexpr const char* kIntroduction = R"(.SH NAME
bitnet\-chat \- chat in the terminal with ternary language models
.SH SYNOPSIS
.nf
\fBbitnet\-chat\fR [\fIMODEL\fR] [\fIOPTION\fR...]
\fBbitnet\-chat\fR [\fIMODEL\fR] \fB\-p\fR \fITEXT\fR
\fBbitnet\-chat\fR \fICOMMAND\fR [\fIARGUMENT\fR] [\fIOPTION\fR...]
.fi
.SH DESCRIPTION
Opens a chat with a language model in the terminal: a transcript that scrolls while the answer comes, with
the input line below it. Without \fIMODEL\fR the bundled model answers. If there is no terminal, the
program reads and writes plain lines. Text on standard input, or \fB\-p\fR, asks one question: the answer
goes to standard output and everything else to standard error.
.PP
Every conversation is kept in a database, unless \fB\-\-private\fR is given. In the chat, F1 shows the
keys and \fB/help\fR the commands.
)";

constexpr const char* kKeys = R"(.SH KEYS
Readline edits the input line, with its own keys and those of inputrc; the keys below come before them. A
line of the keys file is \fIKEY\fR = \fIACTION\fR, such as C\-t = find. The name of each action stands in
brackets. The action \fBeditor\fR leaves a key to readline, and \fBnone\fR takes the key away. C\- is
Ctrl, M\- is Alt, S\- is Shift.
)";

constexpr const char* kMouse = R"(.SH MOUSE
The wheel scrolls the conversation, and the terminal selects text as everywhere. It sends the wheel as arrow
keys (alternate scroll); what comes faster than a keyboard repeats a key scrolls, and leaves the input history
alone. With \fB\-\-mouse\fR a click copies a code block, and in a list a click selects and another one picks;
to select text, hold a key then.
)";

// {}: what a script begins with.
constexpr const char* kSettings = R"(.SH SETTINGS
\fB/set\fR changes these. A chat begins with the defaults below, unless the model's file (its keys
\fIgeneral.sampling.*\fR), the config file or the command line says otherwise. A script begins with
{}, whatever the model's file says. \fB/set\fR shows where each default comes from, and
\fB/reset\fR returns to it.
)";

constexpr const char* kScripts = R"(.SH SCRIPTS
\fB\-\-script\fR types and sends each line of a file, and waits for the answer before the next one. A line
of three double quotes opens and closes a block of several lines. A line that begins with # is a comment, one
that begins with @ is a verb of those below, and @@ begins a line that begins with @. A script ends with exit
status 3 where an expectation is not met or where a command or a turn fails. A pattern is PCRE2 with UTF\-8,
in which ^ and $ are the ends of a line and \e/ is a slash.
)";

constexpr const char* kServer = R"(.SH SERVER
\fBserve\fR speaks the OpenAI API: /v1/models, /v1/chat/completions and /v1/completions, and /tokenize and
/detokenize as the server of llama.cpp. A request may have the members below. What asks for something that is
not done, such as tools, is refused, unless its value asks for nothing.
)";

constexpr const char* kConfigFile = R"(.SH CONFIG FILE
Each line has the form \fIKEY\fR = \fIVALUE\fR, where a key is the long name of an option, with \- or _. A
line that begins with # is a comment. A value in double quotes keeps its spaces and may have \en, \et,
\e\(dq and \e\e. A relative path of a file begins at the folder of the config file, and \(ti/ is the home
folder. Options of the command line win over the file; a conversation that goes on keeps its own system
prompt unless one of these has another. \fBbitnet\-chat print config\fR shows every key.
)";

constexpr const char* kJson = R"(.SH JSON
What \fB\-\-json\fR prints, and each line of \fB\-\-output jsonl\fR. Behind a command stands where the object
is, as jq writes it. A key in brackets is not always there. Other keys may join these, so a reader leaves out
what it does not know. Times are milliseconds since 1970. Bytes that are not UTF\-8 become U+FFFD.
)";

constexpr const char* kExamples = R"(.SH EXAMPLES
.nf
bitnet\-chat \-p \(dqWhat is a star?\(dq
git diff | bitnet\-chat bitnet\-2b4t \-p \(dqReview this change.\(dq
bitnet\-chat \-c
bitnet\-chat \-\-script session.txt \-\-output jsonl
.fi
)";

std::string options_section() {
  std::string page = ".SH OPTIONS\n";
  for (const OptionGroup& group : option_groups()) {
    page += fmt::format(".SS {}\n", group.title);
    for (const OptionRow& row : group.rows) page += option_entry(row);
  }
  return page;
}

std::string commands_section() {
  std::string page = ".SH COMMANDS\n";
  for (const ToolRow& tool : tool_table()) {
    std::string tag = bold(tool.name);
    if (*tool.argument != '\0') tag += fmt::format(" {}", italic(tool.argument));
    page += entry(tag, sentence(tool.help));
    if (tool.options.empty()) continue;
    page += ".RS\n";
    for (const OptionRow& row : tool.options) page += option_entry(row);
    page += ".RE\n";
  }
  return page;
}

std::string chat_commands_section() {
  std::string page =
      ".SH COMMANDS IN THE CHAT\nA line that begins with // is a turn that begins with a slash.\n";
  for (const Command& command : command_table()) {
    std::string tag = bold(command.name);
    for (const std::string& alias : split_words(command.aliases)) tag += fmt::format(", {}", bold(alias));
    if (*command.arguments != '\0') tag += fmt::format(" {}", italic(command.arguments));
    std::string text = sentence(command.help);
    if (*command.more != '\0') text += fmt::format(" {}", sentence(command.more));
    page += entry(tag, text);
  }
  return page;
}

std::string keys_section() {
  std::string page = kKeys;
  for (const Action& action : action_table()) {
    page += entry(fmt::format("{} ({})", bold(action.keys), action.name), sentence(action.help));
  }
  return page;
}

std::string json_section() {
  std::string page = std::string(kJson) + ".nh\n";  // a key is not hyphenated
  const auto add = [&](const JsonRow& row) {
    const std::string tag = fmt::format("{}{}{}", row.name, *row.part == '\0' ? "" : " ", row.part);
    page += entry(bold(tag), fmt::format("{}\n.br\n{}", italic(row.keys), sentence(row.help)));
  };
  for (const JsonRow& row : json_of_commands()) add(row);
  page += ".SS Lines of \\-\\-output jsonl, by their \\(dqtype\\(dq\n";
  for (const JsonRow& row : json_events()) add(row);
  return page + ".hy\n";
}

std::string settings_section() {
  const ChatSettings defaults = interactive_settings(), in_scripts = script_settings();
  std::vector<std::string> differing;
  for (const Setting& setting : settings_table()) {
    const std::string value = setting.show(in_scripts);
    if (value != setting.show(defaults)) differing.push_back(fmt::format("{} {}", setting.name, value));
  }
  std::string page = fmt::format(kSettings, roff(fmt::format("{}", fmt::join(differing, ", "))));
  for (const Setting& setting : settings_table()) {
    page += entry(bold(setting.name), sentence(fmt::format("{}: {}. Default: {}", setting.help, setting.range,
                                                           setting.show(defaults))));
  }
  return page;
}

}  // namespace

std::string manual_page() {
  std::string page = fmt::format(
      ".\\\" Made by: bitnet-chat print man\n.TH BITNET\\-CHAT 1 \"\" \"bitnet-chat {}\" \"User Commands\"\n",
      BITNET_VERSION);
  page += kIntroduction;
  page += options_section() + commands_section() + chat_commands_section() + keys_section();
  page += kMouse + rows_of(terminals());
  page += settings_section();
  page += kConfigFile;
  page += kScripts + rows_of(script_verbs());
  page += kServer + rows_of(server_members());
  page += json_section();
  page += ".SH FILES\n" + rows_of(file_places());
  page += ".SH ENVIRONMENT\n" + rows_of(environment_variables());
  page += ".SH EXIT STATUS\n" + rows_of(exit_codes());
  return page + kExamples;
}

}  // namespace bitnet
