// Replaces readline's commands that move or delete by a character or a word with ones that go by units
// (text_units.h).
//
// Thread rule: lives on the loop's thread, like everything of readline.
#pragma once

namespace bitnet {

// Binds our commands to every key that has one of readline's, including the keys of the person's inputrc.
// Requires rl_initialize().
void use_unit_commands();

// In vi's command mode, moves the cursor to the start of the unit in which a command has left it.
void keep_cursor_on_unit();

}  // namespace bitnet
