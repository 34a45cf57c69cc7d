#include "parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <initializer_list>

#include "builtins.h"
#include "expression_parser.h"

namespace bitnet::jinja {
namespace {

using StmtPtr = std::unique_ptr<Stmt>;

// Parses statements; ExpressionParser parses the expressions in them.
class Parser : ExpressionParser {
 public:
  Parser(std::vector<Token> tokens, const std::string& name) : ExpressionParser(std::move(tokens), name) {}
  Block run();

 private:
  using Ends = std::initializer_list<std::string_view>;

  Block block(Ends ends);
  Block body_until(Ends ends);
  StmtPtr make_stmt(Stmt::Kind kind, Position at);
  StmtPtr parse_data();
  StmtPtr parse_output();
  StmtPtr parse_tag();
  StmtPtr parse_named(const Token& tag);
  [[noreturn]] void fail_not_closed(Ends ends);
  [[noreturn]] void fail_unknown(const Token& tag);

  // Each parses a statement whose name was just taken, up to the "%}" that ends it, which stays.
  StmtPtr parse_if(const Token& tag);
  StmtPtr parse_for(const Token& tag);
  StmtPtr parse_set(const Token& tag);
  StmtPtr parse_with(const Token& tag);
  StmtPtr parse_filter_block(const Token& tag);
  StmtPtr parse_generation(const Token& tag);
  StmtPtr parse_jump(const Token& tag);  // break and continue
  StmtPtr parse_macro(const Token& tag);
  StmtPtr parse_call_block(const Token& tag);
  std::vector<Param> parse_params();
  void macro_body(Stmt& stmt, Ends ends);

