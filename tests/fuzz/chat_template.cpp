// Renders a chat template with a conversation. Layout: template, NUL, role, NUL, text, NUL, role, NUL, text
// ...
#include "tokenizer/chat_template.h"

#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace bitnet;
  fuzz::Input input(data, size);
  const std::string_view source = input.part();
  std::vector<ChatMessage> messages;
  while (!input.left.empty() && messages.size() < 8) {
    ChatMessage message;
    message.role = input.part();
    message.content = input.part();
    messages.push_back(message);
  }
  if (messages.empty()) messages.push_back({"user", "Hello"});
  try {
    const ChatTemplate chat_template(source, "template");
    for (const Segment& segment : chat_template.render(messages, {"<s>", "</s>", true, 0}))
      fuzz::promise(!segment.text.empty());
  } catch (const Error& error) {
    fuzz::promise(error.kind() == ErrorKind::model || error.kind() == ErrorKind::runtime);
    fuzz::check_message(error);
  }
  return 0;
}
