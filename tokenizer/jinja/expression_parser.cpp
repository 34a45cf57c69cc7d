#include "expression_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "builtins.h"

namespace bitnet::jinja {

ExpressionParser::Nest::Nest(ExpressionParser& parser) : parser_(parser) {
  if (++parser.nesting_ > Budget::kMaxSyntaxDepth) {
    parser.fail(parser.peek().at, fmt::format("nested more than {} deep", Budget::kMaxSyntaxDepth));
  }
}

ExprPtr ExpressionParser::make(Expr::Kind kind, Position at, std::string name) {
  auto expr = std::make_unique<Expr>();
  expr->kind = kind;
  expr->at = at;
  expr->name = std::move(name);
  return expr;
}

ExprPtr ExpressionParser::finish(ExprPtr expr) {
  const auto include = [&](const ExprPtr& kid) {
    if (kid) expr->depth = std::max(expr->depth, kid->depth + 1);
  };
  for (const ExprPtr& kid : expr->kids) include(kid);
  for (const ExprPtr& kid : expr->args.positional) include(kid);
  for (const auto& [key, kid] : expr->args.named) include(kid);
  include(expr->args.star);
  include(expr->args.star_star);
  if (expr->depth > Budget::kMaxSyntaxDepth) {
    fail(expr->at, fmt::format("an expression nested more than {} deep", Budget::kMaxSyntaxDepth));
  }
  return expr;
}

ExprPtr ExpressionParser::pair(Position at, std::string op, ExprPtr left, ExprPtr right) {
  ExprPtr expr = make(Expr::Kind::binary, at, std::move(op));
  expr->kids.push_back(std::move(left));
  expr->kids.push_back(std::move(right));
  return finish(std::move(expr));
}

ExprPtr ExpressionParser::expression(bool with_conditional) {
  const Nest nest(*this);
  if (!with_conditional) return parse_or();
  const size_t known = unknown_.size();
  ExprPtr value = parse_or();
  while (is_name("if")) {
    ExprPtr expr = make(Expr::Kind::conditional, next().at);
    expr->kids.push_back(std::move(value));
    expr->kids.push_back(parse_or());
    expr->kids.push_back(skip_name("else") ? expression() : nullptr);
    value = finish(std::move(expr));
    unknown_.resize(known);  // they are looked up when the branch is taken
  }
  return value;
}

ExprPtr ExpressionParser::parse_or() {
  ExprPtr left = parse_and();
  while (is_name("or")) {
    const Position at = next().at;
    left = pair(at, "or", std::move(left), parse_and());
  }
  return left;
}

ExprPtr ExpressionParser::parse_and() {
  ExprPtr left = parse_not();
  while (is_name("and")) {
    const Position at = next().at;
    left = pair(at, "and", std::move(left), parse_not());
  }
  return left;
}

ExprPtr ExpressionParser::parse_not() {
  if (!is_name("not")) return parse_compare();
  const Nest nest(*this);
  ExprPtr expr = make(Expr::Kind::unary, next().at, "not");
  expr->kids.push_back(parse_not());
  return finish(std::move(expr));
}

ExprPtr ExpressionParser::parse_compare() {
  ExprPtr left = parse_sum();
  ExprPtr compare;
  for (;;) {
    std::string_view op;
    const Position at = peek().at;
    if (peek().kind == TokenKind::op) {
      for (const char* candidate : {"==", "!=", "<", "<=", ">", ">="}) {
        if (peek().text == candidate) op = candidate;
      }
    } else if (is_name("in")) {
      op = "in";
    } else if (is_name("not") && is_name("in", 1)) {
      next();
      op = "not in";
    }
    if (op.empty()) break;
    next();
    if (!compare) {
      compare = make(Expr::Kind::compare, at);
      compare->kids.push_back(std::move(left));
    }
    compare->ops.emplace_back(op);
    compare->kids.push_back(parse_sum());
  }
  return compare ? finish(std::move(compare)) : std::move(left);
}

ExprPtr ExpressionParser::parse_sum() {
  ExprPtr left = parse_concat();
  while (is_op("+") || is_op("-")) {
    const Token op = next();
    left = pair(op.at, op.text, std::move(left), parse_concat());
  }
  return left;
}

ExprPtr ExpressionParser::parse_concat() {
  ExprPtr left = parse_product();
  if (!is_op("~")) return left;
  ExprPtr expr = make(Expr::Kind::concat, peek().at);
  expr->kids.push_back(std::move(left));
  while (is_op("~")) {
    next();
    expr->kids.push_back(parse_product());
  }
  return finish(std::move(expr));
}

ExprPtr ExpressionParser::parse_product() {
  ExprPtr left = parse_power();
  while (is_op("*") || is_op("/") || is_op("//") || is_op("%")) {
    const Token op = next();
    left = pair(op.at, op.text, std::move(left), parse_power());
  }
  return left;
}

ExprPtr ExpressionParser::parse_power() {
  ExprPtr left = parse_unary(true);
  while (is_op("**")) {
    const Token op = next();
    left = pair(op.at, op.text, std::move(left), parse_unary(true));
  }
  return left;
}

ExprPtr ExpressionParser::parse_unary(bool with_filters) {
  const Nest nest(*this);
  ExprPtr expr;
  if (is_op("-") || is_op("+")) {
    const Token op = next();
    expr = make(Expr::Kind::unary, op.at, op.text);
    expr->kids.push_back(parse_unary(false));
    expr = finish(std::move(expr));
  } else {
    expr = parse_primary();
  }
  expr = parse_postfix(std::move(expr));
  while (with_filters) {
    if (is_op("|")) {
      expr = filters(std::move(expr), false);
    } else if (is_name("is")) {
      expr = parse_test(std::move(expr));
    } else if (is_op("(")) {
      expr = parse_call(std::move(expr));
    } else {
      break;
    }
  }
  return expr;
}

ExprPtr ExpressionParser::parse_primary() {
  const Token token = peek();
  const auto constant = [&](Value value) {
    next();
    ExprPtr expr = make(Expr::Kind::constant, token.at);
    expr->value = std::move(value);
    return expr;
  };
  switch (token.kind) {
    case TokenKind::name:
      if (token.text == "true" || token.text == "True") return constant(Value::boolean(true));
      if (token.text == "false" || token.text == "False") return constant(Value::boolean(false));
      if (token.text == "none" || token.text == "None") return constant(Value::none());
      next();
      return make(Expr::Kind::name, token.at, token.text);
    case TokenKind::string: {
      std::string joined;
      while (peek().kind == TokenKind::string) joined += next().text;
      ExprPtr expr = make(Expr::Kind::constant, token.at);
      expr->value = Value::string(joined);
      return expr;
    }
    case TokenKind::integer:
    case TokenKind::real:
      next();
      return parse_number(token);
    case TokenKind::op:
      if (token.text == "(") {
        next();
        ExprPtr expr = tuple_expression(true, {}, true);
        expect_op(")");
        return expr;
      }
      if (token.text == "[") return parse_list();
      if (token.text == "{") return parse_dict();
      [[fallthrough]];
    default:
      fail(token.at, fmt::format("expected an expression, found {}", describe(token)));
  }
}

ExprPtr ExpressionParser::parse_number(const Token& token) {
  ExprPtr expr = make(Expr::Kind::constant, token.at);
  std::string_view digits = token.text;
  if (token.kind == TokenKind::real) {
    double value = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    expr->value = Value::real(value);
    return expr;
  }
  int base = 10;
  if (digits.size() > 2 && digits[0] == '0' && digits[1] > '9') {
    base = (digits[1] | 0x20) == 'x' ? 16 : (digits[1] | 0x20) == 'o' ? 8 : 2;
    digits.remove_prefix(2);
  }
  int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    fail(token.at, fmt::format("{} is not an integer of 64 bits", describe(token)));
  }
  expr->value = Value::integer(value);
  return expr;
}

