#include "eval.h"

#include <fmt/format.h>

#include <algorithm>

namespace bitnet::jinja {

struct Scope {
  std::shared_ptr<Scope> parent;
  Variables variables;
};

namespace {

using ScopePtr = std::shared_ptr<Scope>;
enum class Flow { normal, broken, continued };

class Evaluator {
 public:
  Evaluator(const std::string& name, int64_t now) : name_(name), rt_{{}, now} {}

  Text run(const Block& tree, const Variables& variables) {
    root_ = std::make_shared<Scope>();
    root_->variables = variables;
    Text out;
    execute(tree, root_, out);
    return out;
  }

 private:
  // One level of recursion of the evaluator, whatever caused it.
  class Deeper {
   public:
    explicit Deeper(Evaluator& e) : e_(e) {
      if (++e.depth_ > Budget::kMaxEvalDepth) {
        --e.depth_;
        throw Fault{ErrorKind::model,
                    fmt::format("the template recurses more than {} levels deep", Budget::kMaxEvalDepth)};
      }
    }
    ~Deeper() { --e_.depth_; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;

   private:
    Evaluator& e_;
  };

  [[noreturn]] void rethrow(const Fault& fault, Position at) const {
    throw Error(fault.kind, located(name_, at, fault.message));
  }

  static ScopePtr inner(const ScopePtr& scope) {
    auto child = std::make_shared<Scope>();
    child->parent = scope;
    return child;
  }

  void store(Scope& scope, const std::string& name, Value value) {
    rt_.budget.step(scope.variables.size() / 8);
    for (auto& [key, old] : scope.variables) {
      if (key == name) {
        old = std::move(value);
        return;
      }
    }
    scope.variables.emplace_back(name, std::move(value));
  }

  Value lookup(const std::string& name, const ScopePtr& from) {
    for (const Scope* scope = from.get(); scope; scope = scope->parent.get()) {
      rt_.budget.step(scope->variables.size() / 8);
      for (const auto& [key, value] : scope->variables) {
        if (key == name) return value;
      }
    }
    if (has_function(name)) {
      auto function = std::make_shared<FunctionObject>();
      function->name = name;
      return Value::object(Kind::function, std::move(function));
    }
    return Value::undefined(fmt::format("'{}' is undefined", printable(name)));
  }

  void put(Text& out, const Text& text) {
    rt_.budget.scan(text.size());
    rt_.budget.make_text(out.size() + text.size() > Budget::kMaxText ? out.size() + text.size()
                                                                     : text.size());
    out.append(text);
  }

  // ---- statements

  Flow execute(const Block& block, const ScopePtr& scope, Text& out) {
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

  Flow execute(const Stmt& stmt, const ScopePtr& scope, Text& out) {
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
        return execute_for(stmt, scope, out);
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
        store(*scope, stmt.text, macro(stmt, stmt.text, scope));
        break;
      case Stmt::Kind::call_block: {
        const Expr& call = *stmt.expr;
        const Value callee = eval(*call.kids[0], scope);
        Args args = arguments(call.args, scope);
        args.named.emplace_back("caller", macro(stmt, "caller", scope));
        put(out, to_text(invoke(callee, args), rt_.budget));
        break;
      }
      case Stmt::Kind::break_loop:
        return Flow::broken;
      case Stmt::Kind::continue_loop:
        return Flow::continued;
    }
    return Flow::normal;
  }

  Flow execute_if(const Stmt& stmt, const ScopePtr& scope, Text& out) {
    for (const auto& [condition, body] : stmt.branches) {
      if (!condition || truthy(eval(*condition, scope))) return execute(body, scope, out);
    }
    return Flow::normal;
  }

