// Keeps readline 8.2 from what ends a program or loses a line. Whoever edits with it goes through this.
//
// - An undo list of readline may be that of the line and of entries of its history, which free it twice.
//   Here it is the line's alone, and an entry that was changed gets its text back when the line ends. So undo
//   goes back to where an entry was gone to, and no further.
// - A search that a key like ^X ends, which begins a sequence, reads the rest by calling itself. Such a key
//   ends the search before.
// - A line that ends behind a count, as with M-1 Enter, would be taken with the next key.
// - A search may leave the cursor behind the line's end, from where some commands never return.
// - A count may be a million, and each of so many commands takes longer than the one before: it is cut.
//
// Thread rule: lives on the loop's thread; readline is global, so there is at most one LineGuard in a
// process.
#pragma once

#include <map>
#include <string>

namespace bitnet {

class LineGuard {
 public:
  // Lets readline read a key, whose first byte, or EOF, rl_getc_function gives next.
  void read_key(int first);
  // A key does this itself. Of a macro, which is several commands a key, readline shows the line behind each:
  // who shows it themselves calls this there.
  void mend_after_command();
  // Gives the entries their texts back. To be called by readline's handler of lines, and where a line is
  // dropped, before the history gets another.
  void end_line();

 private:
  void take_line_that_has_ended();

  bool taken_ = false;                  // the line that the key has ended
  std::map<int, std::string> entries_;  // those that were gone to, by their place in the history
};

}  // namespace bitnet