ExprPtr ExpressionParser::tuple_expression(bool with_conditional, Names ends, bool in_parentheses) {
  const Position at = peek().at;
  std::vector<ExprPtr> items;
  bool is_tuple = false;
  const auto ended = [&] {
    const Token& token = peek();
    if (token.kind == TokenKind::variable_end || token.kind == TokenKind::block_end || is_op(")"))
      return true;
    return token.kind == TokenKind::name && std::find(ends.begin(), ends.end(), token.text) != ends.end();
  };
  while (!ended()) {
    items.push_back(expression(with_conditional));
    if (!is_op(",")) break;
    is_tuple = true;
    next();
  }
  if (!is_tuple && !items.empty()) return std::move(items[0]);
  if (!is_tuple && !in_parentheses)
    fail(at, fmt::format("expected an expression, found {}", describe(peek())));
  ExprPtr expr = make(Expr::Kind::tuple, at);
  expr->kids = std::move(items);
  return finish(std::move(expr));
}

ExprPtr ExpressionParser::target(Names ends) {
  const Nest nest(*this);
  const Position at = peek().at;
  std::vector<ExprPtr> items;
  bool is_tuple = false;
  for (;;) {
    const bool ended =
        peek().kind == TokenKind::name && std::find(ends.begin(), ends.end(), peek().text) != ends.end();
    if (ended || is_op(")") || is_op("=")) break;
    if (is_op("(")) {
      next();
      items.push_back(target({}));
      expect_op(")");
    } else {
      const Token name = expect(TokenKind::name, "a name to assign to");
      for (const char* reserved : {"true", "false", "none", "True", "False", "None"}) {
        if (name.text == reserved) fail(name.at, fmt::format("can't assign to '{}'", reserved));
      }
      items.push_back(make(Expr::Kind::name, name.at, name.text));
    }
    if (!is_op(",")) break;
    is_tuple = true;
    next();
  }
  if (items.empty()) fail(at, fmt::format("expected a name to assign to, found {}", describe(peek())));
  if (!is_tuple) return std::move(items[0]);
  ExprPtr expr = make(Expr::Kind::tuple, at);
  expr->kids = std::move(items);
  return finish(std::move(expr));
}

