#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "evaluator.h"
#include "loop.h"

namespace bitnet::jinja {
namespace {

// Removes the keyword argument of that name from `named` and returns it.
std::optional<Value> take(std::vector<std::pair<std::string, Value>>& named, std::string_view name) {
  const auto it =
      std::find_if(named.begin(), named.end(), [&](const auto& arg) { return arg.first == name; });
  if (it == named.end()) return std::nullopt;
  Value value = std::move(it->second);
  named.erase(it);
  return value;
}

}  // namespace

Value Evaluator::eval_call(const Expr& e, const ScopePtr& scope) {
  const Value callee = eval(*e.kids[0], scope);
  return invoke(callee, arguments(e.args, scope));
}

Args Evaluator::arguments(const CallArgs& call, const ScopePtr& scope) {
  Args args;
  args.positional = eval_all(call.positional, scope);
  rt_.budget.step(call.named.size());
  for (const auto& [key, value] : call.named) args.named.emplace_back(key, eval(*value, scope));
  if (call.star) {
    for (Value& value : items_of(eval(*call.star, scope), rt_.budget))
      args.positional.push_back(std::move(value));
  }
  if (call.star_star) {
    const Value dict = eval(*call.star_star, scope);
    if (!dict.is(Kind::dict)) fail("the argument after ** must be a mapping");
    for (const auto& [key, value] : dict.as<DictObject>().items) {
      if (!key.is(Kind::string)) fail("keywords must be strings");
      // A keyword is a name, of which nobody keeps who wrote it.
      if (!key.text().all_trusted()) fail("the text of a message cannot be a keyword");
      rt_.budget.scan(key.text().size());
      rt_.budget.make(sizeof(args.named[0]) + key.text().size());
      args.named.emplace_back(key.text().bytes(), value);
    }
  }
  return args;
}

Value Evaluator::invoke(const Value& callee, const Args& args) {
  switch (callee.kind()) {
    case Kind::undefined:
      fail_undefined(callee);
    case Kind::function:
      return call_function(rt_, callee.as<FunctionObject>().name, args);
    case Kind::method:
      return call_method(rt_, callee.as<MethodObject>().self, callee.as<MethodObject>().name, args);
    case Kind::macro:
      return call_macro(callee.as<MacroObject>(), args);
    case Kind::joiner: {
      JoinerObject& joiner = callee.as<JoinerObject>();
      rt_.budget.make_text(joiner.separator);
      return std::exchange(joiner.used, true) ? Value::string(joiner.separator) : Value::string("");
    }
    case Kind::loop: {
      const LoopObject& loop = callee.as<LoopObject>();
      if (!loop.recurse || args.positional.size() != 1)
        fail("only a running loop marked recursive can be called, with one value");
      return loop.recurse(args.positional[0]);
    }
    default:
      fail(fmt::format("'{}' object is not callable", type_name(callee)));
  }
}

Value Evaluator::make_macro(const Stmt& definition, const std::string& name, const ScopePtr& scope) {
  auto object = std::make_shared<MacroObject>();
  object->name = name;
  object->definition = &definition;
  object->scope = scope;
  return Value::object(Kind::macro, std::move(object));
}

Value Evaluator::call_macro(const MacroObject& object, const Args& args) {
  const Deeper deeper(*this);
  const Stmt& macro = *object.definition;
  const ScopePtr outer = object.scope.lock();
  const ScopePtr scope = inner(outer ? outer : root_);
  for (const auto& [key, value] : args.named) rt_.budget.make(sizeof(args.named[0]) + key.size());
  Named named = args.named;
  bind_params(macro, args, named, scope);
  bind_caller(macro, named, *scope);
  bind_rest(object, args, named, *scope);
  Text text;
  execute(macro.body, scope, text);
  return Value::string(std::move(text));
}

void Evaluator::bind_params(const Stmt& macro, const Args& args, Named& named, const ScopePtr& scope) {
  for (size_t i = 0; i < macro.params.size(); ++i) {
    const Param& param = macro.params[i];
    std::optional<Value> value;
    if (i < args.positional.size()) {
      value = args.positional[i];
    } else {
      rt_.budget.search(named.size(), param.name.size());
      value = take(named, param.name);
    }
    if (!value && param.fallback) value = eval(*param.fallback, scope);
    if (!value)
      value = Value::undefined(fmt::format("parameter '{}' was not provided", printable(param.name)));
    store(*scope, param.name, std::move(*value));
  }
}

void Evaluator::bind_caller(const Stmt& macro, Named& named, Scope& scope) {
  if (!macro.uses_caller) return;
  const std::optional<Value> caller = take(named, "caller");
  const bool is_param = std::any_of(macro.params.begin(), macro.params.end(),
                                    [](const Param& p) { return p.name == "caller"; });
  if (!is_param) store(scope, "caller", caller.value_or(Value::undefined("No caller defined")));
}

// Arguments that are left become kwargs and varargs if the body of the macro names these; otherwise they are
// an error.
void Evaluator::bind_rest(const MacroObject& object, const Args& args, Named& named, Scope& scope) {
  const Stmt& macro = *object.definition;
  if (macro.uses_kwargs) {
    auto rest = std::make_shared<DictObject>();
    for (auto& [key, value] : named) rest->set(Value::string(key), std::move(value), rt_.budget);
    store(scope, "kwargs", make_dict(std::move(rest)));
  } else if (!named.empty()) {
    fail(fmt::format("macro '{}' takes no keyword argument '{}'", printable(object.name),
                     printable(named[0].first)));
  }
  const size_t taken = std::min(macro.params.size(), args.positional.size());
  if (macro.uses_varargs) {
    const auto rest = args.positional.begin() + static_cast<std::ptrdiff_t>(taken);
    store(scope, "varargs", Value::tuple(std::vector<Value>(rest, args.positional.end())));
  } else if (taken < args.positional.size()) {
    fail(fmt::format("macro '{}' takes not more than {} argument(s)", printable(object.name),
                     macro.params.size()));
  }
}

}  // namespace bitnet::jinja