  Flow execute_capture(const Stmt& stmt, const ScopePtr& scope, Text& out) {
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

  Flow execute_for(const Stmt& stmt, const ScopePtr& scope, Text& out) {
    return run_loop(stmt, eval(*stmt.expr, scope), scope, out, 0);
  }

  Flow run_loop(const Stmt& stmt, const Value& iterable, const ScopePtr& scope, Text& out, int64_t depth0) {
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
    // The object may outlive the loop in a variable; what it calls must not.
    struct Ended {
      LoopObject& loop;
      ~Ended() { loop.keep = nullptr, loop.recurse = nullptr; }
    } const ended{*loop};

    bool completed = false;  // jinja2 runs the else unless an iteration came to its end
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

  void assign(const Expr& target, Value value, const ScopePtr& scope) {
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

  void set_attribute(NamespaceObject& space, const std::string& name, Value value) {
    if (value.stateful()) fail("a namespace or loop inside a namespace is not supported");
    space.attributes.set(Value::string(name), value, rt_.budget);
    hold(space, value);
  }

  // ---- expressions

  Value eval(const Expr& e, const ScopePtr& scope) {
    try {
      const Deeper deeper(*this);
      return eval_node(e, scope);
    } catch (const Fault& fault) {
      rethrow(fault, e.at);
    }
  }

  Value eval_node(const Expr& e, const ScopePtr& scope) {
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

  std::vector<Value> eval_all(const std::vector<ExprPtr>& exprs, const ScopePtr& scope) {
    rt_.budget.make(exprs.size() * sizeof(Value));
    std::vector<Value> values;
    values.reserve(exprs.size());
    for (const ExprPtr& expr : exprs) values.push_back(eval(*expr, scope));
    return values;
  }

  Value eval_dict(const Expr& e, const ScopePtr& scope) {
    auto dict = std::make_shared<DictObject>();
    for (size_t i = 0; i < e.kids.size(); i += 2) {
      const Value key = eval(*e.kids[i], scope);
      dict->set(key, eval(*e.kids[i + 1], scope), rt_.budget);
    }
    return make_dict(std::move(dict));
  }

  Value eval_subscript(const Expr& e, const ScopePtr& scope) {
    const Value subject = eval(*e.kids[0], scope);
    return subscript(subject, eval(*e.kids[1], scope), rt_.budget);
  }

  Value eval_slice(const Expr& e, const ScopePtr& scope) {
    Value bounds[4];
    for (size_t i = 0; i < 4; ++i) {
      if (e.kids[i]) bounds[i] = eval(*e.kids[i], scope);
    }
    const auto bound = [&](size_t i) { return e.kids[i] ? &bounds[i] : nullptr; };
    return slice(bounds[0], bound(1), bound(2), bound(3), rt_.budget);
  }

  Value eval_unary(const Expr& e, const ScopePtr& scope) {
    const Value v = eval(*e.kids[0], scope);
    if (e.name == "not") return Value::boolean(!truthy(v));
    const Value negative = negate(v);
    return e.name == "-" ? negative : v.is(Kind::boolean) ? Value::integer(v.as_integer()) : v;
  }

  Value eval_binary(const Expr& e, const ScopePtr& scope) {
    Value left = eval(*e.kids[0], scope);
    if (e.name == "and") return truthy(left) ? eval(*e.kids[1], scope) : left;
    if (e.name == "or") return truthy(left) ? left : eval(*e.kids[1], scope);
    return binary(e.name, left, eval(*e.kids[1], scope), rt_.budget);
  }

  Value eval_concat(const Expr& e, const ScopePtr& scope) {
    Text out;
    for (const ExprPtr& kid : e.kids) put(out, to_text(eval(*kid, scope), rt_.budget));
    return Value::string(std::move(out));
  }

  Value eval_compare(const Expr& e, const ScopePtr& scope) {
    Value left = eval(*e.kids[0], scope);
    for (size_t i = 0; i < e.ops.size(); ++i) {
      Value right = eval(*e.kids[i + 1], scope);
      if (!compare(e.ops[i], left, right)) return Value::boolean(false);
      left = std::move(right);
    }
    return Value::boolean(true);
  }

  bool compare(const std::string& op, const Value& a, const Value& b) {
    if (op == "==" || op == "!=") return equal(a, b, rt_.budget) == (op == "==");
    if (op == "in" || op == "not in") return contains(b, a, rt_.budget) == (op == "in");
    const int sign = order(a, b, op.c_str(), rt_.budget);
    return op == "<"    ? sign == -1
           : op == "<=" ? sign == -1 || sign == 0
           : op == ">"  ? sign == 1
                        : sign == 0 || sign == 1;
  }

  Value eval_conditional(const Expr& e, const ScopePtr& scope) {
    if (truthy(eval(*e.kids[1], scope))) return eval(*e.kids[0], scope);
    if (e.kids[2]) return eval(*e.kids[2], scope);
    return Value::undefined("the inline if-expression is false and has no else");
  }

  Args arguments(const CallArgs& call, const ScopePtr& scope) {
    Args args;
    args.positional = eval_all(call.positional, scope);
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
        args.named.emplace_back(key.text().bytes(), value);
      }
    }
    return args;
  }

  Value eval_filter(const Expr& e, const ScopePtr& scope, const Value* innermost) {
    const Value subject = !e.kids[0] ? *innermost
                          : innermost && e.kids[0]->kind == Expr::Kind::filter
                              ? eval_filter(*e.kids[0], scope, innermost)
                              : eval(*e.kids[0], scope);
    const Filter filter = find_filter(e.name);
    if (!filter) throw Fault{ErrorKind::model, unknown("filter", e.name)};
    return filter(rt_, subject, arguments(e.args, scope));
  }

  Value eval_test(const Expr& e, const ScopePtr& scope) {
    const Value subject = eval(*e.kids[0], scope);
    const Test test = find_test(e.name);
    if (!test) throw Fault{ErrorKind::model, unknown("test", e.name)};
    return Value::boolean(test(rt_, subject, arguments(e.args, scope)));
  }

  Value eval_call(const Expr& e, const ScopePtr& scope) {
    const Value callee = eval(*e.kids[0], scope);
    return invoke(callee, arguments(e.args, scope));
  }

  Value invoke(const Value& callee, const Args& args) {
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

  // ---- macros

  static Value macro(const Stmt& definition, const std::string& name, const ScopePtr& scope) {
    auto object = std::make_shared<MacroObject>();
    object->name = name;
    object->definition = &definition;
    object->scope = scope;
    return Value::object(Kind::macro, std::move(object));
  }

  Value call_macro(const MacroObject& object, const Args& args) {
    const Deeper deeper(*this);
    const Stmt& macro = *object.definition;
    const ScopePtr outer = object.scope.lock();
    const ScopePtr scope = inner(outer ? outer : root_);
    std::vector<std::pair<std::string, Value>> named = args.named;
    const auto take = [&](std::string_view name) -> std::optional<Value> {
      const auto it =
          std::find_if(named.begin(), named.end(), [&](const auto& arg) { return arg.first == name; });
      if (it == named.end()) return std::nullopt;
      Value value = std::move(it->second);
      named.erase(it);
      return value;
    };
    for (size_t i = 0; i < macro.params.size(); ++i) {
      const Param& param = macro.params[i];
      std::optional<Value> value;
      if (i < args.positional.size()) {
        value = args.positional[i];
      } else {
        value = take(param.name);
      }
      if (!value && param.fallback) value = eval(*param.fallback, scope);
      if (!value)
        value = Value::undefined(fmt::format("parameter '{}' was not provided", printable(param.name)));
      store(*scope, param.name, std::move(*value));
    }
    if (macro.uses_caller) {
      const std::optional<Value> caller = take("caller");
      const bool is_param = std::any_of(macro.params.begin(), macro.params.end(),
                                        [](const Param& p) { return p.name == "caller"; });
      if (!is_param) store(*scope, "caller", caller.value_or(Value::undefined("No caller defined")));
    }
    if (macro.uses_kwargs) {
      auto rest = std::make_shared<DictObject>();
      for (auto& [key, value] : named) rest->set(Value::string(key), std::move(value), rt_.budget);
      store(*scope, "kwargs", make_dict(std::move(rest)));
    } else if (!named.empty()) {
      fail(fmt::format("macro '{}' takes no keyword argument '{}'", printable(object.name),
                       printable(named[0].first)));
    }
    const size_t taken = std::min(macro.params.size(), args.positional.size());
    if (macro.uses_varargs) {
      const auto rest = args.positional.begin() + static_cast<std::ptrdiff_t>(taken);
      store(*scope, "varargs", Value::tuple(std::vector<Value>(rest, args.positional.end())));
    } else if (taken < args.positional.size()) {
      fail(fmt::format("macro '{}' takes not more than {} argument(s)", printable(object.name),
                       macro.params.size()));
    }
    Text text;
    execute(macro.body, scope, text);
    return Value::string(std::move(text));
  }

  const std::string& name_;
  Runtime rt_;
  ScopePtr root_;
  int depth_ = 0;
};

}  // namespace

Text render(const Block& tree, const Variables& variables, const std::string& name, int64_t now) {
  return Evaluator(name, now).run(tree, variables);
}

}  // namespace bitnet::jinja
