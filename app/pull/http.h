// One GET over HTTP, with its redirections (libcurl).
//
// Thread rule: free function; one thread at a time. The proxy variables (http_proxy, https_proxy, all_proxy,
// no_proxy) are honoured.
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
  // Of the last response, after redirections. false: its body is not wanted.
  std::function<bool(long status, const HttpHeaders&)> headers;
  std::function<void(std::string_view bytes)> body;
};

struct HttpResult {
  enum class End {
    complete,  // the response is whole, or its body was not wanted
    cut,       // the network failed: may be tried again
    failed,    // will fail again
    stopped,   // keep_going said so
  };
  End end = End::failed;
  std::string problem;  // where cut or failed
  long status = 0;
  HttpHeaders headers;  // of the last response
  HttpHeaders origin;   // of the first
};

// What the sink throws comes out of here. `keep_going` is asked ten times a second. At most 10 redirections
// are followed, never from https to http.
HttpResult http_get(const HttpRequest& request, const HttpSink& sink,
                    const std::function<bool()>& keep_going);

// "https://host:port" in lower case, with the port that the scheme implies; empty for what is no URL.
std::string origin_of(const std::string& url);

// Of a Retry-After header: seconds or a date. Negative where it is neither.
double retry_after_seconds(const std::string& value);

}  // namespace bitnet
