// A store in a folder of its own, which is removed when the test ends.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>

#include "app/store/sqlite_db.h"
#include "app/store/store.h"
#include "engine/error.h"

namespace bitnet {

class StoreTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = std::filesystem::temp_directory_path() / "bitnet-store-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string file() const { return folder_ / "chats.db"; }

  std::filesystem::path folder_;
};

inline StoredTurn some_turn() {
  StoredTurn turn;
  turn.seed = UINT64_MAX;
  turn.sampler = "{}";
  turn.prompt_tokens = 7;
  return turn;
}

// Returns the kind of the error that `work` throws, and its message.
inline ErrorKind kind_of(const std::function<void()>& work, std::string* message = nullptr) {
  try {
    work();
  } catch (const Error& error) {
    if (message != nullptr) *message = error.what();
    return error.kind();
  }
  ADD_FAILURE() << "no Error was thrown";
  return ErrorKind::runtime;
}

}  // namespace bitnet
