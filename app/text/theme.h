// What each tone looks like: the themes, in one table.
//
// Thread rule: free functions over constant tables.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "styled_text.h"

namespace bitnet {

struct Look {
  int color = -1;     // of 256 (0..15: the terminal's own); -1: the terminal's text
  int fallback = -1;  // where the terminal has fewer than 256
  bool bold = false;
  bool dim = false;
  bool underline = false;
  bool reverse = false;
};

struct Theme {
  const char* name;
  const char* help;
  Look looks[kToneCount];  // by Tone
  const Look& of(Tone tone) const { return looks[static_cast<int>(tone)]; }
};

// "16" (the terminal's own colours, on any background), "light", "dark", "mono" (none).
std::span<const Theme> theme_table();
// Throws Error(usage) that names the themes there are. Empty: the first.
const Theme& find_theme(std::string_view name);

}  // namespace bitnet
