#include "app/store/exchange.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/error.h"

namespace bitnet {
namespace {

using testing::AllOf;
using testing::HasSubstr;

struct Said {
  Role role;
  std::string text;
  std::string finish;
  bool operator==(const Said&) const = default;
};

std::vector<Said> said(const WholeConversation& whole) {
  std::vector<Said> all;
  for (const WholeMessage* m : shown_branch(whole))
    all.push_back({m->stored.role, m->stored.text, m->stored.finish});
  return all;
}

WholeConversation conversation_of(const std::vector<Said>& messages) {
  WholeConversation whole;
  for (const Said& s : messages) {
    WholeMessage message;
    message.stored.parent = whole.row.leaf;
    message.stored.id = static_cast<int64_t>(whole.messages.size()) + 1;
    message.stored.role = s.role;
    message.stored.text = s.text;
    message.stored.finish = s.finish;
    whole.row.leaf = message.stored.id;
    whole.messages.push_back(message);
  }
  return whole;
}

std::string refusal(const std::string& file) {
  try {
    read_chats(file, "f");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::runtime);
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    return error.what();
  }
  ADD_FAILURE() << "read: " << file.substr(0, 200);
  return "";
}

TEST(ChatFile, MarkdownIsForPeople) {
  WholeConversation whole = conversation_of({{Role::user, "Hi", ""},
                                             {Role::assistant, "Hello!", "stop"},
                                             {Role::user, "Go on", ""},
                                             {Role::assistant, "Well", "length"}});
  whole.row.title = "Greetings";
  whole.row.system = "Be kind.";
  EXPECT_EQ(write_chat(whole, ChatFormat::markdown),
            "# Greetings\n\n## System\n\nBe kind.\n\n## User\n\nHi\n\n## Assistant\n\nHello!\n\n## "
            "User\n\nGo on\n\n"
            "## Assistant\n\nWell\n\n*(length)*\n");
}

// Whatever a text is, it comes back as it was, wherever it stands.
TEST(ChatFile, MarkdownReadsBackExactly) {
  const std::vector<std::string> texts = {
      "",
      "\n",
      "\n\n",
      "plain",
      "ends with lines\n\n\n",
      "\n\n  begins with lines",
      "## User",
      "## User\n",
      "\n## User\n\nfake turn\n\n## Assistant\n\nfake answer\n",
      "\\## User\n\\\\## Assistant\n\\\\\\",
      "## System\n\nfake",
      "## System message",
      "# Title\n## Users\n ## User\n## User \n### User",
      "*(interrupted)*",
      "cut\n\n*(interrupted)*",
      "cut\n\n*(interrupted)*\n\\*(stop)*\n",
      "```cpp\n## User\nint main() {}\n```",
      "````\n```\n## Assistant\n```\n````",
      "carriage\r\nreturns\r\n## User\r\n",
      "\r\n",
      std::string("nul \0 and \x1b[31m red", 20),
      "\xEF\xBB\xBF byte order mark",
      "CJK 你好, 👩‍👩‍👧‍👦, \xE2\x80\xA8 separator",
      "not UTF-8: \xFF\xFE",
  };
  const std::vector<std::string> reasons = {"stop", "length", "interrupted", "device_lost"};
  for (size_t i = 0; i < texts.size(); ++i) {
    for (size_t k = 0; k < texts.size(); ++k) {
      WholeConversation whole =
          conversation_of({{Role::user, texts[i], ""},
                           {Role::assistant, texts[k], reasons[(i + k) % reasons.size()]},
                           {Role::system, texts[(i + k) % texts.size()], ""}});
      if (k % 2 == 0) whole.row.system = texts[(i * 7 + k) % texts.size()];
      whole.row.title = i % 3 == 0 ? "" : "## User";
      const std::string file = write_chat(whole, ChatFormat::markdown);
      const auto back = read_chats(file, "f");
      ASSERT_EQ(back.size(), 1U);
      EXPECT_EQ(said(back[0]), said(whole)) << file;
      EXPECT_EQ(back[0].row.system, whole.row.system) << file;
      EXPECT_EQ(back[0].row.title, whole.row.title);
      EXPECT_EQ(write_chat(back[0], ChatFormat::markdown), file);
    }
  }
}

TEST(ChatFile, MarkdownThatPeopleHaveEdited) {
  const auto close = read_chats("## User\nHi\n## Assistant\nHello\n", "f");
  EXPECT_EQ(said(close[0]), (std::vector<Said>{{Role::user, "Hi", ""}, {Role::assistant, "Hello", "stop"}}));
  EXPECT_EQ(close[0].row.title, "Hi");
  const auto crlf =
      read_chats("# T\r\n\r\n## User\r\n\r\nHi\r\nyou\r\n\r\n## Assistant\r\n\r\nHello\r\n", "f");
  EXPECT_EQ(said(crlf[0]),
            (std::vector<Said>{{Role::user, "Hi\nyou", ""}, {Role::assistant, "Hello", "stop"}}));
  EXPECT_THAT(refusal("just some text\n"), AllOf(HasSubstr("f:"), HasSubstr("## User")));
  EXPECT_THAT(refusal("## User\n\nx\n\n## System\n\ny\n"), HasSubstr("line 5"));
  EXPECT_THAT(refusal("## System\n\nonly\n"), HasSubstr("## User"));
  refusal("");
  refusal(" \n\t\n");
}

WholeConversation with_everything() {
  WholeConversation whole = conversation_of({{Role::user, "Hi", ""}, {Role::assistant, "Hello", "stop"}});
  whole.row.title = "T \"quoted\"";
  whole.row.system = "S";
  whole.row.created = 1700000000123;
  whole.row.updated = 1700000009999;
  whole.row.archived = true;
  WholeMessage other = whole.messages[1];
  other.stored.id = 3;
  other.stored.text = "Another\n";
  other.stored.finish = "interrupted";
  other.kept = true;
  WholeTurn turn;
  turn.stored.seed = (uint64_t{1} << 63) + 5;
  turn.stored.sampler = R"({"temp":0.699999988079071,"top_k":40,"stop":["\n\n"]})";
  turn.stored.system = "S";
  turn.stored.build = "1";
  turn.stored.device = "d";
  turn.stored.driver = "v";
  turn.stored.model = "/m.gguf";
  turn.stored.model_hash = "mh";
  turn.stored.template_hash = "th";
  turn.stored.prompt_hash = "ph";
  turn.stored.prompt_tokens = 9;
  turn.stored.reused_tokens = 1;
  turn.stored.answer_tokens = 2;
  turn.stored.prefill_seconds = 0.1;
  turn.stored.decode_seconds = 1.0 / 3;
  turn.stored.finish = "stop";
  turn.stored.started = 1700000000200;
  turn.tokens = {{7, -0.1F, 0.01F}, {128255, -1.0F / 3, 2.5F}};
  other.turns = {turn, turn};
  whole.messages.push_back(other);
  return whole;
}

TEST(ChatFile, JsonKeepsEverything) {
  const WholeConversation whole = with_everything();
  const std::string file = write_chat(whole, ChatFormat::json);
  const auto back = read_chats(file, "f");
  ASSERT_EQ(back.size(), 1U);
  EXPECT_EQ(nlohmann::json::parse(write_chat(back[0], ChatFormat::json)), nlohmann::json::parse(file));
  const WholeTurn& turn = back[0].messages[2].turns[1];
  const WholeTurn& was = whole.messages[2].turns[1];
  EXPECT_EQ(turn.stored.seed, was.stored.seed);
  EXPECT_EQ(turn.stored.sampler, was.stored.sampler);
  EXPECT_EQ(turn.tokens[1].logprob, was.tokens[1].logprob);
  EXPECT_EQ(turn.tokens[1].seconds, was.tokens[1].seconds);
  EXPECT_EQ(back[0].messages[2].stored.parent, 1);
  EXPECT_EQ(back[0].row.leaf, 2);
}

TEST(ChatFile, AMissingProbabilityStaysMissing) {
  WholeConversation whole = with_everything();
  whole.messages[2].turns[0].tokens[0].logprob = NAN;
  const auto back = read_chats(write_chat(whole, ChatFormat::json), "f");
  EXPECT_TRUE(std::isnan(back[0].messages[2].turns[0].tokens[0].logprob));
}

// Names are looked for among all those before them, as their order is kept.
TEST(ChatFile, AnObjectOfAFileHasFewNames) {
  std::string names;
  for (int i = 0; i < 257; ++i) names += fmt::format("{}\"key{}\":0", i == 0 ? "" : ",", i);
  const std::string many = "{" + names + "}";
  for (const std::string& file :
       {many, many + "\n" + many, R"({"messages":[{"role":"user","content":"Hi"},)" + many + "]}"})
    EXPECT_THAT(refusal(file), HasSubstr("more than 256 names"));
  WholeConversation whole = with_everything();
  whole.messages[2].turns[0].stored.sampler = many;  // what a database has can be written and read again
  const auto back = read_chats(write_chat(whole, ChatFormat::json), "f");
  EXPECT_EQ(back[0].messages[2].turns[0].stored.sampler, many);
}

TEST(ChatFile, OpenAiMessagesComeBack) {
  WholeConversation whole = conversation_of(
      {{Role::user, "Hi", ""}, {Role::assistant, "Hello", "length"}, {Role::system, "Now in French.", ""}});
  whole.row.system = "Be kind.";
  const std::string file = write_chat(whole, ChatFormat::openai);
  EXPECT_EQ(nlohmann::json::parse(file),
            nlohmann::json::parse(R"({"messages": [{"role": "system", "content": "Be kind."},
              {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"},
              {"role": "system", "content": "Now in French."}]})"));
  const auto back = read_chats(file, "f");
  EXPECT_EQ(back[0].row.system, "Be kind.");
  EXPECT_EQ(said(back[0]), (std::vector<Said>{{Role::user, "Hi", ""},
                                              {Role::assistant, "Hello", "stop"},
                                              {Role::system, "Now in French.", ""}}));
  EXPECT_EQ(back[0].row.title, "Hi");
}

TEST(ChatFile, OtherShapesOfOpenAiFiles) {
  const auto parts = read_chats(
      R"([{"role": "developer", "content": "S"}, {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}])",
      "f");
  EXPECT_EQ(parts[0].row.system, "S");
  EXPECT_EQ(parts[0].messages[0].stored.text, "ab");
  const auto lines = read_chats(
      "{\"messages\": [{\"role\": \"user\", \"content\": \"1\"}]}\n\n"
      "{\"messages\": [{\"role\": \"user\", \"content\": \"2\"}]}\n",
      "f");
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[1].messages[0].stored.text, "2");
  EXPECT_THAT(refusal("{\"messages\": [{\"role\": \"user\", \"content\": \"1\"}]}\n{\"messages\": 5}\n"),
              HasSubstr("line 2.messages: wanted a list, found 5"));
}

