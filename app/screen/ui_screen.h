// The front end with a screen: the transcript, the status line and the input line.
//
// Thread rule: lives on the loop's thread.
//
// Events come in, change what is to be seen, and once FramePace allows a frame compose() puts it together
// from the parts of app/view and Terminal draws it. InputLine edits what is typed. ui_screen.cpp has the loop
// and the frame, ui_keys.cpp has what each key does. The constructor draws the first frame, before anything
// is loaded.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/base/event_loop.h"
#include "app/chat/front_end.h"
#include "app/script/cast.h"
#include "app/script/script.h"
#include "app/text/key_decoder.h"
#include "app/text/wheel.h"
#include "app/view/frame_pace.h"
#include "app/view/help.h"
#include "app/view/input.h"
#include "app/view/menu.h"
#include "app/view/overlay.h"
#include "app/view/status.h"
#include "app/view/transcript.h"
#include "input_line.h"
#include "terminal.h"

namespace bitnet {

class Chat;

struct ScreenOptions {
  std::string theme;  // a name from theme.h; empty: the first theme
  Keymap keymap;
  std::string state_folder;  // for `history` and `log`, made if it is missing; empty: neither is kept
  bool keep_history = true;
  bool mouse = false;         // clicks do something, and the terminal selects text only with a modifier key
  bool record_input = false;  // recordings contain what was typed, too
};

class ScreenFrontEnd : public FrontEnd, public ScriptTarget {
 public:
  // Requires screen_usable(). Throws Error(runtime).
  ScreenFrontEnd(EventLoop& loop, const ScreenOptions& options);
  ~ScreenFrontEnd() override;

  // Runs until the person leaves or the script is over. Returns the exit code: 0, or 128 + the signal that
  // ended it. `chat` must have been made with this front end. `shown` is called once the conversation is on
  // the screen. Throws Error(mismatch) if the script finds something wrong; the destructor restores the
  // terminal.
  int run(Chat& chat, ScriptDriver* script, const std::function<void()>& shown);

  void transcript(const std::vector<ShownMessage>& messages) override;
  void message(const ShownMessage& message) override;
  void answer_text(std::string_view text, int32_t token_id, float logprob) override;
  void thought_text(std::string_view text, int32_t token_id, float logprob) override;
  void answer_end(const ShownMessage& answer, const Usage& usage) override;
  void command_output(std::string_view command, std::string_view text) override;
  void notice(std::string_view text) override;
  void error(std::string_view text) override;
  void status(const Status& status) override;
  bool copy(std::string_view text) override;
  bool choose(Choices choices) override;
  void marked_output(std::string_view command, std::string_view text) override;
  void return_input(std::string_view text) override;
  void record(const std::string& file, const WriteRules& rules) override;
  bool recording() const override { return recording_ != nullptr; }
  void end_recording(int exit_code) override;
  std::string keys_text() const override { return help_keys(keys_.keymap()); }

  void type_line(std::string_view text) override;
  void press_key(std::string_view name) override;
  void resize(int columns, int rows) override;
  std::string visible_text() override;
  std::string screenshot() override { return visible_text(); }

 private:
  struct Frame {
    std::vector<Row> rows;
    int cursor_row = 0;
    int cursor_column = 0;
  };
  // What was said before run() is said again in it, after the chat has shown its conversation.
  struct EarlyWord {
    TranscriptView::Kind kind;
    std::string text;
    std::string label;
  };
  using Clock = EventLoop::Clock;

  void say(TranscriptView::Kind kind, std::string_view text, std::string_view label = {});

  std::pair<int, int> size() const;  // columns, rows
  InputRows compose_input(int columns, int most_rows);
  Frame compose();
  void draw_now();

  void read_keys();
  void decode_keys();
  void take_from_terminal(const KeyPress& key);
  void press_arrow(int direction);
  void stop_guessing();
  void press(const KeyPress& key);
  void turn_wheel(int direction);
  void click(const KeyPress& where);
  std::optional<KeyPress> press_in_overlays(const KeyPress& key);  // what is left of it
  bool unfold_thoughts();
  bool take_out_file();
  void type(std::string_view bytes);
  void press_in_input(const KeyPress& key, bool quit_was_armed);
  bool press_in_menu(const KeyPress& key);  // true: the menu has used the key
  void refill_menu();
  void press_escape();
  bool press_to_scroll(Key key);  // false: the key does not scroll
  void open_editor();
  void press_interrupt();
  void stop();
  void press_eof();
  void page(int direction);
  void hint(std::string text, std::chrono::milliseconds shown_for = std::chrono::seconds(4));
  bool may_submit(std::string_view text);
  void submit(const std::string& text);
  void send_to_chat(std::string_view line);
  void tell_history_error();
  bool stoppable() const;
  bool take_back();  // what waits, into the input line; false: nothing does
  int columns() const { return size().first; }

  // Installed before ncurses starts, so that ncurses does not install handlers of its own.
  struct Signals {
    explicit Signals(ScreenFrontEnd& front_end);
    ~Signals();
    EventLoop& loop;
  };

  struct Recording {
    CastRecorder file;
    FrameWriter frames;
  };

  EventLoop& loop_;
  Signals signals_;
  Terminal terminal_;
  InputLine input_;
  KeyDecoder keys_;
  TranscriptView transcript_;
  Status status_;
  Chat* chat_ = nullptr;

  const Theme& theme_;
  const bool record_input_;
  std::unique_ptr<Recording> recording_;
  std::vector<EarlyWord> early_;
  std::string hint_;
  uint64_t hint_timer_ = 0;
  uint64_t escape_timer_ = 0;
  uint64_t arrow_timer_ = 0;
  Clock::time_point files_stay_until_{};  // a Backspace that follows another takes no file out before
  WheelGuess wheel_;
  std::vector<std::string> candidates_;
  Menu menu_;
  OverlayStack overlays_;
  bool quit_armed_ = false;  // ^C was pressed with nothing to stop
  bool stopping_ = false;    // the answer has been interrupted, and the hint says so
  std::optional<int> exit_code_;
  std::optional<std::pair<int, int>> forced_size_;  // columns and rows that a script has set
  FramePace pace_;
};

}  // namespace bitnet
