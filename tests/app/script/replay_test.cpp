#include "app/script/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/chat/chat.h"
#include "app/chat/replay_player.h"
#include "app/chat/settings.h"
#include "engine/error.h"
#include "tests/support/chat_fixture.h"
#include "tests/support/fake_engine.h"

namespace bitnet {
namespace {

using testing::HasSubstr;

struct Line {
  const char* text;
  uint32_t stop_after = 0;  // tokens; 0: the answer comes to its end
};

void talk(Store& store, fake::Script& script, std::initializer_list<Line> lines) {
  fake::FrontEndLog front;
  EventLoop loop;
  Worker worker(fake::opener(script));
  worker.start();
  const auto made = make_chat(store, worker, script_settings(), front);
  Chat& chat = *made;
  loop.watch(chat.wake_fd(), [&] { chat.handle_events(); });
  for (const Line& line : lines) {
    while (chat.loading()) loop.run_once();
    chat.submit(line.text);
    if (line.stop_after != 0) chat.interrupt_after(line.stop_after);
    while (chat.busy()) loop.run_once();
  }
}

// A conversation of two turns, the second of them continued.
std::unique_ptr<Store> conversation_of(fake::Script& script) {
  auto store = Store::in_memory();
  talk(*store, script, {{"a"}, {"b", 2}, {"/continue"}});
  return store;
}

void answers(fake::Script& script, const char* second) {
  script.answer("one");
  script.answer(second);
  script.answer("three");
}

TEST(Replay, ShowsEveryTokenOnce) {
  fake::Script script;
  answers(script, "two…");
  const auto store = conversation_of(script);
  fake::FrontEndLog front;
  EventLoop loop;
  EXPECT_EQ(replay(*store, 1, 0, nullptr, loop, front), 0);
  ASSERT_EQ(front.shown.size(), 4U);
  EXPECT_EQ(front.shown[1].text, "one");
  EXPECT_EQ(front.shown[3].text, "twthree");
  EXPECT_EQ(front.tokens, 7U);
  EXPECT_THROW(replay(*store, 9, 0, nullptr, loop, front), Error);
}

WholeTurn turn_of(std::vector<StoredToken> tokens, double prefill, double decode) {
  WholeTurn turn;
  turn.stored.prefill_seconds = prefill;
  turn.stored.decode_seconds = decode;
  turn.stored.answer_tokens = static_cast<uint32_t>(tokens.size());
  turn.tokens = std::move(tokens);
  return turn;
}

// Returns the text that is shown after each second, at the given speed.
std::vector<std::string> played(const std::vector<ReplayPlayer::Message>& branch, double speed,
                                const Tokenizer* tokenizer) {
  fake::FrontEndLog front;
  ReplayPlayer player(branch, speed, tokenizer, front);
  std::vector<std::string> seconds;
  auto now = ReplayPlayer::Clock::now();
  while (player.advance(now)) {
    seconds.push_back(front.shown.empty() ? "" : front.shown.back().text);
    now += std::chrono::seconds(1);
  }
  seconds.push_back(front.shown.back().text + "|" + front.shown.back().finish);
  return seconds;
}

TEST(Replay, TokensComeWhenTheyCame) {
  // "ä" is two tokens of the fake's vocabulary, and the second part was a continuation.
  const ReplayPlayer::Message user{{1, Role::user, "u", ""}, {}};
  const ReplayPlayer::Message answer{{2, Role::assistant, "a\u00e4bc", "stop"},
                                     {turn_of({{'a', 0, 0.5F}, {0xC3, 0, 1.5F}, {0xA4, 0, 2.5F}}, 1, 3),
                                      turn_of({{'b', 0, 1.5F}, {'c', 0, 1.6F}}, 2, 2)}};
  const auto text = fake::model_text();
  EXPECT_THAT(
      played({user, answer}, 1, &text->tokenizer),
      testing::ElementsAre("", "", "a", "a", "a\u00e4", "a\u00e4", "a\u00e4", "a\u00e4", "a\u00e4bc|stop"));
  EXPECT_THAT(played({user, answer}, 4, &text->tokenizer),
              testing::ElementsAre("", "a\u00e4", "a\u00e4bc|stop"));
  EXPECT_THAT(played({user, answer}, 0, &text->tokenizer), testing::ElementsAre("a\u00e4bc|stop"));
}

TEST(Replay, AnAnswerThatWentOnInTheMiddleOfACharacterIsSpelled) {
  const std::vector<WholeTurn> turns{turn_of({{'a', 0, 0.5F}, {0xC3, 0, 1.5F}}, 1, 2),
                                     turn_of({{0xA4, 0, 0.5F}, {'b', 0, 1.5F}}, 0, 2)};
  const auto text = fake::model_text();
  for (const std::string ends : {"", "\uFFFD"}) {  // of the first part, as earlier versions stored it
    const ReplayPlayer::Message answer{{2, Role::assistant, "a" + ends + "\u00e4b", "stop"}, turns};
    EXPECT_THAT(played({answer}, 1, &text->tokenizer), testing::Contains("a" + ends)) << ends;
    EXPECT_THAT(played({answer}, 1, &text->tokenizer), testing::Contains("a" + ends + "\u00e4")) << ends;
  }
}

TEST(Replay, WithoutTheTokenizerTheTextIsDealtOut) {
  const auto text = fake::model_text();
  const ReplayPlayer::Message answer{{2, Role::assistant, "another", "stop"},
                                     {turn_of({{'x', 0, 1}, {'y', 0, 2}}, 0, 2)}};
  const auto expected = testing::ElementsAre("", "ano", "another|stop");
  EXPECT_THAT(played({answer}, 1, nullptr), expected);
  EXPECT_THAT(played({answer}, 1, &text->tokenizer), expected);  // the tokens are another model's
  // A stop text was cut off.
  const ReplayPlayer::Message stopped{{2, Role::assistant, "x", "stop"},
                                      {turn_of({{'x', 0, 1}, {'y', 0, 2}}, 0, 2)}};
  EXPECT_THAT(played({stopped}, 1, &text->tokenizer), testing::ElementsAre("", "x", "x|stop"));
}

TEST(Replay, AnAnswerThatGoesOnWithATextKeepsItsFirstSpace) {
  Vocabulary v;
  v.model = "llama";
  v.tokens = {"<unk>", "<s>", "</s>", "▁a", "▁b"};
  v.types = {2, 3, 3, 1, 1};
  v.scores.assign(v.tokens.size(), -1);
  const Tokenizer tokenizer(v);
  for (const std::string text : {" a b", "a b"}) {  // a base model's, and one after a control token
    const ReplayPlayer::Message answer{{2, Role::assistant, text, "stop"},
                                       {turn_of({{3, 0, 1}, {4, 0, 2}}, 0, 2)}};
    EXPECT_THAT(played({answer}, 1, &tokenizer),
                testing::ElementsAre("", text.substr(0, text.size() - 2), text + "|stop"));
  }
}

TEST_F(ChatTest, ReplayInsideTheChat) {
  start_loaded();
  script.answer("first");
  say("a");
  chat->submit("/new");
  front.log.clear();
  chat->submit("/replay 1 instant");
  until_idle();
  EXPECT_THAT(front.log, HasSubstr("transcript 0\nuser: a\nassistant: \nanswer: first (stop)\n"));
  chat->submit("/replay 1 0.01");  // a prompt that took a millisecond now takes long enough to see
  chat->interrupt();
  EXPECT_FALSE(chat->busy());
  EXPECT_EQ(front.shown.back().text, "first");
  script.answer("second");
  say("b");  // and it goes on from there
  EXPECT_EQ(store->branch(store->conversation(1)->leaf).size(), 4U);
  for (const char* wrong : {"/replay 9", "/replay x", "/replay 1 0", "/replay 1 fast"}) {
    const size_t errors = front.errors.size();
    chat->submit(wrong);
    EXPECT_EQ(front.errors.size(), errors + 1) << wrong;
  }
}

TEST(Replay, VerifyFindsTheSame) {
  fake::Script script;
  answers(script, "two");
  const auto store = conversation_of(script);
  fake::Script again;
  answers(again, "two");
  LoadedModel model = fake::opener(again)([](double) { return true; }, "");
  EXPECT_THAT(verify_replay(*store, 1, model), HasSubstr("3 turns, 10 tokens"));
}

TEST(Replay, VerifyOfNothingIsNotTheSame) {
  fake::Script script;
  LoadedModel model = fake::opener(script)([](double) { return true; }, "");
  const auto store = Store::in_memory();
  const auto refusal = [&](int64_t id) {
    try {
      return verify_replay(*store, id, model);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::runtime);
      return std::string(error.what());
    }
  };
  const int64_t empty = store->add_conversation("");
  EXPECT_THAT(refusal(empty), HasSubstr("nothing to verify"));
  const int64_t imported = store->add_conversation("");
  const int64_t question = store->add_message(imported, std::nullopt, Role::user, "a");
  store->add_answer(imported, question, "b", "stop", {}, "{}");
  EXPECT_THAT(refusal(imported), HasSubstr("nothing to verify"));
}

TEST(Replay, TurnsOfAnEarlierVersionAreVerifiedByTheOldFingerprint) {
  fake::Script script;
  answers(script, "two");
  script.fingerprint = "ffeeddccbbaa99887766554433221100";
  const auto store = conversation_of(script);
  fake::Script again;
  answers(again, "two");
  LoadedModel model = fake::opener(again)([](double) { return true; }, "");
  EXPECT_THAT(verify_replay(*store, 1, model),
              testing::AllOf(HasSubstr("3 turns, 10 tokens: the same"),
                             HasSubstr("3 turns were stored by an earlier version")));
}

constexpr const char* kAnotherFingerprint = "00112233445566778899aabbccddee00";

TEST(Replay, AnotherModelIsSaidToBeOne) {
  fake::Script script;
  answers(script, "two");
  script.fingerprint = kAnotherFingerprint;
  const auto store = conversation_of(script);
  fake::Script again;
  answers(again, "two");
  LoadedModel model = fake::opener(again)([](double) { return true; }, "");
  EXPECT_THAT([&] { verify_replay(*store, 1, model); },
              testing::ThrowsMessage<Error>(HasSubstr("turn 1: it was answered by another model")));
}

TEST(Replay, TurnsOfAnotherModelAreCountedAndNotCompared) {
  const auto store = Store::in_memory();
  fake::Script another, script;
  another.fingerprint = kAnotherFingerprint;
  answers(another, "two");
  script.answer("four");
  talk(*store, another, {{"a"}, {"b", 2}, {"/continue"}});
  talk(*store, script, {{"/open 1"}, {"c"}});
  const auto verified = [&](const std::string& fingerprint, std::initializer_list<const char*> texts) {
    fake::Script again;
    again.fingerprint = fingerprint;
    for (const char* text : texts) again.answer(text);
    LoadedModel model = fake::opener(again)([](double) { return true; }, "");
    return verify_replay(*store, 1, model);
  };
  EXPECT_THAT(verified(script.fingerprint, {"four"}),
              testing::AllOf(testing::StartsWith("1 turn, 4 tokens: the same; "),
                             testing::EndsWith("; 3 turns by another model were not compared; --model FILE "
                                               "compares those\n")));
  EXPECT_THAT(verified(kAnotherFingerprint, {"one", "two", "three"}),
              testing::AllOf(testing::StartsWith("3 turns, 10 tokens: the same; "),
                             HasSubstr("; 1 turn by another model was not compared; ")));
  EXPECT_THAT([&] { verified(script.fingerprint, {"for"}); },
              testing::ThrowsMessage<Error>(HasSubstr("turn 4: position 2")));
}

TEST(Replay, AnAnswerThatGoesOnWithAnotherModelsWords) {
  const auto store = Store::in_memory();
  fake::Script another, script;
  another.fingerprint = kAnotherFingerprint;
  another.answer("hello");
  script.answer("there");
  script.answer("next");
  talk(*store, another, {{"a", 2}});
  talk(*store, script, {{"/open 1"}, {"/continue"}, {"b"}});
  const auto verified = [&](int64_t id, std::initializer_list<const char*> texts) {
    fake::Script again;
    for (const char* text : texts) again.answer(text);
    LoadedModel model = fake::opener(again)([](double) { return true; }, "");
    return verify_replay(*store, id, model);
  };
  EXPECT_THAT(verified(1, {"there", "next"}),
              testing::AllOf(testing::StartsWith("2 turns, 9 tokens: the same; "),
                             HasSubstr("; 1 turn by another model was not compared; ")));

  // Where the other model has other tokens for its words, they were encoded anew.
  WholeConversation whole = store->whole(1).value();
  for (StoredToken& token : whole.messages[1].turns.front().tokens) token.id = 1;
  EXPECT_THAT(verified(store->add_whole(whole), {"next"}),
              testing::AllOf(testing::StartsWith("1 turn, 4 tokens: the same; "),
                             HasSubstr("; 1 turn that went on with another model's words was not compared; "),
                             HasSubstr("; 1 turn by another model was not compared; ")));

  // The same of a copy of that answer, which /continue makes where something was said to the first one.
  whole.messages[1].turns.front().stored.finish = "given";
  EXPECT_THAT(verified(store->add_whole(whole), {"next"}),
              testing::AllOf(testing::StartsWith("1 turn, 4 tokens: the same; "),
                             HasSubstr("; 1 answer from elsewhere not compared; "),
                             HasSubstr("; 1 turn that went on with another model's words was not compared")));
}

TEST(Replay, AnEndWithoutATokenBeforeItIsAnAnswer) {
  const auto store = Store::in_memory();
  fake::Script script;
  script.answer("abd");
  script.answer("");
  talk(*store, script, {{"a"}, {"/alt 3 1"}});
  const auto verified = [&](const char* text) {
    fake::Script again;
    again.answer(text);
    LoadedModel model = fake::opener(again)([](double) { return true; }, "");
    return verify_replay(*store, 1, model);
  };
  EXPECT_THAT(verified(""), testing::StartsWith("1 turn, 0 tokens: the same; "));
  EXPECT_THAT([&] { verified("x"); },
              testing::ThrowsMessage<Error>(HasSubstr("position 0: then the answer ended")));
}

// What verify_replay() says that differs in the first conversation.
std::string difference_told(Store& store, LoadedModel& model) {
  try {
    verify_replay(store, 1, model);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::mismatch);
    return error.what();
  }
  return "";
}

