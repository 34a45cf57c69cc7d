#include "view_markdown.h"

#include <algorithm>
#include <cctype>

namespace bitnet {
namespace {

size_t run_length(std::string_view text, size_t at, char c) {
  const size_t end = text.find_first_not_of(c, at);
  return (end == std::string_view::npos ? text.size() : end) - at;
}

bool is_word_byte(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || static_cast<unsigned char>(c) >= 0x80;
}
bool is_space(char c) { return c == ' ' || c == '\t'; }

// The position of a run of exactly `length` `c` at or after `from` that may close what such a run opened.
size_t find_closer(std::string_view text, size_t from, char c, size_t length) {
  for (size_t at = text.find(c, from); at != std::string_view::npos; at = text.find(c, at)) {
    const size_t run = run_length(text, at, c);
    const bool after_text = at > 0 && !is_space(text[at - 1]);
    const bool word_goes_on = c == '_' && at + run < text.size() && is_word_byte(text[at + run]);
    if (run == length && (c == '`' || (after_text && !word_goes_on))) return at;
    at += run;
  }
  return std::string_view::npos;
}

bool may_open(std::string_view text, size_t at, size_t run) {
  if (at + run >= text.size() || is_space(text[at + run])) return false;
  return text[at] != '_' || at == 0 || !is_word_byte(text[at - 1]);
}

class Inline {
 public:
  Inline(std::string_view text, bool finished, size_t source, std::vector<Piece>& out)
      : text_(text), finished_(finished), source_(source), out_(out) {}

  void parse(size_t begin, size_t end, Face face) {
    size_t plain = begin;
    size_t at = begin;
    while (at < end) {
      const char c = text_[at];
      if (c == '\\' && at + 1 < end && std::ispunct(static_cast<unsigned char>(text_[at + 1]))) {
        put(plain, at, face);
        plain = at + 1;
        at += 2;
        continue;
      }
      if (c != '`' && c != '*' && c != '_') {
        ++at;
        continue;
      }
      const size_t run = run_length(text_.substr(0, end), at, c);
      const size_t inside = at + run;
      const bool emphasis = c != '`';
      if (emphasis && (run > 3 || !may_open(text_.substr(0, end), at, run))) {
        at = inside;
        continue;
      }
      size_t close = find_closer(text_.substr(0, end), inside, c, run);
      const bool open_end = close == std::string_view::npos;
      if (open_end && (finished_ || inside >= end || end != text_.size())) {
        at = inside;
        continue;
      }
      if (open_end) close = end;
      put(plain, at, face);
      if (emphasis) {
        Face inner = face;
        inner.bold = inner.bold || run >= 2;
        inner.italic = inner.italic || run != 2;
        parse(inside, close, inner);
      } else {
        put(inside, close, {Tone::code, face.bold, false});
      }
      at = open_end ? end : close + run;
      plain = at;
    }
    put(plain, end, face);
  }

 private:
  void put(size_t begin, size_t end, Face face) {
    if (begin < end) out_.push_back({text_.substr(begin, end - begin), face, source_ + begin});
  }