ExprPtr ExpressionParser::parse_list() {
  ExprPtr expr = make(Expr::Kind::list, next().at);
  while (!is_op("]")) {
    if (!expr->kids.empty()) expect_op(",");
    if (is_op("]")) break;
    expr->kids.push_back(expression());
  }
  next();
  return finish(std::move(expr));
}

ExprPtr ExpressionParser::parse_dict() {
  ExprPtr expr = make(Expr::Kind::dict, next().at);
  while (!is_op("}")) {
    if (!expr->kids.empty()) expect_op(",");
    if (is_op("}")) break;
    expr->kids.push_back(expression());
    expect_op(":");
    expr->kids.push_back(expression());
  }
  next();
  return finish(std::move(expr));
}

ExprPtr ExpressionParser::parse_postfix(ExprPtr expr) {
  for (;;) {
    if (is_op(".") || is_op("[")) {
      expr = parse_subscript(std::move(expr));
    } else if (is_op("(")) {
      expr = parse_call(std::move(expr));
    } else {
      return expr;
    }
  }
}

ExprPtr ExpressionParser::parse_subscript(ExprPtr subject) {
  const Token opener = next();
  if (opener.text == ".") {
    const Token name = next();
    ExprPtr expr = make(Expr::Kind::attribute, name.at, name.text);
    expr->kids.push_back(std::move(subject));
    if (name.kind == TokenKind::integer) {
      expr->kind = Expr::Kind::subscript;
      expr->kids.push_back(parse_number(name));
    } else if (name.kind != TokenKind::name) {
      fail(name.at, fmt::format("expected a name or a number after '.', found {}", describe(name)));
    }
    return finish(std::move(expr));
  }
  ExprPtr expr = make(Expr::Kind::subscript, opener.at);
  expr->kids.push_back(std::move(subject));
  expr->kids.push_back(is_op(":") ? nullptr : expression());
  if (is_op(",")) fail(peek().at, "a subscript by several values is not supported");
  if (is_op(":")) {
    expr->kind = Expr::Kind::slice;
    for (int part = 0; part < 2; ++part) {
      if (is_op(":")) {
        next();
        expr->kids.push_back(is_op(":") || is_op("]") ? nullptr : expression());
      } else {
        expr->kids.push_back(nullptr);
      }
    }
  }
  expect_op("]");
  return finish(std::move(expr));
}

