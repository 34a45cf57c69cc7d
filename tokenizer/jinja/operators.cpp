// Arithmetic, membership, attributes and subscripts by Python's rules.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "builtins.h"
#include "loop.h"
#include "string_ops.h"

namespace bitnet::jinja {
namespace {

[[noreturn]] void overflow(std::string_view op) {
  fail(fmt::format("the result of '{}' does not fit into 64 bits", op));
}

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

Value power(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 0) fail("0.0 cannot be raised to a negative power");
    return Value::real(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
  int64_t result = 1;
  for (; exponent > 0; exponent >>= 1) {
    if ((exponent & 1) && __builtin_mul_overflow(result, base, &result)) overflow("**");
    if (exponent > 1 && __builtin_mul_overflow(base, base, &base)) overflow("**");
  }
  return Value::integer(result);
}

Value integer_binary(std::string_view op, int64_t a, int64_t b) {
  int64_t result = 0;
  if (op == "+" && __builtin_add_overflow(a, b, &result)) overflow(op);
  if (op == "-" && __builtin_sub_overflow(a, b, &result)) overflow(op);
  if (op == "*" && __builtin_mul_overflow(a, b, &result)) overflow(op);
  if (op == "+" || op == "-" || op == "*") return Value::integer(result);
  if (op == "**") return power(a, b);
  if (b == 0) fail(op == "/" ? "division by zero" : "integer division or modulo by zero");
  if (op == "/") return Value::real(static_cast<double>(a) / static_cast<double>(b));
  if (b == -1) {  // the only divisor by which a division can overflow
    if (op == "%") return Value::integer(0);
    if (__builtin_sub_overflow(int64_t{0}, a, &result)) overflow(op);
    return Value::integer(result);
  }
  if (op == "//") return Value::integer(floor_div(a, b));
  const int64_t rest = a % b;  // it has the sign of a; in Python it has that of b
  return Value::integer(rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);
}

Value real_binary(std::string_view op, double a, double b) {
  if (op == "+") return Value::real(a + b);
  if (op == "-") return Value::real(a - b);
  if (op == "*") return Value::real(a * b);
  if (op == "**") {
    if (a == 0 && b < 0) fail("0.0 cannot be raised to a negative power");
    const double result = std::pow(a, b);
    if (std::isinf(result) && !std::isinf(a) && !std::isinf(b)) fail("the result of '**' is too large");
    if (std::isnan(result) && !std::isnan(a) && !std::isnan(b)) fail("a complex number is not supported");
    return Value::real(result);
  }
  if (b == 0)
    fail(op == "/" ? "float division by zero" : op == "%" ? "float modulo" : "float floor division by zero");
  if (op == "/") return Value::real(a / b);
  double mod = std::fmod(a, b);
  if (mod != 0 && (b < 0) != (mod < 0)) mod += b;
  if (op == "%") return Value::real(mod == 0 ? std::copysign(0.0, b) : mod);
  const double quotient = (a - mod) / b;
  double floored = std::floor(quotient);
  if (quotient - floored > 0.5) floored += 1;
  return Value::real(quotient == 0 ? std::copysign(0.0, a / b) : floored);
}

std::vector<Value> concatenated(const Value& a, const Value& b, Budget& budget) {
  budget.make(Budget::kPerObject);
  budget.step(a.items().size() + b.items().size());
  budget.make((a.items().size() + b.items().size()) * sizeof(Value));
  std::vector<Value> items = a.items();
  items.insert(items.end(), b.items().begin(), b.items().end());
  return items;
}

Value repeated(const Value& sequence, int64_t times, Budget& budget) {
  if (sequence.is(Kind::string)) return Value::string(repeat(sequence.text(), times, budget));
  std::vector<Value> items;
  const size_t n = sequence.items().size();
  if (times > 0 && n > 0) {
    const auto most = std::numeric_limits<size_t>::max();
    budget.step(static_cast<size_t>(times) > most / n ? most : n * static_cast<size_t>(times));
    budget.make(n * static_cast<size_t>(times) * sizeof(Value));
    for (int64_t i = 0; i < times; ++i)
      items.insert(items.end(), sequence.items().begin(), sequence.items().end());
  }
  return sequence.is(Kind::list) ? Value::list(std::move(items)) : Value::tuple(std::move(items));
}

}  // namespace

std::string subject_name(const Value& v) {
  return v.is(Kind::none) ? "None" : fmt::format("{} object", type_name(v));
}

Value binary(std::string_view op, const Value& a, const Value& b, Budget& budget) {
  if (a.is(Kind::undefined)) fail_undefined(a);
  if (op == "%" && a.is(Kind::string)) return Value::string(percent_format(a.text(), b, budget));
  if (b.is(Kind::undefined)) fail_undefined(b);
  if (a.is_integral() && b.is_integral()) return integer_binary(op, a.as_integer(), b.as_integer());
  if (a.is_number() && b.is_number()) return real_binary(op, a.as_real(), b.as_real());
  const auto repeatable = [](const Value& v) { return v.is(Kind::string) || v.is_sequence(); };
  if (op == "+" && a.is(Kind::string) && b.is(Kind::string)) {
    budget.make_text(a.text().size() + b.text().size(), a.text().runs().size() + b.text().runs().size());
    Text sum = a.text();
    sum.append(b.text());
    return Value::string(std::move(sum));
  }
  if (op == "+" && a.is_sequence() && a.kind() == b.kind()) {
    std::vector<Value> items = concatenated(a, b, budget);
    return a.is(Kind::list) ? Value::list(std::move(items)) : Value::tuple(std::move(items));
  }
  if (op == "*" && repeatable(a) && b.is_integral()) return repeated(a, b.as_integer(), budget);
  if (op == "*" && repeatable(b) && a.is_integral()) return repeated(b, a.as_integer(), budget);
  if (op == "+" && a.is(Kind::string)) {
    fail(fmt::format("can only concatenate str (not \"{}\") to str", type_name(b)));
  }
  fail(fmt::format("unsupported operand type(s) for {}: '{}' and '{}'", op == "**" ? "** or pow()" : op,
                   type_name(a), type_name(b)));
}

Value negate(const Value& v) {
  if (v.is(Kind::undefined)) fail_undefined(v);
  if (v.is_integral()) return integer_binary("-", 0, v.as_integer());
  if (v.is(Kind::real)) return Value::real(-v.as_real());
  fail(fmt::format("bad operand type for unary -: '{}'", type_name(v)));
}

bool contains(const Value& container, const Value& item, Budget& budget) {
  switch (container.kind()) {
    case Kind::string:
      if (!item.is(Kind::string)) {
        fail(fmt::format("'in <string>' requires string as left operand, not {}", type_name(item)));
      }
      budget.scan(container.text().size() + item.text().size());
      return find_bytes(container.text().bytes(), item.text().bytes(), 0) != std::string_view::npos;
    case Kind::dict:
      return container.as<DictObject>().find(item, budget) != nullptr;
    case Kind::list:
    case Kind::tuple:
      for (const Value& candidate : container.items()) {
        if (equal(candidate, item, budget)) return true;
      }
      return false;
    case Kind::undefined:
    case Kind::range:
    case Kind::iterator:
      for (const Value& candidate : items_of(container, budget)) {
        if (equal(candidate, item, budget)) return true;
      }
      return false;
    default:
      fail(fmt::format("argument of type '{}' is not iterable", type_name(container)));
  }
}

Value attribute(const Value& subject, std::string_view name, Budget& budget) {
  if (subject.is(Kind::undefined)) fail_undefined(subject);
  budget.scan(name.size());
  if (subject.is(Kind::loop)) {
    if (std::optional<Value> found = subject.as<LoopObject>().attribute(name)) return *found;
  }
  if (has_method(subject, name)) {
    budget.make(Budget::kPerObject);
    auto method = std::make_shared<MethodObject>();
    hold(*method, subject);
    method->self = subject;
    method->name = name;
    return Value::object(Kind::method, std::move(method));
  }
  if (subject.is(Kind::name_space)) {
    if (const Value* found = subject.as<NamespaceObject>().attributes.find(name)) return *found;
  } else if (subject.is(Kind::dict)) {
    if (const Value* found = subject.as<DictObject>().find(name)) return *found;
  } else if (subject.is(Kind::cycler) && name == "current") {
    const CyclerObject& cycler = subject.as<CyclerObject>();
    return cycler.items[cycler.at];
  }
  budget.make(2 * Budget::kPerObject);
  return Value::undefined(fmt::format("'{}' has no attribute '{}'", subject_name(subject), printable(name)));
}

Value subscript(const Value& subject, const Value& key, Budget& budget) {
  budget.step();
  if (subject.is(Kind::undefined)) fail_undefined(subject);
  if (subject.is(Kind::dict) && !key.is(Kind::list) && !key.is(Kind::dict)) {
    if (const Value* found = subject.as<DictObject>().find(key, budget)) return *found;
  } else if (key.is_integral() &&
             (subject.is_sequence() || subject.is(Kind::string) || subject.is(Kind::range))) {
    const int64_t n = *length_of(subject, budget);
    const int64_t i = key.as_integer() < 0 ? key.as_integer() + n : key.as_integer();
    if (i >= 0 && i < n) {
      if (subject.is_sequence()) return subject.items()[static_cast<size_t>(i)];
      if (subject.is(Kind::range)) return Value::integer(subject.as<RangeObject>().at(i));
      const Text& text = subject.text();
      budget.scan(text.size());
      size_t at = 0;
      for (int64_t skip = 0; skip < i; ++skip) at += char_at(text.bytes(), at).length;
      budget.make_text(1);
      return Value::string(text.substr(at, char_at(text.bytes(), at).length));
    }
  }
  if (key.is(Kind::string)) return attribute(subject, key.text().bytes(), budget);
  Text shown;
  append_repr(shown, key, budget);
  budget.make(2 * Budget::kPerObject);
  return Value::undefined(
      fmt::format("{} has no element {}", subject_name(subject), printable(shown.bytes())));
}

}  // namespace bitnet::jinja
