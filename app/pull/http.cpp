#include "http.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <ctime>
#include <exception>
#include <memory>

#include "engine/error.h"
#include "engine/lower.h"

namespace bitnet {
namespace {

constexpr int kMostRedirections = 10;
constexpr size_t kMostHeaders = 200;
constexpr int kPollMilliseconds = 100;

// CURL and CURLM are both void, so each needs a type of its own that frees it.
struct FreeHandle {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};
struct FreeMulti {
  void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
};
struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
struct FreeUrl {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};
using Url = std::unique_ptr<CURLU, FreeUrl>;

bool is_redirection(long status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

// What libcurl's callbacks know of one request without redirections.
struct Exchange {
  CURL* handle;
  const HttpSink& sink;
  long status = 0;
  HttpHeaders headers;
  bool wanted = false;   // the sink takes the body
  bool decided = false;  // the sink was asked
  std::exception_ptr thrown;

  // Asks the sink about the response, once, when its headers are complete.
  void decide() {
    if (decided) return;
    decided = true;
    curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
    if (!is_redirection(status) || headers.count("location") == 0) wanted = sink.headers(status, headers);
  }
};

size_t take_header(char* data, size_t size, size_t count, void* user) {
  auto& exchange = *static_cast<Exchange*>(user);
  std::string_view line(data, size * count);
  if (line.starts_with("HTTP/")) exchange.headers.clear();  // after "100 Continue" or a proxy's answer
  const size_t colon = line.find(':');
  if (colon != std::string_view::npos && exchange.headers.size() < kMostHeaders) {
    const std::string name = lower(line.substr(0, colon));
    std::string_view value = line.substr(colon + 1);
    while (!value.empty() && std::isspace(static_cast<unsigned char>(value.front())) != 0)
      value.remove_prefix(1);
    while (!value.empty() && std::isspace(static_cast<unsigned char>(value.back())) != 0)
      value.remove_suffix(1);
    exchange.headers[name] = value;
  }
  return size * count;
}

size_t take_body(char* data, size_t size, size_t count, void* user) {
  auto& exchange = *static_cast<Exchange*>(user);
  try {
    exchange.decide();
    if (!exchange.wanted) return 0;
    exchange.sink.body(std::string_view(data, size * count));
  } catch (...) {
    exchange.thrown = std::current_exception();
    return 0;
  }
  return size * count;
}

bool may_be_cut(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_PARTIAL_FILE:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
      return true;
    default:
      return false;
  }
}

// Runs the request to its end. Returns CURLE_ABORTED_BY_CALLBACK if keep_going returned false.
CURLcode perform(CURL* handle, const std::function<bool()>& keep_going) {
  const std::unique_ptr<CURLM, FreeMulti> multi(curl_multi_init());
  if (multi == nullptr || curl_multi_add_handle(multi.get(), handle) != CURLM_OK) return CURLE_OUT_OF_MEMORY;
  CURLcode code = CURLE_ABORTED_BY_CALLBACK;
  while (keep_going()) {
    int running = 0;
    if (curl_multi_perform(multi.get(), &running) != CURLM_OK) {
      code = CURLE_OUT_OF_MEMORY;
      break;
    }
    int left = 0;
    const CURLMsg* message = curl_multi_info_read(multi.get(), &left);
    if (message != nullptr && message->msg == CURLMSG_DONE) {
      code = message->data.result;
      break;
    }
    curl_multi_poll(multi.get(), nullptr, 0, kPollMilliseconds, nullptr);
  }
  curl_multi_remove_handle(multi.get(), handle);
  return code;
}

std::string url_part(const Url& url, CURLUPart part) {
  char* text = nullptr;
  if (curl_url_get(url.get(), part, &text, CURLU_DEFAULT_PORT) != CURLUE_OK) return "";
  std::string copy = lower(text);
  curl_free(text);
  return copy;
}

void start_curl() {
  static const CURLcode once = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (once != CURLE_OK) throw Error(ErrorKind::runtime, "libcurl cannot be started");
}

using List = std::unique_ptr<curl_slist, FreeList>;

// The request's headers, and its token if `url` is of the host that the token is for.
List header_list(const HttpRequest& request, const std::string& url) {
  curl_slist* list = nullptr;
  for (const std::string& line : request.headers) list = curl_slist_append(list, line.c_str());
  if (!request.token.empty() && !request.token_origin.empty() && origin_of(url) == request.token_origin) {
    list = curl_slist_append(list, fmt::format("Authorization: Bearer {}", request.token).c_str());
  }
  return List(list);
}

// `problem` has room for CURL_ERROR_SIZE bytes.
void set_options(CURL* handle, const std::string& url, curl_slist* headers, Exchange& exchange,
                 char* problem) {
  curl_easy_setopt(handle, CURLOPT_URL, url.c_str());
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(handle, CURLOPT_USERAGENT, "bitnet-chat/" BITNET_VERSION);
  curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, problem);
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT, 30L);
  curl_easy_setopt(handle, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(handle, CURLOPT_LOW_SPEED_TIME, 60L);
  curl_easy_setopt(handle, CURLOPT_BUFFERSIZE, 256L * 1024);
  curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, take_header);
  curl_easy_setopt(handle, CURLOPT_HEADERDATA, &exchange);
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, take_body);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, &exchange);
}

