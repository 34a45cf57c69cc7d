// Reads files that a person names, within bounds, and writes text to them.
//
// Thread rule: free functions; safe anywhere. Of files that are named they read only regular ones, and
// /dev/null as an empty one; standard input, and a pipe of the shell where that is allowed, are waited for.
// What is written goes where OutputFile lets it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace bitnet {

struct WriteRules;  // app/base/output_file.h

// The limit for a prompt, a template, a script, keys and settings. A longer file is a mistake or an attack.
inline constexpr size_t kMostNamedBytes = size_t{16} << 20;

// Whether a pipe that the shell has opened for us, `<(command)` or /dev/stdin, may be read. That is so where
// the program may wait for whoever writes to it, which is before the screen is up.
enum class Pipes { refused, of_the_shell };

// Returns the whole file, byte for byte. Throws Error(usage) that names the file and what is wrong: it does
// not exist, is not a regular file, or is longer than `most_bytes`.
std::string read_file(const std::string& path, size_t most_bytes = kMostNamedBytes,
                      Pipes pipes = Pipes::refused);

// Reads standard input, of whatever kind, to its end.
std::string read_standard_input(size_t most_bytes = kMostNamedBytes);

// Returns the whole file as UTF-8 without a byte order mark, with \n as line ends and without white space at
// the end of the text. "~/" is the home folder. Throws as read_file does, and if the file is not UTF-8 text.
std::string read_text_file(const std::string& path, size_t most_bytes);

// write_file() of text from the model or another person: a terminal gets it made safe.
void write_text_file(const std::string& path, std::string_view text, const WriteRules& rules);

}  // namespace bitnet