  std::vector<std::pair<std::string, Position>> innermost_;  // the tags that are open, outermost first
  int loops_ = 0;
};

Block Parser::run() {
  Block body = block({});
  if (!unknown_.empty()) fail(unknown_[0].first, unknown_[0].second);
  return body;
}

// Parses statements up to one of the tags in `ends`, whose name is then the next token.
Block Parser::block(Ends ends) {
  const Nest nest(*this);
  Block body;
  for (;;) {
    const TokenKind kind = peek().kind;
    if (kind == TokenKind::end) {
      if (ends.size() == 0) return body;
      fail_not_closed(ends);
    }
    if (kind == TokenKind::data) {
      body.push_back(parse_data());
    } else if (kind == TokenKind::variable_begin) {
      body.push_back(parse_output());
    } else {
      next();
      const Token& tag = peek();
      if (tag.kind == TokenKind::name && std::find(ends.begin(), ends.end(), tag.text) != ends.end())
        return body;
      body.push_back(parse_tag());
      expect(TokenKind::block_end, "%}");
    }
  }
}

void Parser::fail_not_closed(Ends ends) {
  fail(innermost_.empty() ? peek().at : innermost_.back().second,
       fmt::format("{{% {} %}} is not closed: the template ends before {{% {} %}}",
                   innermost_.empty() ? "" : innermost_.back().first, fmt::join(ends, " %} or {% ")));
}

StmtPtr Parser::parse_data() {
  const Token text = next();
  StmtPtr stmt = make_stmt(Stmt::Kind::data, text.at);
  stmt->expr = make(Expr::Kind::constant, text.at);
  stmt->expr->value = Value::string(text.text);
  return stmt;
}

StmtPtr Parser::parse_output() {
  StmtPtr stmt = make_stmt(Stmt::Kind::output, next().at);
  stmt->expr = tuple_expression(true);
  expect(TokenKind::variable_end, "}}");
  return stmt;
}

// Parses what follows the head of a tag: "%}", the body, and "{%" before the name that ends the body.
Block Parser::body_until(Ends ends) {
  if (is_op(":")) next();
  expect(TokenKind::block_end, "%}");
  return block(ends);
}

StmtPtr Parser::make_stmt(Stmt::Kind kind, Position at) {
  auto stmt = std::make_unique<Stmt>();
  stmt->kind = kind;
  stmt->at = at;
  return stmt;
}

StmtPtr Parser::parse_tag() {
  const Token tag = peek();
  if (tag.kind != TokenKind::name)
    fail(tag.at, fmt::format("expected the name of a statement, found {}", describe(tag)));
  next();
  innermost_.emplace_back(tag.text, tag.at);
  StmtPtr stmt = parse_named(tag);
  innermost_.pop_back();
  return stmt;
}

StmtPtr Parser::parse_named(const Token& tag) {
  if (tag.text == "if") return parse_if(tag);
  if (tag.text == "for") return parse_for(tag);
  if (tag.text == "set") return parse_set(tag);
  if (tag.text == "macro") return parse_macro(tag);
  if (tag.text == "call") return parse_call_block(tag);
  if (tag.text == "with") return parse_with(tag);
  if (tag.text == "filter") return parse_filter_block(tag);
  if (tag.text == "generation") return parse_generation(tag);
  if (tag.text == "break" || tag.text == "continue") return parse_jump(tag);
  fail_unknown(tag);
}

void Parser::fail_unknown(const Token& tag) {
  if (innermost_.size() > 1) {
    const auto& [open, at] = innermost_[innermost_.size() - 2];
    fail(tag.at, fmt::format("unknown statement '{}' (inside {{% {} %}} of line {})", printable(tag.text),
                             printable(open), at.line));
  }
  fail(tag.at, fmt::format("unknown statement '{}'", printable(tag.text)));
}

StmtPtr Parser::parse_if(const Token& tag) {
  StmtPtr stmt = make_stmt(Stmt::Kind::if_block, tag.at);
  ++lenient_;
  for (;;) {
    ExprPtr condition = tuple_expression(false);
    Block body = body_until({"elif", "else", "endif"});
    stmt->branches.emplace_back(std::move(condition), std::move(body));
    if (skip_name("elif")) continue;
    const bool has_else = is_name("else");
    next();
    if (has_else) {
      stmt->branches.emplace_back(nullptr, body_until({"endif"}));
      next();
    }
    break;
  }
  --lenient_;
  return stmt;
}

StmtPtr Parser::parse_for(const Token& tag) {
  StmtPtr stmt = make_stmt(Stmt::Kind::for_loop, tag.at);
  stmt->target = target({"in"});
  expect_name("in");
  stmt->expr = tuple_expression(false, {"recursive"});
  if (skip_name("if")) stmt->test = expression();
  stmt->recursive = skip_name("recursive");
  ++loops_;
  const int lenient = std::exchange(lenient_, 0);
  stmt->body = body_until({"endfor", "else"});
  --loops_;
  const bool has_else = is_name("else");
  next();
  if (has_else) {
    stmt->other = body_until({"endfor"});
    next();
  }
  lenient_ = lenient;
  return stmt;
}

StmtPtr Parser::parse_set(const Token& tag) {
  StmtPtr stmt = make_stmt(Stmt::Kind::set, tag.at);
  if (peek().kind == TokenKind::name && peek(1).kind == TokenKind::op && peek(1).text == ".") {
    stmt->target = make(Expr::Kind::attribute, peek().at);
    const Token holder = next();
    stmt->target->kids.push_back(make(Expr::Kind::name, holder.at, holder.text));
    next();
    stmt->target->name = expect(TokenKind::name, "a name").text;
  } else {
    stmt->target = target({});
  }
  if (is_op("=")) {
    next();
    stmt->expr = tuple_expression(true);
    return stmt;
  }
  stmt->kind = Stmt::Kind::set_block;
  stmt->expr = filters(nullptr, false);
  stmt->body = body_until({"endset"});
  next();
  return stmt;
}

StmtPtr Parser::parse_with(const Token& tag) {
  StmtPtr stmt = make_stmt(Stmt::Kind::with, tag.at);
  while (peek().kind != TokenKind::block_end) {
    if (!stmt->bindings.empty()) expect_op(",");
    ExprPtr name = target({});
    expect_op("=");
    ExprPtr value = expression();
    stmt->bindings.emplace_back(std::move(name), std::move(value));
  }
  stmt->body = body_until({"endwith"});
  next();
  return stmt;
}

StmtPtr Parser::parse_filter_block(const Token& tag) {
  StmtPtr stmt = make_stmt(Stmt::Kind::filter_block, tag.at);
  stmt->expr = filters(nullptr, true);
  stmt->body = body_until({"endfilter"});
  next();
  return stmt;
}

StmtPtr Parser::parse_generation(const Token& tag) {
  StmtPtr stmt = make_stmt(Stmt::Kind::scope, tag.at);
  stmt->body = body_until({"endgeneration"});
  next();
  return stmt;
}

StmtPtr Parser::parse_jump(const Token& tag) {
  if (loops_ == 0) fail(tag.at, fmt::format("{{% {} %}} outside a loop", tag.text));
  return make_stmt(tag.text == "break" ? Stmt::Kind::break_loop : Stmt::Kind::continue_loop, tag.at);
}

StmtPtr Parser::parse_macro(const Token& tag) {
  StmtPtr stmt = make_stmt(Stmt::Kind::macro, tag.at);
  stmt->text = expect(TokenKind::name, "the name of the macro").text;
  stmt->params = parse_params();
  macro_body(*stmt, {"endmacro"});
  return stmt;
}

StmtPtr Parser::parse_call_block(const Token& tag) {
  StmtPtr stmt = make_stmt(Stmt::Kind::call_block, tag.at);
  if (is_op("(")) stmt->params = parse_params();
  const Token& head = peek();
  stmt->expr = expression();
  if (stmt->expr->kind != Expr::Kind::call) fail(head.at, "a call block needs a call");
  macro_body(*stmt, {"endcall"});
  return stmt;
}

std::vector<Param> Parser::parse_params() {
  std::vector<Param> params;
  expect_op("(");
  while (!is_op(")")) {
    if (!params.empty()) expect_op(",");
    const Token name = expect(TokenKind::name, "the name of a parameter");
    Param param{name.text, nullptr};
    if (is_op("=")) {
      next();
      param.fallback = expression();
    } else if (!params.empty() && params.back().fallback) {
      fail(name.at, "a parameter without a default follows one with a default");
    }
    params.push_back(std::move(param));
  }
  next();
  return params;
}

// The body of a macro belongs neither to the loop around it (no break may leave it) nor to the if around it
// (its filters must exist).
void Parser::macro_body(Stmt& stmt, Ends ends) {
  const int loops = std::exchange(loops_, 0), lenient = std::exchange(lenient_, 0);
  const size_t start = position();
  stmt.body = body_until(ends);
  loops_ = loops;
  lenient_ = lenient;
  stmt.uses_varargs = names_since(start, "varargs");
  stmt.uses_kwargs = names_since(start, "kwargs");
  stmt.uses_caller = names_since(start, "caller");
  next();
}

}  // namespace

Block parse(std::string_view source, const std::string& name) {
  if (source.size() > Budget::kMaxSource) {
    throw Error(ErrorKind::model,
                fmt::format("{}: the template is of {} bytes, more than the {} MB that are allowed",
                            printable(name), source.size(), Budget::kMaxSource >> 20));
  }
  return Parser(tokenize(source, name), name).run();
}

}  // namespace bitnet::jinja
