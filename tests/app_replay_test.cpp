#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/chat.h"
#include "app/chat_settings.h"
#include "app/replay.h"
#include "engine/error.h"
#include "tests/app_fake_engine.h"

namespace bitnet {
namespace {

using testing::HasSubstr;

// A conversation of two turns, the second of them continued.
std::unique_ptr<Store> conversation_of(fake::Script& script) {
  auto store = Store::in_memory();
  fake::Recorder front;
  EventLoop loop;
  Worker worker(fake::opener(script));
  Chat chat(*store, worker, script_settings(), front);
  loop.watch(chat.wake_fd(), [&] { chat.handle_events(); });
  const auto say = [&](const char* text, uint32_t stop_after) {
    while (chat.loading()) loop.run_once();
    chat.submit(text);
    if (stop_after != 0) chat.interrupt_after(stop_after);
    while (chat.busy()) loop.run_once();
  };
  say("a", 0);
  say("b", 2);
  say("/continue", 0);
  return store;
}

void answers(fake::Script& script, const char* second) {
  script.answer("one");
  script.answer(second);
  script.answer("three");
}

TEST(Replay, ShowsEveryTokenOnce) {
  fake::Script script;
  answers(script, "two…");
  const auto store = conversation_of(script);
  fake::Recorder front;
  EventLoop loop;
  EXPECT_EQ(replay(*store, 1, 0, loop, front), 0);
  ASSERT_EQ(front.shown.size(), 4U);
  EXPECT_EQ(front.shown[1].text, "one");
  EXPECT_EQ(front.shown[3].text, "twthree");
  EXPECT_EQ(front.tokens, 7U);
  EXPECT_THROW(replay(*store, 9, 0, loop, front), Error);
}

TEST(Replay, VerifyFindsTheSame) {
  fake::Script script;
  answers(script, "two");
  const auto store = conversation_of(script);
  fake::Script again;
  answers(again, "two");
  LoadedModel model = fake::opener(again)([](double) { return true; });
  EXPECT_THAT(verify_replay(*store, 1, model), HasSubstr("3 turns, 10 tokens"));
}

TEST(Replay, VerifyNamesTheFirstDivergence) {
  fake::Script script;
  answers(script, "two");
  const auto store = conversation_of(script);
  const auto difference = [&](const char* first, const char* second) {
    fake::Script again;
    again.answer(first);
    again.answer(second);
    again.answer("three");
    LoadedModel model = fake::opener(again)([](double) { return true; });
    try {
      verify_replay(*store, 1, model);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::mismatch);
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(difference("one", "txo"), testing::AllOf(HasSubstr("turn 2"), HasSubstr("position 1"),
                                                       HasSubstr("119"), HasSubstr("120"), HasSubstr("gap")));
  EXPECT_THAT(difference("on", "two"), testing::AllOf(HasSubstr("turn 1"), HasSubstr("now the answer ends")));
  EXPECT_THAT(difference("ones", "two"), testing::AllOf(HasSubstr("turn 1"), HasSubstr("position 3")));
}

}  // namespace
}  // namespace bitnet
