#include "replies.h"

#include <fmt/format.h>

#include <random>

#include "api_error.h"
#include "app/base/clock.h"

namespace bitnet {
namespace {

using json = nlohmann::ordered_json;

std::string dump(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

std::string event_of(const json& value) { return "data: " + dump(value) + "\n\n"; }

std::string new_id(AnswerKind kind) {
  std::random_device device;
  return fmt::format("{}-{:08x}{:08x}{:08x}", kind == AnswerKind::chat ? "chatcmpl" : "cmpl", device(),
                     device(), device());
}

json described(const ServedModel& model) {
  return {{"id", model.name},
          {"object", "model"},
          {"created", model.since},
          {"owned_by", "bitnet-chat"},
          {"context_length", model.n_ctx}};
}

// A token whose bytes are no text is named by them, as OpenAI does.
std::string token_name(std::string text) {
  try {
    json(text).dump();
    return text;
  } catch (const json::exception&) {
    std::string name = "bytes:";
    for (const char byte : text) name += fmt::format("\\x{:02x}", static_cast<uint8_t>(byte));
    return name;
  }
}

json usage_of(const TokenCounts& usage) {
  return {{"prompt_tokens", usage.prompt},
          {"completion_tokens", usage.answer},
          {"total_tokens", usage.prompt + usage.answer},
          {"prompt_tokens_details", {{"cached_tokens", usage.reused}}}};
}

}  // namespace

json bytes_of(std::string_view text) {
  json bytes = json::array();
  for (const char byte : text) bytes.push_back(static_cast<uint8_t>(byte));
  return bytes;
}

std::string to_json(const ApiError& error) {
  const char* type = error.status == 401   ? "authentication_error"
                     : error.status >= 500 ? "server_error"
                                           : "invalid_request_error";
  return dump({{"error",
                {{"message", error.message},
                 {"type", type},
                 {"param", error.param.empty() ? json() : json(error.param)},
                 {"code", error.code.empty() ? json() : json(error.code)}}}}) +
         "\n";
}

std::string models_json(const ServedModel& model) {
  return dump({{"object", "list"}, {"data", json::array({described(model)})}}) + "\n";
}

std::string model_json(const ServedModel& model) { return dump(described(model)) + "\n"; }

std::string finish_reason(const std::string& reason) {
  if (reason == name_of(Finish::stop)) return "stop";
  const bool full = reason == name_of(Finish::length) || reason == name_of(Finish::context);
  return full ? "length" : "";
}

Reply::Reply(const ServedModel& model, const AnswerRequest& request)
    : model_(model), request_(request), id_(new_id(request.kind)), created_(now_milliseconds() / 1000) {}

std::string Reply::token_text(int32_t id) const {
  return std::string(model_.text->tokenizer.token_bytes(id));
}

json Reply::chat_logprobs(const std::vector<MadeToken>& tokens) const {
  const auto entry = [&](const SampledToken& token) {
    const std::string text = token_text(token.id);
    return json{{"token", text}, {"logprob", token.logprob}, {"bytes", bytes_of(text)}};
  };
  json content = json::array();
  for (const MadeToken& made : tokens) {
    json object = entry(made.token);
    object["top_logprobs"] = json::array();
    for (const SampledToken& token : made.best) object["top_logprobs"].push_back(entry(token));
    content.push_back(std::move(object));
  }
  return {{"content", content}};
}

json Reply::completion_logprobs(const std::vector<MadeToken>& tokens) const {
  json object = {{"tokens", json::array()},
                 {"token_logprobs", json::array()},
                 {"top_logprobs", json::array()},
                 {"text_offset", json::array()}};
  for (const MadeToken& made : tokens) {
    object["tokens"].push_back(token_name(token_text(made.token.id)));
    object["token_logprobs"].push_back(made.token.logprob);
    json best = json::object();
    // Several tokens may have one name; the likeliest comes first and keeps it.
    for (const SampledToken& token : made.best) best.emplace(token_name(token_text(token.id)), token.logprob);
    object["top_logprobs"].push_back(std::move(best));
    object["text_offset"].push_back(made.at);
  }
  return object;
}

json Reply::logprobs_of(const std::vector<MadeToken>& tokens) const {
  if (!request_.logprobs) return nullptr;
  return request_.kind == AnswerKind::chat ? chat_logprobs(tokens) : completion_logprobs(tokens);
}

json Reply::frame(json choice) const {
  const bool chat = request_.kind == AnswerKind::chat;
  const char* object = !chat             ? "text_completion"
                       : request_.stream ? "chat.completion.chunk"
                                         : "chat.completion";
  json frame = {{"id", id_}, {"object", object}, {"created", created_}, {"model", model_.name}};
  frame["seed"] = request_.asked.sampler.seed;  // which nobody knows where none was asked for
  frame["choices"] = choice.is_null() ? json::array() : json::array({std::move(choice)});
  if (request_.include_usage) frame["usage"] = nullptr;
  return frame;
}

void Reply::add(AnswerText::Piece piece) {
  whole_.thought += piece.thought;
  whole_.text += piece.text;
  std::move(piece.tokens.begin(), piece.tokens.end(), std::back_inserter(whole_.tokens));
}

std::string Reply::whole(const std::string& reason, const TokenCounts& usage) {
  json choice = {{"index", 0}};
  if (request_.kind == AnswerKind::chat) {
    choice["message"] = {{"role", "assistant"}, {"content", whole_.text}, {"refusal", nullptr}};
    if (!whole_.thought.empty()) choice["message"]["reasoning_content"] = whole_.thought;
  } else {
    choice["text"] = whole_.text;
  }
  choice["logprobs"] = logprobs_of(whole_.tokens);
  choice["finish_reason"] = finish_reason(reason);
  json object = frame(std::move(choice));
  object["usage"] = usage_of(usage);
  return dump(object) + "\n";
}

json Reply::delta(json content, json logprobs, json finish) const {
  json choice = {{"index", 0}};
  choice[request_.kind == AnswerKind::chat ? "delta" : "text"] = std::move(content);
  choice["logprobs"] = std::move(logprobs);
  choice["finish_reason"] = std::move(finish);
  return choice;
}

std::string Reply::first_event() {
  if (request_.kind == AnswerKind::completion) return "";
  return event_of(frame(delta({{"role", "assistant"}, {"content", ""}}, nullptr, nullptr)));
}

std::string Reply::event(const AnswerText::Piece& piece) {
  const bool tokens = request_.logprobs && !piece.tokens.empty();
  if (piece.text.empty() && piece.thought.empty() && !tokens) return "";
  json logprobs = logprobs_of(piece.tokens);
  if (request_.kind == AnswerKind::completion)
    return event_of(frame(delta(piece.text, std::move(logprobs), nullptr)));
  json content = json::object();
  if (!piece.thought.empty()) content["reasoning_content"] = piece.thought;
  if (!piece.text.empty() || piece.thought.empty()) content["content"] = piece.text;
  return event_of(frame(delta(std::move(content), std::move(logprobs), nullptr)));
}

std::string Reply::last_events(const std::string& reason, const TokenCounts& usage) {
  json empty = request_.kind == AnswerKind::chat ? json::object() : json("");
  std::string events = event_of(frame(delta(std::move(empty), nullptr, finish_reason(reason))));
  if (request_.include_usage) {
    json last = frame(nullptr);
    last["usage"] = usage_of(usage);
    events += event_of(last);
  }
  return events + "data: [DONE]\n\n";
}

std::string Reply::error_event(const std::string& error_json) {
  std::string line = error_json;
  while (line.ends_with('\n')) line.pop_back();
  return "data: " + line + "\n\n";
}

}  // namespace bitnet
