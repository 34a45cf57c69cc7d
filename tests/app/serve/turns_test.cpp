#include "app/serve/turns.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <thread>
#include <utility>
#include <vector>

#include "app/serve/api_error.h"

namespace bitnet {
namespace {

// A client that is there until it hangs up.
class Client {
 public:
  Client() : Client(pair()) {}
  ~Client() {
    close(ends_[0]);
    hang_up();
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  void hang_up() {
    if (ends_[1] >= 0) close(std::exchange(ends_[1], -1));
  }

 private:
  using Ends = std::array<int, 2>;
  static Ends pair() {
    Ends ends{-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    return ends;
  }
  explicit Client(Ends ends) : ends_(ends), connection(ends[0], -1, {}) {}
  Ends ends_;

 public:
  Connection connection;
};

int status_of_a_turn(Turns& turns, Client& client) {
  try {
    const Turns::Turn turn(turns, client.connection);
    return 200;
  } catch (const ApiError& error) {
    return error.status;
  }
}

TEST(Turns, NoMoreThanTwoAreInsideAndEachHasItsTurn) {
  Turns turns(2, 100);
  std::atomic<int> inside = 0, most = 0, done = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 12; ++i) {
    threads.emplace_back([&] {
      Client client;
      for (int k = 0; k < 50; ++k) {
        const Turns::Turn turn(turns, client.connection);
        const int now = ++inside;
        for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
        }
        std::this_thread::yield();
        --inside;
        ++done;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(most, 2);
  EXPECT_EQ(done, 12 * 50);
}

TEST(Turns, WhoFindsTooManyWaitingIsToldSo) {
  Turns turns(1, 0);
  Client client;
  {
    const Turns::Turn turn(turns, client.connection);
    EXPECT_EQ(status_of_a_turn(turns, client), 503);
  }
  EXPECT_EQ(status_of_a_turn(turns, client), 200);
}

TEST(Turns, AClientThatHangsUpWaitsNoLonger) {
  Turns turns(1, 1);
  Client inside;
  Client leaving;
  const Turns::Turn turn(turns, inside.connection);
  int status = 0;
  std::thread waiting([&] { status = status_of_a_turn(turns, leaving); });
  leaving.hang_up();
  waiting.join();
  EXPECT_EQ(status, 503);
}

}  // namespace
}  // namespace bitnet
