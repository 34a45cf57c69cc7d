// Files that a person names, read within bounds.
//
// Thread rule: free functions; any thread. Nothing here waits on a named pipe or reads a device: only regular
// files are read, and /dev/null, which is an empty one.
#pragma once

#include <cstddef>
#include <string>

namespace bitnet {

// Of a prompt, a template, a script, keys, settings: what is longer is a mistake or an attack.
inline constexpr size_t kMostNamedBytes = size_t{16} << 20;

// What the shell opened and named for us, `<(command)` or /dev/stdin, is a pipe that somebody writes to: it
// can be read where the program may wait for it, before its screen is up.
enum class Pipes { refused, of_the_shell };

// The whole file, byte for byte. Throws Error(usage) that names the file and what is wrong: not there, no
// regular file, or longer than `most_bytes`.
std::string read_file(const std::string& path, size_t most_bytes = kMostNamedBytes,
                      Pipes pipes = Pipes::refused);

// The same to the end of standard input, whatever that is.
std::string read_standard_input(size_t most_bytes = kMostNamedBytes);

// The whole file as UTF-8, without a byte order mark, lines ended by \n, and nothing but text at its end.
// "~/" is the home folder. Throws as read_file does, and where it is no UTF-8 text.
std::string read_text_file(const std::string& path, size_t most_bytes);

}  // namespace bitnet
