#include "value.h"

#include <fmt/format.h>

#include <algorithm>

namespace bitnet::jinja {

void hold(Object& outer, const Value& inner) {
  outer.depth = std::max(outer.depth, inner.depth() + 1);
  outer.stateful = outer.stateful || inner.stateful();
  if (outer.depth > Budget::kMaxValueDepth) {
    throw Fault{ErrorKind::model,
                fmt::format("the template nests values more than {} deep", Budget::kMaxValueDepth)};
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
  const auto [it, added] = index.try_emplace(hash_key(key, budget), items.size());
  if (added) {
    budget.make(2 * sizeof(Value) + Budget::kPerObject + it->first.size());
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

namespace {

// The length of what is not a string, or nothing.
std::optional<int64_t> count_of(const Value& v) {
  switch (v.kind()) {
    case Kind::undefined:
      return 0;
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

}  // namespace

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
    case Kind::string:
      return !v.text().empty();
    default:
      return count_of(v).value_or(1) != 0;
  }
}

std::optional<int64_t> length_of(const Value& v, Budget& budget) {
  if (!v.is(Kind::string)) return count_of(v);
  budget.scan(v.text().size());
  return static_cast<int64_t>(char_count(v.text().bytes()));
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
      budget.walk(text.size());
      const std::vector<size_t> starts = char_starts(text.bytes());
      budget.make(starts.size() * Budget::kPerObject);  // each character becomes a string object
      reserve(starts.size());
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

}  // namespace bitnet::jinja
