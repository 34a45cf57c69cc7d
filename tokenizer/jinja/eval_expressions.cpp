// The value of an expression of a template.
#include "evaluator.h"

namespace bitnet::jinja {

Value Evaluator::eval(const Expr& e, const ScopePtr& scope) {
  try {
    const Deeper deeper(*this);
    return eval_node(e, scope);
  } catch (const Fault& fault) {
    rethrow(fault, e.at);
  }
}

Value Evaluator::eval_node(const Expr& e, const ScopePtr& scope) {
  rt_.budget.step();
  switch (e.kind) {
    case Expr::Kind::constant:
      return e.value;
    case Expr::Kind::name:
      return lookup(e.name, scope);
    case Expr::Kind::tuple:
      return Value::tuple(eval_all(e.kids, scope));
    case Expr::Kind::list:
      return Value::list(eval_all(e.kids, scope));
    case Expr::Kind::dict:
      return eval_dict(e, scope);
    case Expr::Kind::attribute:
      return attribute(eval(*e.kids[0], scope), e.name, rt_.budget);
    case Expr::Kind::subscript:
      return eval_subscript(e, scope);
    case Expr::Kind::slice:
      return eval_slice(e, scope);
    case Expr::Kind::call:
      return eval_call(e, scope);
    case Expr::Kind::filter:
      return eval_filter(e, scope, nullptr);
    case Expr::Kind::test:
      return eval_test(e, scope);
    case Expr::Kind::unary:
      return eval_unary(e, scope);
    case Expr::Kind::binary:
      return eval_binary(e, scope);
    case Expr::Kind::concat:
      return eval_concat(e, scope);
    case Expr::Kind::compare:
      return eval_compare(e, scope);
    case Expr::Kind::conditional:
      return eval_conditional(e, scope);
  }
  return {};
}

std::vector<Value> Evaluator::eval_all(const std::vector<ExprPtr>& exprs, const ScopePtr& scope) {
  rt_.budget.make(Budget::kPerObject + exprs.size() * sizeof(Value));
  std::vector<Value> values;
  values.reserve(exprs.size());
  for (const ExprPtr& expr : exprs) values.push_back(eval(*expr, scope));
  return values;
}

Value Evaluator::eval_dict(const Expr& e, const ScopePtr& scope) {
  rt_.budget.make(2 * Budget::kPerObject);
  auto dict = std::make_shared<DictObject>();
  for (size_t i = 0; i < e.kids.size(); i += 2) {
    const Value key = eval(*e.kids[i], scope);
    dict->set(key, eval(*e.kids[i + 1], scope), rt_.budget);
  }
  return make_dict(std::move(dict));
}

Value Evaluator::eval_subscript(const Expr& e, const ScopePtr& scope) {
  const Value subject = eval(*e.kids[0], scope);
  return subscript(subject, eval(*e.kids[1], scope), rt_.budget);
}

Value Evaluator::eval_slice(const Expr& e, const ScopePtr& scope) {
  Value bounds[4];
  for (size_t i = 0; i < 4; ++i) {
    if (e.kids[i]) bounds[i] = eval(*e.kids[i], scope);
  }
  const auto bound = [&](size_t i) { return e.kids[i] ? &bounds[i] : nullptr; };
  return slice(bounds[0], bound(1), bound(2), bound(3), rt_.budget);
}

Value Evaluator::eval_unary(const Expr& e, const ScopePtr& scope) {
  const Value v = eval(*e.kids[0], scope);
  if (e.name == "not") return Value::boolean(!truthy(v));
  const Value negative = negate(v);
  return e.name == "-" ? negative : v.is(Kind::boolean) ? Value::integer(v.as_integer()) : v;
}

Value Evaluator::eval_binary(const Expr& e, const ScopePtr& scope) {
  Value left = eval(*e.kids[0], scope);
  if (e.name == "and") return truthy(left) ? eval(*e.kids[1], scope) : left;
  if (e.name == "or") return truthy(left) ? left : eval(*e.kids[1], scope);
  return binary(e.name, left, eval(*e.kids[1], scope), rt_.budget);
}

Value Evaluator::eval_concat(const Expr& e, const ScopePtr& scope) {
  Text out;
  for (const ExprPtr& kid : e.kids) put(out, to_text(eval(*kid, scope), rt_.budget));
  return Value::string(std::move(out));
}

Value Evaluator::eval_compare(const Expr& e, const ScopePtr& scope) {
  Value left = eval(*e.kids[0], scope);
  for (size_t i = 0; i < e.ops.size(); ++i) {
    Value right = eval(*e.kids[i + 1], scope);
    if (!compare(e.ops[i], left, right)) return Value::boolean(false);
    left = std::move(right);
  }
  return Value::boolean(true);
}

bool Evaluator::compare(const std::string& op, const Value& a, const Value& b) {
  if (op == "==" || op == "!=") return equal(a, b, rt_.budget) == (op == "==");
  if (op == "in" || op == "not in") return contains(b, a, rt_.budget) == (op == "in");
  const int sign = order(a, b, op.c_str(), rt_.budget);
  return op == "<"    ? sign == -1
         : op == "<=" ? sign == -1 || sign == 0
         : op == ">"  ? sign == 1
                      : sign == 0 || sign == 1;
}

Value Evaluator::eval_conditional(const Expr& e, const ScopePtr& scope) {
  if (truthy(eval(*e.kids[1], scope))) return eval(*e.kids[0], scope);
  if (e.kids[2]) return eval(*e.kids[2], scope);
  rt_.budget.make(Budget::kPerObject);
  return Value::undefined("the inline if-expression is false and has no else");
}

Value Evaluator::eval_filter(const Expr& e, const ScopePtr& scope, const Value* innermost) {
  const Value subject = !e.kids[0] ? *innermost
                        : innermost && e.kids[0]->kind == Expr::Kind::filter
                            ? eval_filter(*e.kids[0], scope, innermost)
                            : eval(*e.kids[0], scope);
  const Filter filter = find_filter(e.name);
  if (!filter) throw Fault{ErrorKind::model, unknown("filter", e.name)};
  return filter(rt_, subject, arguments(e.args, scope));
}

Value Evaluator::eval_test(const Expr& e, const ScopePtr& scope) {
  const Value subject = eval(*e.kids[0], scope);
  const Test test = find_test(e.name);
  if (!test) throw Fault{ErrorKind::model, unknown("test", e.name)};
  return Value::boolean(test(rt_, subject, arguments(e.args, scope)));
}

}  // namespace bitnet::jinja
