#include "view_help.h"

#include <fmt/format.h>

#include <algorithm>

#include "text_safe.h"
#include "text_width.h"
#include "text_wrap.h"

namespace bitnet {
namespace {

struct KeyHelp {
  const char* key;
  const char* what;
};
constexpr KeyHelp kHelp[] = {
    {"Enter", "send"},
    {"Alt-Enter  ^J", "new line"},
    {"Esc", "stop the answer; what is there stays"},
    {"^C", "clear the input, or stop, or (twice) quit"},
    {"^D", "quit, where the input is empty"},
    {"PgUp  PgDn", "scroll the conversation"},
    {"^Up  ^Down", "scroll it by one line"},
    {"^Home  ^End", "go to its start, its end"},
    {"Up  Down", "earlier inputs; lines of a longer input"},
    {"^R", "search earlier inputs"},
    {"Tab", "complete a command"},
    {"^L", "draw the screen again"},
    {"^Z", "suspend; fg comes back"},
    {"F1", "this help; any key leaves it"},
};
constexpr int kKeyColumns = 16;

}  // namespace

std::vector<Row> help_rows(int columns, int rows) {
  std::vector<Row> out;
  if (rows > static_cast<int>(std::size(kHelp)) + 3) {
    Row title;
    title.add("  Keys", {Tone::heading, true, false});
    out.push_back(title);
    out.emplace_back();
  }
  for (const KeyHelp& help : kHelp) {
    WrapStyle style;
    style.columns = columns;
    style.first = {fmt::format("  {:<{}}", help.key, std::min(kKeyColumns, std::max(columns / 2 - 2, 1))),
                   {Tone::accent}};
    style.rest = {std::string(static_cast<size_t>(columns_of(style.first.text)), ' '), {}};
    wrap_line({{help.what, {}, 0}}, style, out);
  }
  if (static_cast<int>(out.size()) + 2 <= rows) {
    out.emplace_back();
    Row more;
    more.add("  /help lists the commands", {Tone::quiet});
    out.push_back(more);
  }
  if (static_cast<int>(out.size()) > rows) out.resize(static_cast<size_t>(rows));
  return out;
}

std::vector<Row> welcome_rows(int columns, int rows) {
  std::vector<Row> out;
  if (rows >= 4) out.emplace_back();
  WrapStyle style;
  style.columns = columns;
  style.first = style.rest = {"  ", {}};
  wrap_line({{"bitnet-chat", {Tone::accent, true, false}, 0}}, style, out);
  if (rows >= 4) out.emplace_back();
  wrap_line({{"Write a message and press Enter. F1 shows the keys, /help the commands.", {Tone::quiet}, 0}},
            style, out);
  if (static_cast<int>(out.size()) > rows) out.resize(static_cast<size_t>(rows));
  return out;
}

std::vector<Row> candidate_rows(const std::vector<std::string>& candidates, int columns, int rows) {
  std::vector<Row> out;
  if (candidates.empty() || rows <= 0) return out;
  int widest = 0;
  std::vector<std::string> names;
  for (const std::string& candidate : candidates) {
    names.push_back(make_safe(candidate));
    widest = std::max(widest, columns_of(names.back()));
  }
  const int cell = widest + 2;
  const auto across = static_cast<size_t>(std::max((columns - 2) / cell, 1));
  for (size_t i = 0; i < names.size(); ++i) {
    if (i % across == 0) {
      if (static_cast<int>(out.size()) == rows) {
        out.back() = {};
        out.back().add(fmt::format("  … {} more", names.size() - i + across), {Tone::quiet});
        return out;
      }
      out.emplace_back();
      out.back().add("  ", {});
    }
    const std::string name(prefix_of_columns(names[i], std::max(columns - 2, 1)));
    const int pad = std::max(cell - columns_of(name), 0);
    out.back().add(name + std::string(static_cast<size_t>(pad), ' '), {Tone::accent});
  }
  return out;
}

}  // namespace bitnet
