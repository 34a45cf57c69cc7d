// The themes: what each tone looks like.
//
// Thread rule: free functions over constant tables.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "styled_text.h"

namespace bitnet {

struct Look {
  int color = -1;     // one of 256 (0..15 are the terminal's own); -1: the terminal's text colour
  int fallback = -1;  // used if the terminal has fewer than 256 colours
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
//
// Returns the theme of that name; an empty name is the first one. Throws Error(usage) that lists the themes.
const Theme& find_theme(std::string_view name);

}  // namespace bitnet
