// The class that walks the tree. Its members are defined in eval.cpp (names and scopes), eval_statements.cpp,
// eval_expressions.cpp and eval_calls.cpp (functions and macros).
//
// Thread rule: an Evaluator does one render in one thread; it only reads the tree.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ast.h"
#include "builtins.h"
#include "eval.h"
#include "macro.h"

namespace bitnet::jinja {

struct Scope {
  std::shared_ptr<Scope> parent;
  Variables variables;
};
using ScopePtr = std::shared_ptr<Scope>;

enum class Flow { normal, broken, continued };  // how a statement ended

class Evaluator {
 public:
  Evaluator(const std::string& name, int64_t now, const Limits& limits)
      : name_(name), rt_{Budget(limits), now} {}
  Text run(const Block& tree, const Variables& variables);

 private:
  using Named = std::vector<std::pair<std::string, Value>>;

  // Counts one level of recursion, whatever caused it. The constructor fails past Budget::kMaxEvalDepth.
  class Deeper {
   public:
    explicit Deeper(Evaluator& evaluator);
    ~Deeper() { --evaluator_.depth_; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;

   private:
    Evaluator& evaluator_;
  };

  [[noreturn]] void rethrow(const Fault& fault, Position at) const;  // as an Error that names the place

  // Names and scopes.
  static ScopePtr inner(const ScopePtr& scope);
  void store(Scope& scope, const std::string& name, Value value);
  Value lookup(const std::string& name, const ScopePtr& from);  // undefined if there is none
  void assign(const Expr& target, Value value, const ScopePtr& scope);
  void set_attribute(NamespaceObject& space, const std::string& name, Value value);
  void put(Text& out, const Text& text);  // appends, or fails past a limit

  // Statements append what they print to `out`.
  Flow execute(const Block& block, const ScopePtr& scope, Text& out);
  Flow execute(const Stmt& stmt, const ScopePtr& scope, Text& out);
  Flow execute_if(const Stmt& stmt, const ScopePtr& scope, Text& out);
  Flow execute_capture(const Stmt& stmt, const ScopePtr& scope, Text& out);
  void execute_call_block(const Stmt& stmt, const ScopePtr& scope, Text& out);
  Flow run_loop(const Stmt& stmt, const Value& iterable, const ScopePtr& scope, Text& out, int64_t depth0);

  // Expressions. The filters of a block have no subject of their own: `innermost` is what they filter.
  Value eval(const Expr& e, const ScopePtr& scope);
  Value eval_node(const Expr& e, const ScopePtr& scope);
  std::vector<Value> eval_all(const std::vector<ExprPtr>& exprs, const ScopePtr& scope);
  Value eval_dict(const Expr& e, const ScopePtr& scope);
  Value eval_subscript(const Expr& e, const ScopePtr& scope);
  Value eval_slice(const Expr& e, const ScopePtr& scope);
  Value eval_unary(const Expr& e, const ScopePtr& scope);
  Value eval_binary(const Expr& e, const ScopePtr& scope);
  Value eval_concat(const Expr& e, const ScopePtr& scope);
  Value eval_compare(const Expr& e, const ScopePtr& scope);
  bool compare(const std::string& op, const Value& a, const Value& b);
  Value eval_conditional(const Expr& e, const ScopePtr& scope);
  Value eval_filter(const Expr& e, const ScopePtr& scope, const Value* innermost);
  Value eval_test(const Expr& e, const ScopePtr& scope);

  // Calls. The bind functions take from `named`, which holds the keyword arguments that are left.
  Value eval_call(const Expr& e, const ScopePtr& scope);
  Args arguments(const CallArgs& call, const ScopePtr& scope);
  Value invoke(const Value& callee, const Args& args);
  static Value make_macro(const Stmt& definition, const std::string& name, const ScopePtr& scope);
  Value call_macro(const MacroObject& object, const Args& args);
  void bind_params(const Stmt& macro, const Args& args, Named& named, const ScopePtr& scope);
  void bind_caller(const Stmt& macro, Named& named, Scope& scope);
  void bind_rest(const MacroObject& object, const Args& args, Named& named, Scope& scope);

  const std::string& name_;
  Runtime rt_;
  ScopePtr root_;
  int depth_ = 0;
};

}  // namespace bitnet::jinja
