// The head of an HTTP request, checked before anything else looks at it: what is refused here costs the
// server no more than 16 KiB of reading.
//
// Thread rule: free functions and values; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api_error.h"

namespace bitnet {

constexpr size_t kMostHead = 16 << 10;     // bytes, with the empty line
constexpr size_t kMostHeadLine = 8 << 10;  // bytes with CR LF: httplib reads no longer ones

struct HeadRules {
  bool loopback = true;        // only this machine reaches the server, so a Host must name this machine
  std::string key;             // empty: none is asked for
  size_t most_body = 1 << 20;  // bytes
  std::string model;           // the one whose name GET /v1/models/NAME may have
};

// The paths that are served; `log_name` is what the log calls a request, whatever a client has sent.
enum class Route { models, model, chat_completions, completions, tokenize, detokenize };
const char* log_name(Route route);

struct Head {
  Route route = Route::models;
  size_t body = 0;        // bytes
  bool http_1_0 = false;  // so the client knows no chunks, and may not know that a connection can stay
  bool is_last = false;   // the client asks for the end of the connection behind the answer
};

// Reads a head up to and with its empty line. Throws ApiError: 400 for what is no HTTP/1.0 or 1.1 or could
// be read in two ways, 401 a wrong key, 403 a Host that is another machine's (DNS rebinding), 404, 405, 411,
// 413, 414, 415 a body that is not JSON (so that no web page of another origin can send one) or is
// compressed, 431 a line that is too long.
Head check_head(std::string_view head, const HeadRules& rules);

// Compares in a time that does not tell where they differ.
bool same_key(std::string_view given, std::string_view key);

}  // namespace bitnet
