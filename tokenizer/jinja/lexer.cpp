#include "lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/error.h"
#include "text.h"

namespace bitnet::jinja {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
// Names are compared and copied with every use, which no budget counts.
constexpr size_t kLongestName = 256;

bool is_name_char(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<uint8_t>(c) >= 0x80;
}

// Goes over the source once; at_ is the next byte to look at. Text outside tags becomes data, without the
// white space that the tags remove; the inside of {{ }} and {% %} becomes the tokens of an expression.
class Lexer {
 public:
  Lexer(std::string_view source, const std::string& name);
  std::vector<Token> run();

 private:
  // Outside tags.
  void text_and_tag();  // takes the text up to the next tag, and the tag
  void comment(size_t tag);
  bool raw(size_t tag);  // takes {% raw %} ... {% endraw %}; false if this is another tag
  size_t stripped_end(size_t from, size_t tag, char sign, bool lstrip) const;
  void skip_space();
  void after_close(char sign);
  size_t word_after(size_t i, std::string_view word) const;

  // Inside a tag.
  using Brackets = std::vector<std::pair<char, size_t>>;  // those that are open, and where they stand
  void expression(size_t tag, TokenKind close);
  bool close_tag(TokenKind close, std::string_view closing);
  void operation(Brackets& open);
  void number();
  bool fraction_and_exponent();
  template <typename Accept>
  void skip_digits(Accept accept);
  void string();
  void escape(std::string& value, size_t start);
  uint32_t hex_code(char letter, size_t start);

  void add_data(size_t from, size_t to);
  void add(TokenKind kind, size_t from, std::string text);
  void add_number(TokenKind kind, size_t start);
  Position position(size_t offset);
  [[noreturn]] void fail(size_t offset, const std::string& what);

  const std::string& name_;
  std::string source_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  size_t counted_ = 0, line_start_ = 0;  // position() has counted the lines up to here
  int line_ = 1;
};

Lexer::Lexer(std::string_view source, const std::string& name) : name_(name) {
  source_.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r' && i + 1 < source.size() && source[i + 1] == '\n') continue;
    source_ += source[i] == '\r' ? '\n' : source[i];
  }
  if (source_.ends_with('\n')) source_.pop_back();
}

std::vector<Token> Lexer::run() {
  while (at_ < source_.size()) text_and_tag();
  add(TokenKind::end, at_, "");
  return std::move(tokens_);
}

void Lexer::text_and_tag() {
  size_t tag = at_;
  for (;; ++tag) {
    tag = source_.find('{', tag);
    if (tag == std::string::npos || tag + 1 >= source_.size()) {
      add_data(at_, source_.size());
      at_ = source_.size();
      return;
    }
    if (source_[tag + 1] == '{' || source_[tag + 1] == '%' || source_[tag + 1] == '#') break;
  }
  const char opener = source_[tag + 1];
  const char sign = tag + 2 < source_.size() ? source_[tag + 2] : ' ';
  add_data(at_, stripped_end(at_, tag, sign, opener != '{'));
  at_ = tag + 2 + (sign == '-' || sign == '+' ? 1 : 0);
  if (opener == '#') return comment(tag);
  if (opener == '{') {
    add(TokenKind::variable_begin, tag, "{{");
    return expression(tag, TokenKind::variable_end);
  }
  if (raw(tag)) return;
  add(TokenKind::block_begin, tag, "{%");
  expression(tag, TokenKind::block_end);
}

void Lexer::comment(size_t tag) {
  const size_t close = source_.find("#}", at_);
  if (close == std::string::npos) fail(tag, "the comment is not closed by #}");
  const char sign = close > at_ ? source_[close - 1] : ' ';
  at_ = close + 2;
  after_close(sign);
}

bool Lexer::raw(size_t tag) {
  size_t i = word_after(at_, "raw");
  if (i == std::string::npos) return false;
  const bool strip = source_[i] == '-';
  if (source_.compare(i + strip, 2, "%}") != 0) return false;
  at_ = i + strip + 2;
  if (strip) skip_space();
  for (size_t close = source_.find("{%", at_); close != std::string::npos;
       close = source_.find("{%", close + 2)) {
    const char sign = close + 2 < source_.size() ? source_[close + 2] : ' ';
    i = word_after(close + 2 + (sign == '-' || sign == '+'), "endraw");
    if (i == std::string::npos) continue;
    const char close_sign = source_[i];
    const bool has_sign = close_sign == '-' || close_sign == '+';
    if (source_.compare(i + has_sign, 2, "%}") != 0) continue;
    add_data(at_, stripped_end(at_, close, sign, true));
    at_ = i + has_sign + 2;
    after_close(close_sign);
    return true;
  }
  fail(tag, "the raw block is not closed by {% endraw %}");
}

