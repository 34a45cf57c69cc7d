#include "http_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "app/base/descriptor.h"
#include "engine/error.h"

namespace bitnet {
namespace {

constexpr int kBacklog = 512;
constexpr size_t kMostRequests = 1000;  // of one connection
constexpr auto kLookAgain = std::chrono::milliseconds(20);

// What the thread of a connection serves. httplib's handlers do not say for which connection they are called.
struct Current {
  Connection* connection = nullptr;
  Head head;
};
thread_local Current current;

// What was caught, for the log. The message of an Error may quote the request, of which the log has no word.
std::string cause_of(const std::exception_ptr& caught) {
  try {
    std::rethrow_exception(caught);
  } catch (const Error&) {
    return "an error about the request";
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "an unknown exception";
  }
}

// Answers are sent as they are: httplib would compress them, and hold back a stream for that.
void prepare(httplib::Request& request) { request.headers.erase("Accept-Encoding"); }

}  // namespace

HttpServer::HttpServer(const HttpLimits& limits, Handler handler, Log log)
    : limits_(limits),
      handler_(std::move(handler)),
      log_(std::move(log)),
      closing_fd_(eventfd(0, EFD_CLOEXEC)) {
  if (closing_fd_ < 0) throw std::runtime_error("eventfd failed: no file descriptors left");
  // httplib's own options would let a second server listen on the same port.
  set_socket_options([](socket_t socket) {
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  set_keep_alive_max_count(kMostRequests);  // these two are only told, serve() sees to them
  set_keep_alive_timeout(std::chrono::duration_cast<std::chrono::seconds>(limits_.idle).count());
  set_payload_max_length(SIZE_MAX);  // check_head has looked at the length
  const auto handle = [this](const httplib::Request& request, httplib::Response& response) {
    handler_(current.head, request, *current.connection, response);
  };
  Get(R"(/.*)", handle);
  Post(R"(/.*)", handle);
  set_exception_handler([this](const auto&, httplib::Response& response, const std::exception_ptr& caught) {
    log_(fmt::format("{} failed ({}):", log_name(current.head.route), cause_of(caught)), 500);
    response.status = 500;
    response.set_content(to_json(ApiError(500, "the server failed at this request")), "application/json");
  });
}

HttpServer::~HttpServer() {
  if (const socket_t listening = svr_sock_.exchange(INVALID_SOCKET); listening != INVALID_SOCKET)
    close(listening);
  close(closing_fd_);
}

void HttpServer::bind(const std::string& host, uint16_t port) {
  errno = 0;
  if (!bind_to_port(host, port))
    throw Error(ErrorKind::runtime,
                fmt::format("cannot listen on {} port {}: {}", printable(host), port,
                            errno == 0 ? "there is no such address" : std::strerror(errno)));
  ::listen(svr_sock_, kBacklog);  // again, because httplib lets only five wait
  fcntl(svr_sock_, F_SETFD, FD_CLOEXEC);
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  getsockname(svr_sock_, reinterpret_cast<sockaddr*>(&address), &size);
  char text[INET6_ADDRSTRLEN] = "";
  if (address.ss_family == AF_INET6) {
    const auto& in6 = reinterpret_cast<const sockaddr_in6&>(address);
    loopback_ = IN6_IS_ADDR_LOOPBACK(&in6.sin6_addr);
    inet_ntop(AF_INET6, &in6.sin6_addr, text, sizeof text);
    url_ = fmt::format("http://[{}]:{}", text, ntohs(in6.sin6_port));
  } else {
    const auto& in = reinterpret_cast<const sockaddr_in&>(address);
    loopback_ = (ntohl(in.sin_addr.s_addr) >> 24) == 127;
    inet_ntop(AF_INET, &in.sin_addr, text, sizeof text);
    url_ = fmt::format("http://{}:{}", text, ntohs(in.sin_port));
  }
}

// httplib has a loop of its own, which ends with the first connection that cannot be accepted.
void HttpServer::run() {
  while (!stopped_) {
    pollfd watched[] = {{svr_sock_, POLLIN, 0}, {closing_fd_, POLLIN, 0}};
    if (poll(watched, 2, -1) <= 0 || (watched[0].revents & POLLIN) == 0) continue;
    const int client = accept4(svr_sock_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client >= 0) {
      const int yes = 1;
      setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
      begin(client);
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      std::this_thread::sleep_for(kLookAgain);
    }
  }
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [this] { return connections_ == 0; });
}

void HttpServer::stop() {
  stopped_ = true;
  eventfd_write(closing_fd_, 1);
  // Refuses those who come now. It is closed later, because run() may still have it, and because httplib ends
  // streams, without their last events, once it has no socket.
  shutdown(svr_sock_, SHUT_RDWR);
}

// Each connection has a thread of its own, so that those who read slowly hold up nobody.
void HttpServer::begin(int client) {
  {
    const std::lock_guard lock(mutex_);
    if (connections_ >= limits_.most_connections) return turn_away(client);
    ++connections_;
  }
  try {
    std::thread([this, client] {
      process_and_close_socket(client);
      end_connection();
    }).detach();
  } catch (const std::system_error&) {  // no thread can be made
    end_connection();
    turn_away(client);
  }
}

void HttpServer::end_connection() {
  const std::lock_guard lock(mutex_);
  --connections_;
  ended_.notify_all();
}

void HttpServer::turn_away(int client) {
  log_("too many connections", 503);
  constexpr std::string_view kReply =
      "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
  [[maybe_unused]] const ssize_t sent =
      send(client, kReply.data(), kReply.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  close(client);
}

bool HttpServer::process_and_close_socket(socket_t socket) {
  const Descriptor closed{socket};
  Connection connection(socket, closing_fd_, limits_);
  try {
    serve(connection);
  } catch (const ApiError& error) {
    log_("refused", error.status);
    connection.refuse(error);
  } catch (const std::exception&) {
    log_(fmt::format("failed ({}):", cause_of(std::current_exception())), 500);
  }
  return true;
}

void HttpServer::serve(Connection& connection) {
  for (size_t n = 1; n <= kMostRequests && !stopped_; ++n) {
    const std::optional<Head> head = connection.next_head(rules_);
    if (!head) return;
    current = {&connection, *head};
    bool closed = false;
    const bool last = n == kMostRequests || stopped_ || head->http_1_0 || head->is_last;
    if (!process_request(connection, last, closed, prepare) || connection.broken()) return;
    if (connection.has_unread()) return connection.leave();
    if (closed || last) return;
  }
}

}  // namespace bitnet
