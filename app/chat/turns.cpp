// A turn of the user on its way into the conversation, and the way out of what runs.
#include <fmt/format.h>

#include <string>

#include "app/store/exchange.h"
#include "chat_parts.h"
#include "command_line.h"
#include "mentions.h"

namespace bitnet {

bool can_begin_turn(const ChatParts& chat) {
  return !chat.tasks.busy() && !chat.answer.is_shown() && !chat.answer.waits() && !chat.models.wants();
}

void add_user_turn(ChatParts& chat, std::string_view turn, Unanswered unanswered) {
  if (chat.model.failure()) {
    chat.front_end().notice("Not sent: the model cannot be used; /reopen opens it again.");
    chat.front_end().return_input(typed_form(turn));
    return;
  }
  try {
    if (can_begin_turn(chat)) chat.conversation.catch_up();
    name_files(chat, turn, true);
    tell_without_file(chat, without_file(turn));
  } catch (const Error&) {
    chat.front_end().return_input(typed_form(turn));
    throw;
  }
  chat.quit_warning.clear();
  const bool comes_later = !chat.queue.empty() && !chat.from_queue;
  if (!can_begin_turn(chat) || comes_later) return chat.queue.add(typed_form(turn), true);
  begin_turn(chat, turn, chat.read_files.take(), unanswered);
}

void begin_turn(ChatParts& chat, std::string_view turn, const std::vector<AttachedFile>& files,
                Unanswered unanswered) {
  try {
    chat.conversation.add_user_message(with_files(files, turn), title_from(turn));
  } catch (const Error&) {
    chat.read_files.put_back(files);
    chat.front_end().return_input(typed_form(turn));
    throw;
  }
  if (!chat.answer.begin_or_wait(unanswered)) {
    chat.front_end().notice(chat.answer.elsewhere() == 0
                                ? "The model is still loading; this turn starts when it is there."
                                : fmt::format("Conversation {} is answered first; then comes this turn.",
                                              chat.answer.elsewhere()));
  }
  chat.reporter.send_status();
}

bool stoppable(const ChatParts& chat) {
  const bool task_runs = chat.tasks.busy() && !chat.tasks.is_quiet();
  return task_runs || chat.answer.is_shown() || chat.answer.waits();
}

void interrupt(ChatParts& chat) {
  chat.models.forget_wanted();
  if (!chat.settings.now.asks) chat.models.stop_pull();  // nobody is there who could do so
  if (chat.tasks.stop_replay()) {
    chat.conversation.show_all();
  } else if (chat.answer.waits()) {
    chat.answer.stop_waiting();
  } else {
    chat.tasks.interrupt();
    if (chat.answer.is_shown()) chat.answer.interrupt();
  }
  chat.queue.take_back_all();
}

void interrupt_at_end(ChatParts& chat) {
  chat.answer.forget_waiting();
  interrupt(chat);
}

}  // namespace bitnet
