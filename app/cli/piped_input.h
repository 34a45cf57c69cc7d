// What another program writes to standard input beside a question of the command line.
//
// Thread rule: free function; before the loop runs.
#pragma once

#include <functional>
#include <string>

namespace bitnet {

// All of standard input where that is a pipe, a socket or a file; empty for everything else (a terminal,
// /dev/null, closed), as it is for a pipe that holds nothing. Line ends at its end are left out. `waiting` is
// called once where nothing came for a while: whoever forgot to close the pipe would wait for ever. Throws
// Error(usage) for more than 16 MiB.
std::string piped_text(const std::function<void()>& waiting);

}  // namespace bitnet
