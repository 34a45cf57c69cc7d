// Tests how a conversation becomes tokens: with SentencePiece's kind of vocabulary, for base models, and what
// of earlier thoughts a template gets.
#include "app/model/prompt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "app/model/model_file.h"
#include "tests/support/fake_engine.h"

namespace bitnet {
namespace {

// <unk> <s> </s>, the bytes, pieces of which some begin with a space, and marks with a role in them.
std::unique_ptr<ModelText> spm_text(const std::string& source, TemplateOrigin origin = TemplateOrigin::file) {
  Vocabulary v;
  v.model = "llama";
  v.tokens = {"<unk>", "<s>", "</s>"};
  v.types = {2, 3, 3};
  for (int byte = 0; byte < 256; ++byte) {
    constexpr char kDigits[] = "0123456789ABCDEF";
    v.tokens.push_back(std::string("<0x") + kDigits[byte >> 4] + kDigits[byte & 15] + ">");
    v.types.push_back(6);
  }
  for (const char* piece : {"a", "b", "▁", "▁a", "▁b", ":"}) {
    v.tokens.emplace_back(piece);
    v.types.push_back(1);
  }
  for (const char* mark : {"<|system|>", "<|user|>", "<|assistant|>"}) {
    v.tokens.emplace_back(mark);
    v.types.push_back(3);
  }
  v.scores.assign(v.tokens.size(), -1);
  auto text = std::make_unique<ModelText>("spm.gguf", v, ChatTemplate(source, "test"));
  text->template_origin = origin;
  return text;
}
constexpr int32_t kA = 259, kB = 260, kSpace = 261, kSpaceA = 262, kSpaceB = 263, kColon = 264;
constexpr int32_t kSystem = 265, kUser = 266, kAssistant = 267;
using Ids = std::vector<int32_t>;

TEST(Prompt, SpmPutsItsSpaceWhereATextBegins) {
  const auto text = spm_text(
      "{{ bos_token }}{% for m in messages %}{% if m.role == 'assistant' %}{{ m.content }}{{ eos_token }}"
      "{% else %}{{ m.content }}:{% endif %}{% endfor %}");
  EXPECT_EQ(build_prompt(*text, "", {{Role::user, "a", {}}}, 0), (Ids{1, kSpaceA, kColon}));
  // The answer's own tokens are used: "b" was cut off from a space, or not.
  for (const auto& [said, tokens] : {std::pair<std::string, Ids>{"b", {kB}}, {" b", {kSpaceB}}}) {
    Ids wanted = {1, kSpaceA, kColon};
    wanted.insert(wanted.end(), tokens.begin(), tokens.end());
    wanted.insert(wanted.end(), {2, kSpaceB, kColon});
    EXPECT_EQ(
        build_prompt(*text, "",
                     {{Role::user, "a", {}}, {Role::assistant, said, tokens}, {Role::user, "b", {}}}, 0),
        wanted);
  }
  // BOS stands once, whoever writes it.
  EXPECT_EQ(build_prompt(*spm_text("{{ messages[0].content }}"), "", {{Role::user, "a", {}}}, 0),
            (Ids{1, kSpaceA}));
}

TEST(Prompt, MarksThatATemplateMakesOfTheRoleAreSpecialTokens) {
  const auto text = spm_text(
      "{{ bos_token }}{% for m in messages %}{{ '<|' + m['role'] + '|>' + m['content'] + ':' }}{% endfor %}"
      "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}");
  EXPECT_EQ(build_prompt(*text, "b", {{Role::user, "a", {}}}, 0),
            (Ids{1, kSystem, kSpaceB, kColon, kUser, kSpaceA, kColon, kAssistant}));
  const Ids typed = build_prompt(*text, "<|user|>", {{Role::user, "<|user|>", {}}}, 0);
  EXPECT_EQ(std::count(typed.begin(), typed.end(), kUser), 1);
}

TEST(Prompt, ABaseModelGetsTheTextOfTheConversation) {
  const auto text = spm_text("{{ 'not used' }}", TemplateOrigin::none);
  EXPECT_EQ(build_prompt(*text, "", {{Role::user, "a", {}}}, 0), (Ids{1, kSpaceA}));
  EXPECT_EQ(build_prompt(
                *text, "",
                {{Role::user, "a", {}}, {Role::assistant, " b", {kSpaceB}}, {Role::user, "a b</s>", {}}}, 0),
            (Ids{1, kSpaceA, kSpaceB, kA, kSpaceB, 3 + '<', 3 + '/', 3 + 's', 3 + '>'}));
  // Tokens that do not spell the answer are not used; a system prompt stands before all.
  EXPECT_EQ(build_prompt(*text, "b", {{Role::user, "a", {}}, {Role::assistant, "b", {kA}}}, 0),
            (Ids{1, kSpaceB, kA, kB}));
  EXPECT_EQ(kSpace, 261);
}

TEST(Prompt, ASystemPromptThatTheTemplateRefusesBeginsTheFirstTurn) {
  const std::string gemma =
      "{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not "
      "supported') }}"
      "{% endif %}{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
      "{{ raise_exception('Conversation roles must alternate') }}{% endif %}{{ m.content | trim }}:{% endfor "
      "%}";
  const auto text = fake::model_text(gemma, true);
  const auto prompt = [&](const char* system, const std::vector<PromptMessage>& messages) {
    return fake::text_of(build_prompt(*text, system, messages, 0));
  };
  EXPECT_EQ(prompt("S", {{Role::user, "a", {}}}), "<bos>S\n\na:");
  EXPECT_EQ(prompt("", {{Role::user, "a", {}}, {Role::user, "b", {}}}), "<bos>a\n\nb:");
  EXPECT_EQ(prompt("S", {{Role::user, "a", {}}, {Role::user, "b", {}}}), "<bos>S\n\na\n\nb:");
  EXPECT_EQ(prompt("S", {{Role::user, "a", {}}, {Role::assistant, "x", {'x'}}, {Role::user, "b", {}}}),
            "<bos>S\n\na:x:b:");
  EXPECT_THROW(prompt("S", {{Role::assistant, "x", {'x'}}, {Role::user, "b", {}}}), Error);
  // What somebody typed stays text.
  EXPECT_EQ(build_prompt(*text, "<eot>", {{Role::user, "a", {}}}, 0).size(), 10u);
}

TEST(Prompt, ASystemPromptThatTheTemplatePassesOverBeginsTheFirstTurn) {
  const auto prompt = [](const char* source, const char* system, const char* user = "a") {
    return fake::text_of(build_prompt(*fake::model_text(source, true), system, {{Role::user, user, {}}}, 0));
  };
  const char* phi3 =  // of April 2024
      "{{ bos_token }}{% for m in messages %}{% if m['role'] == 'user' %}{{ 'U:' + m['content'] + ';' }}"
      "{% elif m['role'] == 'assistant' %}{{ m['content'] + ';' }}{% endif %}{% endfor %}";
  EXPECT_EQ(prompt(phi3, "S"), "<bos>U:S\n\na;");
  EXPECT_EQ(prompt(phi3, "S", "Say S"), "<bos>U:S\n\nSay S;");  // what the user says is no system prompt
  EXPECT_EQ(prompt(phi3, ""), "<bos>U:a;");
  EXPECT_EQ(prompt(phi3, " \n"), "<bos>U:a;");
  // Only what the template prints of another message tells that one is there.
  EXPECT_EQ(
      prompt("{% for m in messages %}{% if loop.first %}{{ bos_token }}{% endif %}{% if m.role == 'user' %}"
             "{{ m.content }}{% else %}#{% endif %}{% endfor %}",
             "S"),
      "<bos>S\n\na");
  // In another form, or at another place, it is there.
  EXPECT_EQ(prompt("{% for m in messages %}{{ m.content | trim | upper | replace('S', 'T') }};{% endfor %}",
                   " s x "),
            "<bos>T X;A;");
  EXPECT_EQ(prompt("{% if messages[0].role == 'system' %}{% set s = messages[0].content.split(' ')[0] %}"
                   "{% set messages = messages[1:] %}{% else %}{% set s = 'D' %}{% endif %}"
                   "{% for m in messages %}{{ m.content }};{% endfor %}{{ s }}",
                   "S x"),
            "<bos>a;S");
}

constexpr const char* kReads =
    "{% for m in messages %}{% if m.reasoning_content is string %}({{ m.reasoning_content }}){% endif %}"
    "{{ m.content }}{{ '<eot>' }}{% endfor %}{% if enable_thinking is defined %}{{ enable_thinking }}{% "
    "endif %}";

TEST(Prompt, ATemplateThatReadsReasoningGetsItApart) {
  const auto text = fake::model_text(kReads, false);
  const std::vector<PromptMessage> messages = {{Role::user, "<think>u</think>", {}},
                                               {Role::assistant, "<think>\nhm\n</think>\n\nFour.", {}}};
  EXPECT_EQ(fake::text_of(build_prompt(*text, "", messages, 0)), "<think>u</think><eot>(hm)Four.<eot>");
  EXPECT_EQ(fake::text_of(build_prompt(*text, "", messages, 0, true)),
            "<think>u</think><eot>(hm)Four.<eot>True");
  // A thought that was stopped says nothing yet.
  EXPECT_EQ(fake::text_of(
                build_prompt(*text, "", {{Role::user, "a", {}}, {Role::assistant, "<think>\nh", {'h'}}}, 0)),
            "a<eot>");
}

TEST(Prompt, AnyOtherTemplateGetsTheWholeText) {
  const auto text = fake::model_text("{% for m in messages %}{{ m.content }}<eot>{% endfor %}", false);
  const std::string whole = "<think>\nhm\n</think>\n\n4";
  EXPECT_EQ(fake::text_of(build_prompt(*text, "", {{Role::assistant, whole, {}}}, 0)), whole + "<eot>");
}

TEST(Prompt, TheTemplateMayHaveBegunTheThought) {
  const auto text = fake::model_text();
  const auto opened = [&](const std::string& prompt) {
    return opened_thought(text->tokenizer, text->tokenizer.encode(prompt, true));
  };
  EXPECT_EQ(opened("<usr>a<eot><think>\n"), "<think>\n");
  EXPECT_EQ(opened("<think>"), "<think>");
  EXPECT_EQ(opened("<think>\n\n</think>\n\n"), "");
  EXPECT_EQ(opened("<usr>a<eot>"), "");
  EXPECT_EQ(opened_thought(text->tokenizer, {}), "");
}

}  // namespace
}  // namespace bitnet
