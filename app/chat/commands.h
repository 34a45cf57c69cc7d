// The slash commands: one table that the parser, /help and completion read.
//
// Thread rule: that of ChatCore.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bitnet {

class ChatCore;

struct Command {
  const char* name;       // with its slash
  const char* aliases;    // separated by spaces, with slashes
  const char* arguments;  // as /help shows them; "" = takes none
  const char* help;       // one line of /help: at most 51 columns
  // First arguments, separated by spaces, and second ones after a "|"; "%settings", "%commands", "%files",
  // "%@files" (behind an @), "%ids" and "%deleted" (of conversations): those names.
  const char* completion;
  bool needs_idle;                                     // refused while an answer is being made
  void (*run)(ChatCore&, std::string_view arguments);  // throws Error for what the person should read
  const char* more = "";                               // sentences that /help COMMAND and the man page add
};

std::span<const Command> command_table();
const Command* find_command(std::string_view name);  // exact, aliases too; nullptr where unknown
std::string nearest_command(std::string_view name);  // by edit distance; empty where none is near

// What was typed is a command, or could be one with a slip in it: its first word is the name of a command, or
// it looks like one and stands alone or is near one. A path is none, whatever follows it.
bool is_command(std::string_view typed);
// What a typed text that is no command sends: "//" is a literal slash.
std::string_view turn_of(std::string_view typed);
// The inverse: what is to be typed to send exactly this turn.
std::string typed_form(std::string_view turn);

// Of what is_command() takes for one. Throws Error(usage), before anything is done, where there is no such
// command (with the nearest one), where it takes no arguments or has to wait.
const Command& checked_command(const ChatCore& chat, std::string_view line);
std::string_view arguments_of(std::string_view line);
std::vector<std::string> complete_command(ChatCore& chat, std::string_view line);

}  // namespace bitnet
