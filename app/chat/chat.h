// The chat itself: a conversation, its turns and its commands, with no terminal in it.
//
// Thread rule: a chat lives on the loop's thread. The model runs on the worker's thread (worker.h); what it
// produces arrives here through handle_events(). Nothing here waits for the model.
//
// A turn: submit() stores the user's message, renders the conversation with the chat template, encodes it and
// hands the token list to the worker; tokens come back as events, are decoded, shown and stored in batches.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/error.h"
#include "front_end.h"

namespace bitnet {

class Store;
class Worker;
struct ModelSource;   // model/model_open.h
struct ChatSettings;  // settings.h: sampler, max_tokens, stop, system prompt

class Chat {
 public:
  virtual ~Chat() = default;

  // Takes a line or a block as a person typed it: a command, or else a turn ("//" is a literal slash). What
  // could be a command with a slip in it is asked about and goes back to the input. While the model loads or
  // answers, a turn waits, and so does a command that needs the model (Status::queued).
  virtual void submit(std::string_view text) = 0;

  // Stops what runs; the answer so far is kept and marked as interrupted. What waits goes back to the input.
  // It does nothing where nothing runs, and an answer to another conversation goes on.
  virtual void interrupt() = 0;
  // The same because the program ends: a turn that waits for the model stays stored, without an answer.
  virtual void interrupt_at_end() { interrupt(); }

  // Calls interrupt() once the running answer, or else the next one, has this many tokens; exactly that many
  // are kept.
  virtual void interrupt_after(uint32_t tokens) = 0;

  // Takes what the worker has produced. Call it when wake_fd() is readable; it never blocks.
  virtual void handle_events() = 0;
  virtual int wake_fd() const = 0;

  virtual void new_conversation() = 0;
  virtual void open_conversation(int64_t id) = 0;  // Error(runtime) names an id that is not there

  // Shows the conversation and the status as they are now; a front end calls it once when it is ready.
  virtual void show_all() = 0;

  // True where this is a command, or could be one with a slip in it; otherwise it is a turn.
  virtual bool is_command(std::string_view typed) const = 0;

  virtual bool busy() const = 0;  // something runs, or a turn waits for the model
  // True where interrupt() stops something: an answer to another conversation is busy() but not this.
  virtual bool stoppable() const { return busy(); }
  // Takes the last message that waits back to the input; false where none waits.
  virtual bool take_back() { return false; }
  virtual bool loading() const = 0;  // the model is not there yet
  virtual bool quit_requested() const = 0;
  // Ends the answer that is being made, as interrupted, and saves what is to be saved. Returns a text for
  // people that says what could not be saved, or nothing. It is the last call.
  virtual std::string close() = 0;
  virtual int64_t conversation() const = 0;  // 0 = nothing stored yet
  // Says why the last command or turn failed since this was last called; nothing where none did.
  virtual std::optional<std::string> take_error() = 0;
  // Says why the model cannot be used; empty while it can.
  virtual const std::optional<Error>& failure() const = 0;
  virtual std::vector<std::string> complete(std::string_view line) = 0;  // whole lines that begin with `line`
  // The input line is this now: the files that it names are shown beside it (Status::pending).
  virtual void typing(std::string_view text) { (void)text; }
  // Takes the last file out of the next turn and returns `typed`, which is the input line, without the words
  // that name it; nothing where no file is in the next turn.
  virtual std::optional<std::string> without_last_file(std::string_view typed) {
    (void)typed;
    return {};
  }
  // What the word at the end of `line` could become.
  virtual std::vector<MenuEntry> menu(std::string_view line) {
    (void)line;
    return {};
  }
};

// The chat over a store and a model's worker. All four must live as long as it does. `models` is how /model
// opens others; without it, as the program does without options.
std::unique_ptr<Chat> make_chat(Store& store, Worker& worker, ChatSettings settings, FrontEnd& front_end);
std::unique_ptr<Chat> make_chat(Store& store, Worker& worker, ChatSettings settings, FrontEnd& front_end,
                                const ModelSource& models);

}  // namespace bitnet
