// Tests a conversation on the real engine over a Vulkan driver that fails: what was said is kept, the device
// is opened once more, and then the person chooses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "app/base/event_loop.h"
#include "app/chat/chat.h"
#include "app/chat/settings.h"
#include "app/model/model_open.h"
#include "app/model/worker.h"
#include "app/store/store.h"
#include "tests/support/fake_engine.h"
#include "tests/support/vk_faults.h"

namespace bitnet {
namespace {

using testing::HasSubstr;

constexpr char kSubmit[] = "vkQueueSubmit";

class ChatOnVulkan : public testing::Test {
 protected:
  ChatOnVulkan() {
    vk_faults::heal();
    setenv("XDG_CACHE_HOME", (testing::TempDir() + "bitnet-vk-fault-cache").c_str(), 1);
    settings_.max_tokens = 5;
  }
  ~ChatOnVulkan() override {
    chat_.reset();
    worker_.reset();
    vk_faults::heal();
  }
  void SetUp() override {
    if (list_devices().front().cpu) GTEST_SKIP() << "no Vulkan device here";
    ModelOptions options;
    options.model = BITNET_TEST_MODEL;
    options.device = "0";
    options.ctx = 128;
    store_ = Store::in_memory();
    worker_ = std::make_unique<Worker>(opener_for(options));
    chat_ = make_chat(*store_, *worker_, settings_, front_);
    loop_.watch(chat_->wake_fd(), [this] { chat_->handle_events(); });
    chat_->show_all();
    worker_->start();
    until_idle();
  }

  void until_idle() {
    while (chat_->busy() || chat_->loading()) loop_.run_once();
  }
  void say(const std::string& text) {
    chat_->submit(text);
    until_idle();
  }

  const ShownMessage& answer() const { return front_.shown.back(); }

  // The branch that is shown must be stored as it is shown, token for token.
  void expect_all_kept() {
    const auto row = store_->conversation(chat_->conversation());
    ASSERT_TRUE(row.has_value());
    const std::vector<StoredMessage> stored = store_->branch(row->leaf);
    ASSERT_EQ(stored.size(), front_.shown.size());
    for (size_t i = 0; i < stored.size(); ++i) {
      EXPECT_EQ(stored[i].text, front_.shown[i].text);
      EXPECT_EQ(stored[i].finish, front_.shown[i].finish);
      EXPECT_FALSE(stored[i].draft);
    }
    EXPECT_EQ(store_->answer_tokens(row->id)[stored.back().id].size(), front_.tokens);
  }

