// Takes apart what stands behind a slash command.
//
// Thread rule: free functions; any thread. The ones for numbers throw Error(usage) for what is none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace bitnet {

// The first word of `line`, and what follows it without the white space around it.
std::pair<std::string_view, std::string_view> split(std::string_view line);

int64_t conversation_number(std::string_view text);
std::optional<int64_t> optional_conversation(std::string_view text);  // nothing where `text` is empty
int64_t message_number(std::string_view text);
size_t token_number(std::string_view text);
double replay_speed(std::string_view text);  // 1 where it is empty; 0: all at once

// A file to be written, as a person names it.
struct NamedFile {
  std::string name;
  bool forced = false;  // by a ! behind it
};
// Throws what unquoted() does, and Error(usage) for a ! with no name in front.
NamedFile file_to_write(std::string_view text);
// Quotes around a file's name are no part of it. Throws Error(usage) where they are not closed, or have
// nothing between them.
std::string unquoted(std::string_view name);

}  // namespace bitnet
