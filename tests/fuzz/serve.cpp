// Reads the head of an HTTP request, or the body of one, as whoever reaches the port of 'serve' may send it.
// Layout: a byte that chooses, then the head or the body.
#include <nlohmann/json.hpp>

#include "app/serve/api_error.h"
#include "app/serve/head.h"
#include "app/serve/requests.h"
#include "byte_alphabet.h"
#include "fuzz.h"

namespace bitnet {
namespace {

using nlohmann::json;

constexpr const char* kTemplate =
    "{% for m in messages %}<usr>{{ m.role }}: {{ m.content | trim }}<eot>{% endfor %}"
    "{% if enable_thinking %}<think>{% endif %}";

// A token for each byte, so that any text can be encoded, and three special ones.
ServedModel served() {
  Vocabulary v;
  v.model = "gpt2";
  v.pre = "gpt-2";
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    v.tokens.push_back(to_alphabet(std::string_view(&c, 1)));
  }
  v.types.assign(256, 1);
  for (const char* special : {"<bos>", "<eot>", "<usr>"}) {
    v.tokens.emplace_back(special);
    v.types.push_back(3);
  }
  v.bos = 256;
  v.eos = 257;
  v.add_bos = true;
  ServedModel model;
  model.text = std::make_shared<ModelText>("fuzz.gguf", v, ChatTemplate(kTemplate, "fuzz"));
  model.name = "fuzz";
  model.n_ctx = 512;
  return model;
}

void check_refusal(const ApiError& error) {
  fuzz::promise(error.status >= 400 && error.status < 500);
  fuzz::promise(!error.message.empty() && !fuzz::has_control(error.message));
  const json told = json::parse(to_json(error));
  fuzz::promise(told["error"]["message"].is_string());
}

void read_head(std::string_view head) {
  const HeadRules rules{.key = "secret", .most_body = 1000, .model = "fuzz"};
  const Head found = check_head(head, rules);
  fuzz::promise(found.body <= rules.most_body);
  fuzz::promise(head.ends_with("\r\n\r\n") && head.find("secret") != std::string_view::npos);
}

void read_request(AnswerKind kind, std::string_view body, const ServedModel& model) {
  const AskedFor asked = read_answer_request(kind, body, model).asked;
  fuzz::promise(!asked.prompt.empty() && asked.prompt.size() < model.n_ctx);
  for (const int32_t id : asked.prompt) fuzz::promise(id >= 0 && id < model.text->tokenizer.n_vocab());
}

// What was encoded comes back, unless marks were read in it or added.
void encode_and_back(std::string_view body, const ServedModel& model) {
  const json tokens = json::parse(tokenize_request(body, model));
  const json asked = json::parse(body);
  for (const char* flag : {"add_special", "parse_special", "with_pieces"})
    if (asked.value(flag, json()) == true) return;
  const json back = json::parse(detokenize_request(tokens.dump(), model));
  fuzz::promise(back["content"] == asked["content"]);
}

}  // namespace
}  // namespace bitnet

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace bitnet;
  static const ServedModel model = served();
  fuzz::Input input(data, size);
  const uint8_t choice = input.byte() % 5;
  try {
    if (choice == 0) read_head(input.left);
    if (choice == 1) read_request(AnswerKind::chat, input.left, model);
    if (choice == 2) read_request(AnswerKind::completion, input.left, model);
    if (choice == 3) encode_and_back(input.left, model);
    if (choice == 4) fuzz::promise(json::accept(detokenize_request(input.left, model)));
  } catch (const ApiError& error) {
    check_refusal(error);
  }
  return 0;
}