  ChatSettings settings_ = script_settings();
  fake::FrontEndLog front_;
  EventLoop loop_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Worker> worker_;
  std::unique_ptr<Chat> chat_;
};

TEST_F(ChatOnVulkan, ADeviceLostAtAnySubmissionKeepsWhatWasSaidAndIsOpenedOnceMore) {
  say("Hello");
  const int submissions = vk_faults::calls(kSubmit);
  const std::string whole = answer().text;
  ASSERT_EQ(answer().finish, "length");
  constexpr int kSure = 6;
  ASSERT_GE(submissions, kSure);
  for (int n = 1; n <= submissions; ++n) {
    chat_->submit("/new");
    vk_faults::heal();
    vk_faults::fail(kSubmit, VK_ERROR_DEVICE_LOST, n);
    front_.errors.clear();
    say("Hello");
    // Tokens are asked of a GPU ahead of time, so its last submissions may come after the answer's end. If
    // one of those is lost, nobody notices.
    if (n > kSure && answer().finish == "length") continue;
    EXPECT_EQ(answer().finish, "device_lost") << n;
    EXPECT_TRUE(whole.starts_with(answer().text)) << n << ": " << answer().text;
    ASSERT_EQ(front_.errors.size(), 1U) << n;
    EXPECT_THAT(front_.errors[0], HasSubstr("the device was lost (vkQueueSubmit)"));
    EXPECT_THAT(front_.errors[0], HasSubstr("The answer so far is kept"));
    EXPECT_FALSE(chat_->failure());
    expect_all_kept();
    if (n == submissions) {
      say("/continue");
      EXPECT_TRUE(answer().text.starts_with(whole.substr(0, 1))) << answer().text;
    } else {
      say("/regen");
      EXPECT_EQ(answer().text, whole) << n;
    }
    EXPECT_EQ(answer().finish, "length") << n;
    expect_all_kept();
  }
}

TEST_F(ChatOnVulkan, ADeviceLostTwiceLeavesTheChoiceToThePerson) {
  say("Hello");
  const std::string whole = answer().text;
  // A GPU also submits the uploads of a model. The second device must not be lost before it has the weights,
  // because the next turn is then given back instead of being answered.
  vk_faults::heal();
  say("/reopen");
  const int of_loading = vk_faults::calls(kSubmit);
  vk_faults::heal();
  vk_faults::fail(kSubmit, VK_ERROR_DEVICE_LOST, of_loading + 3, 2);
  say("One");
  EXPECT_EQ(answer().finish, "device_lost");
  chat_->submit("Two");
  while (!chat_->failure()) loop_.run_once();
  EXPECT_EQ(answer().finish, "device_lost");
  EXPECT_EQ(front_.last_status.state, ChatState::failed);
  EXPECT_THAT(front_.errors.back(), HasSubstr("/reopen cpu"));
  expect_all_kept();

  front_.returned.clear();
  chat_->submit("Three");  // nothing is there to answer it, so it is given back
  EXPECT_THAT(front_.returned, testing::ElementsAre("Three"));
  say("/reopen");
  EXPECT_FALSE(chat_->failure());
  say("/regen");
  EXPECT_EQ(answer().finish, "length");
  EXPECT_EQ(front_.shown[1].text, whole);
  say("/reopen cpu");
  EXPECT_EQ(front_.last_status.device, list_devices().back().name);
  say("Three");
  EXPECT_EQ(answer().finish, "length");
  EXPECT_EQ(front_.shown.size(), 8U);
  expect_all_kept();
}

TEST_F(ChatOnVulkan, AReopenThatFindsNoDeviceLeavesTheChoiceToo) {
  vk_faults::fail(kSubmit, VK_ERROR_DEVICE_LOST, 2);
  vk_faults::set({.compute_queue = true});
  chat_->submit("Hello");
  while (!chat_->failure()) loop_.run_once();
  EXPECT_THAT(front_.errors.back(), HasSubstr("compute queue"));
  EXPECT_THAT(front_.errors.back(), HasSubstr("/reopen cpu"));
  expect_all_kept();
  chat_->submit("/reopen");
  while (!chat_->failure()) loop_.run_once();
  vk_faults::set({});
  say("/reopen");
  say("/regen");
  EXPECT_EQ(answer().finish, "length");
}

// If a larger context does not fit, the old one and the conversation stay.
TEST_F(ChatOnVulkan, OutOfDeviceMemoryForAnotherContextKeepsTheOldOne) {
  say("Hello");
  vk_faults::heal();
  vk_faults::fail("vkAllocateMemory", VK_ERROR_OUT_OF_DEVICE_MEMORY, 3);
  say("/set ctx 256");
  EXPECT_EQ(front_.last_status.context_limit, 128U);
  ASSERT_FALSE(front_.errors.empty());
  EXPECT_THAT(front_.errors.back(), HasSubstr("no memory"));
  say("Again");
  EXPECT_EQ(answer().finish, "length");
  expect_all_kept();
}

TEST_F(ChatOnVulkan, AConversationTakesNoMoreDeviceMemoryAsItGoesOn) {
  const auto round = [&] {
    for (const char* line : {"Hello", "/regen", "/undo", "/redo", "/edit Bye", "/fork", "And?",
                             "/set ctx 100", "/set ctx 128", "/tokens", "/new"})
      say(line);
  };
  round();
  const int settled = vk_faults::allocations();
  EXPECT_GT(settled, 10);
  for (int i = 0; i < 4; ++i) round();
  say("/reopen");
  round();
  EXPECT_EQ(vk_faults::allocations(), settled);
  chat_.reset();
  worker_.reset();
  EXPECT_EQ(vk_faults::allocations(), 0);
}

TEST_F(ChatOnVulkan, AWaitThatTimesOutIsTakenForALostDevice) {
  vk_faults::fail("vkWaitForFences", VK_TIMEOUT, 3);
  say("Hello");
  EXPECT_EQ(answer().finish, "device_lost");
  EXPECT_THAT(front_.errors.back(), HasSubstr("did not finish in time"));
  expect_all_kept();
  say("/regen");
  EXPECT_EQ(answer().finish, "length");
}

}  // namespace
}  // namespace bitnet
