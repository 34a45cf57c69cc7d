// The tokens of a template as the parsers use them: they look, take, or fail with the place of a token.
//
// Thread rule: a stream belongs to one thread.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lexer.h"

namespace bitnet::jinja {

class TokenStream {
 protected:
  TokenStream(std::vector<Token> tokens, const std::string& name) : tokens_(std::move(tokens)), name_(name) {}

  const Token& peek(size_t ahead = 0) const;
  Token next();
  bool is_op(std::string_view op) const;
  bool is_name(std::string_view name, size_t ahead = 0) const;
  bool skip_name(std::string_view name);
  Token expect(TokenKind kind, std::string_view wanted);
  void expect_op(std::string_view op);
  void expect_name(std::string_view name);
  size_t position() const { return at_; }
  // Whether the name, a constant, stands between `position` and here.
  bool names_since(size_t position, std::string_view name);
  static std::string describe(const Token& token);
  [[noreturn]] void fail(Position at, const std::string& what) const;

 private:
  std::vector<Token> tokens_;
  const std::string& name_;
  size_t at_ = 0;
  std::map<std::string_view, std::vector<size_t>> places_;  // of the names that were asked for, in order
};

}  // namespace bitnet::jinja
