#include "theme.h"

#include <fmt/format.h>

#include "engine/error.h"

namespace bitnet {
namespace {

constexpr Look plain() { return {}; }
constexpr Look color(int of_256, int of_16) { return {of_256, of_16}; }
constexpr Look color(int of_16) { return {of_16, of_16}; }
constexpr Look bold(Look look) {
  look.bold = true;
  return look;
}
constexpr Look dim(Look look) {
  look.dim = true;
  return look;
}
constexpr Look underlined(Look look) {
  look.underline = true;
  return look;
}
constexpr Look reversed(Look look) {
  look.reverse = true;
  return look;
}

// The looks are in the order of Tone: text, accent, heading, code, link, quiet, notice, error, match,
// match_here, and those of code: keyword, string, number, comment, extra (such as the preprocessor's).
constexpr Theme kThemes[] = {
    {"16",
     "the terminal's own 16 colours, on any background",
     {plain(), color(6), color(5), color(2), color(4), dim(plain()), color(3), color(1), reversed(plain()),
      reversed(bold(color(3))), color(5), color(2), color(6), dim(plain()), color(3)}},
    {"light",
     "for a light background",
     {plain(), color(24, 6), color(90, 5), color(22, 2), color(25, 4), color(242, 8), color(94, 3),
      color(124, 1), reversed(color(242, 8)), reversed(bold(color(94, 3))), color(90, 5), color(22, 2),
      color(24, 6), color(242, 8), color(94, 3)}},
    {"dark",
     "for a dark background",
     {plain(), color(80, 6), color(177, 5), color(150, 2), color(111, 4), color(246, 7), color(221, 3),
      color(210, 1), reversed(color(246, 7)), reversed(bold(color(221, 3))), color(177, 5), color(150, 2),
      color(80, 6), color(246, 7), color(221, 3)}},
    {"mono",
     "no colours",
     {plain(), bold(plain()), bold(plain()), plain(), underlined(plain()), dim(plain()), underlined(plain()),
      bold(plain()), underlined(bold(plain())), reversed(plain()), plain(), plain(), plain(), plain(),
      plain()}},
};

}  // namespace

const Theme& find_theme(std::string_view name) {
  if (name.empty()) return kThemes[0];
  std::string names;
  for (const Theme& theme : kThemes) {
    if (name == theme.name) return theme;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", theme.name);
  }
  throw Error(ErrorKind::usage,
              fmt::format("there is no theme '{}'; wanted one of {}", printable(name, 40), names));
}

}  // namespace bitnet