TEST(Replay, AnotherChatTemplateIsSaidToBeOne) {
  fake::Script script;
  answers(script, "two");
  const auto store = conversation_of(script);
  fake::Script again;
  const auto refusal = [&](const OpenModel& opener) {
    LoadedModel model = opener([](double) { return true; }, "");
    return difference_told(*store, model);
  };
  const std::string told = "the chat template is another one; --chat-template chooses it";
  EXPECT_THAT(refusal(fake::opener(again, 512, std::string(fake::kTemplate) + "!")),
              testing::AllOf(HasSubstr("turn 1: the prompt has other tokens (then "), HasSubstr(told)));
  EXPECT_THAT(refusal(fake::opener(again, 512, fake::kTemplate, /*add_bos=*/false)),
              testing::Not(HasSubstr(told)));
}

TEST(Replay, VerifyNamesTheFirstDivergence) {
  fake::Script script;
  answers(script, "two");
  const auto store = conversation_of(script);
  const auto difference = [&](const char* first, const char* second) {
    fake::Script again;
    again.answer(first);
    again.answer(second);
    again.answer("three");
    LoadedModel model = fake::opener(again)([](double) { return true; }, "");
    return difference_told(*store, model);
  };
  EXPECT_THAT(difference("one", "txo"), testing::AllOf(HasSubstr("turn 2"), HasSubstr("position 1"),
                                                       HasSubstr("119"), HasSubstr("120"), HasSubstr("gap")));
  EXPECT_THAT(difference("on", "two"), testing::AllOf(HasSubstr("turn 1"), HasSubstr("now the answer ends")));
  EXPECT_THAT(difference("ones", "two"), testing::AllOf(HasSubstr("turn 1"), HasSubstr("position 3")));
}

}  // namespace
}  // namespace bitnet
