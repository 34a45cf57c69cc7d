#include "app/base/event_loop.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <thread>

#include "app/base/output.h"
#include "engine/error.h"

namespace bitnet {
namespace {

using std::chrono::milliseconds;

TEST(EventLoop, CallsForAReadableDescriptor) {
  EventLoop loop;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  std::string got;
  loop.watch(ends[0], [&] {
    char c = 0;
    ASSERT_EQ(read(ends[0], &c, 1), 1);
    got += c;
  });
  ASSERT_EQ(write(ends[1], "x", 1), 1);
  loop.run_once();
  EXPECT_EQ(got, "x");
  loop.unwatch(ends[0]);
  ASSERT_EQ(write(ends[1], "y", 1), 1);
  loop.run_once(milliseconds(0));
  EXPECT_EQ(got, "x");
  close(ends[0]);
  close(ends[1]);
}

TEST(EventLoop, DeliversSignalsOutsideTheHandler) {
  EventLoop loop;
  int count = 0;
  loop.on_signal(SIGUSR1, [&] { ++count; });
  raise(SIGUSR1);
  EXPECT_EQ(count, 0);
  loop.run_once();
  EXPECT_EQ(count, 1);
}

TEST(EventLoop, AHangUpThatIsIgnoredStaysSo) {
  const auto former = std::signal(SIGHUP, SIG_IGN);
  {
    EventLoop loop;
    int count = 0;
    loop.on_signal(SIGHUP, [&] { ++count; });
    raise(SIGHUP);
    loop.run_once(milliseconds(0));
    EXPECT_EQ(count, 0);
    loop.default_signal(SIGHUP);
  }
  EXPECT_EQ(std::signal(SIGHUP, former), SIG_IGN);
}

TEST(EventLoop, KnowsWhetherTheProgramIsToEnd) {
  {
    EventLoop loop;
    loop.on_signal(SIGTERM, [] {});
    EXPECT_FALSE(is_to_end());
    raise(SIGTERM);
    EXPECT_TRUE(is_to_end());
    loop.run_once();
    EXPECT_FALSE(is_to_end());  // the call said nothing of an end
    loop.note_end();
    EXPECT_TRUE(is_to_end());
  }
  EXPECT_FALSE(is_to_end());
}

TEST(Output, AReaderWhoHasStoppedKeepsNoProgramFromEnding) {
  EventLoop loop;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  Output out(ends[1]);
  EXPECT_TRUE(out.takes_more());
  out.write(std::string(10'000, 'x'));
  EXPECT_FALSE(out.closed());
  loop.note_end();
  out.write(std::string(1 << 20, 'x'));
  EXPECT_TRUE(out.closed());
  EXPECT_FALSE(out.takes_more());
  close(ends[0]);
  close(ends[1]);
}

TEST(Output, AReaderWhoTakesMoreGetsAllOfItAlthoughTheProgramIsToEnd) {
  EventLoop loop;
  loop.on_signal(SIGTERM, [] {});
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const std::string text(1 << 20, 'x');
  size_t taken = 0;
  std::thread reader([&, writer = pthread_self()] {
    const int room = fcntl(ends[0], F_GETPIPE_SZ);
    for (int there = 0; there < room; std::this_thread::yield()) ioctl(ends[0], FIONREAD, &there);
    pthread_kill(writer, SIGTERM);  // which waits for us
    while (!is_to_end()) std::this_thread::yield();
    char bytes[4096];
    while (const ssize_t n = read(ends[0], bytes, sizeof bytes)) taken += static_cast<size_t>(n);
  });
  Output out(ends[1]);
  out.write(text);
  EXPECT_FALSE(out.closed());
  close(ends[1]);
  reader.join();
  loop.run_once(milliseconds(0));  // delivers the signal, so that the tests behind this one are not to end
  EXPECT_EQ(taken, text.size());
  close(ends[0]);
}

TEST(Output, WhatIsSaidBesideTheResultIsDroppedWhereItCannotBeWritten) {
  const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  if (full < 0) GTEST_SKIP();
  EXPECT_THROW(Output(full).write("x"), Error);
  EXPECT_NO_THROW(Output(full, Output::OnFailure::drop).write("x"));
  close(full);
}

TEST(EventLoop, TimersFireOnceAndCanBeCancelled) {
  EventLoop loop;
  int fired = 0;
  loop.call_after(milliseconds(0), [&] { ++fired; });
  const uint64_t cancelled = loop.call_after(milliseconds(0), [&] { fired += 100; });
  loop.cancel_timer(cancelled);
  loop.run_once(milliseconds(1000));
  loop.run_once(milliseconds(0));
  EXPECT_EQ(fired, 1);
}

}  // namespace
}  // namespace bitnet
