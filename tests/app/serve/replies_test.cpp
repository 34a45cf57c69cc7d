#include "app/serve/replies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/serve/api_error.h"
#include "tokenizer/byte_alphabet.h"

namespace bitnet {
namespace {

using json = nlohmann::ordered_json;
using testing::HasSubstr;

constexpr int32_t kUser = 256;
constexpr const char* kTemplate = "{% for m in messages %}<usr>{{ m.content }}{% endfor %}";

// A token for each byte but that of n with a tilde, and a special one.
ServedModel served() {
  Vocabulary v;
  v.model = "gpt2";
  v.pre = "gpt-2";
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    v.tokens.push_back(to_alphabet(byte == 0xB1 ? "not in use" : std::string_view(&c, 1)));
  }
  v.types.assign(256, 1);
  v.tokens.emplace_back("<usr>");
  v.types.push_back(3);
  ServedModel model;
  model.text = std::make_shared<ModelText>("test.gguf", v, ChatTemplate(kTemplate, "test"));
  model.name = "test";
  model.n_ctx = 512;
  return model;
}

template <typename Ask>
void expect_refusal(const Ask& ask, const char* param) {
  try {
    ask();
    ADD_FAILURE() << param << " was taken";
  } catch (const ApiError& error) {
    EXPECT_EQ(error.status, 400);
    EXPECT_EQ(error.param, param);
    EXPECT_THAT(error.message, HasSubstr("0xB1"));
  }
}

TEST(Requests, TextsThatTheVocabularyCannotSpellAreRefused) {
  const ServedModel model = served();
  expect_refusal([&] { tokenize_request("{\"content\": \"\u00F1\"}", model); }, "content");
  expect_refusal([&] { read_answer_request(AnswerKind::completion, "{\"prompt\": \"\u00F1\"}", model); },
                 "prompt");
  const char* chat = "{\"messages\": [{\"role\": \"user\", \"content\": \"\u00F1\"}]}";
  expect_refusal([&] { read_answer_request(AnswerKind::chat, chat, model); }, "messages");
}

MadeToken made(int32_t id, std::vector<SampledToken> best = {}) { return {{id, -0.5F}, std::move(best)}; }

// The logprobs of the answer <usr>a€b, of which the special token is no part of the text.
json logprobs_of_answer(const std::vector<std::string>& stop, std::string& text) {
  const ServedModel model = served();
  AnswerRequest request =
      read_answer_request(AnswerKind::completion, R"({"prompt": "x", "logprobs": 3})", model);
  request.stop = stop;
  AnswerText answer(model, request);
  Reply reply(model, request);
  for (const int32_t id : {kUser, int32_t{'a'}, 0xE2, 0x82, 0xAC, int32_t{'b'}})
    reply.add(answer.add(made(id, {{0xE2, -1.0F}, {0x82, -2.0F}, {0xE2, -3.0F}})));
  reply.add(answer.finish());
  const json choice = json::parse(reply.whole(name_of(Finish::stop), {}))["choices"][0];
  text = choice["text"].get<std::string>();
  return choice["logprobs"];
}

TEST(Replies, TokensOfACompletionHaveTheirPlaceInItsText) {
  // What may become a stop text is held back, and given later with the places that it has.
  for (const std::vector<std::string>& stop : {std::vector<std::string>{}, {"a\u20ACbc"}}) {
    std::string text;
    const json logprobs = logprobs_of_answer(stop, text);
    EXPECT_EQ(text, "a\u20ACb");
    EXPECT_EQ(logprobs["text_offset"], json({0, 0, 1, 1, 1, 2}));
  }
}

TEST(Replies, TokensThatAreNoTextAreNamedByTheirBytes) {
  std::string text;
  const json logprobs = logprobs_of_answer({}, text);
  EXPECT_EQ(logprobs["tokens"], json({"<usr>", "a", "bytes:\\xe2", "bytes:\\x82", "bytes:\\xac", "b"}));
  EXPECT_EQ(logprobs["top_logprobs"][0], json({{"bytes:\\xe2", -1.0}, {"bytes:\\x82", -2.0}}));
}

}  // namespace
}  // namespace bitnet
