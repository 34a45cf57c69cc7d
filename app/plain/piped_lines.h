// Lines that another program writes to standard input; a line of three quotes opens and closes a turn of
// several.
//
// Thread rule: lives on the loop's thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace bitnet {

class PipedLines {
 public:
  // Reads what standard input has now; blocks if that is nothing.
  void read_some();
  // Returns the next whole line or block, or nothing. Throws Error(usage) where a block is never closed or a
  // turn is longer than kMostNamedBytes (text_file.h).
  std::optional<std::string> next();
  bool ended() const { return ended_; }  // true at the end of standard input

 private:
  std::optional<std::string> next_line();

  std::string bytes_;
  size_t scanned_ = 0;  // so many of bytes_ hold no line end
  std::optional<std::string> block_;
  bool first_of_block_ = false;
  bool ended_ = false;
};

}  // namespace bitnet
