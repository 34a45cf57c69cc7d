// Expressions of the template language, by recursive descent in jinja2's order of precedence:
// conditional, or, and, not, comparison, + -, ~, * / // %, **, unary, postfix, filters and tests.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "ast.h"
#include "token_stream.h"

namespace bitnet::jinja {

class ExpressionParser : protected TokenStream {
 protected:
  using Names = std::initializer_list<std::string_view>;

  ExpressionParser(std::vector<Token> tokens, const std::string& name)
      : TokenStream(std::move(tokens), name) {}

  ExprPtr expression(bool with_conditional = true);
  // One expression, or a tuple where a comma follows; a name in `ends` ends it.
  ExprPtr tuple_expression(bool with_conditional, Names ends = {}, bool in_parentheses = false);
  ExprPtr target(Names ends);                            // of an assignment
  ExprPtr filters(ExprPtr subject, bool first_is_bare);  // "| a | b(...)"; null where there is none

  ExprPtr make(Expr::Kind kind, Position at, std::string name = {});

  // Counts the levels of recursion; the limit is the syntax tree's.
  class Nest {
   public:
    explicit Nest(ExpressionParser& parser);
    ~Nest() { --parser_.nesting_; }
    Nest(const Nest&) = delete;
    Nest& operator=(const Nest&) = delete;

   private:
    ExpressionParser& parser_;
  };

  int lenient_ = 0;  // > 0 inside an if: names of filters are looked up when they are used
  std::vector<std::pair<Position, std::string>> unknown_;  // filters and tests that do not exist, elsewhere

 private:
  ExprPtr finish(ExprPtr expr);  // sets the depth from the kids
  ExprPtr pair(Position at, std::string op, ExprPtr left, ExprPtr right);
  ExprPtr parse_or();
  ExprPtr parse_and();
  ExprPtr parse_not();
  ExprPtr parse_compare();
  ExprPtr parse_sum();
  ExprPtr parse_concat();
  ExprPtr parse_product();
  ExprPtr parse_power();
  ExprPtr parse_unary(bool with_filters);
  ExprPtr parse_primary();
  ExprPtr parse_number(const Token& token);
  ExprPtr parse_list();
  ExprPtr parse_dict();
  ExprPtr parse_postfix(ExprPtr expr);
  ExprPtr parse_subscript(ExprPtr expr);
  ExprPtr parse_call(ExprPtr expr);
  ExprPtr parse_test(ExprPtr expr);
  CallArgs parse_args();
  std::string dotted_name();

  int nesting_ = 0;
};

}  // namespace bitnet::jinja
