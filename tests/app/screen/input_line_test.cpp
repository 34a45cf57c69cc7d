// Keys in any order leave the line editor, and the history, as they were.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

// readline's headers need FILE to be declared.
#include <readline/history.h>

#include "app/screen/input_line.h"

namespace bitnet {
namespace {

#ifdef BITNET_SANITIZED  // with which a process takes long to begin
constexpr unsigned kSequences = 300;
#else
constexpr unsigned kSequences = 1500;
#endif
constexpr unsigned kMostKeys = 70, kPatience = 60;  // seconds
const std::vector<std::string> kSent = {"first", "second", "third"};

struct Keys {
  std::string name;
  std::string inputrc;
  std::vector<std::string> keys;
};

// ^C is what the screen does for it, and takes the text away.
const std::string kClear = "\x03";

const Keys kEmacs = {
    "Emacs",
    "\"\\e[A\": history-search-backward\n\"\\e[B\": history-search-forward\n"
    "\"\\eOA\": history-substring-search-backward\n\"\\eOB\": history-substring-search-forward\n",
    {"a",      "s",      "h",        "f",        " ",        "\x01",   "\x02",     "\x05",
     "\x06",   "\x0e",   "\x10",     "\x12",     "\x13",     "\x07",   kClear,     "\x1f",
     "\x14",   "\x17",   "\x15",     "\x0b",     "\x19",     "\x7f",   "\x04",     "\r",
     "\x0f",   "\x1bp",  "\x1bn",    "\x1b<",    "\x1b>",    "\x1bt",  "\x1bu",    "\x1br",
     "\x1b.",  "\x1by",  "\x1b\x31", "\x1b\x35", "\x1b-",    "\x1bOA", "\x1bOB",   "\x18\x15",
     "\x1b[A", "\x1b[B", "\x1b[C",   "\x18\x18", "\x1b\x7f", "\x1b#",  "\x11\x61", "\x18*"}};

const Keys kVi = {
    "Vi",
    "set editing-mode vi\n",
    {"a", "s", "h", "f", " ", "\x1b", "k", "j", "G", "1", "2", "/",    "?",    "n",    "N",    "\r",
     "u", "U", "i", "I", "A", "x",    "X", "D", "c", "w", "d", "y",    "p",    "P",    "-",    kClear,
     "+", "g", "#", ".", "r", "~",    "b", "_", "R", "S", "C", "\x12", "\x07", "\x10", "\x0e", "\x1f"}};

// Not among them: ^X ( and ^X e, since macros that play themselves end a program with readline 8.2.
class InputLineKeys : public testing::TestWithParam<Keys> {};

// Returns the status of a process that does this, since readline is as new but once.
int in_a_process(const std::function<int()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(kPatience);
    _exit(work());
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

int type(const Keys& keys, unsigned seed) {
  std::mt19937 random(seed);
  InputLine line("", {[](std::string_view) { return true; }, [](const std::string&) {},
                      [](std::string_view begun) { return std::vector{std::string(begun) + "x"}; }});
  for (const std::string& text : kSent) {
    line.insert(text);
    line.type("\r");
  }
  for (unsigned n = 10 + random() % (kMostKeys - 10); n > 0; --n) {
    const std::string& key = keys.keys[random() % keys.keys.size()];
    if (key == kClear)
      line.clear();
    else
      line.type(key);
  }
  line.clear();
  for (size_t i = 0; i < kSent.size(); ++i)
    if (kSent[i] != history_list()[i]->line) return 2;
  line.insert("last");
  line.type("\r");
  return line.empty() ? 0 : 3;
}

TEST_P(InputLineKeys, InAnyOrderLeaveTheHistoryAsItWas) {
  const std::string inputrc = testing::TempDir() + "input_line_test_inputrc_" + GetParam().name;
  std::FILE* file = std::fopen(inputrc.c_str(), "w");
  ASSERT_NE(file, nullptr);
  std::fputs(GetParam().inputrc.c_str(), file);
  std::fclose(file);
  setenv("INPUTRC", inputrc.c_str(), 1);
  for (unsigned seed = 0; seed < kSequences; ++seed) {
    EXPECT_EQ(in_a_process([&] { return type(GetParam(), seed); }), 0) << "of the keys " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(In, InputLineKeys, testing::Values(kEmacs, kVi),
                         [](const auto& info) { return info.param.name; });

// readline sees that the line ends, and would go on with it when it gets another key.
TEST(InputLine, ALineThatEndsBehindACountIsSentAtOnce) {
  const auto is_sent = [] {
    std::vector<std::string> sent;
    InputLine line(
        "", {[](std::string_view) { return true; }, [&](const std::string& text) { sent.push_back(text); },
             [](std::string_view) { return std::vector<std::string>{}; }});
    line.insert("text");
    line.type("\x1b\x31");
    line.type("\r");
    return sent == std::vector<std::string>{"text"} && line.empty() ? 0 : 1;
  };
  EXPECT_EQ(in_a_process(is_sent), 0);
}

}  // namespace
}  // namespace bitnet
