// What another program writes to standard input beside a question of the command line.
//
// Thread rule: free function; before the loop runs.
#pragma once

#include <functional>
#include <string>

namespace bitnet {

// Returns all of standard input, without the line ends at its end, if it is a pipe, a socket or a file. It is
// empty for everything else: a terminal, /dev/null, a closed descriptor. `waiting` is called once if nothing
// comes for a while, because a caller who forgot to close the pipe would wait for ever. Throws Error(usage)
// for more than 16 MiB.
std::string piped_text(const std::function<void()>& waiting);

}  // namespace bitnet
