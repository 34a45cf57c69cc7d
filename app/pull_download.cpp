#include "pull_download.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "engine/error.h"
#include "http.h"
#include "pull_request.h"

namespace bitnet {
namespace {

constexpr int kMostRestarts = 3;
constexpr std::string_view kMagic = "GGUF";

std::optional<uint64_t> number(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string header(const HttpHeaders& headers, const char* name) {
  const auto found = headers.find(name);
  return found == headers.end() ? "" : found->second;
}

// "bytes 5-9/10": where it begins, and the size of the whole (0 = not said).
struct Range {
  uint64_t begin = 0;
  uint64_t size = 0;
};
std::optional<Range> parse_range(std::string_view text) {
  if (!text.starts_with("bytes ")) return std::nullopt;
  text.remove_prefix(6);
  const size_t dash = text.find('-');
  const size_t slash = text.find('/');
  if (dash == std::string_view::npos || slash == std::string_view::npos || dash > slash) return std::nullopt;
  const auto begin = number(text.substr(0, dash));
  const auto size =
      text.substr(slash + 1) == "*" ? std::optional<uint64_t>(0) : number(text.substr(slash + 1));
  if (!begin || !size) return std::nullopt;
  return Range{*begin, *size};
}

class Download {
 public:
  Download(PullSource& source, PartFile& part, PullProgress& progress, std::string name)
      : source_(source), part_(part), progress_(progress), name_(std::move(name)) {}

  // Until the part file is whole.
  void run() {
    prepare();
    Patience patience(progress_, name_);
    while (!(total_ > 0 && part_.size() == total_)) {
      const uint64_t before = part_.size();
      const HttpResult result = attempt();
      if (part_.size() != before) {
        patience.brought_something();
        received_ = true;
      }
      if (result.end == HttpResult::End::stopped) throw Stopped();
      if (result.end == HttpResult::End::failed) fail_pull(fmt::format("{}: {}", name_, result.problem));
      if (result.end == HttpResult::End::cut) {
        patience.after(result, received_ || part_.size() > 0);
        continue;
      }
      if (may_pass(result.status)) {
        patience.after(result, true);
        continue;
      }
      if (result.status == 416 || again_) {  // what is here is no part of what is there
        if (part_.size() == 0)
          fail_pull(fmt::format("{}: the server answered HTTP {}", name_, result.status));
        restart("the server has another file now");
        continue;
      }
      if (result.status != 200 && result.status != 206)
        fail_pull(refusal(name_, result.status, source_.on_hub));
      take_linked_checksum(result.origin);
      if (total_ == 0) break;
      if (part_.size() < total_) {  // it ended in good order, but too early
        HttpResult cut = result;
        cut.end = HttpResult::End::cut;
        cut.problem = fmt::format("{} of {} bytes came", part_.size(), total_);
        patience.after(cut, received_);
      }
    }
    if (part_.size() < kMagic.size())
      fail_pull(fmt::format("{}: what came is no GGUF file: {} bytes", name_, part_.size()));
  }

 private:
  // Goes on with what an earlier call left only if it is a part of the same file.
  void prepare() {
    const PartState& old = part_.state();
    const bool other = old.url != source_.url || (!source_.sha256.empty() && old.sha256 != source_.sha256) ||
                       (source_.size != 0 && old.size != 0 && old.size != source_.size);
    total_ = source_.size != 0 ? source_.size : other ? 0 : old.size;
    if (other || (total_ != 0 && part_.size() > total_) || !can_go_on()) {
      part_.begin({source_.url, "", total_, source_.sha256});
    } else {
      source_.sha256 = old.sha256;
    }
    if (total_ > 0) part_.need_room(total_ - part_.size());
  }

  // Only a strong etag or a checksum tells that two parts are of one file.
  bool can_go_on() const { return part_.state().etag.starts_with('"') || !source_.sha256.empty(); }

  void restart(const char* why) {
    if (++restarts_ > kMostRestarts) fail_pull(fmt::format("{}: {}, again and again", name_, why));
    progress_.say(fmt::format("{}; beginning again", why));
    part_.begin({source_.url, "", source_.size, source_.sha256});
    total_ = source_.size;
  }

  // A file of a hub's branch other than main: its checksum comes with the redirection to where it is stored.
  void take_linked_checksum(const HttpHeaders& origin) {
    std::string linked = header(origin, "x-linked-etag");
    std::erase(linked, '"');
    if (source_.on_hub && source_.sha256.empty() && is_sha256(linked)) source_.sha256 = linked;
  }

  HttpResult attempt() {
    HttpRequest request = request_for(source_.url);
    if (part_.size() > 0 && !can_go_on()) restart("the server gives no etag to go on with");
    const std::string& etag = part_.state().etag;
    if (part_.size() > 0) {
      request.headers.push_back(fmt::format("Range: bytes={}-", part_.size()));
      if (etag.starts_with('"'))
        request.headers.push_back(fmt::format("If-Range: {}", etag));  // a strong one
    }
    again_ = false;
    HttpSink sink;
    sink.headers = [this](long status, const HttpHeaders& headers) { return take_headers(status, headers); };
    sink.body = [this](std::string_view bytes) { take_body(bytes); };
    return http_get(request, sink, keep_going);
  }

  bool take_headers(long status, const HttpHeaders& headers) {
    if (status != 200 && status != 206) return false;
    uint64_t announced = number(header(headers, "content-length")).value_or(0);
    if (status == 206) {
      const auto range = parse_range(header(headers, "content-range"));
      const std::string etag = header(headers, "etag");
      const bool other = !etag.empty() && !part_.state().etag.empty() && etag != part_.state().etag;
      if (!range || range->begin != part_.size() || (other && source_.sha256.empty())) {
        again_ = true;
        return false;
      }
      announced = range->size;
    } else if (part_.size() > 0) {
      restart("the server cannot go on in the middle, or has another file now");
    }
    if (total_ != 0 && announced != 0 && announced != total_) {
      fail_pull(fmt::format("{}: wanted {} bytes, and the server announces {}", name_, total_, announced));
    }
    if (total_ == 0) total_ = announced;
    if (total_ > 0) part_.need_room(total_ - part_.size());
    if (part_.size() == 0) {
      part_.set_state({source_.url, printable(header(headers, "etag"), 200), total_, source_.sha256});
    }
    return true;
  }

  void take_body(std::string_view bytes) {
    if (part_.size() == 0 && !kMagic.starts_with(bytes.substr(0, kMagic.size()))) {
      fail_pull(fmt::format("{}: wanted a GGUF file, and what comes begins with '{}'", name_,
                            printable(bytes, 16)));
    }
    if (total_ != 0 && bytes.size() > total_ - part_.size()) {
      part_.begin({source_.url, "", source_.size, source_.sha256});
      fail_pull(fmt::format("{}: wanted {} bytes, and the server sends more", name_, total_));
    }
    part_.append(bytes);
    progress_.show("", part_.size(), total_);
  }

  PullSource& source_;
  PartFile& part_;
  PullProgress& progress_;
  std::string name_;
  uint64_t total_ = 0;     // 0 = unknown
  bool received_ = false;  // anything in this call
  int restarts_ = 0;
  bool again_ = false;  // this response is of no use
};

}  // namespace

void download(PullSource& source, PartFile& part, PullProgress& progress, const std::string& name) {
  Download(source, part, progress, name).run();
}

bool is_sha256(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace bitnet