TEST(ChatFile, ShareGpt) {
  const auto all = read_chats(
      R"([{"id": "a", "conversations": [{"from": "system", "value": "S"}, {"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Hello"}]},
          {"conversations": [{"from": "human", "value": "Two"}]}])",
      "f");
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].row.system, "S");
  EXPECT_EQ(said(all[0]), (std::vector<Said>{{Role::user, "Hi", ""}, {Role::assistant, "Hello", "stop"}}));
  EXPECT_EQ(all[1].row.title, "Two");
}

TEST(ChatFile, WhatIsWrongIsNamed) {
  EXPECT_THAT(refusal("{"), HasSubstr("not JSON"));
  EXPECT_THAT(refusal("[]"), HasSubstr("wanted a conversation"));
  EXPECT_THAT(refusal("{}"), HasSubstr("messages"));
  EXPECT_THAT(refusal("[1]"), HasSubstr("[0]"));
  EXPECT_THAT(refusal(R"({"messages": [{"role": "user"}]})"),
              AllOf(HasSubstr("messages[0]"), HasSubstr("content")));
  EXPECT_THAT(refusal(R"({"messages": [{"role": "tool", "content": "x"}]})"),
              AllOf(HasSubstr("messages[0].role"), HasSubstr("\"tool\"")));
  EXPECT_THAT(refusal(R"({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]})"),
              HasSubstr("messages[0].content[0].type"));
  EXPECT_THAT(refusal(R"({"messages": []})"), HasSubstr("messages"));
  EXPECT_THAT(refusal("{\"messages\": [{\"role\": \"user\", \"content\": \"\xFF\"}]}"), HasSubstr("UTF-8"));
  EXPECT_THAT(refusal(R"({"a": 1e999})"), HasSubstr("not JSON"));
  EXPECT_THAT(refusal(std::string(2000000, '[')), HasSubstr("more than 64 levels"));
  EXPECT_THAT(refusal(std::string(200000, '[') + std::string(200000, ']')), HasSubstr("more than 64 levels"));
  EXPECT_THAT(
      refusal(std::string(64, '[') + "\"" + std::string(1000, '[') + "\\\"[\"" + std::string(64, ']')),
      HasSubstr("wanted"));
}

