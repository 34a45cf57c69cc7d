#include "connection.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace bitnet {
namespace {

constexpr size_t kReadAtOnce = 16 << 10;
constexpr int kMostEmptyLines = 4;         // before a request
constexpr size_t kMostDrained = 64 << 20;  // bytes that a client may still send, as many as the largest body
constexpr auto kDrainWait = std::chrono::seconds(1);  // for more of it
constexpr auto kDrainFor = std::chrono::seconds(5);   // in all
constexpr auto kProbeEvery = std::chrono::seconds(5);
constexpr std::string_view kInterim = "HTTP/1.1 100 Continue\r\n\r\n";

const char* reason_of(int status) {
  switch (status) {
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 411:
      return "Length Required";
    case 413:
      return "Payload Too Large";
    case 414:
      return "URI Too Long";
    case 415:
      return "Unsupported Media Type";
    case 431:
      return "Request Header Fields Too Large";
    case 503:
      return "Service Unavailable";
    default:
      return "Error";
  }
}

}  // namespace

Connection::Connection(int socket, int closing_fd, const ConnectionLimits& limits)
    : socket_(socket), closing_fd_(closing_fd), limits_(limits) {}

bool Connection::wait(short events, Clock::time_point until, bool unless_closing) const {
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    pollfd watched[] = {{socket_, events, 0}, {unless_closing ? closing_fd_ : -1, POLLIN, 0}};
    const int ready = poll(watched, 2, static_cast<int>(std::max<int64_t>(left, 0)));
    if (ready < 0 && errno == EINTR) continue;
    return ready > 0 && watched[1].revents == 0;
  }
}

// A client that has sent all that it wants to say (SHUT_WR) looks like one that has gone away until something
// is sent to it: the system of one that has gone answers with a reset.
bool Connection::wait_for(int fd, const std::function<bool()>& probe) {
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(probe_at_ - Clock::now()).count();
    const short ends = half_closed_ ? 0 : POLLRDHUP;
    pollfd watched[] = {{fd, POLLIN, 0}, {socket_, ends, 0}};
    const int ready = poll(watched, 2, half_closed_ ? static_cast<int>(std::max<int64_t>(left, 0)) : -1);
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0 || (watched[1].revents & (POLLHUP | POLLERR)) != 0) return false;
    if (watched[1].revents == 0 && !(half_closed_ && Clock::now() >= probe_at_)) {
      if (ready > 0) return true;
      continue;
    }
    half_closed_ = true;
    probe_at_ = Clock::now() + kProbeEvery;
    if (!probe()) return false;
  }
}

bool Connection::wait_for(int fd) {
  return wait_for(fd, [this] { return takes_interim_ && write(kInterim.data(), kInterim.size()) >= 0; });
}

// Adds what has come to received_; 0 or less: the client has ended, or nothing came.
ssize_t Connection::receive(Clock::time_point until, bool unless_closing) {
  char bytes[kReadAtOnce];
  while (wait(POLLIN, until, unless_closing)) {
    const ssize_t n = recv(socket_, bytes, sizeof bytes, MSG_DONTWAIT);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n > 0) received_.append(bytes, static_cast<size_t>(n));
    return n;
  }
  return -1;
}

std::optional<Head> Connection::next_head(const HeadRules& rules) {
  left_ = 0;
  if (received_.empty() && receive(Clock::now() + limits_.idle, true) <= 0) return std::nullopt;
  const auto until = Clock::now() + limits_.head;
  size_t end = std::string::npos;
  int empty_lines = 0;
  for (size_t looked = 0;;) {
    // Some clients send an empty line after a body (RFC 9112, 2.2).
    for (; empty_lines < kMostEmptyLines && received_.starts_with("\r\n"); ++empty_lines)
      received_.erase(0, 2);
    end = received_.find("\r\n\r\n", looked);
    if (end != std::string::npos || received_.size() > kMostHead) break;
    looked = received_.size() < 3 ? 0 : received_.size() - 3;
    if (receive(until, true) > 0) continue;
    if (Clock::now() < until || received_.empty()) return std::nullopt;
    throw ApiError(408, "the request did not come in time");
  }
  if (end == std::string::npos || end + 4 > kMostHead)
    throw ApiError(431, fmt::format("the head of a request has up to {} bytes", kMostHead));
  const Head head = check_head(std::string_view(received_).substr(0, end + 4), rules);
  left_ = end + 4 + head.body;
  takes_interim_ = !head.http_1_0;
  body_until_ = Clock::now() + limits_.body;
  return head;
}

ssize_t Connection::read(char* to, size_t size) {
  size = std::min(size, left_);
  if (size == 0) return 0;
  if (received_.empty() && receive(body_until_, true) <= 0) {
    broken_ = true;
    return -1;
  }
  size = std::min(size, received_.size());
  std::memcpy(to, received_.data(), size);
  received_.erase(0, size);
  left_ -= size;
  return static_cast<ssize_t>(size);
}

// Waits until the client takes something. Once the server ends, a client that takes it slowly has a moment
// for all that is left, so that it holds up the end no longer than that.
bool Connection::wait_to_write() {
  if (!closing_until_) {
    if (wait(POLLOUT, Clock::now() + limits_.write, true)) return true;
    pollfd closing{closing_fd_, POLLIN, 0};
    if (poll(&closing, 1, 0) <= 0) return false;
    closing_until_ = Clock::now() + limits_.closing;
  }
  return Clock::now() < *closing_until_ && wait(POLLOUT, *closing_until_, false);
}

ssize_t Connection::write(const char* from, size_t size) {
  size_t done = 0;
  while (done < size && !broken_) {
    const ssize_t n = send(socket_, from + done, size - done, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n >= 0) {
      done += static_cast<size_t>(n);
    } else if (errno != EINTR && (errno != EAGAIN || !wait_to_write())) {
      broken_ = true;
    }
  }
  return broken_ ? -1 : static_cast<ssize_t>(size);
}

void Connection::refuse(const ApiError& error) {
  const bool of_head = received_.starts_with("HEAD ");  // whose answer has no body
  const std::string body = to_json(error);
  const std::string length = of_head ? "" : fmt::format("Content-Length: {}\r\n", body.size());
  const std::string more = error.status == 401   ? "WWW-Authenticate: Bearer\r\n"
                           : error.status == 405 ? fmt::format("Allow: {}\r\n", error.allow)
                           : error.status == 503 ? "Retry-After: 1\r\n"
                                                 : "";
  const std::string reply =
      fmt::format("HTTP/1.1 {} {}\r\nContent-Type: application/json\r\n{}{}Connection: close\r\n\r\n{}",
                  error.status, reason_of(error.status), length, more, of_head ? "" : body);
  if (write(reply.data(), reply.size()) >= 0) leave();
}

void Connection::leave() {
  shutdown(socket_, SHUT_WR);
  const auto until = Clock::now() + kDrainFor;
  for (size_t drained = 0; drained < kMostDrained;) {
    received_.clear();
    const ssize_t n = receive(std::min(until, Clock::now() + kDrainWait), true);
    if (n <= 0) break;
    drained += static_cast<size_t>(n);
  }
}

bool Connection::is_readable() const { return !broken_ && (left_ != 0 && !received_.empty()); }
bool Connection::is_writable() const { return !broken_; }

// Nobody asks for addresses: the log has none.
void Connection::get_remote_ip_and_port(std::string& ip, int& port) const {
  ip.clear();
  port = 0;
}
void Connection::get_local_ip_and_port(std::string& ip, int& port) const {
  ip.clear();
  port = 0;
}

}  // namespace bitnet
