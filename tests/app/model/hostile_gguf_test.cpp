// Opens every malformed file of make_hostile_ggufs.py in this process, so that sanitizers see it.
// program/hostile_ggufs_test.py checks what the program says of each, and how much time and memory it takes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/base/pattern.h"
#include "app/model/model_file.h"
#include "app/text/text_safe.h"
#include "engine/engine.h"

namespace bitnet {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

// Opens a model as the program does. Returns the message if it is refused.
std::optional<std::string> refusal(const std::string& path) {
  try {
    const Checkpoint file(path);
    read_model_info(file);
    read_model_text(file, "");
    EngineOptions options;
    options.device = "cpu";
    options.threads = 1;
    const auto engine = Engine::open(file, options);
    Session::create(*engine, 0);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::model) << path;
    return error.what();
  }
  return std::nullopt;
}

TEST(HostileGguf, EveryFaultIsNamedInOneLine) {
  const auto cases = nlohmann::json::parse(std::ifstream(HOSTILE_GGUFS "/cases.json"));
  EXPECT_GE(cases.size(), 400U);
  for (const auto& [name, pattern] : cases.items()) {
    const auto message = refusal(std::string(HOSTILE_GGUFS "/") + name);
    ASSERT_TRUE(message) << name << " was accepted";
    EXPECT_THAT(*message, HasSubstr(name));
    EXPECT_TRUE(Pattern(pattern).found_in(*message)) << name << ": " << *message;
    EXPECT_EQ(message->find('\n'), std::string::npos) << *message;
    EXPECT_EQ(make_safe(*message), *message);
  }
}

TEST(HostileGguf, WhatIsOnlyUnusualIsAccepted) {
  for (const auto& entry : fs::directory_iterator(HOSTILE_GGUFS)) {
    if (!entry.path().filename().string().starts_with("fine-")) continue;
    const auto message = refusal(entry.path().string());
    EXPECT_FALSE(message) << *message;
  }
}

TEST(HostileGguf, ExtraTensorsAreAWarning) {
  const Checkpoint file(HOSTILE_GGUFS "/fine-extra-tensor-1.gguf");
  EXPECT_THAT(warning_about(read_model_info(file)),
              HasSubstr("1 tensor that this program does not use: extra.weight"));
  EXPECT_EQ(warning_about(read_model_info(Checkpoint(HOSTILE_GGUFS "/fine-valid-1.gguf"))), "");
}

}  // namespace
}  // namespace bitnet
