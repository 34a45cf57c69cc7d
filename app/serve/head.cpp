#include "head.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "app/base/sha256.h"
#include "engine/lower.h"

namespace bitnet {
namespace {

struct Field {
  std::string name;  // of lower case
  std::string_view value;
};

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

bool is_token_char(char c) {
  constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
         kOthers.find(c) != std::string_view::npos;
}

bool is_number(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

[[noreturn]] void malformed(const char* what) {
  throw ApiError(400, fmt::format("the request's head: {}", what));
}

// Takes one line, which ends with CR LF and has no other control characters than tabs.
std::string_view take_line(std::string_view& rest) {
  const size_t end = rest.find("\r\n");
  if (end == std::string_view::npos) malformed("it has no end");
  const std::string_view line = rest.substr(0, end);
  const auto control = [](char c) { return (static_cast<uint8_t>(c) < 0x20 && c != '\t') || c == 0x7F; };
  if (std::any_of(line.begin(), line.end(), control)) malformed("it has control characters");
  rest.remove_prefix(end + 2);
  return line;
}

class Fields {
 public:
  explicit Fields(std::string_view rest) {
    while (true) {
      const std::string_view line = take_line(rest);
      if (line.empty()) break;
      if (line.size() + 2 > kMostHeadLine)
        throw ApiError(431, fmt::format("a line of a request's head has up to {} bytes", kMostHeadLine));
      const size_t colon = line.find(':');
      const std::string_view name = line.substr(0, colon);
      if (colon == std::string_view::npos || name.empty() ||
          !std::all_of(name.begin(), name.end(), is_token_char))
        malformed("a line of it is no field");
      fields_.push_back({lower(name), trimmed(line.substr(colon + 1))});
    }
    if (!rest.empty()) malformed("something follows it");
  }
  // Nullopt where there is none. Two of a kind that decides something could be read in two ways.
  std::optional<std::string_view> find(std::string_view name) const {
    std::optional<std::string_view> value;
    for (const Field& field : fields_) {
      if (field.name != name) continue;
      if (value) malformed("a field of it stands twice");
      value = field.value;
    }
    return value;
  }
  // Whether a field that is a list, which may stand in several lines, has this word of lower case.
  bool lists(std::string_view name, std::string_view word) const {
    for (const Field& field : fields_) {
      for (std::string_view rest = field.value; field.name == name && !rest.empty();) {
        const size_t end = std::min(rest.find(','), rest.size());
        if (lower(trimmed(rest.substr(0, end))) == word) return true;
        rest.remove_prefix(std::min(end + 1, rest.size()));
      }
    }
    return false;
  }

 private:
  std::vector<Field> fields_;
};

bool is_loopback_ipv4(const std::string& name) {
  in_addr address{};
  return inet_pton(AF_INET, name.c_str(), &address) == 1 && ntohl(address.s_addr) >> 24 == 127;
}

// A name alone, or with ":" and a port.
bool is_this_machine(std::string_view host) {
  const size_t end = host.starts_with('[') ? host.find(']') + 1 : std::min(host.find(':'), host.size());
  const std::string_view port = host.substr(end);
  if (!port.empty() && (port.front() != ':' || !is_number(port.substr(1)))) return false;
  const std::string name = lower(host.substr(0, end));
  return name == "localhost" || name == "[::1]" || is_loopback_ipv4(name);
}

// With the bytes that "%41" and the like stand for.
std::string without_percents(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    uint8_t byte = 0;
    const char* const digits = text.data() + i + 1;
    if (text[i] == '%' && text.size() - i > 2 &&
        std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2) {
      plain += static_cast<char>(byte);
      i += 2;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

struct Path {
  std::string_view path;
  std::string_view method;
  Route route;
};
constexpr Path kPaths[] = {
    {"/v1/models", "GET", Route::models},
    {"/v1/chat/completions", "POST", Route::chat_completions},
    {"/v1/completions", "POST", Route::completions},
    {"/tokenize", "POST", Route::tokenize},
    {"/detokenize", "POST", Route::detokenize},
};

Route find_route(std::string_view method, std::string_view target, const HeadRules& rules) {
  const std::string_view path = target.substr(0, target.find('?'));
  std::string_view wanted;
  Route route{};
  for (const Path& row : kPaths) {
    if (row.path != path) continue;
    wanted = row.method;
    route = row.route;
  }
  if (wanted.empty() && path.starts_with("/v1/models/")) {
    if (without_percents(path.substr(11)) != rules.model)
      throw ApiError(404, "there is no model of this name; /v1/models has the one there is", "model",
                     "model_not_found");
    wanted = "GET";
    route = Route::model;
  }
  if (wanted.empty()) {
    std::string paths;
    for (const Path& row : kPaths)
      paths += fmt::format("{}{} {}", paths.empty() ? "" : ", ", row.method, row.path);
    throw ApiError(404, "nothing is served there; there is " + paths, "", "not_found");
  }
  if (method == wanted) return route;
  ApiError error(405, fmt::format("this path takes {} alone", wanted), "", "method_not_allowed");
  error.allow = wanted;
  throw error;
}

size_t body_of(const Fields& fields, const HeadRules& rules) {
  const auto type = fields.find("content-type");
  if (!type || lower(trimmed(type->substr(0, type->find(';')))) != "application/json")
    throw ApiError(415, "wanted Content-Type: application/json");
  const auto encoding = fields.find("content-encoding");
  if (encoding && lower(*encoding) != "identity") throw ApiError(415, "a compressed body is not taken");
  const auto length = fields.find("content-length");
  if (!length) throw ApiError(411, "wanted a body with a Content-Length");
  if (length->empty() || !is_number(*length)) malformed("its Content-Length is no number");
  size_t bytes = 0;
  const auto [end, error] = std::from_chars(length->data(), length->data() + length->size(), bytes);
  if (error != std::errc() || bytes > rules.most_body)
    throw ApiError(413, fmt::format("a body has up to {} bytes here", rules.most_body), "",
                   "request_too_large");
  return bytes;
}

}  // namespace

const char* log_name(Route route) {
  if (route == Route::model) return "GET /v1/models/NAME";
  switch (route) {
    case Route::models:
      return "GET /v1/models";
    case Route::chat_completions:
      return "POST /v1/chat/completions";
    case Route::completions:
      return "POST /v1/completions";
    case Route::tokenize:
      return "POST /tokenize";
    default:
      return "POST /detokenize";
  }
}

bool same_key(std::string_view given, std::string_view key) {
  const std::string a = sha256_of(given);
  const std::string b = sha256_of(key);
  unsigned differ = 0;
  for (size_t i = 0; i < a.size(); ++i) differ |= static_cast<uint8_t>(a[i]) ^ static_cast<uint8_t>(b[i]);
  return differ == 0;
}

Head check_head(std::string_view head, const HeadRules& rules) {
  std::string_view rest = head;
  const std::string_view line = take_line(rest);
  if (line.size() + 2 > kMostHeadLine)
    throw ApiError(414, fmt::format("the first line of a request has up to {} bytes", kMostHeadLine));
  const size_t first = line.find(' ');
  const size_t second = line.find(' ', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos)
    malformed("its first line is no request");
  const std::string_view method = line.substr(0, first);
  const std::string_view target = line.substr(first + 1, second - first - 1);
  const std::string_view version = line.substr(second + 1);
  if (version != "HTTP/1.1" && version != "HTTP/1.0") malformed("wanted HTTP/1.1");
  if (!target.starts_with('/')) malformed("its target is no path");
  const Fields fields(rest);
  const auto host = fields.find("host");
  if (version == "HTTP/1.1" && !host) malformed("it has no Host");
  if (rules.loopback && host && !is_this_machine(*host))
    throw ApiError(403, "this server is reached as localhost alone; the Host of the request is another", "",
                   "wrong_host");
  if (!rules.key.empty()) {
    const auto given = fields.find("authorization");
    constexpr std::string_view kBearer = "bearer ";
    const bool bearer = given && lower(given->substr(0, kBearer.size())) == kBearer;
    if (!same_key(bearer ? trimmed(given->substr(kBearer.size())) : "", rules.key))
      throw ApiError(401, "wanted Authorization: Bearer, with the key of this server", "", "invalid_api_key");
  }
  Head found;
  found.http_1_0 = version == "HTTP/1.0";
  found.is_last = fields.lists("connection", "close");
  found.route = find_route(method, target, rules);
  if (fields.find("range")) throw ApiError(400, "a range has no use here");
  if (fields.find("transfer-encoding"))
    throw ApiError(411, "wanted a body with a Content-Length, not in chunks");
  if (method == "POST") {
    found.body = body_of(fields, rules);
  } else if (const auto length = fields.find("content-length"); length && *length != "0") {
    throw ApiError(400, "a body has no use here");
  }
  return found;
}

}  // namespace bitnet
