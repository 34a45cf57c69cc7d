// What a statement of a template does, and what it prints.
#include "evaluator.h"
#include "loop.h"

namespace bitnet::jinja {

Flow Evaluator::execute(const Block& block, const ScopePtr& scope, Text& out) {
  for (const auto& stmt : block) {
    try {
      const Deeper deeper(*this);
      const Flow flow = execute(*stmt, scope, out);
      if (flow != Flow::normal) return flow;
    } catch (const Fault& fault) {
      rethrow(fault, stmt->at);
    }
  }
  return Flow::normal;
}

Flow Evaluator::execute(const Stmt& stmt, const ScopePtr& scope, Text& out) {
  rt_.budget.step();
  switch (stmt.kind) {
    case Stmt::Kind::data:
      put(out, stmt.expr->value.text());
      break;
    case Stmt::Kind::output:
      put(out, to_text(eval(*stmt.expr, scope), rt_.budget));
      break;
    case Stmt::Kind::set:
      assign(*stmt.target, eval(*stmt.expr, scope), scope);
      break;
    case Stmt::Kind::if_block:
      return execute_if(stmt, scope, out);
    case Stmt::Kind::for_loop:
      return run_loop(stmt, eval(*stmt.expr, scope), scope, out, 0);
    case Stmt::Kind::set_block:
    case Stmt::Kind::filter_block:
      return execute_capture(stmt, scope, out);
    case Stmt::Kind::with: {
      const ScopePtr child = inner(scope);
      for (const auto& [target, value] : stmt.bindings) assign(*target, eval(*value, scope), child);
      return execute(stmt.body, child, out);
    }
    case Stmt::Kind::scope:
      return execute(stmt.body, inner(scope), out);
    case Stmt::Kind::macro:
      store(*scope, stmt.text, make_macro(stmt, stmt.text, scope));
      break;
    case Stmt::Kind::call_block:
      execute_call_block(stmt, scope, out);
      break;
    case Stmt::Kind::break_loop:
      return Flow::broken;
    case Stmt::Kind::continue_loop:
      return Flow::continued;
  }
  return Flow::normal;
}

Flow Evaluator::execute_if(const Stmt& stmt, const ScopePtr& scope, Text& out) {
  for (const auto& [condition, body] : stmt.branches) {
    if (!condition || truthy(eval(*condition, scope))) return execute(body, scope, out);
  }
  return Flow::normal;
}

Flow Evaluator::execute_capture(const Stmt& stmt, const ScopePtr& scope, Text& out) {
  Text captured;
  const ScopePtr child = inner(scope);
  const Flow flow = execute(stmt.body, child, captured);
  if (flow != Flow::normal) return flow;
  Value value = Value::string(std::move(captured));
  if (stmt.expr) value = eval_filter(*stmt.expr, child, &value);
  if (stmt.kind == Stmt::Kind::set_block) {
    assign(*stmt.target, std::move(value), scope);
  } else {
    put(out, to_text(value, rt_.budget));
  }
  return Flow::normal;
}

void Evaluator::execute_call_block(const Stmt& stmt, const ScopePtr& scope, Text& out) {
  const Expr& call = *stmt.expr;
  const Value callee = eval(*call.kids[0], scope);
  Args args = arguments(call.args, scope);
  args.named.emplace_back("caller", make_macro(stmt, "caller", scope));
  put(out, to_text(invoke(callee, args), rt_.budget));
}

Flow Evaluator::run_loop(const Stmt& stmt, const Value& iterable, const ScopePtr& scope, Text& out,
                         int64_t depth0) {
  rt_.budget.make(4 * Budget::kPerObject);
  auto loop = std::make_shared<LoopObject>();
  loop->items = items_of(iterable, rt_.budget);
  for (const Value& item : loop->items) hold(*loop, item);
  loop->stateful = true;
  loop->depth0 = depth0;
  if (stmt.test) {
    loop->keep = [&](const Value& item) {
      const ScopePtr child = inner(scope);
      assign(*stmt.target, item, child);
      return truthy(eval(*stmt.test, child));
    };
  }
  if (stmt.recursive) {
    loop->recurse = [&](const Value& nested) {
      const Deeper deeper(*this);
      Text text;
      run_loop(stmt, nested, scope, text, depth0 + 1);
      return Value::string(std::move(text));
    };
  }
  // A variable may keep the loop object longer than this call, to which the functions in the object refer.
  struct Ended {
    LoopObject& loop;
    ~Ended() { loop.keep = nullptr, loop.recurse = nullptr; }
  } const ended{*loop};

  bool completed = false;  // jinja2 runs the else if no iteration came to its end
  while (loop->advance()) {
    rt_.budget.step();
    const ScopePtr child = inner(scope);
    child->variables.emplace_back("loop", Value::object(Kind::loop, loop));
    assign(*stmt.target, loop->current, child);
    const Flow flow = execute(stmt.body, child, out);
    if (flow == Flow::broken) break;
    if (flow == Flow::normal) completed = true;
  }
  return completed || stmt.other.empty() ? Flow::normal : execute(stmt.other, inner(scope), out);
}

}  // namespace bitnet::jinja