// One request and its response, into `result`. Returns where it is redirected to; empty: it is not.
std::string get_once(const HttpRequest& request, const std::string& url, const HttpSink& sink,
                     const std::function<bool()>& keep_going, HttpResult& result) {
  const std::unique_ptr<CURL, FreeHandle> handle(curl_easy_init());
  if (handle == nullptr) throw std::bad_alloc();
  Exchange exchange{handle.get(), sink, 0, {}, false, false, nullptr};
  const List headers = header_list(request, url);
  char problem[CURL_ERROR_SIZE] = "";
  set_options(handle.get(), url, headers.get(), exchange, problem);
  const CURLcode code = perform(handle.get(), keep_going);
  if (exchange.thrown) std::rethrow_exception(exchange.thrown);
  if (code == CURLE_OK) exchange.decide();  // a response without a body
  result.status = exchange.status;
  result.headers = exchange.headers;
  if (code == CURLE_OK || (exchange.decided && !exchange.wanted && code == CURLE_WRITE_ERROR)) {
    char* next = nullptr;
    if (is_redirection(exchange.status)) curl_easy_getinfo(handle.get(), CURLINFO_REDIRECT_URL, &next);
    if (next != nullptr) return next;
    result.end = HttpResult::End::complete;
  } else if (code == CURLE_ABORTED_BY_CALLBACK) {
    result.end = HttpResult::End::stopped;
  } else {
    result.end = may_be_cut(code) ? HttpResult::End::cut : HttpResult::End::failed;
    result.problem = printable(problem[0] != '\0' ? problem : curl_easy_strerror(code), 200);
    if (code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE) {
      result.problem += " (the package ca-certificates has the certificates of the public authorities)";
    }
  }
  return {};
}

}  // namespace

std::string origin_of(const std::string& text) {
  const Url url(curl_url());
  if (url == nullptr || curl_url_set(url.get(), CURLUPART_URL, text.c_str(), 0) != CURLUE_OK) return "";
  return fmt::format("{}://{}:{}", url_part(url, CURLUPART_SCHEME), url_part(url, CURLUPART_HOST),
                     url_part(url, CURLUPART_PORT));
}

double retry_after_seconds(const std::string& value) {
  uint32_t seconds = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), seconds);
  if (error == std::errc() && end == value.data() + value.size()) return seconds;
  const time_t date = curl_getdate(value.c_str(), nullptr);
  return date < 0 ? -1 : std::max(std::difftime(date, std::time(nullptr)), 0.0);
}

HttpResult http_get(const HttpRequest& request, const HttpSink& sink,
                    const std::function<bool()>& keep_going) {
  start_curl();
  HttpResult result;
  std::string url = request.url;
  for (int hop = 0; hop <= kMostRedirections; ++hop) {
    const std::string next = get_once(request, url, sink, keep_going, result);
    if (hop == 0) result.origin = result.headers;
    if (next.empty()) return result;
    if (origin_of(url).starts_with("https:") && !origin_of(next).starts_with("https:")) {
      result.problem = fmt::format("{} leads from https to {}", printable(url, 200), printable(next, 200));
      return result;
    }
    url = next;
  }
  result.problem =
      fmt::format("{}: more than {} redirections", printable(request.url, 200), kMostRedirections);
  return result;
}

}  // namespace bitnet
