// Tests keys: what a terminal sends for them, what they are bound to, and the help that names them.
#include "app/text/keymap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "app/text/key_decoder.h"
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
  keys.feed("\x1b[200~half a paste");
  EXPECT_FALSE(keys.next());
  EXPECT_FALSE(keys.waiting());
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
