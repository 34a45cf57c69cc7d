// The bodies of requests: what the OpenAI API and llama.cpp's server call their members, and what of it is
// done here.
//
// Thread rule: free functions; any thread.
//
// A member that would change the answer and cannot be honoured is refused by its name (ApiError, status 400),
// and so is one that nobody knows. What only describes a request ("user", "metadata") is passed over.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "answering.h"
#include "app/chat/settings.h"
#include "app/model/model_file.h"

namespace bitnet {

// The model as requests see it.
struct ServedModel {
  std::shared_ptr<const ModelText> text;
  std::string name;       // as /v1/models gives it
  uint32_t n_ctx = 0;     // tokens
  ChatSettings settings;  // of answers, where a request says nothing
  int64_t since = 0;      // seconds since 1970
};

enum class AnswerKind { chat, completion };

struct AnswerRequest {
  AnswerKind kind = AnswerKind::chat;
  AskedFor asked;
  std::vector<std::string> stop;
  bool stream = false;
  bool include_usage = false;  // a last chunk with it
  bool logprobs = false;
};

AnswerRequest read_answer_request(AnswerKind kind, std::string_view body, const ServedModel& model);

// POST /tokenize and /detokenize, as llama.cpp's server has them: {"content", "add_special", "parse_special",
// "with_pieces"} and {"tokens"}. They return the body of the answer.
std::string tokenize_request(std::string_view body, const ServedModel& model);
std::string detokenize_request(std::string_view body, const ServedModel& model);

// The most bytes of a body that could fit the context, and more.
size_t most_body_bytes(uint32_t n_ctx);

}  // namespace bitnet
