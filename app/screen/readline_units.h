// Replaces readline's commands that move or delete by a character or a word with ones that go by units
// (text_units.h), and keeps its searches from what they do to undo lists.
//
// Thread rule: lives on the loop's thread, like everything of readline.
#pragma once

namespace bitnet {

// Binds our commands to every key that has one of readline's, including the keys of the person's inputrc.
// Requires rl_initialize().
void use_unit_commands();

// To be called before a line is accepted: readline 8.2 frees a list twice that an entry of the history owns
// and the line goes on with, as behind a search that has found nothing.
void leave_undo_to_history();

// In vi's command mode, moves the cursor to the start of the unit in which a command has left it.
void keep_cursor_on_unit();

}  // namespace bitnet
