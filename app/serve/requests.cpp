#include "requests.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_map>

#include "api_error.h"
#include "app/base/clock.h"
#include "app/model/prompt.h"
#include "engine/error.h"
#include "engine/json_reader.h"
#include "replies.h"

namespace bitnet {
namespace {

using nlohmann::json;

constexpr size_t kMostMessages = 4096;
constexpr size_t kMostStops = 16;
constexpr size_t kMostStopBytes = 1024;
constexpr int64_t kMostChatCandidates = 20;
constexpr int64_t kMostCompletionCandidates = 20;

[[noreturn]] void refuse(const std::string& param, const std::string& why) {
  throw ApiError(400, param + ": " + why, param);
}

// What a member has, for messages; no more than a few words of it.
std::string found(const json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return fmt::format("a list of {}", value.size());
  return printable(value.dump(-1, ' ', false, json::error_handler_t::replace), 40);
}

// An object of which every member has to be asked for, or passed over, by name.
class Members {
 public:
  Members(std::string_view body, size_t most_bytes) : object_(read(body, most_bytes)) {}

  // Null, and what is not there, is nullptr.
  const json* find(const char* name) {
    known_.emplace_back(name);
    const auto at = object_.find(name);
    return at == object_.end() || at->is_null() ? nullptr : &*at;
  }
  bool flag(const char* name, bool otherwise) {
    const json* value = find(name);
    if (value == nullptr) return otherwise;
    if (!value->is_boolean()) refuse(name, "wanted true or false, found " + found(*value));
    return value->get<bool>();
  }
  std::optional<int64_t> whole(const char* name, int64_t least, int64_t most) {
    const json* value = find(name);
    if (value == nullptr) return std::nullopt;
    const bool fits = value->is_number_integer() &&
                      (!value->is_number_unsigned() || value->get<uint64_t>() <= uint64_t{INT64_MAX});
    if (!fits || value->get<int64_t>() < least || value->get<int64_t>() > most)
      refuse(name, fmt::format("wanted a whole number from {} to {}, found {}", least, most, found(*value)));
    return value->get<int64_t>();
  }
  // The seed of a sampler; -1 is none.
  std::optional<uint64_t> seed() {
    const json* value = find("seed");
    if (value == nullptr) return std::nullopt;
    if (value->is_number_unsigned()) return value->get<uint64_t>();
    if (!value->is_number_integer() || value->get<int64_t>() != -1)
      refuse("seed", fmt::format("wanted a whole number from -1 to {}, found {}", UINT64_MAX, found(*value)));
    return std::nullopt;
  }
  std::optional<float> number(const char* name, double least, double most) {
    const json* value = find(name);
    if (value == nullptr) return std::nullopt;
    const double given = value->is_number() ? value->get<double>() : NAN;
    if (!(given >= least && given <= most))
      refuse(name, fmt::format("wanted a number from {} to {}, found {}", least, most, found(*value)));
    return static_cast<float>(given);
  }
  // Refuses a member, unless its value says what happens anyway.
  void only(const char* name, const json& usual, const char* why) {
    const json* value = find(name);
    if (value != nullptr && *value != usual && !(value->empty() && value->is_structured())) refuse(name, why);
  }
  void pass_over(std::initializer_list<const char*> names) {
    known_.insert(known_.end(), names.begin(), names.end());
  }
  void refuse_others() const {
    for (const auto& [name, value] : object_.items()) {
      if (std::find(known_.begin(), known_.end(), name) == known_.end())
        throw ApiError(400, "unknown member: " + printable(name, 60), printable(name, 60),
                       "unknown_parameter");
    }
  }

 private:
  static json read(std::string_view body, size_t most_bytes) {
    json value;
    try {
      value =
          read_json(body, {.bytes = most_bytes, .depth = 16, .values = size_t{1} << 20, .names_once = true});
    } catch (const Error& error) {
      throw ApiError(400, std::string("the body is no JSON that is taken: ") + error.what());
    }
    if (!value.is_object()) throw ApiError(400, "the body: wanted a JSON object, found " + found(value));
    return value;
  }

