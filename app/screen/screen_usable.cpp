// This is a file of its own because term.h defines macros such as `columns` and `tone`.
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "app/base/utf8_locale.h"
#include "terminal.h"

// These come last for the same reason.
#include <curses.h>
#include <term.h>

namespace bitnet {

bool screen_usable() {
  if (!use_utf8_locale()) return false;
  if (isatty(STDIN_FILENO) == 0 || isatty(STDOUT_FILENO) == 0) return false;
  const char* term = std::getenv("TERM");
  if (term == nullptr || *term == '\0' || std::string_view(term) == "dumb") return false;
  int problem = 0;
  if (setupterm(nullptr, STDOUT_FILENO, &problem) != OK) return false;
  const bool usable = cursor_address != nullptr && clear_screen != nullptr;
  del_curterm(cur_term);
  return usable;
}

}  // namespace bitnet
