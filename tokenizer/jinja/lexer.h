// Cuts the source of a template into tokens. Thread rule: these are pure functions.
//
// The lexer applies the rules of white space, so that the parser sees only what remains. They are those of
// jinja2 with trim_blocks and lstrip_blocks on and keep_trailing_newline off, as Hugging Face sets them.
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
  std::string text;  // data to print, the value of a string, a name, an operator or the digits of a number
};

// "name:line:column: what", which is the form of every error in a template.
std::string located(const std::string& name, Position at, const std::string& what);

// The last token is always `end`. Throws Error(model) with the position if something is not a token or if a
// tag, a comment or a string is not closed.
std::vector<Token> tokenize(std::string_view source, const std::string& name);

}  // namespace bitnet::jinja
