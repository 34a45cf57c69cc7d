#include "app/probe/stimuli.h"

#include <gtest/gtest.h>

#include <clocale>
#include <string>

namespace bitnet {
namespace {

TEST(Stimuli, WhatIsCorrectDoesNotDependOnTheLocale) {
  const std::string former = std::setlocale(LC_ALL, nullptr);
  for (const char* locale : {"C", "C.UTF-8"}) {
    ASSERT_NE(std::setlocale(LC_ALL, locale), nullptr) << locale;
    EXPECT_TRUE(match_of(" \"ÉCOLE\".\n", "école").exact) << locale;
    EXPECT_TRUE(match_of("Σίγμα is a letter", "ΣΊΓΜΑ").contains) << locale;
    EXPECT_FALSE(match_of("ECOLE", "école").contains) << locale;
    EXPECT_TRUE(match_of("A\xFF", "a\xFF").exact) << locale;
    EXPECT_EQ(trimmed(" \u00A0x\t"), "\u00A0x") << locale;
  }
  std::setlocale(LC_ALL, former.c_str());
}

}  // namespace
}  // namespace bitnet
