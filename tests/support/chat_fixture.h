// A chat over the fake engine, an in-memory store and a recording front end.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "app/base/event_loop.h"
#include "app/chat/chat.h"
#include "app/chat/settings.h"
#include "app/model/model_open.h"
#include "app/model/worker.h"
#include "app/store/store.h"
#include "tests/support/fake_engine.h"

namespace bitnet {

class ChatTest : public testing::Test {
 protected:
  void start(uint32_t n_ctx = 512, const std::string& chat_template = fake::kTemplate) {
    if (!store) store = Store::in_memory();
    worker = std::make_unique<Worker>(fake::opener(script, n_ctx, chat_template));
    chat = make_chat(*store, *worker, settings, front, models);
    loop.watch(chat->wake_fd(), [this] { chat->handle_events(); });
    chat->show_all();
    worker->start();
  }
  void start_loaded(uint32_t n_ctx = 512) {
    start(n_ctx);
    while (chat->loading()) loop.run_once();
  }
  void until_idle() {
    while (chat->busy() || chat->loading()) loop.run_once();
  }
  void say(const std::string& text) {
    chat->submit(text);
    until_idle();
  }
  void until_tokens(uint32_t n) {
    while (front.tokens < n) loop.run_once();
  }
  std::vector<std::string> shown_texts() {
    std::vector<std::string> texts;
    for (const ShownMessage& message : front.shown) texts.push_back(message.text);
    return texts;
  }
  std::string last_prompt() { return fake::text_of(script.prompts().back()); }

  fake::Script script;
  fake::FrontEndLog front;
  ModelSource models;
  ChatSettings settings = script_settings();
  EventLoop loop;
  std::unique_ptr<Store> store;
  std::unique_ptr<Worker> worker;
  std::unique_ptr<Chat> chat;
};

// The same with an empty folder of its own.
class ChatFolderTest : public ChatTest {
 protected:
  void SetUp() override {
    std::string pattern = std::filesystem::temp_directory_path() / "bitnet-chat-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  void TearDown() override {
    chat.reset();
    store.reset();
    std::filesystem::remove_all(folder);
  }
  std::string file(const std::string& name, const std::string& bytes) {
    std::ofstream(folder / name, std::ios::binary) << bytes;
    return folder / name;
  }
  std::filesystem::path folder;
};

}  // namespace bitnet
