#include "value.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace bitnet::jinja {

void fail(std::string message) { throw Fault{ErrorKind::runtime, std::move(message)}; }

namespace {
[[noreturn]] void over(std::string message) { throw Fault{ErrorKind::model, std::move(message)}; }
}  // namespace

void Budget::step(size_t n) {
  steps_ += n;
  if (steps_ > kMaxSteps) over(fmt::format("the template takes more than {} steps", kMaxSteps));
}

void Budget::make(size_t bytes) {
  bytes_ += bytes;
  if (bytes > kMaxBytes || bytes_ > kMaxBytes) {
    over(fmt::format("the template makes more than {} MB of values", kMaxBytes >> 20));
  }
}

void Budget::make_text(size_t bytes) {
  if (bytes > kMaxText) over(fmt::format("the template makes a text of more than {} MB", kMaxText >> 20));
  make(bytes);
}

void hold(Object& outer, const Value& inner) {
  outer.depth = std::max(outer.depth, inner.depth() + 1);
  outer.stateful = outer.stateful || inner.stateful();
  if (outer.depth > Budget::kMaxValueDepth) {
    over(fmt::format("the template nests values more than {} deep", Budget::kMaxValueDepth));
  }
}

Value Value::undefined(std::string message) {
  auto object = std::make_shared<UndefinedObject>();
  object->message = std::move(message);
  return Value::object(Kind::undefined, std::move(object));
}

Value Value::boolean(bool b) {
  Value v(Kind::boolean);
  v.integer_ = b;
  return v;
}

Value Value::integer(int64_t i) {
  Value v(Kind::integer);
  v.integer_ = i;
  return v;
}

Value Value::real(double d) {
  Value v(Kind::real);
  v.real_ = d;
  return v;
}

Value Value::string(Text text) {
  auto object = std::make_shared<StringObject>();
  object->text = std::move(text);
  return Value::object(Kind::string, std::move(object));
}

Value Value::list(std::vector<Value> items) {
  auto object = std::make_shared<SequenceObject>();
  for (const Value& item : items) hold(*object, item);
  object->items = std::move(items);
  return Value::object(Kind::list, std::move(object));
}

Value Value::tuple(std::vector<Value> items) {
  Value v = list(std::move(items));
  v.kind_ = Kind::tuple;
  return v;
}

Value Value::object(Kind kind, std::shared_ptr<Object> object) {
  Value v(kind);
  v.object_ = std::move(object);
  return v;
}

const Text& Value::text() const { return as<StringObject>().text; }
const std::vector<Value>& Value::items() const { return as<SequenceObject>().items; }

bool Value::same_object(const Value& other) const {
  if (kind_ != other.kind_) return false;
  if (kind_ == Kind::real) return real_ == other.real_;
  return object_ == other.object_ && integer_ == other.integer_;
}

Value make_dict(std::shared_ptr<DictObject> dict) { return Value::object(Kind::dict, std::move(dict)); }

Value make_iterator(const char* name, bool once, std::vector<Value> items) {
  auto object = std::make_shared<IteratorObject>();
  for (const Value& item : items) hold(*object, item);
  object->name = name;
  object->once = once;
  object->items = std::move(items);
  return Value::object(Kind::iterator, std::move(object));
}

const Value* DictObject::find(const Value& key, Budget& budget) const {
  const auto it = index.find(hash_key(key, budget));
  return it == index.end() ? nullptr : &items[it->second].second;
}

const Value* DictObject::find(std::string_view key) const {
  const auto it = index.find(fmt::format("s{}", key));
  return it == index.end() ? nullptr : &items[it->second].second;
}

void DictObject::set(const Value& key, Value value, Budget& budget) {
  hold(*this, key);
  hold(*this, value);
  budget.make(sizeof(Value) * 4);
  const auto [it, added] = index.try_emplace(hash_key(key, budget), items.size());
  if (added) {
    items.emplace_back(key, std::move(value));
  } else {
    items[it->second].second = std::move(value);
  }
}

