#include "ui_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/base/exit_code.h"
#include "app/chat/chat.h"
#include "app/text/key_decoder.h"
#include "app/text/text_safe.h"
#include "engine/error.h"

namespace bitnet {
namespace {

using json = nlohmann::ordered_json;

void send(Output& output, const json& object) {
  const std::string line = object.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  // JSON escapes the C0 controls, but leaves C1 controls and other characters that a terminal obeys.
  output.write(output.is_terminal() ? make_safe(line) : line);
}

void add_thought(const ShownMessage& message, json& object) {
  if (message.thought.empty() && message.thought_tokens == 0) return;
  object["thought"] = message.thought;
  object["thought_tokens"] = message.thought_tokens;
}

json message_object(const ShownMessage& message) {
  json object = {{"id", message.id},
                 {"number", message.number},
                 {"role", name_of(message.role)},
                 {"text", message.text},
                 {"finish", message.finish},
                 {"sibling", message.sibling},
                 {"siblings", message.siblings}};
  add_thought(message, object);
  return object;
}

}  // namespace

void JsonFrontEnd::fatal(std::string_view text, int code) {
  send(output_, {{"type", "error"}, {"text", text}, {"code", code}});
}

void JsonFrontEnd::exit(int code) { send(output_, {{"type", "exit"}, {"code", code}}); }

void JsonFrontEnd::transcript(const std::vector<ShownMessage>& messages) {
  visible_.clear();
  for (const ShownMessage& message : messages) visible_ += message.text + "\n";
  if (messages.empty() && !session_sent_) return;
  json list = json::array();
  for (const ShownMessage& message : messages) list.push_back(message_object(message));
  send(output_, {{"type", "command"}, {"command", "transcript"}, {"messages", list}});
}

void JsonFrontEnd::message(const ShownMessage& message) {
  if (message.role == Role::assistant) {
    answer_ = message.id;
    return;
  }
  visible_ += message.text + "\n";
  send(output_, {{"type", "user"},
                 {"id", message.id},
                 {"number", message.number},
                 {"text", message.text},
                 {"sibling", message.sibling},
                 {"siblings", message.siblings}});
}

void JsonFrontEnd::send_token(const char* type, std::string_view text, int32_t token_id, float logprob) {
  json object = {{"type", type}, {"message", answer_}, {"id", nullptr}, {"text", text}, {"logprob", nullptr}};
  if (token_id >= 0) {
    object["id"] = token_id;
    object["logprob"] = logprob;
  }
  send(output_, object);
}

void JsonFrontEnd::answer_text(std::string_view text, int32_t token_id, float logprob) {
  visible_ += text;
  send_token("token", text, token_id, logprob);
}

void JsonFrontEnd::thought_text(std::string_view text, int32_t token_id, float logprob) {
  send_token("thought", text, token_id, logprob);
}

void JsonFrontEnd::answer_end(const ShownMessage& answer, const Usage& usage) {
  visible_ += "\n";
  exit_code_ = exit_code_of(answer.finish);
  json object = {{"type", "usage"},
                 {"conversation", conversation_ == 0 ? json(nullptr) : json(conversation_)},
                 {"message", answer.id},
                 {"number", answer.number},
                 {"text", answer.text},
                 {"finish", answer.finish},
                 {"sibling", answer.sibling},
                 {"siblings", answer.siblings},
                 {"prompt_tokens", usage.prompt_tokens},
                 {"reused_tokens", usage.reused_tokens},
                 {"answer_tokens", usage.answer_tokens},
                 {"prefill_seconds", usage.prefill_seconds},
                 {"decode_seconds", usage.decode_seconds}};
  add_thought(answer, object);
  send(output_, object);
}

void JsonFrontEnd::command_output(std::string_view command, std::string_view text) {
  visible_ += std::string(text) + "\n";
  send(output_, {{"type", "command"}, {"command", command}, {"text", text}});
}

void JsonFrontEnd::notice(std::string_view text) { command_output("notice", text); }

void JsonFrontEnd::error(std::string_view text) {
  exit_code_ = 1;
  visible_ += std::string(text) + "\n";
  // The error that ends the program is sent once, with its code.
  if (chat_ != nullptr && chat_->failure()) return;
  send(output_, {{"type", "error"}, {"text", text}});
}

void JsonFrontEnd::status(const Status& status) {
  if (status.pending != pending_) {
    pending_ = status.pending;
    json files = json::array();
    for (const PendingFile& file : pending_) {
      files.push_back({{"name", file.name},
                       {"bytes", file.bytes},
                       {"tokens", file.tokens == 0 ? json(nullptr) : json(file.tokens)}});
    }
    send(output_, {{"type", "command"}, {"command", "pending"}, {"files", files}});
  }
  const int64_t stored = status.saved ? status.conversation : 0;
  const bool known = session_sent_ && stored == conversation_;
  if (known || status.state == ChatState::loading || status.state == ChatState::failed) return;
  session_sent_ = true;
  conversation_ = stored;
  send(output_, {{"type", "session"},
                 {"conversation", stored == 0 ? json(nullptr) : json(stored)},
                 {"model", status.model},
                 {"device", status.device},
                 {"context", status.context_limit},
                 {"saved", status.saved}});
}

// A command that was not taken has a typing error, and its sender has already been told.
void JsonFrontEnd::return_input(std::string_view text) {
  if (chat_ == nullptr || !chat_->is_command(text)) command_output("input", text);
}

void JsonFrontEnd::type_line(std::string_view text) { chat_->submit(text); }

void JsonFrontEnd::press_key(std::string_view name) {
  if (bytes_of_key(name).empty()) {
    throw Error(ErrorKind::usage, fmt::format("there is no key \"{}\"", printable(name)));
  }
  if (name == "Esc" || name == "C-c") chat_->interrupt();
  if (name == "C-d") chat_->submit("/quit");
}

}  // namespace bitnet