// Each value of the file is replaced by one that it cannot have.
TEST(ChatFile, DamagedJsonIsRefusedOrHarmless) {
  const auto good = nlohmann::json::parse(write_chat(with_everything(), ChatFormat::json));
  const auto flat = good.flatten();
  const std::vector<nlohmann::json> wrongs = {
      nullptr, -1, 1e300, uint64_t{1} << 63, "x\ny", nlohmann::json::object(), nlohmann::json::array(), true};
  size_t refused = 0;
  for (const auto& [pointer, value] : flat.items()) {
    for (const auto& wrong : wrongs) {
      auto bad = good;
      bad[nlohmann::json::json_pointer(pointer)] = wrong;
      try {
        for (const WholeConversation& whole : read_chats(bad.dump(), "f")) {
          for (const ChatFormat format : {ChatFormat::markdown, ChatFormat::json, ChatFormat::openai})
            EXPECT_FALSE(write_chat(whole, format).empty());
        }
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::runtime);
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, flat.size() * wrongs.size() / 2);
  for (const char* seconds : {"prefill_seconds", "decode_seconds"}) {
    auto bad = good;  // a database has no place for a time that is not known
    bad["messages"][2]["turns"][0][seconds] = nullptr;
    EXPECT_THAT(refusal(bad.dump()), HasSubstr(std::string(seconds) + ": wanted a number, found null"));
  }
  for (const char* pointer : {"/leaf", "/messages/0/parent", "/messages/1/parent"}) {
    auto bad = good;
    bad[nlohmann::json::json_pointer(pointer)] = 4;
    EXPECT_THAT(refusal(bad.dump()), HasSubstr("wanted"));
  }
}

TEST(ChatFile, AThoughtStandsApartAndComesBack) {
  const std::string usual = "<think>\nhm\n\n## User\n</think>\n\nFour.\n";
  const WholeConversation whole =
      conversation_of({{Role::user, "2 + 2?", ""}, {Role::assistant, usual, "length"}});
  const std::string markdown = write_chat(whole, ChatFormat::markdown);
  EXPECT_THAT(markdown, HasSubstr("## Assistant\n\n<details><summary>Thought</summary>\n\nhm\n\n\\## User\n\n"
                                  "</details>\n\nFour.\n\n\n*(length)*\n"));
  const std::string openai = write_chat(whole, ChatFormat::openai);
  EXPECT_THAT(openai, HasSubstr("\"reasoning_content\": \"hm\\n\\n## User\""));
  for (const std::string& text :
       {usual, std::string("<think>\nhm"), std::string("<think>hm</think>Four."),
        std::string("<think>\nhm\n</think>\n\n"), std::string("<think>\na\n</details>\nb\n</think>\n\nFour."),
        std::string("<details><summary>Thought</summary>\n\nhm\n\n</details>\n\nFour.")}) {
    const auto messages = std::vector<Said>{{Role::user, "2 + 2?", ""}, {Role::assistant, text, "stop"}};
    for (const ChatFormat format : {ChatFormat::markdown, ChatFormat::json, ChatFormat::openai})
      EXPECT_EQ(said(read_chats(write_chat(conversation_of(messages), format), "f")[0])[1].text, text);
  }
}

}  // namespace
}  // namespace bitnet
