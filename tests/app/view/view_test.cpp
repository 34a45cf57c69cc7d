// Tests the parts of the screen other than the transcript: status line, input line, overlays, themes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/text/bar.h"
#include "app/text/text_width.h"
#include "app/text/theme.h"
#include "app/view/find_bar.h"
#include "app/view/help.h"
#include "app/view/input.h"
#include "app/view/picker.h"
#include "app/view/status.h"
#include "engine/error.h"
#include "tests/support/view_rows.h"

namespace bitnet {
namespace {

using testing::ElementsAre;

TEST(StatusLine, FillsItsWidthAndDropsTheLeastImportant) {
  Status status;
  status.state = ChatState::answering;
  status.model = "bitnet-b1.58-2B-4T";
  status.device = "NVIDIA H200 (driver 1.2)";
  status.tokens_per_second = 52.345;
  status.context_used = 312;
  status.context_limit = 4096;
  status.saved = false;
  for (int columns = 1; columns <= 220; ++columns) {
    ASSERT_EQ(columns_of(status_row(status, {}, columns).text()), columns);
  }
  const std::string wide = status_row(status, {}, 120).text();
  for (const char* part :
       {"bitnet-b1.58-2B-4T", "NVIDIA H200", "answering", "52.3 tok/s", "312/4096", "not saved"}) {
    EXPECT_NE(wide.find(part), std::string::npos) << part;
  }
  EXPECT_NE(status_row(status, {}, 20).text().find("answering"), std::string::npos);
  EXPECT_NE(status_row(status, {"", 12, 30}, 60).text().find("↓ 12 new lines"), std::string::npos);
  EXPECT_NE(status_row(status, {"press ^C again to quit", 0, 0}, 60).text().find("again"), std::string::npos);
  status.model = "evil\x1b[2J\u202e";
  const std::string safe = status_row(status, {}, 120).text();
  EXPECT_EQ(safe.find('\x1b'), std::string::npos);
}

TEST(StatusLine, FiguresForTheCuriousComeOnlyWhereTheyAreWanted) {
  Status status;
  status.state = ChatState::idle;
  status.model = "bitnet-chat";
  status.device = "Intel Xeon";
  status.tokens_per_second = 52.345;
  status.streamed = 1'500'000'000;
  status.context_used = 123;
  status.context_limit = 2048;
  status.reused = 38;
  status.prompt_tokens = 39;
  status.drafted = 15;
  status.right = 12;
  const std::string plain = status_row(status, {}, 200).text();
  for (const char* figure : {"reused", "guessed", "GB/s"}) EXPECT_EQ(plain.find(figure), std::string::npos);
  status.full = true;
  const std::string full = status_row(status, {}, 200).text();
  EXPECT_NE(full.find("reused 38 of 39 tokens · guessed 12 of 15 · 52.3 tok/s · 79 GB/s"), std::string::npos)
      << full;
  // On 80 columns the names make room for them.
  const std::string narrow = status_row(status, {}, 80).text();
  EXPECT_NE(narrow.find("ready"), std::string::npos) << narrow;
  EXPECT_NE(narrow.find("reused 38 of 39 tokens · guessed 12 of 15 · 52.3 tok/s · 123/2048"),
            std::string::npos)
      << narrow;
}

TEST(StatusLine, LoadingAndReadingShowHowFarTheyAre) {
  Status status;
  status.state = ChatState::loading;
  status.progress = 0.5;
  EXPECT_NE(status_row(status, {}, 60).text().find("loading ████░░░░ 50%"), std::string::npos);
  status.state = ChatState::prefill;
  status.progress = 0.25;
  EXPECT_NE(status_row(status, {}, 60).text().find("reading ██░░░░░░ 25%"), std::string::npos);
}

TEST(StatusLine, BarsFillInEighths) {
  EXPECT_EQ(bar(0, 4), "░░░░");
  EXPECT_EQ(bar(0.5, 4), "██░░");
  EXPECT_EQ(bar(1.0 / 32, 4), "▏░░░");
  EXPECT_EQ(bar(7, 4), "████");
  EXPECT_EQ(bar(0.0 / 0.0, 4), "░░░░");
}

TEST(InputRowsTest, CursorStandsWhereTheCharacterIs) {
  InputRows rows = input_rows("› ", "a漢字b", 4, 80, 5);
  EXPECT_EQ(rows.cursor_row, 0);
  EXPECT_EQ(rows.cursor_column, 2 + 1 + 2);
  EXPECT_THAT(texts(rows.rows), ElementsAre("› a漢字b"));
  rows = input_rows("› ", "one\ntwo", 7, 80, 5);
  EXPECT_THAT(texts(rows.rows), ElementsAre("› one", "  two"));
  EXPECT_EQ(rows.cursor_row, 1);
  EXPECT_EQ(rows.cursor_column, 5);
  rows = input_rows("› ", "0123456789", 10, 8, 5);
  EXPECT_THAT(texts(rows.rows), ElementsAre("› 01234", "  56789"));
  EXPECT_EQ(rows.cursor_column, 7);
}

TEST(InputRowsTest, ShowsTheRowsAroundTheCursor) {
  const std::string text = "1\n2\n3\n4\n5";
  EXPECT_THAT(texts(input_rows("› ", text, text.size(), 80, 2).rows), ElementsAre("  4", "  5"));
  EXPECT_THAT(texts(input_rows("› ", text, 0, 80, 2).rows), ElementsAre("› 1", "  2"));
  for (const int columns : {1, 2, 3})
    input_rows("› ",
               "漢字\x1b"
               "a\n",
               3, columns, 1);
}

TEST(PickerTest, WithKeysOfItsOwnLettersMoveAndChoose) {
  int64_t chosen = 0, written = 0;
  Choices choices;
  choices.enter = "copies";
  choices.find = [](std::string_view) {
    std::vector<Choice> found;
    for (int64_t id = 1; id <= 12; ++id) found.push_back({id, "block", ""});
    return found;
  };
  choices.chosen = [&](int64_t id) { chosen = id; };
  choices.keys = {{'w', "writes it", [&](int64_t id) { written = id; }}};
  const auto pressed = [&](const std::vector<std::string>& keys) {
    Picker picker(choices);
    for (const std::string& key : keys) picker.press({Key::text, key}, 80, 10);
    return picker.press({Key::enter, "\r"}, 80, 10).closes ? chosen : 0;
  };
  EXPECT_EQ(pressed({}), 12) << "the last one first";
  EXPECT_EQ(pressed({"k"}), 11);
  EXPECT_EQ(pressed({"kkk", "j"}), 10);
  EXPECT_EQ(pressed({"1"}), 1);
  EXPECT_EQ(pressed({"1", "1"}), 11);
  EXPECT_EQ(pressed({"1", "9"}), 9);
  EXPECT_EQ(pressed({"x", "7", "0"}), 7);
  Picker picker(choices);
  EXPECT_TRUE(picker.press({Key::text, "5w"}, 80, 10).closes);
  EXPECT_EQ(written, 5);
  for (const int columns : {1, 20, 80}) {
    int cursor = 0;
    EXPECT_LE(columns_of(picker.input_row(columns, cursor).value().text()), columns);
  }
}

TEST(PickerTest, NarrowsMovesAndChooses) {
  Choices choices;
  choices.title = "Pick";
  choices.find = [](std::string_view filter) {
    std::vector<Choice> found;
    for (const char* name : {"alpha", "beta", "gamma \x1b[2J\nx", "delta"}) {
      if (std::string_view(name).find(filter) != std::string_view::npos) {
        found.push_back({static_cast<int64_t>(found.size()) + 1, name, "details"});
      }
    }
    return found;
  };
  int64_t chosen = 0;
  choices.chosen = [&](int64_t id) { chosen = id; };
  Picker picker(choices);
  const auto closes = [&](Key key, const char* bytes = "") {
    const Overlay::Outcome outcome = picker.press({key, bytes}, 80, 10);
    EXPECT_FALSE(outcome.passed_on);
    return outcome.closes;
  };
  const auto shown = [&](int columns, int rows) { return picker.rows(columns, rows).value(); };
  EXPECT_FALSE(closes(Key::down));
  EXPECT_THAT(texts(shown(20, 7)),
              ElementsAre("  Pick", "", "  alpha", "› beta", "  gamma ␛[2J x", "  delta", ""));
  EXPECT_FALSE(closes(Key::text, "ta"));
  EXPECT_EQ(texts(shown(20, 3))[0], "› beta");
  EXPECT_TRUE(closes(Key::enter));
  EXPECT_EQ(chosen, 1);
  closes(Key::text, "zzz");
  EXPECT_FALSE(closes(Key::enter));
  EXPECT_EQ(texts(shown(20, 1))[0], "  nothing fits");
  closes(Key::text, "\x15");
  closes(Key::page_down);
  EXPECT_EQ(texts(shown(20, 2))[1], "› delta");
  EXPECT_TRUE(closes(Key::escape));
  for (const int columns : {5, 20, 80, 200}) {
    for (const int rows : {0, 1, 2, 5, 40}) {
      EXPECT_EQ(shown(columns, rows).size(), static_cast<size_t>(rows));
      int cursor = 0;
      EXPECT_LE(columns_of(picker.input_row(columns, cursor).value().text()), columns);
      EXPECT_LT(cursor, columns);
      EXPECT_LE(columns_of(find_row("wörds", true, 1, 2, columns, cursor).text()), columns);
      for (const Row& row : shown(columns, rows)) EXPECT_LE(columns_of(row.text()), columns);
    }
  }
}

TEST(ShortLine, TakesTheFirstLineOfAPasteAndNoMoreThanItShould) {
  std::string line = "a";
  EXPECT_TRUE(edit_short_line(line, "b c\rd"));
  EXPECT_EQ(line, "ab c");
  EXPECT_TRUE(edit_short_line(line, "\u00e9\nf"));
  EXPECT_EQ(line, "ab c\u00e9");
  EXPECT_FALSE(edit_short_line(line, "\r\nf"));
  std::string much;
  for (int i = 0; i < 100000; ++i) much += "漢";
  line = "ab";
  EXPECT_TRUE(edit_short_line(line, much));
  EXPECT_EQ(line, "ab" + much.substr(0, 996));  // the next character would end behind the thousandth byte
  EXPECT_TRUE(edit_short_line(line, "cd"));
  EXPECT_FALSE(edit_short_line(line, "e"));
  EXPECT_EQ(line.size(), 1000u);
  EXPECT_TRUE(edit_short_line(line, "\x7f"));
  EXPECT_TRUE(line.ends_with("漢c"));
}

TEST(ShortLine, ItsEndIsShownWhereItIsLong) {
  int cursor = 0;
  const std::string much(200000, 'x');
  EXPECT_EQ(columns_of(find_row(much + "the end", true, 1, 1, 60, cursor).text()), 59);
  EXPECT_NE(find_row(much + "the end", true, 1, 1, 60, cursor).text().find("xthe end"), std::string::npos);
  EXPECT_EQ(texts(input_rows(much + "end› ", "text", 0, 20, 1).rows)[0], "xxxxxend› text");
}

TEST(PickerTest, AClickSelectsAndAnotherChooses) {
  int64_t chosen = 0;
  Choices choices;
  choices.title = "Pick";
  choices.find = [](std::string_view) {
    std::vector<Choice> found;
    for (int64_t id = 1; id <= 20; ++id) found.push_back({id, "entry " + std::to_string(id), ""});
    return found;
  };
  choices.chosen = [&](int64_t id) { chosen = id; };
  for (const auto& [rows, selected] :
       {std::pair(3, 2), std::pair(10, 10)}) {  // without a title, and scrolled
    Picker picker(choices);
    for (int i = 1; i < selected; ++i) picker.press({Key::down, ""}, 40, rows);
    const auto click_on = [&, rows = rows](const std::string& text) {
      const std::vector<std::string> shown = texts(picker.rows(40, rows).value());
      const auto row =
          std::find_if(shown.begin(), shown.end(), [&](const std::string& r) { return r.ends_with(text); });
      return picker.press({Key::click, "", 5, static_cast<int>(row - shown.begin())}, 40, rows).closes;
    };
    EXPECT_FALSE(click_on("Pick")) << "what is no entry does nothing";
    EXPECT_FALSE(click_on("entry 3"));
    EXPECT_EQ(chosen, 0);
    EXPECT_TRUE(click_on("› entry 3"));
    EXPECT_EQ(std::exchange(chosen, 0), 3);
  }
}

TEST(PendingRows, SeveralFilesAreToldInOneRow) {
  const std::vector<PendingFile> files = {{"notes.txt", 100, 17}, {"a long name.txt", 100, 4}};
  EXPECT_EQ(
      texts(pending_rows(files, 120))[0],
      "+ notes.txt, 17 tokens · a long name.txt, 4 tokens  (Backspace at the start takes the last out)");
  EXPECT_EQ(texts(pending_rows(files, 60))[0], "+ notes.txt, 17 tokens · a long name.txt, 4 tokens");
  EXPECT_EQ(texts(pending_rows(files, 40))[0], "+ 2 files, 21 tokens: notes.txt · a lon…");
}

// Logs each key and passes it on with a mark, unless the key says otherwise.
class NamedOverlay : public Overlay {
 public:
  NamedOverlay(std::string name, std::vector<std::string>& log) : name_(std::move(name)), log_(log) {}
  Outcome press(const KeyPress& key, int, int) override {
    log_.push_back(name_ + " " + key.bytes);
    if (key.bytes == "error") throw Error(ErrorKind::runtime, "cannot");
    if (key.bytes == "close") return {.closes = true};
    if (key.bytes == "all") return {.closes = true, .passed_on = key};
    return {.passed_on = KeyPress{key.key, key.bytes + "!"}};
  }
  bool closes_for_line() const override { return name_ == "top"; }
  std::optional<Row> input_row(int, int&) override {
    if (name_ == "top") return std::nullopt;
    Row row;
    row.add(name_, {});
    return row;
  }

