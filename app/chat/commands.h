// The slash commands: one table that the parser, /help and completion read.
//
// A new command is a row in commands.cpp and its function in a do_*.cpp, declared in do.h.
//
// Thread rule: a constant table; its functions belong to the loop's thread.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace bitnet {

struct ChatParts;

// What a command does while something runs.
enum class Meanwhile {
  runs,    // at once, beside it
  leaves,  // at once: an answer goes on in its own conversation, out of sight
  stops,   // it stops the answer that is shown, and then runs
  waits,   // its turn comes once nothing else runs, as that of a message does
};

struct Command {
  const char* name;       // with its slash
  const char* aliases;    // separated by spaces, with slashes
  const char* arguments;  // as /help shows them; "" = takes none
  const char* help;       // one line of /help: at most 51 columns
  // First arguments, separated by spaces, and second ones after a "|"; "%settings", "%commands", "%files",
  // "%@files" (behind an @), "%personas", "%prompts", "%models", "%ids", "%archived" and "%deleted" (of
  // conversations): those names.
  const char* completion;
  Meanwhile meanwhile;
  void (*run)(ChatParts&, std::string_view arguments);  // throws Error for what the person should read
  const char* more = "";                                // sentences that /help COMMAND and the man page add
  std::optional<Meanwhile> bare = std::nullopt;         // in place of `meanwhile` where it has no arguments
};

std::span<const Command> command_table();
const Command* find_command(std::string_view name);  // exact, aliases too; nullptr where unknown

}  // namespace bitnet
