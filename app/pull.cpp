#include "pull.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "engine/error.h"
#include "http.h"
#include "part_file.h"
#include "pulled.h"
#include "text_width.h"

namespace bitnet {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr size_t kMostListing = size_t{8} << 20;
constexpr int kMostAttempts = 5;  // in a row that brought nothing
constexpr int kMostRestarts = 3;
constexpr double kLongestWait = 120;  // seconds a server may ask for
constexpr std::string_view kMagic = "GGUF";

volatile std::sig_atomic_t stop_signal = 0;

// SIGINT and SIGTERM only set stop_signal while one of these lives.
class StopSignals {
 public:
  StopSignals() {
    stop_signal = 0;
    struct sigaction action = {};
    action.sa_handler = [](int signal) { stop_signal = signal; };
    sigaction(SIGINT, &action, &former_interrupt_);
    sigaction(SIGTERM, &action, &former_terminate_);
  }
  ~StopSignals() {
    sigaction(SIGINT, &former_interrupt_, nullptr);
    sigaction(SIGTERM, &former_terminate_, nullptr);
  }
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

 private:
  struct sigaction former_interrupt_ = {};
  struct sigaction former_terminate_ = {};
};

bool keep_going() { return stop_signal == 0; }
struct Stopped {};

void wait_seconds(double seconds) {
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  while (keep_going() && Clock::now() < end) poll(nullptr, 0, 100);
  if (!keep_going()) throw Stopped();
}

std::string amount(uint64_t bytes) {
  if (bytes < 1000) return fmt::format("{} B", bytes);
  if (bytes < 1000000) return fmt::format("{} kB", bytes / 1000);
  if (bytes < 1000000000) return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
  return fmt::format("{:.2f} GB", static_cast<double>(bytes) / 1e9);
}

// One line on a terminal, drawn over itself; nowhere else anything.
class Progress {
 public:
  Progress(Output& err, std::string name) : err_(err), name_(std::move(name)) {}
  ~Progress() { clear(); }

  void show(const char* doing, uint64_t done, uint64_t total) {
    const auto now = Clock::now();
    if (!err_.is_terminal() || now - drawn_ < std::chrono::milliseconds(200)) return;
    const double seconds = std::chrono::duration<double>(now - drawn_).count();
    if (done > last_done_ && last_done_ > 0) {
      const double speed = static_cast<double>(done - last_done_) / seconds;
      speed_ = speed_ == 0 ? speed : 0.85 * speed_ + 0.15 * speed;
    }
    last_done_ = done;
    drawn_ = now;
    std::string line = fmt::format("{}  {}", name_, amount(done));
    if (total > 0) {
      line = fmt::format("{}  {:3} %  {} of {}", name_, done * 100 / total, amount(done), amount(total));
    }
    if (speed_ > 0) line += fmt::format("  {}/s", amount(static_cast<uint64_t>(speed_)));
    if (speed_ > 0 && total > done) {
      const auto left = static_cast<uint64_t>(static_cast<double>(total - done) / speed_);
      line += left < 3600 ? fmt::format("  {}:{:02} left", left / 60, left % 60)
                          : fmt::format("  {}:{:02} h left", left / 3600, left / 60 % 60);
    }
    draw(*doing == '\0' ? line : fmt::format("{}  {}", line, doing));
  }

  // To be read also where there is no terminal.
  void say(const std::string& what) {
    clear();
    err_.write(fmt::format("{}: {}\n", name_, what));
    restart();
  }

  void restart() {
    speed_ = 0;
    last_done_ = 0;
  }

  void clear() {
    if (on_screen_) err_.write("\r\x1b[K");
    on_screen_ = false;
  }

 private:
  void draw(const std::string& line) {
    winsize window = {};
    const int columns =
        ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0 ? window.ws_col : 80;
    err_.write(fmt::format("\r{}\x1b[K", prefix_of_columns(line, columns - 1)));
    on_screen_ = true;
  }

  Output& err_;
  std::string name_;
  Clock::time_point drawn_ = {};
  uint64_t last_done_ = 0;
  double speed_ = 0;
  bool on_screen_ = false;
};

[[noreturn]] void fail(const std::string& message) { throw Error(ErrorKind::runtime, message); }

std::string hub_token() {
  const char* token = std::getenv("HF_TOKEN");
  if (token == nullptr) return "";
  if (std::any_of(token, token + std::string_view(token).size(),
                  [](unsigned char c) { return c <= ' ' || c > '~'; })) {
    throw Error(ErrorKind::usage, "HF_TOKEN: wanted a token, found spaces or control characters in it");
  }
  return token;
}

HttpRequest request_for(const std::string& url) {
  return {url, {"Accept-Encoding: identity"}, hub_token(), origin_of(hub_endpoint())};
}

std::string refusal(const std::string& what, long status, bool on_hub) {
  if (on_hub && (status == 401 || status == 403)) {
    return hub_token().empty()
               ? fmt::format("{}: there is none, or it wants a token (HTTP {}): HF_TOKEN can have one", what,
                             status)
               : fmt::format(
                     "{}: there is none, or the token in HF_TOKEN may not read it (HTTP {}); its page says "
                     "whether its terms must be accepted first",
                     what, status);
  }
  if (status == 404) return fmt::format("{}: there is none (HTTP 404)", what);
  return fmt::format("{}: the server answered HTTP {}", what, status);
}

bool may_pass(long status) {
  return status == 408 || status == 429 || status == 500 || status == 502 || status == 503 || status == 504;
}

// How often, and how long, to try again.
class Patience {
 public:
  Patience(Progress& progress, std::string what) : progress_(progress), what_(std::move(what)) {}