 private:
  std::string name_;
  std::vector<std::string>& log_;
};

TEST(Overlays, HaveTheKeysFromTheTopDown) {
  std::vector<std::string> log;
  OverlayStack stack;
  const auto press = [&](const char* bytes) {
    log.clear();
    return stack.press({Key::text, bytes}, 80, 24);
  };
  EXPECT_EQ(press("a")->bytes, "a");
  stack.open(std::make_unique<NamedOverlay>("bottom", log));
  stack.open(std::make_unique<NamedOverlay>("top", log));
  EXPECT_EQ(press("a")->bytes, "a!!");
  EXPECT_THAT(log, ElementsAre("top a", "bottom a!"));
  int cursor = 0;
  EXPECT_EQ(stack.input_row(80, cursor)->text(), "bottom");
  EXPECT_FALSE(stack.rows(80, 24));
  EXPECT_THROW(press("error"), Error);
  EXPECT_EQ(press("a")->bytes, "a!");  // the one that threw is closed
  EXPECT_THAT(log, ElementsAre("bottom a"));
  stack.open(std::make_unique<NamedOverlay>("top", log));
  EXPECT_FALSE(press("close"));
  EXPECT_THAT(log, ElementsAre("top close"));
  stack.open(std::make_unique<NamedOverlay>("top", log));
  stack.close_for_line();
  EXPECT_EQ(press("all")->bytes, "all");
  EXPECT_THAT(log, ElementsAre("bottom all"));
  EXPECT_EQ(press("a")->bytes, "a");
  EXPECT_TRUE(log.empty());
}

TEST(Overlays, HelpPassesOnWhatWasTypedAfterTheKeyThatClosesIt) {
  const Keymap keymap;
  HelpOverlay help(keymap);
  EXPECT_FALSE(help.press({Key::page_down, ""}, 80, 10).closes);
  EXPECT_NE(texts(help.rows(80, 10).value())[0], "  Keys");
  help.press({Key::page_up, ""}, 80, 10);
  EXPECT_EQ(texts(help.rows(80, 10).value())[0], "  Keys");
  EXPECT_TRUE(help.press({Key::enter, "\r"}, 80, 10).closes);
  EXPECT_FALSE(help.press({Key::text, "q"}, 80, 10).passed_on);
  EXPECT_EQ(help.press({Key::text, "qHello"}, 80, 10).passed_on->bytes, "Hello");
  EXPECT_EQ(help.press({Key::paste, "Hello"}, 80, 10).passed_on->bytes, "Hello");
}

TEST(Overlays, HelpStaysInViewWhereTheScreenGrows) {
  const Keymap keymap;
  HelpOverlay help(keymap);
  help.rows(34, 10);
  for (int i = 0; i < 20; ++i) help.press({Key::page_down, ""}, 34, 10);
  EXPECT_EQ(texts(help.rows(34, 10).value()).back(), "  /help lists the commands");
  const std::vector<std::string> wider = texts(help.rows(100, 10).value());
  ASSERT_EQ(wider.size(), 10u);
  EXPECT_EQ(wider.back(), "  /help lists the commands");
  EXPECT_EQ(texts(help.rows(100, 100).value())[0], "  Keys");
  help.press({Key::line_up, ""}, 100, 10);
  EXPECT_EQ(texts(help.rows(100, 10).value())[0], "  Keys");
}

TEST(Themes, AreFoundByName) {
  EXPECT_STREQ(find_theme("").name, "16");
  EXPECT_STREQ(find_theme("dark").name, "dark");
  EXPECT_THROW(find_theme("pink"), Error);
  for (const Look& look : find_theme("mono").looks) EXPECT_EQ(look.color, -1);
  for (const Look& look : find_theme("16").looks) EXPECT_LT(look.color, 16);
  // The match that a person is at stands out from the others, bold text or not.
  for (const char* name : {"16", "light", "dark", "mono"}) {
    const Theme& theme = find_theme(name);
    const Look& match = theme.of(Tone::match);
    const Look& here = theme.of(Tone::match_here);
    EXPECT_TRUE(here.reverse) << theme.name;
    EXPECT_TRUE(match.reverse != here.reverse || match.fallback != here.fallback) << theme.name;
  }
}

}  // namespace
}  // namespace bitnet
