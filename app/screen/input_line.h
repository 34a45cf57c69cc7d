// The line editor: GNU readline, which edits here but does not draw.
//
// Thread rule: lives on the loop's thread; readline is global, so there is at most one InputLine in a
// process.
//
// readline reads what type() gives it and draws nothing; whoever shows the line asks for shown() and
// prompt(). readline's editing commands, its vi mode and the user's inputrc work as they do everywhere. We
// bind these keys: Enter submits if may_submit allows it, ^J breaks the line, Tab completes, and ^X^E (v in
// vi mode) asks for an editor. The cursor moves by units (text_units.h). In readline's buffer a folded paste
// is a mark, a single character that no command can damage. Pastes are kept as long as the program runs,
// because undo, ^Y and the editor can bring a mark back.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/readline/line_guard.h"

namespace bitnet {

struct InputCalls {
  std::function<bool(std::string_view text)> may_submit;  // pastes unfolded; false: the text stays
  std::function<void(const std::string& text)> submit;    // may throw
  std::function<std::vector<std::string>(std::string_view line)> complete;  // whole lines
};

class InputLine {
 public:
  // With an empty `history_file` the history is kept in memory only. take_history_error() says what went
  // wrong with the file.
  InputLine(const std::string& history_file, InputCalls calls);
  ~InputLine();
  InputLine(const InputLine&) = delete;
  InputLine& operator=(const InputLine&) = delete;

  // As if from the keyboard. An escape sequence must be whole and come alone; one that nobody has bound does
  // nothing.
  void type(std::string_view bytes);
  void insert(std::string_view text);  // at the cursor, unchanged
  // Never submits; from 8 lines or 2000 bytes on it is folded. While readline searches, the first line is
  // what it is to search for.
  void paste(std::string_view bytes);
  // Puts this text into the line if the line is empty, so that Enter sends exactly this text. Otherwise the
  // text waits for put_back(), and the call returns false.
  bool give_back(std::string_view text);
  void put_back();  // puts a waiting text into the line if the line is empty
  std::string whole_text() const { return expanded(text()); }  // pastes unfolded
  // The text up to the cursor, where that stands at its end and no paste is folded in it.
  std::optional<std::string> begun() const;
  void complete_to(std::string_view line);  // in place of begun(); undo brings it back
  // Forgets what keys have begun, such as ^X, a count or a search; in vi mode what follows is inserted.
  void forget_keys();
  void clear();            // and forgets the keys
  void remember_unsent();  // the text, in the history: the program ends before the person has sent it
  void keep_history(bool on) { keeps_history_ = on; }  // in the file; off while nothing may be stored
  void replace(std::string_view text);  // with what an editor returned; undo brings the former text back
  void move_to_start();
  // The whole text with pastes unfolded, if the person has asked for an editor since the last call.
  std::optional<std::string> take_editor_request();
  // Moves the cursor to the row above or below in a text of several lines. Returns false if there is none.
  bool move_up();
  bool move_down();

  // The text of the line with placeholders for folded pastes. `point` is the cursor's place in bytes.
  struct Shown {
    std::string text;
    size_t point = 0;
  };
  Shown shown() const;
  bool empty() const;
  bool at_start() const;
  std::string prompt() const;  // not empty while readline asks for something itself, as ^R does
  bool searching() const;
  bool wants_escape() const;                   // vi mode or a search: Esc is an editing key
  bool inserts_in_vi_mode() const;             // and there is a text: Esc ends inserting, and no more
  bool eof_sends() const;                      // ^D would send the text, as in vi mode
  std::vector<std::string> take_candidates();  // of the last Tab, if there were several
  std::string take_history_error();            // says once why history is not kept; else empty

 private:
  bool search_is_full() const;  // it is given no more characters to search for
  void drop_character();        // the first of pending_
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
  LineGuard guard_;
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
  bool discards_ = false;  // what is accepted is dropped

  friend struct ReadlineHooks;
};

}  // namespace bitnet
