// The line editor: GNU readline with the screen kept out of its hands.
//
// Thread rule: lives on the loop's thread; readline is global, so there is at most one InputLine in a
// process.
//
// readline reads what type() gives it and draws nothing; whoever shows the line asks for text(), point() and
// prompt(). Its editing commands, vi mode and the user's inputrc work as everywhere. Our own bindings: Enter
// accepts if it may, ^J breaks the line, Tab completes, ^X^E (vi: v) asks for an editor. The cursor moves by
// units (text_units.h). In readline's buffer a folded paste is a mark, one character, that no command can
// damage; pastes are kept while the program runs, as undo, ^Y and the editor bring marks back.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bitnet {

struct InputCalls {
  std::function<bool(std::string_view text)> may_submit;  // pastes unfolded; false keeps the text where it is
  std::function<void(const std::string& text)> submit;    // may throw
  std::function<std::vector<std::string>(std::string_view line)> complete;  // whole lines
};

class InputLine {
 public:
  // `history_file` empty: history is kept in memory only. What goes wrong with it is in take_history_error().
  InputLine(const std::string& history_file, InputCalls calls);
  ~InputLine();
  InputLine(const InputLine&) = delete;
  InputLine& operator=(const InputLine&) = delete;

  void type(std::string_view bytes);   // as if from the keyboard; whole escape sequences
  void insert(std::string_view text);  // at the cursor, as it is
  void paste(std::string_view bytes);  // never submits; 8 lines or 2000 bytes and more are folded
  // Puts this text where nothing is, so that Enter sends exactly it; while something is, it waits for
  // put_back(). False: it waits.
  bool give_back(std::string_view text);
  void put_back();  // what waits, once nothing is in the line
  void clear();
  void keep_history(bool on) { keeps_history_ = on; }  // in the file; off while nothing may be stored
  void replace(std::string_view text);  // all of it, as an editor left it; undo brings the former back
  // The whole text, pastes unfolded, where the person asked for an editor since the last call.
  std::optional<std::string> take_editor_request();
  // To the row above or below in a text of several lines; false where there is none.
  bool move_up();
  bool move_down();

  // What is in the line, with placeholders for folded pastes; `point` is the cursor, in bytes.
  struct Shown {
    std::string text;
    size_t point = 0;
  };
  Shown shown() const;
  bool empty() const;
  std::string prompt() const;  // not empty while readline asks for something itself, as ^R does
  bool searching() const;
  bool wants_escape() const;                   // vi mode or a search: Esc is an editing key
  std::vector<std::string> take_candidates();  // what the last Tab could not decide between
  std::string take_history_error();            // why history is not kept, once; else empty

 private:
  void accept(std::string line);
  void remember(const std::string& line);
  int complete_here();
  int accept_here(int key);
  std::string_view text() const;  // readline's
  size_t point() const;
  void insert_folded(std::string text);
  std::string expanded(std::string_view line) const;

  static InputLine* instance_;

  InputCalls calls_;
  std::string history_file_;
  bool keeps_history_ = true;
  std::string history_error_;
  std::deque<char> pending_;
  std::vector<std::string> accepted_;
  std::vector<std::string> candidates_;
  struct Paste {
    std::string placeholder;
    std::string text;
  };
  std::vector<Paste> pastes_;  // by the number of their marks
  std::deque<std::string> returned_;
  bool editor_wanted_ = false;

  friend struct ReadlineHooks;
};

}  // namespace bitnet
