#include "pull_download.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "engine/error.h"
#include "http.h"
#include "pull_answer.h"
#include "pull_request.h"

namespace bitnet {
namespace {

constexpr int kMostRestarts = 3;
constexpr std::string_view kMagic = "GGUF";

std::string header(const HttpHeaders& headers, const char* name) {
  const auto found = headers.find(name);
  return found == headers.end() ? "" : found->second;
}

// A request at a time: attempt() makes one, whose answer comes by take_headers() and take_body(), and
// judge() says what its end means for the download.
class Download {
 public:
  Download(PullSource& source, PartFile& part, PullWatcher& watcher, std::string name)
      : source_(source), part_(part), watcher_(watcher), name_(std::move(name)), patience_(watcher, name_) {}

  void run();  // until the part file is whole

 private:
  void prepare();
  HttpResult attempt();
  bool take_headers(long status, const HttpHeaders& headers);
  void take_body(std::string_view bytes);
  bool judge(const HttpResult& result);  // true: nothing more will come
  void take_linked_checksum(const HttpHeaders& origin);

  bool is_whole() const { return total_ > 0 && part_.size() == total_; }
  // Only a strong etag or a checksum tells that two parts belong to one file.
  bool can_go_on() const { return part_.state().etag.starts_with('"') || !source_.sha256.empty(); }
  void restart(const char* why);

  PullSource& source_;
  PartFile& part_;
  PullWatcher& watcher_;
  std::string name_;
  Patience patience_;
  uint64_t total_ = 0;     // bytes of the whole file; 0 = unknown
  bool received_ = false;  // something came in this call
  int restarts_ = 0;
  bool is_other_part_ = false;  // the response does not continue what is here
};

void Download::run() {
  prepare();
  while (!is_whole()) {
    const uint64_t before = part_.size();
    const HttpResult result = attempt();
    if (part_.size() != before) {
      patience_.brought_something();
      received_ = true;
    }
    if (judge(result)) break;
  }
  if (part_.size() < kMagic.size())
    fail_pull(fmt::format("{}: what came is no GGUF file: {} bytes", name_, part_.size()));
}

// Goes on with what an earlier call left only if it is a part of the same file.
void Download::prepare() {
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

void Download::restart(const char* why) {
  if (++restarts_ > kMostRestarts) fail_pull(fmt::format("{}: {}, again and again", name_, why));
  watcher_.say(fmt::format("{}; beginning again", why));
  part_.begin({source_.url, "", source_.size, source_.sha256});
  total_ = source_.size;
}

HttpResult Download::attempt() {
  HttpRequest request = request_for(source_.url);
  if (part_.size() > 0 && !can_go_on()) restart("the server gives no etag to go on with");
  const std::string& etag = part_.state().etag;
  if (part_.size() > 0) {
    request.headers.push_back(fmt::format("Range: bytes={}-", part_.size()));
    if (etag.starts_with('"')) request.headers.push_back(fmt::format("If-Range: {}", etag));  // a strong one
  }
  is_other_part_ = false;
  HttpSink sink;
  sink.headers = [this](long status, const HttpHeaders& headers) { return take_headers(status, headers); };
  sink.body = [this](std::string_view bytes) { take_body(bytes); };
  return http_get(request, sink, [this] { return watcher_.keep_going(); });
}

bool Download::take_headers(long status, const HttpHeaders& headers) {
  if (status != 200 && status != 206) return false;
  uint64_t announced = read_whole_number(header(headers, "content-length")).value_or(0);
  if (status == 206) {
    const auto range = read_content_range(header(headers, "content-range"));
    const std::string etag = header(headers, "etag");
    const bool other = !etag.empty() && !part_.state().etag.empty() && etag != part_.state().etag;
    if (!range || range->begin != part_.size() || (other && source_.sha256.empty())) {
      is_other_part_ = true;
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

void Download::take_body(std::string_view bytes) {
  // It may come in pieces of any size, and go on with what an earlier request brought.
  const std::string_view here = kMagic.substr(0, part_.size()), missing = kMagic.substr(here.size());
  if (!bytes.starts_with(missing.substr(0, bytes.size()))) {
    if (part_.size() > 0) part_.begin({source_.url, "", source_.size, source_.sha256});
    const std::string begin = std::string(here).append(bytes.substr(0, 16 - here.size()));
    fail_pull(
        fmt::format("{}: wanted a GGUF file, and what comes begins with '{}'", name_, printable(begin, 16)));
  }
  if (total_ != 0 && bytes.size() > total_ - part_.size()) {
    part_.begin({source_.url, "", source_.size, source_.sha256});
    fail_pull(fmt::format("{}: wanted {} bytes, and the server sends more", name_, total_));
  }
  part_.append(bytes);
  watcher_.show("", part_.size(), total_);
}

bool Download::judge(const HttpResult& result) {
  if (result.end == HttpResult::End::stopped) throw PullStopped();
  if (result.end == HttpResult::End::failed) fail_pull(fmt::format("{}: {}", name_, result.problem));
  if (result.end == HttpResult::End::cut) {
    patience_.after(result, received_ || part_.size() > 0, part_.resumable());
    return false;
  }
  if (may_pass(result.status)) {
    patience_.after(result, true, part_.resumable());
    return false;
  }
  if (result.status == 416 || is_other_part_) {
    if (part_.size() == 0) fail_pull(fmt::format("{}: the server answered HTTP {}", name_, result.status));
    restart("the server has another file now");
    return false;
  }
  if (result.status != 200 && result.status != 206) fail_pull(refusal(name_, result.status, source_.on_hub));
  take_linked_checksum(result.origin);
  if (total_ == 0) return true;  // the server did not say how much it would send
  if (part_.size() < total_) {   // the response ended in good order, but too early
    HttpResult cut = result;
    cut.end = HttpResult::End::cut;
    cut.problem = fmt::format("{} of {} bytes came", part_.size(), total_);
    patience_.after(cut, received_, part_.resumable());
  }
  return false;
}

// On a hub's branch other than main, the checksum of a file comes with the redirection to where it is stored.
void Download::take_linked_checksum(const HttpHeaders& origin) {
  if (source_.on_hub && source_.sha256.empty()) source_.sha256 = read_sha256(header(origin, "x-linked-etag"));
}

}  // namespace

void download(PullSource& source, PartFile& part, PullWatcher& watcher, const std::string& name) {
  Download(source, part, watcher, name).run();
}

}  // namespace bitnet
