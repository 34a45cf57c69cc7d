// Imports a conversation in any form. What is read goes into a store and out again, and must be the same
// then.
#include "app/store/exchange.h"
#include "app/store/store.h"
#include "fuzz.h"

namespace bitnet {
namespace {

std::vector<std::string> texts_of(const WholeConversation& whole) {
  std::vector<std::string> texts;
  for (const WholeMessage* message : shown_branch(whole)) texts.push_back(message->stored.text);
  return texts;
}

void keep_and_write(const WholeConversation& read) {
  static const auto store = Store::in_memory();
  const int64_t id = store->add_whole(read);
  const auto whole = store->whole(id);
  fuzz::promise(whole.has_value());
  fuzz::promise(texts_of(*whole) == texts_of(read));
  const std::string json = write_chat(*whole, ChatFormat::json);
  write_chat(*whole, ChatFormat::markdown);
  write_chat(*whole, ChatFormat::openai);
  const auto again = read_chats(json, "again");
  fuzz::promise(again.size() == 1 && again[0].messages.size() == whole->messages.size());
  store->remove_conversation(id);
}

}  // namespace
}  // namespace bitnet

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace bitnet;
  try {
    for (const WholeConversation& read : read_chats({reinterpret_cast<const char*>(data), size}, "input"))
      keep_and_write(read);
  } catch (const Error& error) {
    fuzz::promise(error.kind() == ErrorKind::runtime);
    fuzz::check_message(error);
  }
  return 0;
}
