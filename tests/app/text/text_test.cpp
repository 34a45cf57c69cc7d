// Tests how many columns text takes (UAX #29 clusters, UAX #11 widths, UTS #51 emoji), and what of it may
// reach a terminal.
#include <gtest/gtest.h>
#include <utf8proc.h>

#include <fstream>
#include <sstream>
#include <string>

#include "app/text/text_safe.h"
#include "app/text/text_width.h"

namespace bitnet {
namespace {

std::string utf8_of(int32_t code_point) {
  utf8proc_uint8_t bytes[4];
  return {reinterpret_cast<char*>(bytes), static_cast<size_t>(utf8proc_encode_char(code_point, bytes))};
}

struct Case {
  const char* name;
  const char* text;
  int columns;
};

TEST(TextWidth, ColumnsByCluster) {
  const Case cases[] = {
      {"empty", "", 0},
      {"ascii", "hello, world", 12},
      {"latin with precomposed marks", "naïve Größe", 11},
      {"combining acute", "e\u0301a", 2},
      {"two marks on one letter", "a\u0308\u0304b", 2},
      {"CJK", "漢字", 4},
      {"full-width forms", "ＡＢ", 4},
      {"half-width katakana", "ｱｲ", 2},
      {"hangul syllables", "한국", 4},
      {"hangul of conjoining letters", "\u1112\u1161\u11ab", 2},
      {"heart as text", "\u2764", 1},
      {"heart as emoji (VS16)", "\u2764\ufe0f", 2},
      {"emoji", "😀", 2},
      {"emoji with a skin tone", "👍🏽", 2},
      {"ZWJ family", "👨\u200d👩\u200d👧\u200d👦", 2},
      {"ZWJ rainbow flag", "🏳\ufe0f\u200d🌈", 2},
      {"flag", "🇩🇪", 2},
      {"two flags", "🇩🇪🇫🇷", 4},
      {"three regional indicators", "🇩🇪🇫", 3},
      {"keycap", "1\ufe0f\u20e3", 2},
      {"zero width space", "a\u200bb", 2},
      {"zero width joiner between letters", "a\u200db", 2},
      {"hebrew", "שלום", 4},
      {"arabic with marks", "مُحَمَّد", 4},
      {"devanagari with a spacing vowel", "नि", 2},
      {"thai", "ที่นี่", 2},
      {"replacement character", "\ufffd", 1},
      {"box drawing", "─│█", 3},
  };
  for (const Case& c : cases) EXPECT_EQ(columns_of(c.text), c.columns) << c.name;
}

// widths.tsv, made by tests/terminal/width_corpus.py, has the columns that tmux counts and those that we
// count.
TEST(TextWidth, TheCorpusIsLaidOutAsATerminalDoesOrWithAReason) {
  std::ifstream file(BITNET_WIDTHS);
  ASSERT_TRUE(file);
  int count = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream fields(line);
    std::string name, points, terminal, ours, reason;
    std::getline(fields, name, '\t');
    std::getline(fields, points, '\t');
    std::getline(fields, terminal, '\t');
    std::getline(fields, ours, '\t');
    std::getline(fields, reason, '\t');
    std::istringstream hex(points);
    std::string text;
    for (int32_t c; hex >> std::hex >> c;) text += utf8_of(c);
    EXPECT_EQ(make_safe(text), text) << line;
    EXPECT_EQ(columns_of(text), std::stoi(ours)) << line;
    EXPECT_TRUE(ours == terminal || reason.size() > 20) << line;
    ++count;
  }
  EXPECT_GE(count, 200);
}

TEST(TextWidth, ClustersAreWhole) {
  const std::string family = "👨\u200d👩\u200d👧";
  EXPECT_EQ(first_cluster(family + "x").bytes, family.size());
  EXPECT_EQ(first_cluster("e\u0301x").bytes, 3u);
  EXPECT_EQ(first_cluster("a\nb").bytes, 1u);
  EXPECT_EQ(first_cluster("\r\n").bytes, 1u);
  EXPECT_EQ(prefix_of_columns("a漢字b", 4), "a漢");
  EXPECT_EQ(prefix_of_columns("漢", 1), "");
  EXPECT_EQ(suffix_of_columns("a漢字b", 4), "字b");
  EXPECT_EQ(suffix_of_columns("x" + family, 2), family);
  EXPECT_EQ(suffix_of_columns("漢", 1), "");
  EXPECT_EQ(suffix_of_columns("ab", 2), "ab");
}

TEST(TextWidth, ThousandsOfMarksAreOneColumn) {
  std::string text = "a";
  for (int i = 0; i < 5000; ++i) text += "\u0301";
  EXPECT_EQ(columns_of(text + "b"), 2);
  EXPECT_EQ(first_cluster(text).bytes, text.size());
}

TEST(TextWidth, MarksThatTakeRoomAndNeverEndMakeMoreClusters) {
  for (const std::string mark :
       {"\u0903", "\u1100", "🏽"}) {  // a spacing mark, Hangul consonants, skin tones
    std::string text = "a" + mark;
    for (int i = 0; i < 5000; ++i) text += mark;
    int most = 0;
    for (std::string_view rest = text; !rest.empty();) {
      const Cluster cluster = first_cluster(rest);
      most = std::max(most, cluster.columns);
      rest.remove_prefix(cluster.bytes);
    }
    EXPECT_LE(most, 8) << mark;
  }
}

TEST(TextWidth, OfACluster32CodePointsAreWritten) {
  std::string text = "a";
  for (int i = 0; i < 31; ++i) text += "\u0301";
  EXPECT_EQ(shown_part(text), text);
  EXPECT_EQ(shown_part(text + "\u0301\u0301"), text);
  EXPECT_EQ(shown_part("👨\u200d👩\u200d👧"), "👨\u200d👩\u200d👧");
}

TEST(TextWidth, BytesThatAreNoTextCountOneEach) { EXPECT_EQ(columns_of("\xff\xfe"), 2); }

TEST(TextSafe, KeepsTextThatIsSafe) {
  const std::string text = "Größe\t漢字\n👨\u200d👩\u200d👧 🇩🇪 שלום \u200e\u00ad";
  EXPECT_EQ(make_safe(text), text);
}

TEST(TextSafe, ControlsAreShownAndNotObeyed) {
  EXPECT_EQ(make_safe("\x1b[31mred\x07"), "␛[31mred␇");
  EXPECT_EQ(make_safe(std::string_view("a\0b", 3)), "a␀b");
  EXPECT_EQ(make_safe("a\r\nb\x7f"), "a␍\nb␡");
  EXPECT_EQ(make_safe("\xc2\x9b"
                      "31m"),
            "<U+009B>31m");
  EXPECT_EQ(make_safe("\u202Etxt\u2066"), "<U+202E>txt<U+2066>");
  EXPECT_EQ(make_safe("\U000E0041"), "<U+E0041>");
  EXPECT_EQ(make_safe("\u2028"), "<U+2028>");
  EXPECT_EQ(without_controls("a\t\x1b[31mred\x07\r\n\u202Etxt\u2066 \x7f\u009b\U000E0041漢字\xff"),
            "a\t[31mred\ntxt 漢字\uFFFD");
  for (int c = 0; c < 256; ++c) {
    for (const unsigned char byte : make_safe(std::string(1, static_cast<char>(c)))) {
      EXPECT_TRUE(byte >= 0x20 || byte == '\n' || byte == '\t') << c;
      EXPECT_NE(byte, 0x7F) << c;
    }
  }
}

// Table 3-8 of Unicode 15 puts one replacement in place of each maximal subpart.
TEST(TextSafe, IllFormedBytesBecomeReplacements) {
  EXPECT_EQ(make_safe("a\xf1\x80\x80\xe1\x80\xc2"
                      "b\x80"
                      "c\x80\xbf"
                      "d"),
            "a\ufffd\ufffd\ufffd"
            "b\ufffd"
            "c\ufffd\ufffd"
            "d");
  EXPECT_EQ(make_safe("\xc0\xaf"), "\ufffd\ufffd");
  EXPECT_EQ(make_safe("\xed\xa0\x80"), "\ufffd\ufffd\ufffd");
  EXPECT_EQ(make_safe("\xf4\x90\x80\x80"), "\ufffd\ufffd\ufffd\ufffd");
  EXPECT_EQ(make_safe("ok\xe2\x82"), "ok\ufffd");
}

}  // namespace
}  // namespace bitnet
