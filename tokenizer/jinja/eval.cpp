// The start of a render, and names and scopes.
#include "eval.h"

#include <fmt/format.h>

#include "evaluator.h"

namespace bitnet::jinja {

Evaluator::Deeper::Deeper(Evaluator& evaluator) : evaluator_(evaluator) {
  if (++evaluator.depth_ > Budget::kMaxEvalDepth) {
    --evaluator.depth_;
    throw Fault{ErrorKind::model,
                fmt::format("the template recurses more than {} levels deep", Budget::kMaxEvalDepth)};
  }
}

void Evaluator::rethrow(const Fault& fault, Position at) const {
  throw Error(fault.kind, located(name_, at, fault.message));
}

Text Evaluator::run(const Block& tree, const Variables& variables) {
  root_ = std::make_shared<Scope>();
  root_->variables = variables;
  Text out;
  execute(tree, root_, out);
  return out;
}

ScopePtr Evaluator::inner(const ScopePtr& scope) {
  auto child = std::make_shared<Scope>();
  child->parent = scope;
  return child;
}

void Evaluator::store(Scope& scope, const std::string& name, Value value) {
  rt_.budget.search(scope.variables.size(), name.size());
  for (auto& [key, old] : scope.variables) {
    if (key == name) {
      old = std::move(value);
      return;
    }
  }
  rt_.budget.make(sizeof(scope.variables[0]) + name.size());
  scope.variables.emplace_back(name, std::move(value));
}

Value Evaluator::lookup(const std::string& name, const ScopePtr& from) {
  for (const Scope* scope = from.get(); scope; scope = scope->parent.get()) {
    rt_.budget.search(scope->variables.size(), name.size());
    for (const auto& [key, value] : scope->variables) {
      if (key == name) return value;
    }
  }
  rt_.budget.make(2 * Budget::kPerObject);
  if (has_function(name)) {
    auto function = std::make_shared<FunctionObject>();
    function->name = name;
    return Value::object(Kind::function, std::move(function));
  }
  return Value::undefined(fmt::format("'{}' is undefined", printable(name)));
}

void Evaluator::assign(const Expr& target, Value value, const ScopePtr& scope) {
  if (target.kind == Expr::Kind::name) {
    store(*scope, target.name, std::move(value));
  } else if (target.kind == Expr::Kind::attribute) {
    const Value holder = lookup(target.kids[0]->name, scope);
    if (!holder.is(Kind::name_space)) fail("cannot assign attribute on non-namespace object");
    set_attribute(holder.as<NamespaceObject>(), target.name, std::move(value));
  } else {
    const std::vector<Value> items = items_of(value, rt_.budget);
    if (items.size() != target.kids.size()) {
      fail(fmt::format("{} values to unpack (expected {}, got {})",
                       items.size() > target.kids.size() ? "too many" : "not enough", target.kids.size(),
                       items.size()));
    }
    for (size_t i = 0; i < items.size(); ++i) assign(*target.kids[i], items[i], scope);
  }
}

void Evaluator::set_attribute(NamespaceObject& space, const std::string& name, Value value) {
  if (value.stateful()) fail("a namespace or loop inside a namespace is not supported");
  space.attributes.set(Value::string(name), value, rt_.budget);
  hold(space, value);
}

void Evaluator::put(Text& out, const Text& text) {
  rt_.budget.scan(text.size());
  rt_.budget.check_text(out.size() + text.size());
  rt_.budget.make_text(text);
  out.append(text);
}

Text render(const Block& tree, const Variables& variables, const std::string& name, int64_t now,
            const Limits& limits) {
  return Evaluator(name, now, limits).run(tree, variables);
}

}  // namespace bitnet::jinja
