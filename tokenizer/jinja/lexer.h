// Template source to tokens. Thread rule: a pure function.
//
// Rules of whitespace are those of jinja2 with trim_blocks and lstrip_blocks on and keep_trailing_newline
// off, as Hugging Face sets them: they are applied here, the parser sees only what remains.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bitnet::jinja {

struct Position {
  int line = 1;
  int column = 1;  // in bytes
};

enum class TokenKind {
  data,
  variable_begin,
  variable_end,
  block_begin,
  block_end,
  name,
  string,
  integer,
  real,
  op,
  end
};

struct Token {
  TokenKind kind;
  Position at;
  std::string text;  // data as printed, a string's value, a name, an operator, a number's digits
};

// "name:line:column: what"; every error of a template reads so.
std::string located(const std::string& name, Position at, const std::string& what);

// The last token is `end`. Throws Error(model) with the position for what is no token and for a tag, comment
// or string that is not closed.
std::vector<Token> tokenize(std::string_view source, const std::string& name);

}  // namespace bitnet::jinja
