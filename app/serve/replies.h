// The JSON that the server answers with, in the forms of the OpenAI API.
//
// Thread rule: free functions, and values that belong to one thread. Each text ends with a line end.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "answer_text.h"
#include "requests.h"

namespace bitnet {

nlohmann::ordered_json bytes_of(std::string_view text);  // as numbers

std::string models_json(const ServedModel& model);  // of GET /v1/models
std::string model_json(const ServedModel& model);   // of GET /v1/models/NAME

// "stop" or "length"; empty where the answer failed.
std::string finish_reason(const std::string& reason);

struct TokenCounts {
  size_t prompt = 0, answer = 0, reused = 0;  // tokens
};

// The frames of one answer: a JSON object, or events of a stream.
class Reply {
 public:
  Reply(const ServedModel& model, const AnswerRequest& request);  // which must outlive it

  void add(AnswerText::Piece piece);  // for whole()
  std::string whole(const std::string& reason, const TokenCounts& usage);

  // "data: {...}\n\n" each. event() gives "" for a piece in which there is nothing.
  std::string first_event();
  std::string event(const AnswerText::Piece& piece);
  std::string last_events(const std::string& reason, const TokenCounts& usage);  // with [DONE]
  static std::string error_event(const std::string& error_json);

 private:
  using json = nlohmann::ordered_json;
  json frame(json choice) const;
  json delta(json content, json logprobs, json finish) const;
  json chat_logprobs(const std::vector<MadeToken>& tokens) const;
  json completion_logprobs(const std::vector<MadeToken>& tokens) const;
  json logprobs_of(const std::vector<MadeToken>& tokens) const;
  std::string token_text(int32_t id) const;

  const ServedModel& model_;
  const AnswerRequest& request_;
  const std::string id_;
  const int64_t created_;
  AnswerText::Piece whole_;
};

}  // namespace bitnet
