// The one error type of the program, and how bytes that somebody else chose are printed.
//
// Thread rule: free functions and values; safe anywhere.
//
// An Error is thrown at a room's border and caught in one place (app/main.cpp, or the chat for what a
// conversation survives). Its message is for the person at the terminal: it names the file, field or
// tensor, what was wanted and what was found, and, where there is one, the way out.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace bitnet {

enum class ErrorKind {
  runtime,
  usage,
  mismatch,  // an expectation of a script or a replay did not hold
  model,     // the model file cannot be loaded
  device,    // no usable device, or the device was lost
  database,
};

class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

// `bytes` as one printable line of UTF-8: control characters, bidirectional overrides, tag characters
// and invalid UTF-8 are written as <U+XXXX> or <0xXX>; at most `max_bytes` of input, then "...".
std::string printable(std::string_view bytes, size_t max_bytes = 120);

}  // namespace bitnet