  void brought_something() { in_vain_ = 0; }

  // Waits before the next attempt; throws where there should be none.
  void after(const HttpResult& result, bool ever_received) {
    const bool cut = result.end == HttpResult::End::cut;
    const std::string why = cut ? result.problem : fmt::format("the server answered HTTP {}", result.status);
    const auto asked = result.headers.find("retry-after");
    double seconds = in_vain_ == 0 && cut ? 0 : std::pow(2, in_vain_ - (cut ? 1 : 0));
    if (!cut && asked != result.headers.end() && retry_after_seconds(asked->second) >= 0) {
      seconds = retry_after_seconds(asked->second);
    }
    if (seconds > kLongestWait) {
      fail(fmt::format("{}: {}, and asks to come back in {:.0f} s", what_, why, seconds));
    }
    if (++in_vain_ > kMostAttempts || (cut && !ever_received)) {
      fail(fmt::format("{}: {}{}", what_, why, ever_received ? "; the same command goes on from there" : ""));
    }
    if (seconds > 0) progress_.say(fmt::format("{}; trying again in {:.0f} s", why, seconds));
    wait_seconds(seconds);
  }

 private:
  Progress& progress_;
  std::string what_;
  int in_vain_ = 0;
};

// What to fetch, and what is known of it.
struct Source {
  std::string url;
  std::filesystem::path file;
  std::string sha256;
  uint64_t size = 0;
  bool on_hub = false;
};

json list_repository(const ModelName& name, Progress& progress) {
  const std::string repo = fmt::format("{}/{}", name.owner, name.repo);
  const std::string url = fmt::format("{}/api/models/{}/tree/main?recursive=true", hub_endpoint(), repo);
  Patience patience(progress, repo);
  while (true) {
    std::string body;
    HttpSink sink;
    sink.headers = [](long status, const HttpHeaders&) { return status == 200; };
    sink.body = [&](std::string_view bytes) {
      if (body.size() + bytes.size() > kMostListing)
        fail(fmt::format("{}: the list of its files is too long", repo));
      body += bytes;
    };
    const HttpResult result = http_get(request_for(url), sink, keep_going);
    if (result.end == HttpResult::End::stopped) throw Stopped();
    if (result.end == HttpResult::End::failed) fail(fmt::format("{}: {}", repo, result.problem));
    if (result.end == HttpResult::End::cut || may_pass(result.status)) {
      patience.after(result, /*ever_received=*/false);
      continue;
    }
    if (result.status != 200) fail(refusal(fmt::format("repository {}", repo), result.status, true));
    const json list = json::parse(body, nullptr, /*allow_exceptions=*/false);
    if (!list.is_array()) fail(fmt::format("{}: {} gives no list of files", repo, printable(hub_endpoint())));
    return list;
  }
}

bool is_sha256(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Source find_on_hub(ModelName name, Progress& progress) {
  const std::string repo = fmt::format("{}/{}", name.owner, name.repo);
  const json list = list_repository(name, progress);
  std::vector<std::string> files;
  for (const json& entry : list) {
    if (entry.is_object() && entry.value("type", json()) == "file" &&
        entry.value("path", json()).is_string()) {
      files.push_back(entry["path"]);
    }
  }
  const std::vector<std::string> models = gguf_files(files);
  std::string choice;
  for (const std::string& model : models)
    choice += fmt::format("{}{}", choice.empty() ? "" : ", ", printable(model));
  if (models.empty()) fail(fmt::format("{}: this repository has no GGUF file", repo));
  if (name.file.empty()) name.file = choose_gguf(files);
  if (name.file.empty()) {
    throw Error(ErrorKind::usage,
                fmt::format("{} has several GGUF files; name one, such as {}/{} (there are {})", repo, repo,
                            printable(models.front()), choice));
  }
  if (!parse_model_name(fmt::format("{}/{}", repo, name.file)) ||
      std::find(models.begin(), models.end(), name.file) == models.end()) {
    fail(fmt::format("{} has no file {}; it has {}", repo, printable(name.file), choice));
  }
  Source source{fmt::format("{}/{}/resolve/main/{}", hub_endpoint(), repo, name.file), place_of(name), "", 0,
                true};
  for (const json& entry : list) {
    if (!entry.is_object() || entry.value("path", json()) != name.file) continue;
    const json size = entry.value("size", json());
    if (size.is_number_unsigned()) source.size = size;
    const json lfs = entry.value("lfs", json());
    if (lfs.is_object() && lfs.value("oid", json()).is_string() && is_sha256(lfs["oid"].get<std::string>())) {
      source.sha256 = lfs["oid"];
    }
  }
  return source;
}

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
  Download(Source& source, PartFile& part, Progress& progress, std::string name)
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
      if (result.end == HttpResult::End::failed) fail(fmt::format("{}: {}", name_, result.problem));
      if (result.end == HttpResult::End::cut) {
        patience.after(result, received_ || part_.size() > 0);
        continue;
      }
      if (may_pass(result.status)) {
        patience.after(result, true);
        continue;
      }
      if (result.status == 416 || again_) {  // what is here is no part of what is there
        if (part_.size() == 0) fail(fmt::format("{}: the server answered HTTP {}", name_, result.status));
        restart("the server has another file now");
        continue;
      }
      if (result.status != 200 && result.status != 206) fail(refusal(name_, result.status, source_.on_hub));
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
      fail(fmt::format("{}: what came is no GGUF file: {} bytes", name_, part_.size()));
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
    if (++restarts_ > kMostRestarts) fail(fmt::format("{}: {}, again and again", name_, why));
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
      fail(fmt::format("{}: wanted {} bytes, and the server announces {}", name_, total_, announced));
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
      fail(fmt::format("{}: wanted a GGUF file, and what comes begins with '{}'", name_,
                       printable(bytes, 16)));
    }
    if (total_ != 0 && bytes.size() > total_ - part_.size()) {
      part_.begin({source_.url, "", source_.size, source_.sha256});
      fail(fmt::format("{}: wanted {} bytes, and the server sends more", name_, total_));
    }
    part_.append(bytes);
    progress_.show("", part_.size(), total_);
  }

  Source& source_;
  PartFile& part_;
  Progress& progress_;
  std::string name_;
  uint64_t total_ = 0;     // 0 = unknown
  bool received_ = false;  // anything in this call
  int restarts_ = 0;
  bool again_ = false;  // this response is of no use
};