// Returns where the text [from, tag) before a tag ends when the white space that the tag removes is gone.
size_t Lexer::stripped_end(size_t from, size_t tag, char sign, bool lstrip) const {
  if (sign == '-') {
    const std::vector<size_t> starts = char_starts(std::string_view(source_).substr(from, tag - from));
    size_t i = starts.size() - 1;
    while (i > 0 && is_space(char_at(source_, from + starts[i - 1]).code)) --i;
    return from + starts[i];
  }
  if (sign == '+' || !lstrip) return tag;
  const size_t newline = std::string_view(source_).substr(from, tag - from).rfind('\n');
  const size_t line = newline == std::string::npos ? from : from + newline + 1;
  if (line > 0 && source_[line - 1] != '\n') return tag;  // the line began before this text
  size_t i = line;
  while (i < tag && is_space(char_at(source_, i).code)) i += char_at(source_, i).length;
  return i >= tag ? line : tag;
}

void Lexer::skip_space() {
  while (at_ < source_.size()) {
    const Char c = char_at(source_, at_);
    if (!is_space(c.code)) return;
    at_ += c.length;
  }
}

// Comes after "%}" or "#}", whose sign decides what white space after it is removed.
void Lexer::after_close(char sign) {
  if (sign == '-') {
    skip_space();
  } else if (sign != '+' && at_ < source_.size() && source_[at_] == '\n') {
    ++at_;
  }
}

// Returns the place after `word` and the spaces around it, or npos if something else stands at `i`.
size_t Lexer::word_after(size_t i, std::string_view word) const {
  const auto skip = [&] {
    while (i < source_.size() && is_space(static_cast<uint8_t>(source_[i]))) ++i;
  };
  skip();
  if (source_.compare(i, word.size(), word) != 0) return std::string::npos;
  i += word.size();
  skip();
  return i < source_.size() ? i : std::string::npos;
}

void Lexer::expression(size_t tag, TokenKind close) {
  const std::string_view closing = close == TokenKind::block_end ? "%}" : "}}";
  Brackets open;  // inside brackets "}}" and "%}" are operators and do not end the tag
  while (at_ < source_.size()) {
    if (open.empty() && close_tag(close, closing)) return;
    const Char c = char_at(source_, at_);
    if (is_space(c.code)) {
      at_ += c.length;
    } else if (is_digit(source_[at_])) {
      number();
    } else if (is_name_char(source_[at_])) {
      const size_t start = at_;
      while (at_ < source_.size() && is_name_char(source_[at_])) ++at_;
      if (at_ - start > kLongestName) fail(start, fmt::format("a name of more than {} bytes", kLongestName));
      add(TokenKind::name, start, source_.substr(start, at_ - start));
    } else if (source_[at_] == '"' || source_[at_] == '\'') {
      string();
    } else {
      operation(open);
    }
  }
  const size_t place = open.empty() ? tag : open.back().second;
  fail(place, open.empty() ? fmt::format("the tag is not closed by {}", closing)
                           : fmt::format("'{}' is not closed", source_[place]));
}

// Takes the end of the tag with its sign. False if something else comes next.
bool Lexer::close_tag(TokenKind close, std::string_view closing) {
  const bool is_block = close == TokenKind::block_end;
  const bool has_sign = source_[at_] == '-' || (source_[at_] == '+' && is_block);
  if (source_.compare(at_ + has_sign, 2, closing) != 0) return false;
  const char sign = has_sign ? source_[at_] : is_block ? ' ' : '+';
  add(close, at_, std::string(closing));
  at_ += has_sign + 2;
  after_close(sign);
  return true;
}

