// Opens and reads a file as the program does with a chat database; it may be refused.
#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>

#include "app/store/store.h"
#include "fuzz.h"

namespace bitnet {
namespace {

void use(Store& store) {
  for (const StoredConversation& c : store.conversations(10, true)) {
    for (const StoredMessage& m : store.branch(c.leaf)) {
      for (const StoredTurn& turn : store.turns(m.id)) store.tokens(turn.id);
    }
    store.answer_tokens(c.id);
    store.outline(c.id);
  }
  store.search("word \"quoted", 10);
  const int64_t conversation = store.add_conversation("");
  const int64_t user = store.add_message(conversation, {}, Role::user, "Hello");
  StoredTurn turn = store.begin_turn(conversation, user, {});
  store.append(turn, "Hi", {{1, 0, 0}});
  turn.finish = "stop";
  store.finish_turn(turn);
  store.remove_conversation(conversation);
}

}  // namespace
}  // namespace bitnet

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace bitnet;
  static const std::string folder = [] {
    const bool in_memory = std::filesystem::exists("/dev/shm");
    std::string pattern = std::string(in_memory ? "/dev/shm" : "/tmp") + "/bitnet-fuzz-XXXXXX";
    fuzz::promise(mkdtemp(pattern.data()) != nullptr);
    return pattern;
  }();
  static const struct Cleaner {
    ~Cleaner() { std::filesystem::remove_all(folder); }
  } cleaner;
  const std::string path = folder + "/chats.db";
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  fuzz::promise(fd >= 0 && write(fd, data, size) == static_cast<ssize_t>(size));
  close(fd);
  try {
    use(*Store::open(path));
  } catch (const Error& error) {
    fuzz::promise(error.kind() == ErrorKind::database);
    fuzz::check_message(error);
  }
  for (const auto& entry : std::filesystem::directory_iterator(folder)) std::filesystem::remove(entry);
  return 0;
}