const char* type_name(const Value& v) {
  switch (v.kind()) {
    case Kind::undefined:
      return "Undefined";
    case Kind::none:
      return "NoneType";
    case Kind::boolean:
      return "bool";
    case Kind::integer:
      return "int";
    case Kind::real:
      return "float";
    case Kind::string:
      return "str";
    case Kind::list:
      return "list";
    case Kind::tuple:
      return "tuple";
    case Kind::dict:
      return "dict";
    case Kind::range:
      return "range";
    case Kind::iterator:
      return v.as<IteratorObject>().name;
    case Kind::name_space:
      return "Namespace";
    case Kind::loop:
      return "LoopContext";
    case Kind::macro:
      return "Macro";
    case Kind::function:
      return "function";
    case Kind::method:
      return "builtin_function_or_method";
    case Kind::cycler:
      return "Cycler";
    case Kind::joiner:
      return "Joiner";
  }
  return "?";
}

void fail_undefined(const Value& v) {
  fail(v.depth() == 0 && v.same_object(Value()) ? "a value is undefined" : v.as<UndefinedObject>().message);
}

bool truthy(const Value& v) {
  switch (v.kind()) {
    case Kind::undefined:
    case Kind::none:
      return false;
    case Kind::real:
      return v.as_real() != 0;
    case Kind::boolean:
    case Kind::integer:
      return v.as_integer() != 0;
    default:
      return length_of(v).value_or(1) != 0;
  }
}

std::optional<int64_t> length_of(const Value& v) {
  switch (v.kind()) {
    case Kind::undefined:
      return 0;
    case Kind::string:
      return static_cast<int64_t>(char_count(v.text().bytes()));
    case Kind::list:
    case Kind::tuple:
      return static_cast<int64_t>(v.items().size());
    case Kind::dict:
      return static_cast<int64_t>(v.as<DictObject>().items.size());
    case Kind::range:
      return v.as<RangeObject>().length;
    case Kind::iterator:
      if (v.as<IteratorObject>().once) return std::nullopt;
      return static_cast<int64_t>(v.as<IteratorObject>().items.size());
    default:
      return std::nullopt;
  }
}

std::vector<Value> items_of(const Value& v, Budget& budget) {
  std::vector<Value> out;
  const auto reserve = [&](size_t n) {
    budget.step(n);
    budget.make(n * sizeof(Value));
    out.reserve(n);
  };
  switch (v.kind()) {
    case Kind::undefined:
      return out;
    case Kind::list:
    case Kind::tuple:
      reserve(v.items().size());
      out = v.items();
      return out;
    case Kind::string: {
      const Text& text = v.text();
      const std::vector<size_t> starts = char_starts(text.bytes());
      reserve(starts.size() * 4);  // each character becomes an object
      for (size_t i = 0; i + 1 < starts.size(); ++i) {
        out.push_back(Value::string(text.substr(starts[i], starts[i + 1] - starts[i])));
      }
      return out;
    }
    case Kind::dict:
      reserve(v.as<DictObject>().items.size());
      for (const auto& [key, value] : v.as<DictObject>().items) out.push_back(key);
      return out;
    case Kind::range: {
      const RangeObject& range = v.as<RangeObject>();
      reserve(static_cast<size_t>(range.length));
      for (int64_t i = 0; i < range.length; ++i) out.push_back(Value::integer(range.at(i)));
      return out;
    }
    case Kind::iterator: {
      IteratorObject& it = v.as<IteratorObject>();
      reserve(it.items.size() - it.next);
      out.assign(it.items.begin() + static_cast<std::ptrdiff_t>(it.next), it.items.end());
      if (it.once) it.next = it.items.size();
      return out;
    }
    default:
      fail(fmt::format("'{}' object is not iterable", type_name(v)));
  }
}

bool equal(const Value& a, const Value& b, Budget& budget) {
  budget.step();
  if (a.is_number() && b.is_number()) {
    if (a.is_integral() && b.is_integral()) return a.as_integer() == b.as_integer();
    return a.as_real() == b.as_real();
  }
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::undefined:
    case Kind::none:
      return true;
    case Kind::string:
      if (a.text().size() != b.text().size()) return false;
      budget.scan(a.text().size());
      return a.text().bytes() == b.text().bytes();
    case Kind::list:
    case Kind::tuple: {
      if (a.items().size() != b.items().size()) return false;
      for (size_t i = 0; i < a.items().size(); ++i) {
        if (!equal(a.items()[i], b.items()[i], budget)) return false;
      }
      return true;
    }
    case Kind::dict: {
      const DictObject &x = a.as<DictObject>(), &y = b.as<DictObject>();
      if (x.items.size() != y.items.size()) return false;
      for (const auto& [key, value] : x.items) {
        const Value* other = y.find(key, budget);
        if (!other || !equal(value, *other, budget)) return false;
      }
      return true;
    }
    case Kind::range: {
      const RangeObject &x = a.as<RangeObject>(), &y = b.as<RangeObject>();
      if (x.length != y.length || x.length == 0) return x.length == y.length;
      return x.start == y.start && (x.length == 1 || x.step == y.step);
    }
    default:
      return a.same_object(b);
  }
}

