// What each key does: one table of actions, and the keys that a person's file binds to them.
//
// Thread rule: values; no sharing between threads.
//
// The table drives the decoder, F1's help, the keys file and the tests. In the file each line is
//
//     C-t = complete        # what C-t does; C- is Ctrl, M- is Alt, S- is Shift
//     C-f = editor          # handed to the line editor, which has its own idea of it
//     F5 = none             # does nothing
//
// with a key as bytes_of_key() knows it (key_decoder.h) and the name of an action.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bitnet {

enum class Key {
  text,       // for the line editor
  none,       // does nothing
  enter,      // ^M
  newline,    // ^J, Alt-Enter, Shift-Enter where the terminal tells
  escape,     // Esc alone
  interrupt,  // ^C
  eof,        // ^D
  find,       // ^F
  open,       // ^O
  redraw,     // ^L
  suspend,    // ^Z
  page_up,
  page_down,
  to_start,   // ^Home
  to_end,     // ^End
  line_up,    // ^Up
  line_down,  // ^Down
  up,
  down,
  help,   // F1
  paste,  // bracketed; bytes is what was pasted
};

struct Action {
  Key key;           // Key::text: the line editor does it, given `bytes`
  const char* name;  // in the keys file
  const char* keys;  // bound at first, with ", " between
  const char* bytes;
  const char* help;
};

std::span<const Action> action_table();

class Keymap {
 public:
  Keymap();  // as the table has it

  struct Binding {
    Key key;
    std::string bytes;  // for the editor; empty: those that came
  };
  // What the bytes of one key do; nullptr: they are the line editor's.
  const Binding* find(std::string_view bytes) const;

  // Reads a keys file. Throws Error(usage) for the first line that is wrong, with `file` and its number; the
  // lines before it hold.
  void read(std::string_view text, std::string_view file);

  // The first two keys that do it, as people write them ("Alt-Enter, ^J"); empty: none.
  std::string keys_of(const Action& action) const;

 private:
  void bind(const std::string& key, const Binding& binding, const Action* action);

  std::map<std::string, Binding, std::less<>> bindings_;     // by bytes
  std::vector<std::pair<std::string, const Action*>> keys_;  // in the order of the table, then of the file
};

}  // namespace bitnet