void Lexer::operation(Brackets& open) {
  static constexpr std::array<std::string_view, 26> kOperators = {
      "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
      "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";"};
  const std::string_view rest = std::string_view(source_).substr(at_);
  const auto it =
      std::find_if(kOperators.begin(), kOperators.end(), [&](auto op) { return rest.starts_with(op); });
  if (it == kOperators.end())
    fail(at_, fmt::format("unexpected character '{}'", printable(rest.substr(0, char_at(rest, 0).length))));
  const char c = rest[0];
  if (c == '(' || c == '[' || c == '{') open.emplace_back(c, at_);
  if (c == ')' || c == ']' || c == '}') {
    const char opener = c == ')' ? '(' : c == ']' ? '[' : '{';
    if (open.empty()) fail(at_, fmt::format("unexpected '{}'", c));
    if (open.back().first != opener)
      fail(open.back().second, fmt::format("'{}' is not closed before '{}'", open.back().first, c));
    open.pop_back();
  }
  add(TokenKind::op, at_, std::string(*it));
  at_ += it->size();
}

// Skips digits, and underscores that stand before a digit.
template <typename Accept>
void Lexer::skip_digits(Accept accept) {
  while (at_ < source_.size() && (accept(source_[at_]) || (source_[at_] == '_' && at_ + 1 < source_.size() &&
                                                           accept(source_[at_ + 1])))) {
    ++at_;
  }
}

void Lexer::number() {
  const size_t start = at_;
  const char base =
      at_ + 1 < source_.size() && source_[at_] == '0' ? static_cast<char>(source_[at_ + 1] | 0x20) : ' ';
  if (base == 'x' || base == 'b' || base == 'o') {
    at_ += 2;
    skip_digits([&](char c) {
      return base == 'x' ? isxdigit(static_cast<uint8_t>(c)) != 0 : c >= '0' && c < (base == 'b' ? '2' : '8');
    });
    return add_number(TokenKind::integer, start);
  }
  skip_digits(is_digit);
  // "a.1.2" is two subscripts, not a subscript of 1.2
  const bool after_dot = start > 0 && source_[start - 1] == '.';
  const bool is_real = !after_dot && fraction_and_exponent();
  add_number(is_real ? TokenKind::real : TokenKind::integer, start);
}

// Takes ".5", "e-3" or both. False if there is neither.
bool Lexer::fraction_and_exponent() {
  const size_t start = at_;
  if (at_ + 1 < source_.size() && source_[at_] == '.' && is_digit(source_[at_ + 1])) {
    ++at_;
    skip_digits(is_digit);
  }
  if (at_ < source_.size() && (source_[at_] | 0x20) == 'e') {
    size_t i = at_ + 1;
    if (i < source_.size() && (source_[i] == '+' || source_[i] == '-')) ++i;
    if (i < source_.size() && is_digit(source_[i])) {
      at_ = i;
      skip_digits(is_digit);
    }
  }
  return at_ > start;
}

void Lexer::string() {
  const size_t start = at_;
  const char quote = source_[at_++];
  std::string value;
  while (at_ < source_.size() && source_[at_] != quote) {
    if (source_[at_] != '\\' || at_ + 1 >= source_.size()) {
      value += source_[at_++];
    } else {
      ++at_;
      escape(value, start);
    }
  }
  if (at_ >= source_.size()) fail(start, "the string is not closed");
  ++at_;
  add(TokenKind::string, start, std::move(value));
}

// Takes one of Python's escapes. at_ stands after the backslash.
void Lexer::escape(std::string& value, size_t start) {
  static constexpr std::string_view kNames = "ntr\\'\"abfv", kValues = "\n\t\r\\'\"\a\b\f\v";
  const char c = source_[at_++];
  if (const size_t i = kNames.find(c); i != std::string_view::npos) {
    value += kValues[i];
  } else if (c == '\n') {
  } else if (c == 'x' || c == 'u' || c == 'U') {
    append_utf8(value, hex_code(c, start));
  } else if (c >= '0' && c <= '7') {
    uint32_t code = static_cast<uint32_t>(c - '0');
    for (int i = 0; i < 2 && at_ < source_.size() && source_[at_] >= '0' && source_[at_] <= '7'; ++i) {
      code = code * 8 + static_cast<uint32_t>(source_[at_++] - '0');
    }
    append_utf8(value, code);
  } else if (c == 'N') {
    fail(start, "the escape \\N is not supported");
  } else {
    value += '\\';
    value += c;
  }
}

// Returns the character of \xHH, \uHHHH or \UHHHHHHHH. at_ stands after the letter.
uint32_t Lexer::hex_code(char letter, size_t start) {
  const size_t n = letter == 'x' ? 2 : letter == 'u' ? 4 : 8;
  uint32_t code = 0;
  for (size_t i = 0; i < n; ++i) {
    const char digit = at_ < source_.size() ? source_[at_] : ' ';
    if (!isxdigit(static_cast<uint8_t>(digit)))
      fail(start, fmt::format("\\{} needs {} hexadecimal digits", letter, n));
    code = code * 16 + static_cast<uint32_t>(is_digit(digit) ? digit - '0' : (digit | 0x20) - 'a' + 10);
    ++at_;
  }
  if (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) fail(start, "an escape names no character");
  return code;
}

void Lexer::add_data(size_t from, size_t to) {
  if (to > from) add(TokenKind::data, from, source_.substr(from, to - from));
}

void Lexer::add(TokenKind kind, size_t from, std::string text) {
  tokens_.push_back({kind, position(from), std::move(text)});
}

void Lexer::add_number(TokenKind kind, size_t start) {
  std::string text = source_.substr(start, at_ - start);
  std::erase(text, '_');
  add(kind, start, std::move(text));
}

// Tokens come in order, so the count goes on from the last token.
Position Lexer::position(size_t offset) {
  if (offset < counted_) line_ = 1, line_start_ = counted_ = 0;
  for (; counted_ < offset; ++counted_) {
    if (source_[counted_] == '\n') ++line_, line_start_ = counted_ + 1;
  }
  return {line_, static_cast<int>(offset - line_start_) + 1};
}

void Lexer::fail(size_t offset, const std::string& what) {
  throw Error(ErrorKind::model, located(name_, position(offset), what));
}

}  // namespace

std::string located(const std::string& name, Position at, const std::string& what) {
  return fmt::format("{}:{}:{}: {}", printable(name), at.line, at.column, what);
}

std::vector<Token> tokenize(std::string_view source, const std::string& name) {
  return Lexer(source, name).run();
}

}  // namespace bitnet::jinja
