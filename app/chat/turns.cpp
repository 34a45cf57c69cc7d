// A turn of the user on its way into the conversation, and the way out of what runs.
#include <fmt/format.h>

#include <string>

#include "app/store/exchange.h"
#include "chat_parts.h"
#include "command_line.h"

namespace bitnet {

void add_user_turn(ChatParts& chat, std::string_view typed) {
  const char* why = chat.model.failure() ? "the model cannot be used; /reopen opens it again"
                    : chat.busy()        ? "an answer is still being made"
                                         : nullptr;
  if (why != nullptr) {
    chat.front_end().notice(fmt::format("Not sent: {}.", why));
    chat.front_end().return_input(typed_form(typed));
    return;
  }
  chat.quit_warned = false;
  const std::string text = chat.read_files.take_before(typed);
  chat.conversation.add_user_message(text, title_from(typed));
  if (!chat.answer.begin_or_wait()) {
    chat.front_end().notice("The model is still loading; this turn starts when it is there.");
  }
  chat.reporter.send_status();
}

void interrupt(ChatParts& chat) {
  if (chat.tasks.stop_replay()) return chat.conversation.show_all();
  if (chat.answer.waits()) return chat.answer.stop_waiting();
  chat.tasks.interrupt();
  chat.answer.interrupt();
}

}  // namespace bitnet
