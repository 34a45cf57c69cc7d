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
  const char* help;        // one line of /help: at most 51 columns
  // First arguments, separated by spaces, and second ones after a "|"; "%settings", "%commands", "%files",
  // "%@files" (behind an @), "%ids" and "%deleted" (of conversations): those names.
  const char* completion;
  bool needs_idle;         // refused while an answer is being made
  void (*run)(ChatCore&, std::string_view arguments);  // throws Error for what the person should read
  const char* more = "";  // sentences that /help COMMAND and the man page add
};

std::span<const Command> command_table();
const Command* find_command(std::string_view name);  // exact, aliases too; nullptr where unknown
std::string nearest_command(std::string_view name);  // by edit distance; empty where none is near

// `line` begins with '/'. Throws Error(usage) for an unknown command, with the nearest one.
void run_command(ChatCore& chat, std::string_view line);
std::vector<std::string> complete_command(ChatCore& chat, std::string_view line);

}  // namespace bitnet