CallArgs ExpressionParser::parse_args() {
  CallArgs args;
  const Position at = peek().at;
  const auto ensure = [&](bool holds) {
    if (!holds) fail(at, "the arguments of this call are out of order");
  };
  expect_op("(");
  for (bool first = true; !is_op(")"); first = false) {
    if (!first) expect_op(",");
    if (is_op(")")) break;
    if (is_op("*")) {
      ensure(!args.star && !args.star_star);
      next();
      args.star = expression();
    } else if (is_op("**")) {
      ensure(!args.star_star);
      next();
      args.star_star = expression();
    } else if (peek().kind == TokenKind::name && peek(1).kind == TokenKind::op && peek(1).text == "=") {
      ensure(!args.star_star);
      const std::string key = next().text;
      next();
      args.named.emplace_back(key, expression());
    } else {
      ensure(!args.star && !args.star_star && args.named.empty());
      args.positional.push_back(expression());
    }
  }
  next();
  return args;
}

ExprPtr ExpressionParser::parse_call(ExprPtr callee) {
  ExprPtr expr = make(Expr::Kind::call, callee->at);
  expr->args = parse_args();
  expr->kids.push_back(std::move(callee));
  return finish(std::move(expr));
}

std::string ExpressionParser::dotted_name() {
  std::string name = expect(TokenKind::name, "the name of a filter or test").text;
  while (is_op(".")) {
    next();
    name += '.';
    name += expect(TokenKind::name, "a name").text;
  }
  return name;
}

ExprPtr ExpressionParser::filters(ExprPtr subject, bool first_is_bare) {
  while (is_op("|") || first_is_bare) {
    if (!first_is_bare) next();
    first_is_bare = false;
    ExprPtr expr = make(Expr::Kind::filter, peek().at, "");
    expr->name = dotted_name();
    if (lenient_ == 0 && !find_filter(expr->name))
      unknown_.emplace_back(expr->at, unknown("filter", expr->name));
    if (is_op("(")) expr->args = parse_args();
    expr->kids.push_back(std::move(subject));
    subject = finish(std::move(expr));
  }
  return subject;
}

ExprPtr ExpressionParser::parse_test(ExprPtr subject) {
  next();
  const Position at = peek().at;
  const bool negated = skip_name("not");
  ExprPtr expr = make(Expr::Kind::test, peek().at, "");
  expr->name = dotted_name();
  if (lenient_ == 0 && !find_test(expr->name)) unknown_.emplace_back(expr->at, unknown("test", expr->name));
  expr->kids.push_back(std::move(subject));
  const TokenKind kind = peek().kind;
  const bool operand = kind == TokenKind::name || kind == TokenKind::string || kind == TokenKind::integer ||
                       kind == TokenKind::real || is_op("[") || is_op("{");
  if (is_op("(")) {
    expr->args = parse_args();
  } else if (operand && !is_name("else") && !is_name("or") && !is_name("and")) {
    if (is_name("is")) fail(peek().at, "tests cannot be chained with is");
    expr->args.positional.push_back(parse_postfix(parse_primary()));
  }
  expr = finish(std::move(expr));
  if (!negated) return expr;
  ExprPtr inverse = make(Expr::Kind::unary, at, "not");
  inverse->kids.push_back(std::move(expr));
  return finish(std::move(inverse));
}

}  // namespace bitnet::jinja