int order(const Value& a, const Value& b, const char* op, Budget& budget) {
  budget.step();
  const auto sign = [](auto x, auto y) { return x < y ? -1 : x > y ? 1 : x == y ? 0 : 2; };
  if (a.is(Kind::undefined)) fail_undefined(a);
  if (b.is(Kind::undefined)) fail_undefined(b);
  if (a.is_integral() && b.is_integral()) return sign(a.as_integer(), b.as_integer());
  if (a.is_number() && b.is_number()) return sign(a.as_real(), b.as_real());
  if (a.is(Kind::string) && b.is(Kind::string)) {
    budget.scan(std::min(a.text().size(), b.text().size()));
    return sign(a.text().bytes().compare(b.text().bytes()), 0);  // UTF-8 sorts as its code points do
  }
  if (a.is_sequence() && a.kind() == b.kind()) {
    const size_t n = std::min(a.items().size(), b.items().size());
    for (size_t i = 0; i < n; ++i) {
      if (!equal(a.items()[i], b.items()[i], budget)) return order(a.items()[i], b.items()[i], op, budget);
    }
    return sign(a.items().size(), b.items().size());
  }
  fail(fmt::format("'{}' not supported between instances of '{}' and '{}'", op, type_name(a), type_name(b)));
}

std::string hash_key(const Value& v, Budget& budget) {
  budget.step();
  switch (v.kind()) {
    case Kind::string:
      budget.scan(v.text().size());
      return fmt::format("s{}", v.text().bytes());
    case Kind::boolean:
    case Kind::integer:
      return fmt::format("n{}", v.as_integer());
    case Kind::real: {
      const double d = v.as_real();
      if (std::abs(d) < 9e18 && d == std::floor(d)) return fmt::format("n{}", static_cast<int64_t>(d));
      return fmt::format("f{}", real_repr(d));
    }
    case Kind::none:
      return "0";
    case Kind::undefined:
      return "u";
    case Kind::tuple: {
      std::string key = "t";
      for (const Value& item : v.items()) {
        const std::string inner = hash_key(item, budget);
        budget.make_text(key.size() + inner.size());
        key += fmt::format("{}:{}", inner.size(), inner);
      }
      return key;
    }
    case Kind::list:
    case Kind::dict:
      fail(fmt::format("unhashable type: '{}'", type_name(v)));
    default:
      return fmt::format("o{}", static_cast<const void*>(&v.as<Object>()));
  }
}

std::string real_repr(double d) {
  if (std::isnan(d)) return "nan";
  if (std::isinf(d)) return d < 0 ? "-inf" : "inf";
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, d, std::chars_format::scientific).ptr;
  std::string_view shortest(buffer, static_cast<size_t>(end - buffer));
  const std::string_view sign = shortest[0] == '-' ? "-" : "";
  shortest.remove_prefix(sign.size());
  const size_t e = shortest.find('e');
  int exponent = 0;
  const char* digits_of_exponent = shortest.data() + e + (shortest[e + 1] == '+' ? 2 : 1);
  std::from_chars(digits_of_exponent, end, exponent);
  std::string digits(1, shortest[0]);
  if (e > 2) digits += shortest.substr(2, e - 2);
  const int n = static_cast<int>(digits.size());
  if (exponent < -4 || exponent >= 16) {
    return fmt::format("{}{}{}{}e{}{:02}", sign, digits[0], n > 1 ? "." : "", digits.substr(1),
                       exponent < 0 ? '-' : '+', std::abs(exponent));
  }
  const auto zeros = [](int count) { return std::string(static_cast<size_t>(count), '0'); };
  if (exponent < 0) return fmt::format("{}0.{}{}", sign, zeros(-exponent - 1), digits);
  if (n <= exponent + 1) return fmt::format("{}{}{}.0", sign, digits, zeros(exponent + 1 - n));
  const size_t point = static_cast<size_t>(exponent) + 1;
  return fmt::format("{}{}.{}", sign, digits.substr(0, point), digits.substr(point));
}

}  // namespace bitnet::jinja
