// What the chat tells whoever shows it: the screen, the plain lines, a script's JSON.
//
// Thread rule: every call comes on the loop's thread (see event_loop.h), and none may block.
//
// Text given here is what the model or the user wrote, byte for byte UTF-8: a front end that writes to a
// terminal makes it harmless first (text_safe.h). A front end keeps its own view state and asks for nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/base/counted.h"
#include "app/base/output_file.h"
#include "app/store/message.h"
#include "engine/error.h"

namespace bitnet {

struct ShownMessage {
  int64_t id = 0;  // of the store
  Role role = Role::user;
  std::string text;  // of an answer: without what the model thought
  // "stop", "length", "interrupted", ... of a finished answer; "elsewhere" of one that another program is
  // writing; empty otherwise.
  std::string finish;
  int64_t number = 0;  // in its conversation, from 1, as /goto takes it; 0 = not known
  // It is the sibling-th of siblings that follow the same message: another answer (/regen), a turn rewritten
  // (/edit). Front ends show "2/3" where there is more than one.
  uint32_t sibling = 1;
  uint32_t siblings = 1;
  std::string thought;          // what the model thought before it answered
  uint32_t thought_tokens = 0;  // 0: none, or not known
  bool thinks = false;          // the thought has not ended, and the answer is not begun
};
// Takes an answer's thought out of its text.
void split_thought(ShownMessage& answer);
// "2/3", or "" where there is but one.
inline std::string sibling_mark(const ShownMessage& message) {
  if (message.siblings < 2) return {};
  return std::to_string(message.sibling) + "/" + std::to_string(message.siblings);
}

enum class ChatState { loading, idle, prefill, answering, failed };
const char* name_of(ChatState state);

// A file that /read put into the next turn.
struct PendingFile {
  std::string name;
  size_t bytes = 0;
  size_t tokens = 0;  // 0: not known, the model loads
  bool operator==(const PendingFile&) const = default;
};
// "notes.txt, 17 tokens".
inline std::string text_of(const PendingFile& file) {
  return file.name + ", " + (file.tokens > 0 ? counted(file.tokens, "token") : counted(file.bytes, "byte"));
}

// All that the status line shows. It is sent whole whenever something in it changes.
struct Status {
  ChatState state = ChatState::loading;
  std::string model;
  std::string device;
  std::string title;             // of the conversation
  int64_t conversation = 0;      // its id in the store; 0 = none yet
  double progress = 0;           // 0..1 of loading or prefill
  double tokens_per_second = 0;  // of the running or last answer
  uint64_t streamed = 0;         // bytes that a token reads from host memory or the file; 0: none
  uint32_t context_used = 0;
  uint32_t context_limit = 0;
  uint32_t reused = 0;               // tokens of the last prompt that the KV cache already held
  uint32_t prompt_tokens = 0;        // tokens of the last prompt
  bool thinks = false;               // the running answer is still being thought about
  uint32_t thought_tokens = 0;       // of the running or last answer
  uint32_t drafted = 0;              // tokens of the last answer that were guessed and tried
  uint32_t right = 0;                // of these, that came
  bool full = false;                 // the person wants all figures, not only those that everybody needs
  bool saved = true;                 // false: it is private, or the database cannot be written
  std::vector<PendingFile> pending;  // they go before the next turn and are shown beside the input
  std::vector<std::string> queued;   // what was sent meanwhile and waits its turn, as it was typed
  int64_t elsewhere = 0;             // the conversation whose answer is being made out of sight; 0 = none
  bool waits = false;                // the turn that is shown waits for that answer
  std::string fetching;              // the model that is being pulled, by its name; empty: none is
  double fetched = 0;                // 0..1 of it; 0: not known
  uint64_t fetched_bytes = 0;
  double fetch_rate = 0;          // bytes a second; 0: not known
  bool fetch_is_checked = false;  // all of it came, and its checksum is computed
  bool is_private = false;        // --private or /private: the person wants nothing kept
  bool keeps_history = true;      // of what is typed; false where it is private, or where a /private waits
};

// The counts and times of one finished answer.
struct Usage {
  uint32_t prompt_tokens = 0;
  uint32_t reused_tokens = 0;
  uint32_t answer_tokens = 0;  // with those of the thought
  double prefill_seconds = 0;
  double decode_seconds = 0;
};

constexpr char kMarkOn = '\x02';
constexpr char kMarkOff = '\x03';

// A list from which a person picks.
struct Choice {
  int64_t id;
  std::string text;
  std::string detail;  // quieter, at the right
};
struct ChoiceKey {
  char key;          // a letter
  const char* does;  // "writes it"
  std::function<void(int64_t id)> chosen;
};
struct Choices {
  std::string title;
  const char* enter = "opens";                                       // what Enter does with one of them
  std::function<std::vector<Choice>(std::string_view filter)> find;  // what to show for what was typed so far
  std::function<void(int64_t id)> chosen;
  // Where there are some, letters do not narrow the list: j and k move, digits go to that id, and these keys
  // choose too. The last one is selected at first.
  std::vector<ChoiceKey> keys = {};
};

// A row of the menu that opens while a person types.
struct MenuEntry {
  std::string label;
  std::string help;
  std::string line;       // the input line as it is once this is chosen
  bool is_whole = false;  // it can be sent as it is then
};

class FrontEnd {
 public:
  virtual ~FrontEnd() = default;

