// One GET over HTTP with libcurl, following redirections. The proxy variables (http_proxy, https_proxy,
// all_proxy, no_proxy) are honoured.
//
// Thread rule: free functions; one thread at a time.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace bitnet {

using HttpHeaders = std::map<std::string, std::string>;  // names in lower case

struct HttpRequest {
  std::string url;
  std::vector<std::string> headers;  // "Name: value", for every host
  std::string token;                 // sent as Bearer, and only to the scheme, host and port of token_origin
  std::string token_origin;
};

struct HttpSink {
  // Called for the last response, after redirections. Returns whether its body is wanted.
  std::function<bool(long status, const HttpHeaders&)> headers;
  std::function<void(std::string_view bytes)> body;
};

struct HttpResult {
  enum class End {
    complete,  // the response is whole, or its body was not wanted
    cut,       // the network failed: another try may succeed
    failed,    // another try would fail too
    stopped,   // keep_going returned false
  };
  End end = End::failed;
  std::string problem;  // why it was cut or failed
  long status = 0;
  HttpHeaders headers;  // of the last response
  HttpHeaders origin;   // of the first
};

// Throws what the sink throws. `keep_going` is called ten times a second. At most 10 redirections are
// followed, and none from https to http.
HttpResult http_get(const HttpRequest& request, const HttpSink& sink,
                    const std::function<bool()>& keep_going);

// Returns "https://host:port" in lower case, with the port that the scheme implies; empty if `url` is no URL.
std::string origin_of(const std::string& url);

// Reads a Retry-After header, which is a number of seconds or a date. Negative if it is neither.
double retry_after_seconds(const std::string& value);

}  // namespace bitnet
