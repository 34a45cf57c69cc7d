#include "app/serve/head.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <mutex>
#include <thread>

#include "app/serve/connection.h"
#include "app/serve/http_server.h"
#include "engine/error.h"

namespace bitnet {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

int status_of(const std::string& head, const HeadRules& rules = {.model = "m"}) {
  try {
    check_head(head, rules);
    return 200;
  } catch (const ApiError& error) {
    return error.status;
  }
}

std::string get(const std::string& more, const std::string& target = "/v1/models") {
  return "GET " + target + " HTTP/1.1\r\n" + more + "\r\n";
}

TEST(Head, HostsThatNameThisMachine) {
  for (const char* host : {"localhost", "LocalHost:80", "127.0.0.1", "127.0.0.1:9", "[::1]", "[::1]:8080",
                           "127.0.1.1:8080", "127.255.255.254"})
    EXPECT_EQ(status_of(get(fmt::format("Host: {}\r\n", host))), 200) << host;
  for (const char* host :
       {"", "evil", "localhost.evil:80", "127.0.0.1.evil", "[::1", "[::2]", "evil:localhost", "::1",
        "[::1]evil.com", "[::1]:80.evil.com", "[::1]:80:80", "localhost:80@evil", "128.0.0.1", "1.127.0.0",
        "127.1", "127.0.0.256", "127.0.0.1.", "0127.0.0.1"})
    EXPECT_EQ(status_of(get(fmt::format("Host: {}\r\n", host))), 403) << host;
  EXPECT_EQ(status_of(get("Host: evil\r\n"), {.loopback = false, .model = "m"}), 200);
  EXPECT_EQ(status_of(get("")), 400);
}

TEST(Head, PathsAndMethods) {
  const std::string host = "Host: localhost\r\n";
  EXPECT_EQ(status_of(get(host, "/v1/models?x=y")), 200);
  EXPECT_EQ(status_of(get(host, "/v1/models/m")), 200);
  EXPECT_EQ(status_of(get(host, "/v1/models/n")), 404);
  EXPECT_EQ(status_of(get(host, "/v1/models/")), 404);
  EXPECT_EQ(status_of(get(host, "/")), 404);
  EXPECT_EQ(status_of(get(host, "http://localhost/v1/models")), 400);
  EXPECT_EQ(status_of(get(host, "/tokenize")), 405);
  EXPECT_EQ(status_of("DELETE /v1/models HTTP/1.1\r\n" + host + "\r\n"), 405);
  for (const char* line : {"GET /v1/models", "GET  /v1/models HTTP/1.1", "GET /v1/models HTTP/1.1 ",
                           "GET /v1/models HTTP/0.9", ""})
    EXPECT_EQ(status_of(std::string(line) + "\r\n" + host + "\r\n"), 400) << line;
}

TEST(Head, LinesOfAsManyBytesAsTheLibraryReads) {
  const std::string host = "Host: localhost\r\n";
  const auto target = [](size_t line) { return "/v1/models?" + std::string(line - 26, 'x'); };
  EXPECT_EQ(status_of(get(host, target(kMostHeadLine))), 200);
  EXPECT_EQ(status_of(get(host, target(kMostHeadLine + 1))), 414);
  const auto field = [](size_t line) { return "X: " + std::string(line - 5, 'x') + "\r\n"; };
  EXPECT_EQ(status_of(get(host + field(kMostHeadLine))), 200);
  EXPECT_EQ(status_of(get(host + field(kMostHeadLine + 1))), 431);
}

TEST(Head, NamesOfModelsWithPercentSigns) {
  const HeadRules rules{.model = "m\u00F6del v1%20"};
  const auto named = [&](const std::string& name) {
    return status_of(get("Host: localhost\r\n", "/v1/models/" + name), rules);
  };
  EXPECT_EQ(named("m%C3%B6del%20v1%2520"), 200);
  EXPECT_EQ(named("m\u00F6del%20v1%2520?x"), 200);
  for (const char* name : {"m%C3%B6del+v1%2520", "m%C3%B6del%20v1%20", "%", "%C", "%+C", "%C3%B6%"})
    EXPECT_EQ(named(name), 404) << name;
}

TEST(Head, OldClientsAreKnown) {
  EXPECT_TRUE(check_head("GET /v1/models HTTP/1.0\r\n\r\n", {}).http_1_0);
  EXPECT_FALSE(check_head(get("Host: localhost\r\n"), {}).http_1_0);
}

TEST(Head, TheLastRequestOfAConnectionIsKnown) {
  const auto is_last = [](const std::string& more) {
    return check_head(get("Host: localhost\r\n" + more), {}).is_last;
  };
  for (const char* more : {"Connection: close\r\n", "connection: Close\r\n", "Connection: TE,close\r\n",
                           "Connection: , CLOSE , TE\r\n", "Connection: TE\r\nConnection: close\r\n"})
    EXPECT_TRUE(is_last(more)) << more;
  for (const char* more : {"", "Connection:\r\n", "Connection: keep-alive\r\n", "Connection: closed\r\n",
                           "Connection: clos e\r\n", "Proxy-Connection: close\r\n"})
    EXPECT_FALSE(is_last(more)) << more;
}

TEST(Head, WhatCouldBeReadInTwoWays) {
  const std::string host = "Host: localhost\r\n";
  for (const char* more :
       {"Host: localhost\r\n", " folded: x\r\n", "no field\r\n", ": x\r\n", "a b: x\r\n", "a\t: x\r\n",
        "x: a\rb\r\n", "x: a\nb: c\r\n", "x: \x01\r\n", "Content-Length: 5\r\n", "Range: bytes=0-1,1-2\r\n"})
    EXPECT_EQ(status_of(get(host + more)), 400) << more;
  EXPECT_EQ(status_of(get(host) + "x"), 400);
  EXPECT_EQ(status_of("GET /v1/models HTTP/1.1\r\n" + host), 400);
  const auto post = [&](const std::string& more, const char* type = "application/json; charset=utf-8") {
    return status_of(
        fmt::format("POST /tokenize HTTP/1.1\r\n{}Content-Type: {}\r\n{}\r\n", host, type, more));
  };
  EXPECT_EQ(post("content-LENGTH: 7\r\n"), 200);
  EXPECT_EQ(post(""), 411);
  EXPECT_EQ(post("Content-Length: 7\r\nContent-Length: 7\r\n"), 400);
  EXPECT_EQ(post("Content-Length: 7\r\nTransfer-Encoding: chunked\r\n"), 411);
  for (const char* length : {"+7", "-7", "0x7", "7 7", "", "7,7"})
    EXPECT_EQ(post(fmt::format("Content-Length: {}\r\n", length)), 400) << length;
  EXPECT_EQ(post("Content-Length: 1048577\r\n"), 413);
  EXPECT_EQ(post("Content-Length: 7\r\nContent-Encoding: br\r\n"), 415);
  for (const char* type : {"text/plain", "", "multipart/form-data; boundary=x", "application/jsonp"})
    EXPECT_EQ(post("Content-Length: 7\r\n", type), 415) << type;
}

TEST(Head, Keys) {
  const HeadRules rules{.loopback = false, .key = "0123456789abcdef", .model = "m"};
  const auto with = [&](const char* field) {
    return status_of(get(fmt::format("Host: x\r\n{}", field)), rules);
  };
  EXPECT_EQ(with("Authorization: Bearer 0123456789abcdef\r\n"), 200);
  EXPECT_EQ(with("authorization:bearer  0123456789abcdef \r\n"), 200);
  for (const char* field :
       {"", "Authorization: Bearer\r\n", "Authorization: Bearer 0123456789abcdee\r\n",
        "Authorization: 0123456789abcdef\r\n", "Authorization: Bearer 0123456789abcdef0\r\n",
        "Authorization: Basic 0123456789abcdef\r\n"})
    EXPECT_EQ(with(field), 401) << field;
  EXPECT_EQ(with("Authorization: Bearer 0123456789abcdef\r\nAuthorization: Bearer x\r\n"), 400);
  EXPECT_EQ(status_of("POST /nowhere HTTP/1.1\r\nHost: x\r\n\r\n", rules),
            401);  // nothing is told before the key
}

// Both ends of a connection whose limits are short.
struct Pair {
  Pair() {
    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends);
    closing = eventfd(0, EFD_CLOEXEC);
    connection.emplace(ends[0], closing,
                       ConnectionLimits{.idle = 200ms, .head = 150ms, .body = 150ms, .write = 100ms});
  }
  ~Pair() {
    for (const int fd : {ends[0], ends[1], closing}) close(fd);
  }
  void send(const std::string& bytes) {
    ASSERT_EQ(write(ends[1], bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }
  void close_all() const {
    const uint64_t one = 1;
    EXPECT_EQ(write(closing, &one, sizeof one), 8);
  }

  int ends[2] = {-1, -1};
  int closing = -1;
  std::optional<Connection> connection;
};

TEST(Connection, WhoSendsAByteNowAndThenIsLeft) {
  Pair pair;
  std::atomic<bool> done = false;
  const auto send_byte = [&](size_t i) { pair.send(get("Host: localhost\r\n").substr(i % 20, 1)); };
  send_byte(0);
  std::thread slow([&] {
    for (size_t i = 1; !done; ++i) {
      send_byte(i);
      std::this_thread::sleep_for(5ms);
    }
  });
  try {
    pair.connection->next_head({});
    ADD_FAILURE() << "a head came";
  } catch (const ApiError& error) {
    EXPECT_EQ(error.status, 408);
  }
  done = true;
  slow.join();
}

TEST(Connection, HeadsAndBodiesOfOneConnection) {
  Pair pair;
  const HeadRules rules{.model = "m"};
  pair.send(
      "POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
      "2\r\n\r\n{}" +
      get("Host: localhost\r\n"));
  char bytes[1000];
  ASSERT_EQ(pair.connection->next_head(rules)->route, Route::tokenize);
  std::string read;
  while (true) {
    const ssize_t n = pair.connection->read(bytes, 7);
    if (n <= 0) break;
    read.append(bytes, static_cast<size_t>(n));
  }
  EXPECT_TRUE(read.ends_with("\r\n\r\n{}"));  // and nothing of the next request
  ASSERT_EQ(pair.connection->next_head(rules)->route, Route::models);
  while (pair.connection->read(bytes, sizeof bytes) > 0) {
  }
  EXPECT_FALSE(pair.connection->next_head(rules));  // nothing comes any more
  pair.send(
      "POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
      "9\r\n\r\n{");
  ASSERT_TRUE(pair.connection->next_head(rules));
  while (pair.connection->read(bytes, sizeof bytes) > 0) {
  }
  EXPECT_TRUE(pair.connection->broken());  // the rest of the body did not come in time
}

TEST(Connection, WhoReadsNothingAndWhoGoesAway) {
  Pair pair;
  const std::string much(1 << 22, 'x');
  EXPECT_LT(pair.connection->write(much.data(), much.size()), 0);
  EXPECT_TRUE(pair.connection->broken());
  Pair other;
  shutdown(other.ends[1], SHUT_RDWR);
  const int never = eventfd(0, EFD_CLOEXEC);
  EXPECT_FALSE(other.connection->wait_for(never));
  close(never);
  Pair closing;
  closing.close_all();
  EXPECT_FALSE(closing.connection->next_head({}));
}

TEST(Connection, WhoSendsNoMoreIsThereUntilItGoesAway) {
  const int answer = eventfd(1, EFD_CLOEXEC), never = eventfd(0, EFD_CLOEXEC);
  Pair pair;
  pair.send(get("Host: localhost\r\n"));
  ASSERT_TRUE(pair.connection->next_head({.model = "m"}));
  shutdown(pair.ends[1], SHUT_WR);
  EXPECT_TRUE(pair.connection->wait_for(answer));
  char bytes[100];
  const ssize_t n = read(pair.ends[1], bytes, sizeof bytes);
  EXPECT_EQ(std::string(bytes, n > 0 ? static_cast<size_t>(n) : 0), "HTTP/1.1 100 Continue\r\n\r\n");
  EXPECT_TRUE(pair.connection->wait_for(answer));
  shutdown(pair.ends[1], SHUT_RD);
  EXPECT_FALSE(pair.connection->wait_for(never));
  Pair old;  // a client of HTTP/1.0 knows no interim responses
  shutdown(old.ends[1], SHUT_WR);
  EXPECT_FALSE(old.connection->wait_for(answer));
  Pair stream;
  shutdown(stream.ends[1], SHUT_WR);
  int probes = 0;
  EXPECT_TRUE(stream.connection->wait_for(answer, [&] { return ++probes == 1; }));
  EXPECT_EQ(probes, 1);
  for (const int fd : {answer, never}) close(fd);
}

constexpr const char* kHalfABody =
    "POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
    "9\r\n\r\n{";

TEST(Connection, WhatWasNotReadIsNoOtherRequest) {
  Pair pair;
  pair.send(kHalfABody);
  ASSERT_TRUE(pair.connection->next_head({}));
  EXPECT_TRUE(pair.connection->has_unread());
  pair.send("12345678");
  char bytes[100];
  while (pair.connection->read(bytes, sizeof bytes) > 0) {
  }
  EXPECT_FALSE(pair.connection->broken());
  EXPECT_FALSE(pair.connection->has_unread());
}

TEST(Connection, AFewEmptyLinesBeforeARequestAreSkipped) {
  Pair pair;
  pair.send("\r\n\r\n" + get("Host: localhost\r\n"));
  EXPECT_EQ(pair.connection->next_head({})->route, Route::models);
  Pair empty;
  empty.send("\r\n");
  EXPECT_FALSE(empty.connection->next_head({}));  // nothing has begun that could be late
  Pair many;
  many.send("\r\n\r\n\r\n\r\n\r\n\r\n" + get("Host: localhost\r\n"));
  EXPECT_THROW(many.connection->next_head({}), ApiError);
}

TEST(Connection, TheEndWaitsNeitherForABodyNorForASlowReader) {
  const ConnectionLimits limits{.body = 60s, .write = 60s, .closing = 50ms};
  const auto begin = std::chrono::steady_clock::now();
  Pair half;
  half.connection.emplace(half.ends[0], half.closing, limits);
  half.send(kHalfABody);
  ASSERT_TRUE(half.connection->next_head({}));
  half.close_all();
  char bytes[100];
  while (half.connection->read(bytes, sizeof bytes) > 0) {
  }
  EXPECT_TRUE(half.connection->broken());
  Pair slow;
  slow.connection.emplace(slow.ends[0], slow.closing, limits);
  std::atomic<bool> done = false;
  std::thread reader([&] {
    char some[1024];
    for (size_t i = 0; !done; ++i) {
      if (i == 10) slow.close_all();
      [[maybe_unused]] const ssize_t n = recv(slow.ends[1], some, sizeof some, MSG_DONTWAIT);
      std::this_thread::sleep_for(1ms);
    }
  });
  const std::string much(size_t{1} << 26, 'x');
  EXPECT_LT(slow.connection->write(much.data(), much.size()), 0);
  done = true;
  reader.join();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 30s);
}

// A client's connection to a server, or -1.
int connect_to(const std::string& url) {
  const int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(std::stoi(url.substr(url.rfind(':') + 1))));
  if (connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return client;
  close(client);
  return -1;
}

TEST(HttpServer, WhatAHandlerThrowsIsLoggedUnlessItMayQuoteTheRequest) {
  std::mutex mutex;
  std::vector<std::string> log;
  const auto handler = [](const Head& head, const auto&, auto&, auto&) {
    if (head.route == Route::models) throw std::runtime_error("no file descriptors left");
    throw Error(ErrorKind::model, "secret");
  };
  HttpServer server({}, handler, [&](std::string_view route, int status) {
    const std::lock_guard lock(mutex);
    log.push_back(fmt::format("{} {}", route, status));
  });
  server.bind("127.0.0.1", 0);
  server.set_rules({.model = "m"});
  std::thread runs([&] { server.run(); });
  for (const char* target : {"/v1/models", "/v1/models/m"}) {
    const int client = connect_to(server.url());
    ASSERT_GE(client, 0);
    const std::string head = get("Host: localhost\r\nConnection: close\r\n", target);
    EXPECT_EQ(write(client, head.data(), head.size()), static_cast<ssize_t>(head.size()));
    std::string answer;
    char bytes[1000];
    for (ssize_t n = 0; (n = read(client, bytes, sizeof bytes)) > 0;)
      answer.append(bytes, static_cast<size_t>(n));
    EXPECT_THAT(answer, testing::StartsWith("HTTP/1.1 500 "));
    close(client);
  }
  server.stop();
  runs.join();
  EXPECT_THAT(log, testing::ElementsAre("GET /v1/models failed (no file descriptors left): 500",
                                        "GET /v1/models/NAME failed (an error about the request): 500"));
}

TEST(HttpServer, NobodyCanComeOnceItStops) {
  HttpServer server({}, {}, {});
  server.bind("127.0.0.1", 0);
  const int early = connect_to(server.url());
  EXPECT_GE(early, 0);
  server.stop();
  EXPECT_LT(connect_to(server.url()), 0);
  close(early);
}

}  // namespace
}  // namespace bitnet
