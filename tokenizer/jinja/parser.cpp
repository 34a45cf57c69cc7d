#include "parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <initializer_list>

#include "builtins.h"
#include "expression_parser.h"

namespace bitnet::jinja {
namespace {

// Statements; the expressions between them are ExpressionParser's.
class Parser : ExpressionParser {
 public:
  Parser(std::vector<Token> tokens, const std::string& name) : ExpressionParser(std::move(tokens), name) {}

  Block run() {
    Block body = block({});
    if (!unknown_.empty()) fail(unknown_[0].first, unknown_[0].second);
    return body;
  }

 private:
  using Ends = std::initializer_list<std::string_view>;

  // Statements up to one of the tags in `ends`, whose name is then the next token.
  Block block(Ends ends) {
    const Nest nest(*this);
    Block body;
    for (;;) {
      const Token& token = peek();
      if (token.kind == TokenKind::end) {
        if (ends.size() == 0) return body;
        fail(innermost_.empty() ? token.at : innermost_.back().second,
             fmt::format("{{% {} %}} is not closed: the template ends where {{% {} %}} is wanted",
                         innermost_.empty() ? "" : innermost_.back().first, fmt::join(ends, " %} or {% ")));
      }
      if (token.kind == TokenKind::data) {
        auto stmt = make_stmt(Stmt::Kind::data, token.at);
        stmt->expr = make(Expr::Kind::constant, token.at);
        stmt->expr->value = Value::string(token.text);
        next();
        body.push_back(std::move(stmt));
      } else if (token.kind == TokenKind::variable_begin) {
        auto stmt = make_stmt(Stmt::Kind::output, token.at);
        next();
        stmt->expr = tuple_expression(true);
        expect(TokenKind::variable_end, "}}");
        body.push_back(std::move(stmt));
      } else {
        next();
        const Token& tag = peek();
        if (tag.kind == TokenKind::name && std::find(ends.begin(), ends.end(), tag.text) != ends.end())
          return body;
        body.push_back(statement());
        expect(TokenKind::block_end, "%}");
      }
    }
  }

  // The body of a tag whose head was just read: "%}" statements "{%" and the name of the tag that ends it.
  Block body_until(Ends ends) {
    if (is_op(":")) next();
    expect(TokenKind::block_end, "%}");
    return block(ends);
  }

  std::unique_ptr<Stmt> make_stmt(Stmt::Kind kind, Position at) {
    auto stmt = std::make_unique<Stmt>();
    stmt->kind = kind;
    stmt->at = at;
    return stmt;
  }

  std::unique_ptr<Stmt> statement() {
    const Token tag = peek();
    if (tag.kind != TokenKind::name)
      fail(tag.at, fmt::format("the name of a statement is wanted, not {}", describe(tag)));
    next();
    innermost_.emplace_back(tag.text, tag.at);
    std::unique_ptr<Stmt> stmt = named_statement(tag);
    innermost_.pop_back();
    return stmt;
  }

  std::unique_ptr<Stmt> named_statement(const Token& tag) {
    if (tag.text == "if") return parse_if(tag);
    if (tag.text == "for") return parse_for(tag);
    if (tag.text == "set") return parse_set(tag);
    if (tag.text == "macro") return parse_macro(tag);
    if (tag.text == "call") return parse_call_block(tag);
    if (tag.text == "with") return parse_with(tag);
    if (tag.text == "filter") {
      auto stmt = make_stmt(Stmt::Kind::filter_block, tag.at);
      stmt->expr = filters(nullptr, true);
      stmt->body = body_until({"endfilter"});
      next();
      return stmt;
    }
    if (tag.text == "generation") {
      auto stmt = make_stmt(Stmt::Kind::scope, tag.at);
      stmt->body = body_until({"endgeneration"});
      next();
      return stmt;
    }
    if (tag.text == "break" || tag.text == "continue") {
      if (loops_ == 0) fail(tag.at, fmt::format("{{% {} %}} outside a loop", tag.text));
      return make_stmt(tag.text == "break" ? Stmt::Kind::break_loop : Stmt::Kind::continue_loop, tag.at);
    }
    if (innermost_.size() > 1) {
      const auto& [open, at] = innermost_[innermost_.size() - 2];
      fail(tag.at, fmt::format("unknown statement '{}' (inside {{% {} %}} of line {})", printable(tag.text),
                               printable(open), at.line));
    }
    fail(tag.at, fmt::format("unknown statement '{}'", printable(tag.text)));
  }

  std::unique_ptr<Stmt> parse_if(const Token& tag) {
    auto stmt = make_stmt(Stmt::Kind::if_block, tag.at);
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

  std::unique_ptr<Stmt> parse_for(const Token& tag) {
    auto stmt = make_stmt(Stmt::Kind::for_loop, tag.at);
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

  std::unique_ptr<Stmt> parse_set(const Token& tag) {
    auto stmt = make_stmt(Stmt::Kind::set, tag.at);
    if (peek().kind == TokenKind::name && peek(1).kind == TokenKind::op && peek(1).text == ".") {
      stmt->target = make(Expr::Kind::attribute, peek().at);
      stmt->target->kids.push_back(make(Expr::Kind::name, peek().at, next().text));
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

  std::unique_ptr<Stmt> parse_with(const Token& tag) {
    auto stmt = make_stmt(Stmt::Kind::with, tag.at);
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

  std::vector<Param> parse_params() {
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

  // A macro's body is no part of the loop it stands in.
  void macro_body(Stmt& stmt, Ends ends) {
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

  std::unique_ptr<Stmt> parse_macro(const Token& tag) {
    auto stmt = make_stmt(Stmt::Kind::macro, tag.at);
    stmt->text = expect(TokenKind::name, "the name of the macro").text;
    stmt->params = parse_params();
    macro_body(*stmt, {"endmacro"});
    return stmt;
  }

  std::unique_ptr<Stmt> parse_call_block(const Token& tag) {
    auto stmt = make_stmt(Stmt::Kind::call_block, tag.at);
    if (is_op("(")) stmt->params = parse_params();
    const Token& head = peek();
    stmt->expr = expression();
    if (stmt->expr->kind != Expr::Kind::call) fail(head.at, "a call block wants a call");
    macro_body(*stmt, {"endcall"});
    return stmt;
  }

  std::vector<std::pair<std::string, Position>> innermost_;  // tags that are open
  int loops_ = 0;
};

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
