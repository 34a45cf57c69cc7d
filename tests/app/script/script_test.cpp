#include "app/script/script.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "app/base/event_loop.h"
#include "app/chat/chat.h"
#include "app/chat/settings.h"
#include "app/model/worker.h"
#include "app/plain/line_loop.h"
#include "app/plain/ui_json.h"
#include "app/plain/ui_line.h"
#include "app/store/store.h"
#include "engine/error.h"
#include "tests/support/fake_engine.h"

namespace bitnet {
namespace {

using testing::HasSubstr;
using Verb = ScriptStep::Verb;

std::string refusal(const std::string& script) {
  try {
    parse_script(script, "s");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  ADD_FAILURE() << "accepted: " << script;
  return "";
}

TEST(ParseScript, ReadsLinesBlocksCommentsAndVerbs) {
  const auto steps = parse_script(
      "# comment\n\nHello\n\"\"\"\n\n# not a comment\n@not a verb\n\"\"\"\n@@at\n@wait idle\n@wait /a\\/b/ "
      "2.5\r\n"
      "@expect-not /x/\n@key C-c\n@resize 100x30\n@interrupt after=7\n@screenshot a b.txt\n",
      "s");
  ASSERT_EQ(steps.size(), 10U);
  EXPECT_EQ(steps[0].text, "Hello");
  EXPECT_EQ(steps[1].text, "\n# not a comment\n@not a verb");
  EXPECT_EQ(steps[2].text, "@at");
  EXPECT_EQ(steps[3].verb, Verb::wait_idle);
  EXPECT_EQ(steps[4].verb, Verb::wait_text);
  EXPECT_EQ(steps[4].text, "a/b");
  EXPECT_EQ(steps[4].limit, std::chrono::milliseconds(2500));
  EXPECT_EQ(steps[5].verb, Verb::expect_not);
  EXPECT_EQ(steps[6].text, "C-c");
  EXPECT_EQ(steps[7].number, 100U);
  EXPECT_EQ(steps[7].number2, 30U);
  EXPECT_EQ(steps[8].number, 7U);
  EXPECT_EQ(steps[9].text, "a b.txt");
}

TEST(ParseScript, AByteOrderMarkIsNotTyped) {
  const auto steps = parse_script("\xEF\xBB\xBF@wait idle\r\nHello\r\n", "s");
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[0].verb, Verb::wait_idle);
  EXPECT_EQ(steps[1].text, "Hello");
}

TEST(ParseScript, NamesTheLineOfAMistake) {
  EXPECT_THAT(refusal("ok\n@frob\n"), testing::AllOf(HasSubstr("s:2"), HasSubstr("@frob")));
  EXPECT_THAT(refusal("\"\"\"\nopen\n"), HasSubstr("s:1"));
  refusal("@expect Hello\n");
  refusal("@expect /open\n");
  refusal("@expect /(/\n");
  refusal("@expect /a/ b\n");
  refusal("@wait\n");
  refusal("@wait idle soon\n");
  refusal("@wait idle -1\n");
  refusal("@interrupt 3\n");
  refusal("@interrupt after=0\n");
  refusal("@resize 80\n");
  refusal("@key\n");
  refusal("@allow-errors please\n");
}

// A whole chat on a pipe, as the program runs it.
class LineLoopTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(pipe(out_), 0);
    ASSERT_EQ(pipe(err_), 0);
  }
  void TearDown() override {
    for (const int fd : {out_[0], out_[1], err_[0], err_[1]}) close(fd);
  }
  static std::string drain(int (&ends)[2]) {
    close(ends[1]);
    ends[1] = dup(ends[0]);  // so that TearDown has something to close
    std::string text;
    char buffer[4096];
    for (ssize_t n = 0; (n = read(ends[0], buffer, sizeof buffer)) > 0;)
      text.append(buffer, static_cast<size_t>(n));
    return text;
  }

  template <typename FrontEnd>
  int run(FrontEnd& front, const std::string& script_text, const std::string* question = nullptr) {
    EventLoop loop;
    const auto store = Store::in_memory();
    Worker worker(fake::opener(fake_));
    worker.start();
    const auto made = make_chat(*store, worker, script_settings(), front);
    Chat& chat = *made;
    front.drive(chat);
    const LineLoopHooks hooks{[&] { return front.output_closed(); }, [&] { return front.exit_code(); }};
    if (question != nullptr) return run_question(chat, loop, *question, hooks);
    ScriptDriver driver(parse_script(script_text, "s"), "s");
    return run_script(chat, loop, driver, front, hooks);
  }

  fake::Script fake_;
  int out_[2];
  int err_[2];
};

TEST_F(LineLoopTest, AQuestionPutsTheAnswerAloneOnTheOutput) {
  fake_.answer("Hi there");
  Output out(out_[1]);
  Output err(err_[1]);
  LineFrontEnd front({.question = true, .echo_user = false, .quiet = true}, out, err);
  const std::string question = "Hello";
  EXPECT_EQ(run(front, "", &question), 0);
  EXPECT_EQ(drain(out_), "Hi there\n");
  EXPECT_EQ(drain(err_), "");
}

