#include "token_stream.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/error.h"

namespace bitnet::jinja {

const Token& TokenStream::peek(size_t ahead) const {
  return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
}

Token TokenStream::next() {
  const Token token = peek();
  if (at_ + 1 < tokens_.size()) ++at_;
  return token;
}

bool TokenStream::is_op(std::string_view op) const {
  return peek().kind == TokenKind::op && peek().text == op;
}

bool TokenStream::is_name(std::string_view name, size_t ahead) const {
  return peek(ahead).kind == TokenKind::name && peek(ahead).text == name;
}

bool TokenStream::skip_name(std::string_view name) {
  if (!is_name(name)) return false;
  next();
  return true;
}

bool TokenStream::names_since(size_t position, std::string_view name) {
  const auto [known, is_new] = places_.try_emplace(name);
  std::vector<size_t>& places = known->second;
  for (size_t i = 0; is_new && i < tokens_.size(); ++i) {
    if (tokens_[i].kind == TokenKind::name && tokens_[i].text == name) places.push_back(i);
  }
  const auto first = std::ranges::lower_bound(places, position);
  return first != places.end() && *first < at_;
}

std::string TokenStream::describe(const Token& token) {
  switch (token.kind) {
    case TokenKind::data:
      return "text";
    case TokenKind::end:
      return "the end of the template";
    case TokenKind::string:
      return fmt::format("the string '{}'", printable(token.text, 40));
    default:
      return fmt::format("'{}'", printable(token.text, 40));
  }
}

Token TokenStream::expect(TokenKind kind, std::string_view wanted) {
  if (peek().kind != kind) fail(peek().at, fmt::format("expected {}, found {}", wanted, describe(peek())));
  return next();
}

void TokenStream::expect_op(std::string_view op) {
  if (!is_op(op)) fail(peek().at, fmt::format("expected '{}', found {}", op, describe(peek())));
  next();
}

void TokenStream::expect_name(std::string_view name) {
  if (!skip_name(name)) fail(peek().at, fmt::format("expected '{}', found {}", name, describe(peek())));
}

void TokenStream::fail(Position at, const std::string& what) const {
  throw Error(ErrorKind::model, located(name_, at, what));
}

}  // namespace bitnet::jinja
