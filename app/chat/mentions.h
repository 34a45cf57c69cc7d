// The files that a message names: @notes.txt, or @"my notes.txt" where the name has a space. The @ stands
// behind white space or an opening bracket.
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

// A word with an @ that no file goes along for.
struct WithoutFile {
  enum class Why { missing, folder, no_regular_file };
  std::string word;  // as it stands in the text
  Why why = Why::missing;
  bool operator==(const WithoutFile&) const = default;
};

// The words of `text` that name a file that is there, from left to right. Other words with an @ are text.
std::vector<Mention> mentions_in(std::string_view text);

// The words with an @ that were meant for a file, as it seems, although none is there: those that name
// something else, those in quotes, and those with a slash or with an ending such as .txt; with `any`, all of
// them. Names of people, addresses and code are mostly none.
std::vector<WithoutFile> without_file(std::string_view text, bool any = false);

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
