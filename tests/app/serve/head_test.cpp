#include "app/serve/head.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "app/serve/connection.h"

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
  for (const char* host : {"localhost", "LocalHost:80", "127.0.0.1", "127.0.0.1:9", "[::1]", "[::1]:8080"})
    EXPECT_EQ(status_of(get(fmt::format("Host: {}\r\n", host))), 200) << host;
  for (const char* host : {"", "evil", "localhost.evil:80", "127.0.0.1.evil", "127.0.0.2", "[::1", "[::2]",
                           "evil:localhost", "::1"})
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

  int ends[2] = {-1, -1};
  int closing = -1;
  std::optional<Connection> connection;
};

TEST(Connection, WhoSendsAByteNowAndThenIsLeft) {
  Pair pair;
  std::atomic<bool> done = false;
  std::thread slow([&] {
    for (size_t i = 0; !done; ++i) {
      pair.send(get("Host: localhost\r\n").substr(i % 20, 1));
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
  const uint64_t one = 1;
  ASSERT_EQ(write(closing.closing, &one, sizeof one), 8);
  EXPECT_FALSE(closing.connection->next_head({}));
}

}  // namespace
}  // namespace bitnet
