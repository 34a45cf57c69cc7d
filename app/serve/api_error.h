// What a client is told instead of an answer, in the form of the OpenAI API.
//
// Thread rule: plain values; any thread.
#pragma once

#include <exception>
#include <string>

namespace bitnet {

struct ApiError : std::exception {
  ApiError(int http_status, std::string text, std::string about = "", std::string named = "")
      : status(http_status), message(std::move(text)), param(std::move(about)), code(std::move(named)) {}
  const char* what() const noexcept override { return message.c_str(); }

  int status;           // of HTTP
  std::string message;  // for people
  std::string param;    // the member of the request that is at fault; may be empty
  std::string code;     // for programs: "model_not_found"; may be empty
  std::string allow;    // of status 405: the method that the path takes
};

// {"error": {"message", "type", "param", "code"}}, with a line end.
std::string to_json(const ApiError& error);

}  // namespace bitnet