  std::string_view text_;
  bool finished_;
  size_t source_;
  std::vector<Piece>& out_;
};

bool is_rule(std::string_view text) {
  const char c = text.empty() ? ' ' : text[0];
  if (c != '-' && c != '*' && c != '_') return false;
  const auto marks = std::count(text.begin(), text.end(), c);
  return marks >= 3 && text.find_first_not_of(std::string{c, ' '}) == std::string_view::npos;
}

// Bytes of "1. " or "1) " at the front, without what follows; 0 where there is no such marker.
size_t ordinal_length(std::string_view text) {
  size_t digits = 0;
  while (digits < text.size() && digits < 9 && std::isdigit(static_cast<unsigned char>(text[digits])))
    ++digits;
  if (digits == 0 || digits + 1 >= text.size()) return 0;
  return (text[digits] == '.' || text[digits] == ')') && text[digits + 1] == ' ' ? digits + 1 : 0;
}

MarkdownLine fenced_line(std::string_view line, MarkdownState state, size_t source) {
  constexpr Face kQuiet = {Tone::quiet};
  MarkdownLine out;
  out.words = false;
  out.after = state;
  const size_t indent = std::min(line.find_first_not_of(' '), line.size());
  const size_t run =
      indent < line.size() && line[indent] == state.fence ? run_length(line, indent, state.fence) : 0;
  if (indent < 4 && run >= static_cast<size_t>(state.fence_length) &&
      line.find_first_not_of(' ', indent + run) == std::string_view::npos) {
    out.first = {"╰─", kQuiet};
    out.after = {};
    return out;
  }
  out.first = out.rest = {"│ ", kQuiet};
  if (!line.empty()) out.pieces.push_back({line, {Tone::code}, source});
  return out;
}

}  // namespace

std::vector<Piece> markdown_inline(std::string_view text, Face face, bool finished, size_t source) {
  std::vector<Piece> pieces;
  if (text.size() > kLongestStyledLine) {
    pieces.push_back({text, face, source});
  } else {
    Inline(text, finished, source, pieces).parse(0, text.size(), face);
  }
  return pieces;
}

MarkdownLine markdown_line(std::string_view line, MarkdownState state, bool finished, size_t source) {
  if (state.fence != 0) return fenced_line(line, state, source);
  constexpr Face kQuiet = {Tone::quiet};
  MarkdownLine out;
  const size_t indent = std::min(line.find_first_not_of(' '), line.size());
  const std::string_view text = line.substr(indent);
  const size_t text_source = source + indent;
  const auto inline_from = [&](size_t skip, Face face) {
    const size_t begin = std::min(text.find_first_not_of(' ', skip), text.size());
    out.pieces = markdown_inline(text.substr(begin), face, finished, text_source + begin);
  };

  if (text.empty()) return out;
  const size_t fence = text[0] == '`' || text[0] == '~' ? run_length(text, 0, text[0]) : 0;
  if (fence >= 3 && indent < 4 && (text[0] == '~' || text.find('`', fence) == std::string_view::npos)) {
    out.after = {text[0], static_cast<int>(fence)};
    out.first = {"╭─ ", kQuiet};
    out.rest = {"│ ", kQuiet};
    const size_t label = std::min(text.find_first_not_of(' ', fence), text.size());
    if (label < text.size()) out.pieces.push_back({text.substr(label), kQuiet, text_source + label});
    return out;
  }
  const size_t hashes = run_length(text, 0, '#');
  if (hashes >= 1 && hashes <= 6 && hashes < text.size() && text[hashes] == ' ' && indent < 4) {
    inline_from(hashes, {Tone::heading, true, false});
    return out;
  }
  if (is_rule(text) && indent < 4) {
    out.rule_columns = 24;
    return out;
  }
  const std::string spaces(std::min<size_t>(indent, 40), ' ');
  if (text.size() >= 2 && (text[0] == '-' || text[0] == '*' || text[0] == '+') && text[1] == ' ') {
    out.first = {spaces + "• ", kQuiet};
    out.rest = {spaces + "  ", {}};
    inline_from(1, {});
    return out;
  }
  if (const size_t ordinal = ordinal_length(text); ordinal > 0) {
    out.first = {spaces + std::string(text.substr(0, ordinal)) + " ", kQuiet};
    out.rest = {spaces + std::string(ordinal + 1, ' '), {}};
    inline_from(ordinal, {});
    return out;
  }
  if (text[0] == '>' && indent < 4) {
    out.first = out.rest = {"▏ ", kQuiet};
    inline_from(1, {Tone::text, false, true});
    return out;
  }
  out.first = out.rest = {spaces, {}};
  inline_from(0, {});
  return out;
}

}  // namespace bitnet
