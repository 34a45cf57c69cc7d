#include "pull_request.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "engine/error.h"
#include "pulled.h"

namespace bitnet {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kMostAttempts = 5;      // in a row that brought nothing
constexpr double kLongestWait = 120;  // seconds a server may ask for

volatile std::sig_atomic_t stop_signal = 0;

std::string hub_token() {
  const char* token = std::getenv("HF_TOKEN");
  if (token == nullptr) return "";
  if (std::any_of(token, token + std::string_view(token).size(),
                  [](unsigned char c) { return c <= ' ' || c > '~'; })) {
    throw Error(ErrorKind::usage, "HF_TOKEN: wanted a token, found spaces or control characters in it");
  }
  return token;
}

}  // namespace

StopSignals::StopSignals() {
  stop_signal = 0;
  struct sigaction action = {};
  action.sa_handler = [](int signal) { stop_signal = signal; };
  sigaction(SIGINT, &action, &former_interrupt_);
  sigaction(SIGTERM, &action, &former_terminate_);
}

StopSignals::~StopSignals() {
  sigaction(SIGINT, &former_interrupt_, nullptr);
  sigaction(SIGTERM, &former_terminate_, nullptr);
}

int stop_signal_seen() { return stop_signal; }

void fail_pull(const std::string& message) { throw Error(ErrorKind::runtime, message); }

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

void Patience::wait(double seconds) {
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  while (watcher_.keep_going() && Clock::now() < end) poll(nullptr, 0, 100);
  if (!watcher_.keep_going()) throw PullStopped();
}

void Patience::after(const HttpResult& result, bool ever_received, bool kept) {
  const bool cut = result.end == HttpResult::End::cut;
  const std::string why = cut ? result.problem : fmt::format("the server answered HTTP {}", result.status);
  const auto asked = result.headers.find("retry-after");
  double seconds = in_vain_ == 0 && cut ? 0 : std::pow(2, in_vain_ - (cut ? 1 : 0));
  if (!cut && asked != result.headers.end() && retry_after_seconds(asked->second) >= 0) {
    seconds = retry_after_seconds(asked->second);
  }
  if (seconds > kLongestWait) {
    fail_pull(fmt::format("{}: {}, and asks to come back in {:.0f} s", what_, why, seconds));
  }
  if (++in_vain_ > kMostAttempts || (cut && !ever_received)) {
    fail_pull(fmt::format("{}: {}{}", what_, why, kept ? "; the same command goes on from there" : ""));
  }
  if (seconds > 0) watcher_.say(fmt::format("{}; trying again in {:.0f} s", why, seconds));
  wait(seconds);
}

}  // namespace bitnet
