#include "engine/error.h"

#include <gtest/gtest.h>

namespace bitnet {
namespace {

TEST(Printable, KeepsTextAndSpellsOutWhatATerminalWouldObey) {
  EXPECT_EQ(printable("blk.0.attn_q Größe 漢字"), "blk.0.attn_q Größe 漢字");
  EXPECT_EQ(printable("a\x1b[31mb"), "a<U+001B>[31mb");
  EXPECT_EQ(printable("\xe2\x80\xae"), "<U+202E>");
  EXPECT_EQ(printable("\xc2\x9b"), "<U+009B>");
  EXPECT_EQ(printable("\u061c \ufff9"), "<U+061C> <U+FFF9>");
}

TEST(Printable, InvalidUtf8IsSpelledByteByByte) {
  EXPECT_EQ(printable("\xff\xc0\xaf"), "<0xFF><0xC0><0xAF>");
  EXPECT_EQ(printable("\xed\xa0\x80"), "<0xED><0xA0><0x80>");  // a surrogate
  EXPECT_EQ(printable("\xf0\x9f"), "<0xF0><0x9F>");            // cut short
}

TEST(Printable, IsBounded) { EXPECT_EQ(printable(std::string(1000, 'x'), 5), "xxxxx..."); }

}  // namespace
}  // namespace bitnet
