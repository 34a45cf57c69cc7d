// What each key does: one table of actions, and the keys that a person's keys file binds to them.
//
// Thread rule: values; no sharing between threads.
//
// The decoder, the help of F1, the keys file and the tests all use this table. Each line of the file has the
// form
//
//     C-t = complete        # what C-t does; C- is Ctrl, M- is Alt, S- is Shift
//     C-f = editor          # handed to the line editor, which has its own idea of it
//     F5 = none             # does nothing
//
// with a key that bytes_of_key() knows (key_decoder.h) and the name of an action.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bitnet {

enum class Key {
  text,       // goes to the line editor
  none,       // does nothing
  enter,      // ^M
  newline,    // ^J, Alt-Enter, and Shift-Enter if the terminal tells it apart
  escape,     // Esc alone
  interrupt,  // ^C
  eof,        // ^D
  find,       // ^F
  open,       // ^O
  copy,       // F2
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
  thoughts,  // ^T
  help,      // F1
  paste,     // a bracketed one; KeyPress::bytes is what was pasted
  click,     // of the left button, where KeyPress says
  wheel_up,
  wheel_down,
  mouse,  // anything else that a mouse does
};

struct Action {
  Key key;           // Key::text: the line editor does it when it gets `bytes`
  const char* name;  // in the keys file
  const char* keys;  // bound by default, separated by ", "
  const char* bytes;
  const char* help;
};

std::span<const Action> action_table();

class Keymap {
 public:
  Keymap();  // with the keys of the table

  struct Binding {
    Key key;
    std::string bytes;  // what the line editor gets; empty: the bytes of the key itself
  };
  // Returns what the bytes of one key do, or nullptr if they go to the line editor.
  const Binding* find(std::string_view bytes) const;

  // Reads a keys file. Throws Error(usage) that names `file` and the first wrong line; the lines before it
  // stay in force.
  void read(std::string_view text, std::string_view file);

  // Returns the first two keys of the action as people write them ("Alt-Enter, ^J"), or nothing if it has
  // none.
  std::string keys_of(const Action& action) const;

 private:
  void bind(const std::string& key, const Binding& binding, const Action* action);

  std::map<std::string, Binding, std::less<>> bindings_;     // by bytes
  std::vector<std::pair<std::string, const Action*>> keys_;  // in the order of the table, then of the file
};

}  // namespace bitnet
