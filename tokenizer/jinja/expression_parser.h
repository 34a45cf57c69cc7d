// Parses expressions by recursive descent, with jinja2's order of precedence: conditional, or, and, not,
// comparison, + -, ~, * / // %, **, unary, postfix, filters and tests.
//
// Thread rule: a parser belongs to one thread. Every function throws Error(model) with the place for what
// does not parse.
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
  // Parses one expression, or a tuple if a comma follows. A name in `ends` ends it.
  ExprPtr tuple_expression(bool with_conditional, Names ends = {}, bool in_parentheses = false);
  ExprPtr target(Names ends);                            // of an assignment
  ExprPtr filters(ExprPtr subject, bool first_is_bare);  // "| a | b(...)"; returns `subject` if there is none

  ExprPtr make(Expr::Kind kind, Position at, std::string name = {});

  // Counts one level of recursion. The constructor fails past Budget::kMaxSyntaxDepth.
  class Nest {
   public:
    explicit Nest(ExpressionParser& parser);
    ~Nest() { --parser_.nesting_; }
    Nest(const Nest&) = delete;
    Nest& operator=(const Nest&) = delete;

   private:
    ExpressionParser& parser_;
  };

  int lenient_ = 0;  // > 0 inside an if, where filters and tests are looked up only when they are used
  std::vector<std::pair<Position, std::string>> unknown_;  // elsewhere: those that do not exist

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
