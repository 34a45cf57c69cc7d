// The files that a message names: @notes.txt, or @"my notes.txt" where the name has a space.
//
// Thread rule: free functions; any thread. They look whether a file is there.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace bitnet {

struct Mention {
  size_t begin;  // of the @
  size_t end;    // behind the path, and behind the quote that closes it
  std::string path;
};

// The words of `text` that name a file that is there, from left to right. Other words with an @ are text.
std::vector<Mention> mentions_in(std::string_view text);

// The word at the end of `text` that may become the name of a file; begin is text.size() where there is none.
struct BegunMention {
  size_t begin;
  char quote = '\0';      // that the person has typed
  std::string_view path;  // so far
};
BegunMention begun_mention(std::string_view text);

// Returns the word that names this path, in quotes where it needs them or where `quote` is one. With `open`,
// the path goes on, so the closing quote is left out. Returns nothing for a path that no word can name.
std::string mention_of(std::string_view path, char quote, bool open);

}  // namespace bitnet