  // The transcript is now exactly these messages: at the start, and after /new, /open, /undo or /regen.
  virtual void transcript(const std::vector<ShownMessage>& messages) = 0;
  // One message was added at the end. An answer begins as an empty assistant message.
  virtual void message(const ShownMessage& message) = 0;
  // The last message, an answer, grew by this text (whole characters); `token_id` is what it came with,
  // or -1 where it had been held back, as the beginning of a character or of a stop text, and no token came.
  virtual void answer_text(std::string_view text, int32_t token_id, float logprob) = 0;
  // The same for what the model thinks before it answers.
  virtual void thought_text(std::string_view text, int32_t token_id, float logprob) = 0;
  virtual void answer_end(const ShownMessage& answer, const Usage& usage) = 0;
  // This is the outcome of a command (`command` has no slash), which may be many lines.
  virtual void command_output(std::string_view command, std::string_view text) = 0;
  // The same, with words that are to stand out between kMarkOn and kMarkOff, as the hits of /search are; a
  // front end shows them bold if it can.
  virtual void marked_output(std::string_view command, std::string_view text) {
    std::string plain(text);
    for (char& c : plain) c = c == kMarkOn ? '[' : c == kMarkOff ? ']' : c;
    command_output(command, plain);
  }
  virtual void notice(std::string_view text) = 0;
  // A notice without which an answer could be misunderstood: it is shown where others are not.
  virtual void warning(std::string_view text) { notice(text); }
  virtual void error(std::string_view text) = 0;
  virtual void status(const Status& status) = 0;
  // This text goes to the input line, as it is to be typed: what was not taken (busy, it does not fit the
  // context, a slip of a command), or a turn to rewrite (/edit).
  virtual void return_input(std::string_view text) { (void)text; }
  // Records what the terminal shows from here on (cast.h), in place of a recording that runs; an empty file
  // ends it. Throws Error(usage) where nothing is shown, Error(runtime) where the file cannot be written.
  virtual void record(const std::string& file, const WriteRules& rules) {
    (void)file;
    (void)rules;
    throw Error(ErrorKind::usage, "there is no screen to record here");
  }
  virtual bool recording() const { return false; }
  virtual void end_recording(int exit_code) { (void)exit_code; }
  // Copies this text to the person's clipboard, but for the characters that the transcript shows a sign for
  // (without_controls): who pastes it would not see them. Returns false where there is no clipboard.
  virtual bool copy(std::string_view text) {
    (void)text;
    return false;
  }
  // Describes the keys that do something here, a line for each; empty where there are none.
  virtual std::string keys_text() const { return {}; }
  // Lets the person choose; the choice comes later. Returns false where that cannot be done.
  virtual bool choose(Choices choices) {
    (void)choices;
    return false;
  }
};

}  // namespace bitnet