  const json object_;
  std::vector<std::string> known_;
};

void read_sampling(Members& members, const ServedModel& model, AnswerRequest& request) {
  const ChatSettings& usual = model.settings;
  SamplerParams& sampler = request.asked.sampler;
  sampler = usual.sampler;
  sampler.temperature = members.number("temperature", 0, 100).value_or(sampler.temperature);
  sampler.top_p = members.number("top_p", 1e-6, 1).value_or(sampler.top_p);
  sampler.min_p = members.number("min_p", 0, 1).value_or(sampler.min_p);
  sampler.top_k = static_cast<uint32_t>(members.whole("top_k", 0, INT32_MAX).value_or(sampler.top_k));
  sampler.repeat_penalty = members.number("repeat_penalty", 0.01, 100).value_or(sampler.repeat_penalty);
  sampler.repeat_last =
      static_cast<uint32_t>(members.whole("repeat_last_n", 0, INT32_MAX).value_or(sampler.repeat_last));
  const std::optional<uint64_t> seed = members.seed();
  sampler.seed = seed ? *seed : usual.seed ? *usual.seed : random_seed();
  check(sampler);
  request.asked.max_tokens = usual.max_tokens;
  for (const char* name : {"max_tokens", "max_completion_tokens"}) {
    if (const auto most = members.whole(name, 1, INT32_MAX))
      request.asked.max_tokens = static_cast<uint32_t>(*most);
  }
}

void read_stops(Members& members, const ServedModel& model, AnswerRequest& request) {
  request.stop = model.settings.stop;
  const json* stop = members.find("stop");
  if (stop == nullptr) return;
  const json list = stop->is_array() ? *stop : json::array({*stop});
  if (list.size() > kMostStops)
    refuse("stop", fmt::format("wanted up to {} texts, found {}", kMostStops, list.size()));
  request.stop.clear();
  for (const json& text : list) {
    if (!text.is_string() || text.get_ref<const std::string&>().empty() ||
        text.get_ref<const std::string&>().size() > kMostStopBytes)
      refuse("stop", fmt::format("wanted texts of 1 to {} bytes, found {}", kMostStopBytes, found(text)));
    request.stop.push_back(text.get<std::string>());
  }
}

void read_streaming(Members& members, AnswerRequest& request) {
  request.stream = members.flag("stream", false);
  const json* options = members.find("stream_options");
  if (options == nullptr) return;
  if (!request.stream || !options->is_object())
    refuse("stream_options", "wanted an object, and \"stream\": true");
  for (const auto& [name, value] : options->items()) {
    if (name == "include_obfuscation" && value == false) continue;
    if (name != "include_usage" || !value.is_boolean())
      refuse("stream_options", "wanted {\"include_usage\": true or false}");
    request.include_usage = value.get<bool>();
  }
}

// What the API has and this server has not. Each may be there with the value that it does not need.
void refuse_what_is_not_done(Members& members) {
  members.only("n", 1, "only one answer a request is made");
  members.only("best_of", 1, "only one answer a request is made");
  members.only("frequency_penalty", 0, "there is no such penalty; repeat_penalty is another one");
  members.only("presence_penalty", 0, "there is no such penalty; repeat_penalty is another one");
  members.only("logit_bias", nullptr, "logits are not changed");
  members.only("tools", nullptr, "there are no tools");
  members.only("tool_choice", "none", "there are no tools");
  members.only("parallel_tool_calls", true, "there are no tools");
  members.only("functions", nullptr, "there are no functions");
  members.only("function_call", "none", "there are no functions");
  members.only("response_format", json{{"type", "text"}}, "answers are text");
  members.only("modalities", json::array({"text"}), "answers are text");
  members.only("audio", nullptr, "answers are text");
  members.only("prediction", nullptr, "predictions are not used");
  members.only("store", false, "nothing of a request is stored");
  members.only("echo", false, "the prompt is not repeated");
  members.only("suffix", "", "nothing is put in between");
  members.pass_over({"user", "metadata", "service_tier", "safety_identifier", "prompt_cache_key", "verbosity",
                     "reasoning_effort", "cache_prompt"});
}

void check_model(Members& members, const ServedModel& model) {
  const json* name = members.find("model");
  if (name == nullptr || *name == "" || *name == model.name) return;
  if (!name->is_string()) refuse("model", "wanted a text, found " + found(*name));
  throw ApiError(404,
                 fmt::format("there is no model {}; this server has {}",
                             printable(name->get_ref<const std::string&>(), 60), model.name),
                 "model", "model_not_found");
}

// A text, or a list of {"type": "text", "text"}.
std::string read_content(const json& message, const std::string& at) {
  const auto content = message.find("content");
  if (content == message.end()) refuse(at, "wanted \"content\" in it");
  if (content->is_string()) return content->get<std::string>();
  if (!content->is_array())
    refuse(at + ".content", "wanted a text or a list of texts, found " + found(*content));
  std::string text;
  for (const json& part : *content) {
    if (!part.is_object() || part.value("type", json()) != "text" || !part.contains("text") ||
        !part["text"].is_string())
      refuse(at + ".content", "wanted parts of the type text alone");
    text += part["text"].get_ref<const std::string&>();
  }
  return text;
}

// What `make` makes of a member's text. Throws ApiError that says why the model cannot have the text.
template <typename Make>
auto of_text(const char* name, const Make& make) {
  try {
    return make();
  } catch (const Error& error) {
    throw ApiError(400, fmt::format("{}: {}", name, error.what()), name);
  }
}

struct Conversation {
  std::string system;
  std::vector<PromptMessage> messages;
};

void read_message(const json& message, const std::string& at, Conversation& conversation) {
  if (!message.is_object()) refuse(at, "wanted an object, found " + found(message));
  const json role = message.value("role", json());
  if (message.contains("tool_calls") && !message["tool_calls"].empty()) refuse(at, "there are no tools");
  const auto content = message.find("content");  // null: other servers say so of an answer without a word
  const bool is_unsaid = role == "assistant" && content != message.end() && content->is_null();
  std::string text = is_unsaid ? "" : read_content(message, at);
  if (role == "system" || role == "developer") {
    if (!conversation.messages.empty()) refuse(at, "a system message after others is not taken");
    if (!conversation.system.empty()) conversation.system += "\n\n";
    conversation.system += text;
  } else if (role == "user") {
    conversation.messages.push_back({Role::user, std::move(text), {}});
  } else if (role == "assistant") {
    conversation.messages.push_back({Role::assistant, std::move(text), {}});
  } else {
    refuse(at + ".role", "wanted system, developer, user or assistant, found " + found(role));
  }
}

std::optional<bool> read_thinking(Members& members, const ServedModel& model) {
  const json* options = members.find("chat_template_kwargs");
  if (options == nullptr) return model.settings.think;
  const bool known = options->is_object() && options->size() == 1 && options->contains("enable_thinking") &&
                     (*options)["enable_thinking"].is_boolean();
  if (!known) refuse("chat_template_kwargs", "wanted {\"enable_thinking\": true or false}");
  return (*options)["enable_thinking"].get<bool>();
}

std::vector<int32_t> chat_prompt(Members& members, const ServedModel& model) {
  const json* list = members.find("messages");
  const std::optional<bool> think = read_thinking(members, model);
  if (list == nullptr || !list->is_array() || list->empty()) refuse("messages", "wanted a list of messages");
  if (list->size() > kMostMessages)
    refuse("messages", fmt::format("wanted up to {}, found {}", kMostMessages, list->size()));
  Conversation conversation;
  for (size_t i = 0; i < list->size(); ++i)
    read_message((*list)[i], fmt::format("messages[{}]", i), conversation);
  if (conversation.messages.empty() || conversation.messages.back().role != Role::user)
    refuse("messages", "the last one has to be of the user");
  if (conversation.system.empty()) conversation.system = model.settings.system;
  const int64_t now = now_milliseconds();
  return of_text("messages", [&] {
    return build_prompt(*model.text, conversation.system, conversation.messages, now / 1000 + utc_offset(now),
                        think);
  });
}

// The ids of a list, each in the vocabulary.
std::vector<int32_t> token_list(const json& list, const char* name, const Tokenizer& tokenizer) {
  std::vector<int32_t> ids;
  for (const json& id : list) {
    if (!id.is_number_integer() || id < 0 || id >= tokenizer.n_vocab())
      refuse(name, fmt::format("wanted tokens from 0 to {}, found {}", tokenizer.n_vocab() - 1, found(id)));
    ids.push_back(id.get<int32_t>());
  }
  return ids;
}

// A text as -p has it without a template, or the tokens as they are.
std::vector<int32_t> completion_prompt(Members& members, const ServedModel& model) {
  const Tokenizer& tokenizer = model.text->tokenizer;
  const json* prompt = members.find("prompt");
  if (prompt != nullptr && prompt->is_array() && prompt->size() == 1 &&
      (*prompt)[0].is_structured() == false && (*prompt)[0].is_string())
    prompt = &(*prompt)[0];
  if (prompt != nullptr && prompt->is_array()) return token_list(*prompt, "prompt", tokenizer);
  if (prompt == nullptr || !prompt->is_string()) refuse("prompt", "wanted one text or a list of tokens");
  std::vector<int32_t> ids;
  if (tokenizer.add_bos() && tokenizer.bos() >= 0) ids.push_back(tokenizer.bos());
  const Segment segment{prompt->get<std::string>(), false};
  const std::vector<int32_t> text = of_text(
      "prompt", [&] { return tokenizer.encode(std::span(&segment, 1), ids.empty() ? -1 : ids.back()); });
  ids.insert(ids.end(), text.begin(), text.end());
  return ids;
}

void read_logprobs(Members& members, AnswerRequest& request) {
  if (request.kind == AnswerKind::completion) {
    const auto candidates = members.whole("logprobs", 0, kMostCompletionCandidates);
    request.logprobs = candidates.has_value();
    request.asked.candidates = static_cast<uint32_t>(candidates.value_or(0));
    return;
  }
  request.logprobs = members.flag("logprobs", false);
  const auto candidates = members.whole("top_logprobs", 0, kMostChatCandidates);
  if (candidates && !request.logprobs) refuse("top_logprobs", "wanted \"logprobs\": true beside it");
  request.asked.candidates = static_cast<uint32_t>(candidates.value_or(0));
}

// What is no text by itself is a list of its bytes, as llama.cpp has it.
std::string piece_json(std::string_view bytes) {
  try {
    return json(bytes).dump();
  } catch (const json::exception&) {
    return bytes_of(bytes).dump();
  }
}

}  // namespace

size_t most_body_bytes(uint32_t n_ctx) {
  return std::clamp(size_t{n_ctx} * 16, size_t{1} << 20, size_t{64} << 20);
}

AnswerRequest read_answer_request(AnswerKind kind, std::string_view body, const ServedModel& model) {
  Members members(body, most_body_bytes(model.n_ctx));
  AnswerRequest request;
  request.kind = kind;
  check_model(members, model);
  refuse_what_is_not_done(members);
  read_sampling(members, model, request);
  read_stops(members, model, request);
  read_streaming(members, request);
  read_logprobs(members, request);
  request.asked.prompt =
      kind == AnswerKind::chat ? chat_prompt(members, model) : completion_prompt(members, model);
  members.refuse_others();
  const size_t n = request.asked.prompt.size();
  const char* about = kind == AnswerKind::chat ? "messages" : "prompt";
  if (n == 0) refuse(about, "it has no token");
  if (n >= model.n_ctx)
    throw ApiError(400,
                   fmt::format("{} take {} of {} tokens of context and leave no room for an answer", about, n,
                               model.n_ctx),
                   about, "context_length_exceeded");
  const auto ends = model.text->tokenizer.end_of_turn();
  request.asked.stop_tokens.assign(ends.begin(), ends.end());
  return request;
}

std::string tokenize_request(std::string_view body, const ServedModel& model) {
  const Tokenizer& tokenizer = model.text->tokenizer;
  Members members(body, most_body_bytes(model.n_ctx));
  const json* content = members.find("content");
  if (content == nullptr || !content->is_string()) refuse("content", "wanted a text");
  const bool add_special = members.flag("add_special", false);
  const bool parse_special = members.flag("parse_special", false);
  const bool with_pieces = members.flag("with_pieces", false);
  members.refuse_others();
  std::vector<int32_t> ids = of_text(
      "content", [&] { return tokenizer.encode(content->get_ref<const std::string&>(), parse_special); });
  if (add_special && tokenizer.add_bos() && tokenizer.bos() >= 0) ids.insert(ids.begin(), tokenizer.bos());
  // Values of nlohmann would take thirty times as much memory as this text. A piece is made once, because
  // finding that one is no text takes long.
  std::string reply = "{\"tokens\":[";
  std::unordered_map<int32_t, std::string> pieces;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (i != 0) reply += ',';
    if (!with_pieces) {
      reply += std::to_string(ids[i]);
      continue;
    }
    const auto [piece, is_new] = pieces.try_emplace(ids[i]);
    if (is_new) piece->second = piece_json(tokenizer.token_bytes(ids[i]));
    reply += "{\"id\":";
    reply += std::to_string(ids[i]);
    reply += ",\"piece\":";
    reply += piece->second;
    reply += '}';
  }
  reply += "]}\n";
  return reply;
}

std::string detokenize_request(std::string_view body, const ServedModel& model) {
  Members members(body, most_body_bytes(model.n_ctx));
  const json* tokens = members.find("tokens");
  if (tokens == nullptr || !tokens->is_array()) refuse("tokens", "wanted a list of tokens");
  const std::vector<int32_t> ids = token_list(*tokens, "tokens", model.text->tokenizer);
  members.refuse_others();
  const std::string text = model.text->tokenizer.decode(ids, /*show_special=*/true);
  return json{{"content", text}}.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace bitnet
