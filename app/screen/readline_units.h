// readline's commands that move or delete by a character or a word, by units (text_units.h) instead.
//
// Thread rule: the loop's thread, as everything of readline.
#pragma once

namespace bitnet {

// Puts them on every key that has readline's, the keys of the person's inputrc too. Requires rl_initialize().
void use_unit_commands();

// In vi's command mode the cursor stands on a unit, never inside one, wherever a command left it.
void keep_cursor_on_unit();

}  // namespace bitnet