// Whether the file is there already and right.
bool is_here(const Source& source, Progress& progress) {
  std::error_code none;
  const uint64_t size = std::filesystem::file_size(source.file, none);
  if (none || (source.size != 0 && size != source.size)) return false;
  if (source.sha256.empty()) return source.size != 0;
  const std::string found = sha256_of_file(source.file, [&](uint64_t done) {
    progress.show("checking", done, size);
    return keep_going();
  });
  if (found.empty()) throw Stopped();
  return found == source.sha256;
}

void fetch(Source& source, const std::string& name, Progress& progress) {
  PartFile part(source.file);
  try {
    Download(source, part, progress, name).run();
  } catch (...) {
    if (part.size() == 0) part.remove();
    throw;
  }
  progress.restart();
  const std::string sha256 = part.sha256([&](uint64_t done) {
    progress.show("checking", done, part.size());
    return keep_going();
  });
  if (sha256.empty()) throw Stopped();
  if (!source.sha256.empty() && sha256 != source.sha256) {
    part.remove();
    fail(fmt::format("{}: wanted SHA-256 {}, found {}; what came was thrown away", name, source.sha256,
                     sha256));
  }
  part.finish();
  progress.say(fmt::format("{}, SHA-256 {} ({})", amount(part.size()), sha256,
                           source.sha256.empty() ? "none was published to compare with" : "as published"));
}

}  // namespace

int pull(const std::string& text, Output& out, Output& err) {
  const auto name = parse_model_name(text);
  if (!name) {
    throw Error(
        ErrorKind::usage,
        fmt::format("pull: wanted OWNER/REPO, OWNER/REPO/FILE.gguf or a URL, found '{}'", printable(text)));
  }
  const StopSignals signals;
  Progress progress(err, printable(name->url.empty() && !name->file.empty() ? name->file : text, 60));
  try {
    Source source = name->url.empty() ? find_on_hub(*name, progress)
                                      : Source{name->url, place_of(*name), "", 0,
                                               origin_of(name->url) == origin_of(hub_endpoint())};
    if (is_here(source, progress)) {
      progress.say("is here already");
    } else {
      fetch(source, printable(text, 200), progress);
    }
    progress.clear();
    if (err.is_terminal()) err.write(fmt::format("'bitnet-chat {}' opens it\n", printable(text)));
    out.write(source.file.string() + "\n");
    return 0;
  } catch (const Stopped&) {
    progress.say("stopped; the same command goes on from there");
    return 128 + stop_signal;
  }
}

}  // namespace bitnet
