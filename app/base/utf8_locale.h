// The locale of the process, in which texts are UTF-8 whatever the environment says.
//
// Thread rule: call at the start, while there is one thread.
#pragma once

namespace bitnet {

// Sets the locale of the environment or, where that does not use UTF-8, C.UTF-8 for characters. The
// environment then says so too: readline sets the locale of these variables again with each line, and an
// editor is to read what we write. Returns whether there is such a locale.
bool use_utf8_locale();

}  // namespace bitnet
