#include "stand_ins.h"

#include <utf8proc.h>

#include <algorithm>
#include <cctype>
#include <vector>

namespace bitnet {
namespace {

constexpr std::string_view kKept = "*\\[]()_~";
constexpr unsigned char kFirst = 0xF8;  // stands for the first of kKept; the others follow

char stand_in(char c) {
  const size_t at = kKept.find(c);
  return at == std::string_view::npos ? c : static_cast<char>(kFirst + at);
}

// Returns whether a factor of a product may end with the last character of `text`: a letter or digit of a
// script that puts spaces between words, or a closing bracket. Chinese and Japanese set emphasis without
// spaces.
bool ends_factor(std::string_view text) {
  size_t at = text.size();
  while (at > 0 && (static_cast<unsigned char>(text[--at]) & 0xC0) == 0x80) {
  }
  const std::string last = without_stand_ins(text.substr(at));
  if (last == ")" || last == "]" || last == "}") return true;
  utf8proc_int32_t c = 0;
  const auto size = static_cast<utf8proc_ssize_t>(last.size());
  if (utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(last.data()), size, &c) <= 0) return false;
  const utf8proc_category_t category = utf8proc_category(c);
  const bool in_word = (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO) ||
                       (category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO);
  return in_word && utf8proc_charwidth(c) == 1;
}

// Returns where the code span that begins at `at` ends, or the end of its opening marks if nothing closes it.
size_t behind_code(std::string_view text, size_t at) {
  const size_t begin = std::min(text.find_first_not_of('`', at), text.size());
  for (size_t close = begin; (close = text.find('`', close)) != std::string_view::npos;) {
    const size_t end = std::min(text.find_first_not_of('`', close), text.size());
    if (end - close == begin - at) return end;
    close = end;
  }
  return begin;
}

// Removes the emphasis that `run` asterisks close from `open`, which has the lengths of what is open. Returns
// false if they close nothing.
bool close_emphasis(std::vector<size_t>& open, size_t run) {
  for (size_t i = open.size(); i > 0; --i) {
    if (open[i - 1] != run && open[i - 1] != 3) continue;
    open[i - 1] -= std::min(run, open[i - 1]);
    open.resize(open[i - 1] == 0 ? i - 1 : i);
    return true;
  }
  return false;
}

// Returns where the first `]` without a backslash before it stands, from `at` on, or the end.
size_t closing_bracket(std::string_view text, size_t at) {
  while ((at = text.find_first_of("]\\", at)) != std::string_view::npos && text[at] == '\\') at += 2;
  return std::min(at, text.size());
}

void keep_definitions(std::string& text) {
  size_t close = 0;
  for (size_t line = 0; line < text.size(); line = std::min(text.find('\n', line), text.size()) + 1) {
    const size_t open =
        text.find_first_not_of(" \t>-+*.)0123456789", line);  // behind marks of lists and quotes
    if (open == std::string::npos || text[open] != '[') continue;
    if (close <= open) close = closing_bracket(text, open + 1);
    if (close + 1 < text.size() && text[close + 1] == ':') text[open] = stand_in('[');
  }
}

bool is_bracket(char c) { return c == '(' || c == '[' || c == ')' || c == ']'; }

enum class Formula { brackets, two_dollars, one_dollar };

// Returns where the marks begin that close a formula, of which `at` is in the middle, or npos.
size_t closing_marks(std::string_view text, size_t at, Formula kind) {
  while ((at = text.find_first_of("`\\$", at)) != std::string_view::npos) {
    const char next = at + 1 < text.size() ? text[at + 1] : '\0';
    if (text[at] == '`') {
      at = behind_code(text, at);
    } else if (text[at] == '\\') {
      if (kind == Formula::brackets && (next == ')' || next == ']')) return at;
      at += 2;
    } else {
      if (kind == Formula::one_dollar || (kind == Formula::two_dollars && next == '$')) return at;
      ++at;
    }
  }
  return at;
}

// Returns whether what stands between these two dollars is a formula: there is no blank inside of them, and
// no letter or digit around them, as there is around the signs of prices.
bool is_formula(std::string_view text, size_t open, size_t close) {
  const auto is_blank = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  const auto in_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  if (is_blank(text[open + 1]) || is_blank(text[close - 1])) return false;
  return (open == 0 || !in_word(text[open - 1])) && (close + 1 == text.size() || !in_word(text[close + 1]));
}

// Puts stand-ins into the formula that begins at `at`, behind its marks, and returns its end. A formula that
// has none, where `end` is npos, is one while the text grows; else only its backslashes are kept, and the
// return value is `at`.
size_t keep_formula(std::string& text, size_t at, size_t end, bool growing) {
  const bool whole = growing || end != std::string::npos;
  const size_t begin = at;
  while ((at = text.find_first_of("`\\*_~", at)) < end) {
    if (text[at] == '`') {
      at = behind_code(text, at);
    } else if (text[at] != '\\') {
      if (whole) text[at] = stand_in(text[at]);
      ++at;
    } else if (at + 1 == text.size()) {
      break;
    } else {
      char& next = text[at + 1];
      // A bar behind a backslash is no border of a cell.
      if (next != '|' && next != '`' && next != '\n') {
        text[at] = stand_in('\\');
        next = stand_in(next);
      }
      at += 2;
    }
  }
  return end == std::string::npos ? begin : end;
}

void keep_formulas(std::string& text, bool growing) {
  for (size_t at = 0; (at = text.find_first_of("`\\$", at)) != std::string::npos;) {
    if (text[at] == '`') {
      at = behind_code(text, at);
      continue;
    }
    if (at + 1 == text.size()) return;
    const char next = text[at + 1];
    if (text[at] == '\\') {
      at += 2;
      if (!is_bracket(next)) continue;
      text[at - 2] = stand_in('\\');
      text[at - 1] = stand_in(next);
      if (next == '(' || next == '[')
        at = keep_formula(text, at, closing_marks(text, at, Formula::brackets), growing);
    } else if (next == '$') {
      const size_t end = closing_marks(text, at + 2, Formula::two_dollars);
      at = keep_formula(text, at + 2, end, growing);
      if (at == end) at += 2;
    } else {
      const size_t end = closing_marks(text, at + 1, Formula::one_dollar);
      const bool whole = end != std::string::npos && is_formula(text, at, end);
      at = whole ? keep_formula(text, at + 1, end, growing) + 1 : at + 1;
    }
  }
}

void keep_products(std::string& out) {
  std::vector<size_t> open;
  for (size_t at = 0; (at = out.find_first_of("*`\\", at)) != std::string::npos;) {
    if (out[at] != '*') {
      at = out[at] == '`' ? behind_code(out, at) : at + 2;
      continue;
    }
    const size_t end = std::min(out.find_first_not_of('*', at), out.size());
    const auto before = static_cast<unsigned char>(at == 0 ? ' ' : out[at - 1]);
    const auto after = static_cast<unsigned char>(end == out.size() ? ' ' : out[end]);
    const bool between_digits = std::isdigit(before) && std::isdigit(after);
    const bool closes = !between_digits && !std::isspace(before) && close_emphasis(open, end - at);
    if (!closes && !std::isspace(after)) {
      if (between_digits || (at > 0 && ends_factor(std::string_view(out).substr(0, at)))) {
        std::fill(out.begin() + static_cast<std::ptrdiff_t>(at),
                  out.begin() + static_cast<std::ptrdiff_t>(end), stand_in('*'));
      } else {
        open.push_back(end - at);
      }
    }
    at = end;
  }
}

}  // namespace

std::string with_text_kept(std::string_view text, bool growing) {
  std::string out(text);
  keep_formulas(out, growing);
  keep_definitions(out);
  keep_products(out);
  return out;
}

std::string without_stand_ins(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (static_cast<unsigned char>(c) >= kFirst) c = kKept[static_cast<unsigned char>(c) - kFirst];
  }
  return out;
}

std::string without_escapes(std::string_view text) {
  std::string out(text);
  std::erase(out, stand_in('\\'));
  return without_stand_ins(out);
}

}  // namespace bitnet
