// A typed line as a command or as a turn: telling them apart, checking, completing.
//
// Thread rule: free functions; that of the store that they are given.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/store/store.h"
#include "commands.h"

namespace bitnet {

// What was typed is a command, or could be one with a slip in it: its first word is the name of a command, or
// it looks like one and stands alone or is near one. A path is none, whatever follows it.
bool is_command(std::string_view typed);
// What a typed text that is no command sends: "//" is a literal slash.
std::string_view turn_of(std::string_view typed);
// The inverse: what is to be typed to send exactly this turn.
std::string typed_form(std::string_view turn);

// Of what is_command() takes for one. Throws Error(usage), before anything is done, where there is no such
// command (with the nearest one), where it takes no arguments, or has to wait because the chat is busy.
const Command& checked_command(std::string_view line, bool busy);
std::string_view arguments_of(std::string_view line);
// Whole lines that begin with `line`. Numbers of conversations are those of `database`.
std::vector<std::string> complete_command(Store& database, std::string_view line);

}  // namespace bitnet