TEST_F(LineLoopTest, ANumericAnswerIsARuntimeError) {
  fake_.numeric_after(0);
  Output out(out_[1]);
  Output err(err_[1]);
  LineFrontEnd front({.question = true, .echo_user = false, .quiet = true}, out, err);
  const std::string question = "Hello";
  EXPECT_EQ(run(front, "", &question), 1);
  EXPECT_THAT(drain(err_), HasSubstr("NaN"));
}

TEST_F(LineLoopTest, AClosedPipeEndsQuietly) {
  fake_.answer(std::string(200, 'x'));
  close(out_[0]);
  Output out(out_[1]);
  Output err(err_[1]);
  LineFrontEnd front({.question = true, .echo_user = false, .quiet = true}, out, err);
  const std::string question = "Hello";
  EXPECT_EQ(run(front, "", &question), 0);
  EXPECT_EQ(drain(err_), "");
  out_[0] = dup(out_[1]);
}

TEST_F(LineLoopTest, AScriptWaitsInterruptsAndExpects) {
  fake_.answer("the first answer");
  fake_.answer("abcdefgh");
  Output out(out_[1]);
  Output err(err_[1]);
  LineFrontEnd front({}, out, err);
  EXPECT_EQ(run(front,
                "Hello\n@wait idle 60\n@expect /first\\s+answer/\n@expect-not /second/\n"
                "go\n@interrupt after=4\n@wait /\\[interrupted\\]/\n@expect /^abcd$/\n@expect-not /abcde/\n"
                "/new\n@expect-not /first/\n@key q\n@key Esc\n/quit\nnever typed\n"),
            0);
  EXPECT_THAT(drain(out_), HasSubstr("> Hello\nthe first answer\n> go\nabcd\n[interrupted]\n"));
}

TEST_F(LineLoopTest, ANewConversationIsOneThatIsNotTheSame) {
  for (int i = 0; i < 3; ++i) fake_.answer("Hi");
  Output out(out_[1]);
  Output err(err_[1]);
  LineFrontEnd front({}, out, err);
  EXPECT_EQ(run(front, "one\n@wait idle\n/edit two\n@wait idle\n/undo\nthree\n@wait idle\n/new\n/quit\n"), 0);
  EXPECT_EQ(drain(out_),
            "> one\nHi\n> /edit two\n--- back to the start ---\n> two\nHi\n> /undo\n"
            "--- back to the start ---\n> three\nHi\n> /new\n--- new conversation ---\n> /quit\n");
}

TEST_F(LineLoopTest, AFailedExpectationShowsWhatWasThere) {
  fake_.answer("something else");
  Output out(out_[1]);
  Output err(err_[1]);
  LineFrontEnd front({}, out, err);
  try {
    run(front, "Hello\n@expect /Paris/\n");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::mismatch);
    EXPECT_THAT(error.what(),
                testing::AllOf(HasSubstr("s:2"), HasSubstr("/Paris/"), HasSubstr("something else")));
  }
}

TEST_F(LineLoopTest, AScriptEndsWhereACommandFails) {
  const auto failure = [&](const std::string& script) {
    Output out(out_[1]);
    Output err(err_[1]);
    LineFrontEnd front({}, out, err);
    try {
      run(front, script);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::mismatch);
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(failure("/set temp 1\n/frob\n@expect /did you|no command/\n/quit\n"),
              testing::AllOf(HasSubstr("s:2: '/frob' failed: there is no command /frob"),
                             HasSubstr("@allow-errors")));
  EXPECT_THAT(failure("@key /\n@key f\n@key Enter\n"), HasSubstr("s:3"));
  EXPECT_EQ(failure("@allow-errors\n/frob\n@expect /no command/\n"), "");
  EXPECT_THAT(failure("@allow-errors\n/frob\n@allow-errors off\n/open 9\n"),
              HasSubstr("s:4: '/open 9' failed"));
  fake_.numeric_after(0);
  EXPECT_THAT(failure("Hello\n@wait idle\n/quit\n"), HasSubstr("s:1: 'Hello' failed"));
}

TEST_F(LineLoopTest, AWaitThatIsOverItsTimeFails) {
  fake_.hold();
  Output out(out_[1]);
  Output err(err_[1]);
  LineFrontEnd front({}, out, err);
  EXPECT_THROW(run(front, "Hello\n@wait idle 0.05\n"), Error);
}

TEST_F(LineLoopTest, JsonLinesTellTheWholeStory) {
  fake_.answer("Hi");
  Output out(out_[1]);
  JsonFrontEnd front(out);
  EXPECT_EQ(run(front, "@allow-errors\nHello\n/set temp\n/frob\n@expect /Hi/\n"), 0);
  front.exit(0);
  std::vector<nlohmann::json> lines;
  std::istringstream text(drain(out_));
  for (std::string line; std::getline(text, line);) lines.push_back(nlohmann::json::parse(line));
  std::string types;
  for (const auto& line : lines) types += line.at("type").get<std::string>() + " ";
  EXPECT_EQ(types, "session user token token usage command error exit ");
  EXPECT_EQ(lines[1].at("text"), "Hello");
  EXPECT_EQ(lines[2].at("text"), "H");
  EXPECT_EQ(lines[2].at("id"), 'H');
  EXPECT_EQ(lines[4].at("finish"), "stop");
  EXPECT_EQ(lines[4].at("answer_tokens"), 2);
  EXPECT_EQ(lines[7].at("code"), 0);
}

}  // namespace
}  // namespace bitnet
