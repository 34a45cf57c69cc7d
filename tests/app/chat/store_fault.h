// A chat over a database in a folder of its own, whose file fails as faulty_vfs.h says.
#pragma once

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "tests/support/chat_fixture.h"
#include "tests/support/faulty_vfs.h"

namespace bitnet {

class StoreFault : public ChatTest {
 protected:
  void SetUp() override {
    faulty_vfs::install();
    // The file is kept in memory if there is such a folder: the syncs of thousands of commits are not tested.
    const std::filesystem::path place = std::filesystem::exists("/dev/shm")
                                            ? std::filesystem::path("/dev/shm")
                                            : std::filesystem::temp_directory_path();
    std::string pattern = place / "bitnet-fault-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override {
    faulty_vfs::heal();
    end();
    std::filesystem::remove_all(folder_);
  }
  void end() {
    if (chat) loop.unwatch(chat->wake_fd());
    chat.reset();
    worker.reset();
    store.reset();
  }
  std::string file() const { return folder_ / "chats.db"; }
  // Puts a database with one conversation, in which "theirs" was said, in the place of the one that is open.
  void replace_file() {
    const std::filesystem::path theirs = folder_ / "other.db";
    {
      const auto other = Store::open(theirs);
      other->add_message(other->add_conversation(""), {}, Role::user, "theirs");
    }
    for (const char* suffix : {"-wal", "-shm"}) std::filesystem::remove(file() + suffix);
    std::filesystem::rename(theirs, file());
  }

  std::filesystem::path folder_;
};

}  // namespace bitnet
