// Tests keys: what a terminal sends for them, what they are bound to, and the help that names them.
#include "app/text/keymap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "app/text/key_decoder.h"
#include "app/text/wheel.h"
#include "app/view/help.h"
#include "engine/error.h"
#include "tests/support/view_rows.h"

namespace bitnet {
namespace {

using testing::ElementsAre;

TEST(Keys, SequencesAndPastes) {
  KeyDecoder keys;
  keys.feed("ab\x1b[5~\r\x1b\r\x03\x1b[1;5D\x1b[200~x\ny\x1b[A\x1b[201~z");
  std::vector<std::pair<Key, std::string>> seen;
  while (const auto key = keys.next()) seen.emplace_back(key->key, key->bytes);
  using P = std::pair<Key, std::string>;
  EXPECT_THAT(seen, ElementsAre(P{Key::text, "ab"}, P{Key::page_up, "\x1b[5~"}, P{Key::enter, "\r"},
                                P{Key::newline, "\x1b\r"}, P{Key::interrupt, "\x03"},
                                P{Key::text, "\x1b[1;5D"}, P{Key::paste, "x\ny\x1b[A"}, P{Key::text, "z"}));
}

TEST(Keys, AClickGoesDownAndUpInOnePlace) {
  KeyDecoder keys;
  std::vector<Key> seen;
  const auto feed = [&](std::string_view bytes) {
    keys.feed(bytes);
    seen.clear();
    while (const auto key = keys.next()) seen.push_back(key->key);
    return seen;
  };
  keys.feed("\x1b[<0;12;3M\x1b[<0;12;3m");
  EXPECT_EQ(keys.next()->key, Key::mouse);
  const KeyPress click = keys.next().value();
  EXPECT_EQ(click.key, Key::click);
  EXPECT_EQ(std::pair(click.column, click.row), std::pair(11, 2));
  EXPECT_THAT(feed("\x1b[<0;1;1M\x1b[<0;9;1m"), ElementsAre(Key::mouse, Key::mouse)) << "drawn along";
  EXPECT_THAT(feed("\x1b[<2;1;1M\x1b[<2;1;1m"), ElementsAre(Key::mouse, Key::mouse)) << "another button";
  EXPECT_THAT(feed("\x1b[<0;1;1m"), ElementsAre(Key::mouse)) << "only up";
  EXPECT_THAT(feed("\x1b[<64;5;5M\x1b[<69;5;5M"), ElementsAre(Key::wheel_up, Key::wheel_down));
  EXPECT_THAT(feed("\x1b[<M\x1b[<9999999999;1;1M\x1b[<0;;1Mx"),
              ElementsAre(Key::mouse, Key::mouse, Key::mouse, Key::text));
}

TEST(Wheel, SeveralArrowsReadAtOnceAreItsLines) {
  EXPECT_EQ(wheel_lines("\x1b[A\x1b[A\x1b[A"), -3);
  EXPECT_EQ(wheel_lines("\x1bOB\x1bOB"), 2);
  for (const char* keys : {"", "\x1b[A", "\x1b[A\x1b[B", "\x1b[A\x1b[Ax", "\x1b[C\x1b[C", "aaaaaa"})
    EXPECT_EQ(wheel_lines(keys), 0) << keys;
}

// What a person notices of arrows that come one by one: keys (Up u, Down d) and lines that are scrolled by.
TEST(Wheel, ArrowsFasterThanAKeyboardAreItsToo) {
  using std::chrono::milliseconds;
  const auto noticed =
      [](const std::vector<std::pair<int, int>>& arrows) {  // direction, milliseconds before it
        WheelGuess guess;
        WheelGuess::Time now{std::chrono::hours(1)};
        std::string out;
        bool held = false;
        const auto key = [&](int direction) { out += direction < 0 ? "u" : direction > 0 ? "d" : ""; };
        const auto wait = [&](int ms) {
          if (held && ms >= WheelGuess::kTogether.count()) key(guess.give_up(now + WheelGuess::kTogether));
          now += milliseconds(ms);
        };
        for (const auto& [direction, ms] : arrows) {
          wait(ms);
          const WheelGuess::Verdict verdict = guess.take(direction, now);
          key(verdict.key_before);
          if (verdict.is_key) key(direction);
          if (verdict.lines != 0) out += std::to_string(verdict.lines);
          held = !verdict.is_key && verdict.lines == 0;
        }
        wait(1000);
        return out;
      };
  EXPECT_EQ(noticed({{-1, 0}}), "u");
  EXPECT_EQ(noticed({{-1, 0}, {-1, 200}, {1, 90}}), "uud") << "pressed one after the other";
  EXPECT_EQ(noticed({{-1, 0}, {-1, 400}, {-1, 30}, {-1, 15}, {-1, 35}}), "uuuuu")
      << "held down, over a slow line";
  EXPECT_EQ(noticed({{-1, 0}, {-1, 16}, {-1, 16}, {-1, 60}}), "-2-1-1") << "a touchpad that runs out";
  EXPECT_EQ(noticed({{-1, 0}, {-1, 8}, {1, 100}}), "-21") << "and comes back";
  EXPECT_EQ(noticed({{-1, 0}, {1, 5}}), "ud");
  EXPECT_EQ(noticed({{-1, 0}, {-1, 8}, {-1, 500}}), "-2u");
  WheelGuess guess;
  const WheelGuess::Time now{std::chrono::hours(1)};
  guess.take(1, now);
  EXPECT_EQ(guess.turn(now + milliseconds(4)), 1) << "one arrow, and then several at once";
  EXPECT_EQ(guess.give_up(now + milliseconds(20)), 0);
}

TEST(Keys, EscAloneNeedsTimeToBeKnown) {
  KeyDecoder keys;
  keys.feed("\x1b");
  EXPECT_FALSE(keys.next());
  EXPECT_TRUE(keys.waiting());
  EXPECT_EQ(keys.give_up_waiting()->key, Key::escape);
  keys.feed("\x1b");
  EXPECT_FALSE(keys.next());
  keys.feed("OP");
  EXPECT_EQ(keys.next()->key, Key::help);
}

TEST(Keys, APasteWithoutAnEndIsGivenUp) {
  KeyDecoder keys;
  keys.feed("\x1b[200~half a paste");
  EXPECT_FALSE(keys.next());
  EXPECT_TRUE(keys.waiting());
  EXPECT_TRUE(keys.in_paste());
  const KeyPress half = keys.give_up_waiting().value();
  EXPECT_EQ(half.key, Key::paste);
  EXPECT_EQ(half.bytes, "half a paste");
  EXPECT_FALSE(keys.waiting());
  EXPECT_FALSE(keys.give_up_waiting());
  using P = std::pair<Key, std::string>;
  const auto seen = [&](std::initializer_list<const char*> reads) {
    std::vector<P> found;
    for (const char* bytes : reads) {
      keys.feed(bytes);
      while (const auto key = keys.next()) found.emplace_back(key->key, key->bytes);
    }
    return found;
  };
  // What comes late is pasted too, and sends nothing.
  EXPECT_THAT(seen({"and the rest\r/quit\r\x1b[20", "1~b\x1b[200~x\x1b[201~"}),
              ElementsAre(P{Key::paste, "and the rest\r/quit\r"}, P{Key::text, "b"}, P{Key::paste, "x"}));
  // Text without a control does not tell whether it was typed, and does not end the paste.
  keys.feed("\x1b[200~aaa\rbb");
  EXPECT_FALSE(keys.next());
  EXPECT_EQ(keys.give_up_waiting()->bytes, "aaa\rbb");
  EXPECT_THAT(seen({"ccc", "\rddd\re\x1b[201~\r"}),
              ElementsAre(P{Key::text, "ccc"}, P{Key::paste, "\rddd\re"}, P{Key::enter, "\r"}));
  // Where no end comes, a key that is pressed is a key, and so is what follows.
  keys.feed("\x1b[200~half a paste");
  EXPECT_FALSE(keys.next());
  EXPECT_EQ(keys.give_up_waiting()->bytes, "half a paste");
  EXPECT_THAT(seen({"\u00e4", "ab\r"}),
              ElementsAre(P{Key::text, "\u00e4"}, P{Key::text, "ab"}, P{Key::enter, "\r"}));
  // Typed text, keys that come together and another paste need not wait either.
  for (const auto& [bytes, key] : {std::pair{"typed fast", P{Key::text, "typed fast"}},
                                   {"\x1b[5~\x1b[5~", P{Key::page_up, "\x1b[5~"}},
                                   {"\x1b[200~two\x1b[201~", P{Key::paste, "two"}}}) {
    keys.feed("\x1b[200~half a paste");
    EXPECT_FALSE(keys.next());
    EXPECT_TRUE(keys.give_up_waiting());
    const std::vector<P> found = seen({bytes});
    ASSERT_FALSE(found.empty()) << bytes;
    EXPECT_EQ(found.front(), key);
  }
}

TEST(Keys, WhatATerminalRepliesIsNoText) {
  using P = std::pair<Key, std::string>;
  for (const std::string& reply :
       {std::string("\x1b]11;rgb:1e1e/1e1e/1e1e\x07"), std::string("\x1b]11;rgb:1e1e/1e1e/1e1e\x1b\\"),
        std::string("\x1bP>|XTerm(370)\x1b\\"), std::string("\x1bP1$r0m\x1b\\")}) {
    for (size_t split = 3; split <= reply.size(); ++split) {
      KeyDecoder keys;
      std::vector<P> seen;
      for (const std::string& bytes : {"a" + reply.substr(0, split), reply.substr(split) + "b"}) {
        keys.feed(bytes);
        while (const auto key = keys.next()) seen.emplace_back(key->key, key->bytes);
      }
      EXPECT_THAT(seen, ElementsAre(P{Key::text, "a"}, P{Key::none, reply}, P{Key::text, "b"})) << split;
    }
  }
  KeyDecoder keys;
  for (const char* alt : {"\x1b]", "\x1bP"}) {
    keys.feed(alt);
    EXPECT_EQ(keys.next()->bytes, alt);
  }
  keys.feed("\x1b]11;rgb");
  EXPECT_FALSE(keys.next());
  EXPECT_EQ(keys.give_up_waiting()->key, Key::none);
  keys.feed("\x1b]1\rb");
  EXPECT_EQ(keys.next()->key, Key::none);
  EXPECT_EQ(keys.next()->key, Key::enter);
  keys.feed("b\x1b]1" + std::string(1 << 20, 'x'));
  while (const auto key = keys.next()) EXPECT_NE(key->bytes.front(), 'x');
}

TEST(Keys, AltAndACharacterThatIsNotAsciiIsNoHalfCharacter) {
  KeyDecoder keys;
  keys.feed("a\x1b\xc3");
  EXPECT_EQ(keys.next()->bytes, "a");
  EXPECT_FALSE(keys.next());
  keys.feed("\xb6z");
  std::string typed;
  while (const auto key = keys.next()) typed += key->bytes;
  EXPECT_EQ(typed, "z");
}

TEST(Keys, Names) {
  EXPECT_EQ(bytes_of_key("C-c"), "\x03");
  EXPECT_EQ(bytes_of_key("M-Enter"), "\x1b\r");
  EXPECT_EQ(bytes_of_key("PgUp"), "\x1b[5~");
  EXPECT_EQ(bytes_of_key("漢"), "漢");
  EXPECT_EQ(bytes_of_key("NoSuchKey"), "");
  EXPECT_EQ(bytes_of_key(""), "");
}

TEST(Keymap, EveryActionHasAKeyAndIsInTheHelp) {
  const Keymap keymap;
  std::string help;
  for (const std::string& row : texts(help_rows(keymap, 200, 100))) help += row + "\n";
  for (const Action& action : action_table()) {
    EXPECT_NE(keymap.keys_of(action), "") << action.name;
    EXPECT_NE(help.find(keymap.keys_of(action)), std::string::npos) << action.name;
    EXPECT_NE(help.find(action.help), std::string::npos) << action.name;
    if (action.key == Key::text) continue;
    KeyDecoder keys;
    keys.feed(bytes_of_key(std::string_view(action.keys).substr(0, std::string_view(action.keys).find(','))));
    const auto key = keys.next();
    EXPECT_EQ((key ? key : keys.give_up_waiting())->key, action.key) << action.name;
  }
}

TEST(Keymap, AFileBindsAndTakesAway) {
  Keymap keymap;
  keymap.read("# mine\n\nC-t = find   # a comment\nF5 = complete\nC-f = editor\nC-o = none\nM-q = quit\n",
              "keys");
  KeyDecoder keys(keymap);
  keys.feed("\x14\x1b[15~\x06\x0f\x1bq");
  std::vector<std::pair<Key, std::string>> seen;
  while (const auto key = keys.next()) seen.emplace_back(key->key, key->bytes);
  using P = std::pair<Key, std::string>;
  EXPECT_THAT(seen, ElementsAre(P{Key::find, "\x14"}, P{Key::text, "\t"}, P{Key::text, "\x06"},
                                P{Key::none, "\x0f"}, P{Key::eof, "\x1bq"}));
  for (const Action& action : action_table()) {
    if (std::string_view(action.name) == "find") {
      EXPECT_EQ(keymap.keys_of(action), "^T");
    } else if (std::string_view(action.name) == "quit") {
      EXPECT_EQ(keymap.keys_of(action), "^D, Alt-q");
    }
  }
}

TEST(Keymap, WhatIsWrongIsNamedWithItsLine) {
  const auto problem = [](std::string_view text) -> std::string {
    try {
      Keymap().read(text, "my-keys");
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(problem("\nC-t find\n"),
              testing::HasSubstr("my-keys:2: wanted 'key = action', found 'C-t find'"));
  EXPECT_THAT(problem("Hyper-x = find"), testing::HasSubstr("my-keys:1: there is no key 'Hyper-x'"));
  EXPECT_THAT(problem("C-t = fnd"), testing::HasSubstr("there is no action 'fnd'; there are send, newline,"));
  EXPECT_THAT(problem("a = find"), testing::HasSubstr("'a' is needed to write"));
}

TEST(Help, FitsAnyScreen) {
  for (const int columns : {1, 5, 20, 40, 80, 200}) {
    for (const int rows : {0, 1, 3, 20, 60}) {
      EXPECT_LE(help_rows(Keymap(), columns, rows).size(), static_cast<size_t>(rows));
      EXPECT_LE(welcome_rows(columns, rows).size(), static_cast<size_t>(rows));
      EXPECT_LE(candidate_rows({"/help", "/set", "/show"}, columns, rows).size(), static_cast<size_t>(rows));
    }
  }
}

}  // namespace
}  // namespace bitnet
