// The values of the template language, with Python's rules of truth, text, equality and order.
//
// Copies of a Value share its object. Strings, lists and dicts never change once they are made, because
// Hugging Face runs templates in an immutable sandbox. Only a namespace and a loop can come to hold another
// value later, and these two cannot be put into a namespace, so values never form a cycle. The depth of a
// value is bounded, so walking one cannot exhaust the stack.
//
// Thread rule: the values of one render belong to one thread; constants in a parsed template never change.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "budget.h"
#include "text.h"

namespace bitnet::jinja {

enum class Kind : uint8_t {
  undefined,
  none,
  boolean,
  integer,
  real,
  string,
  list,
  tuple,
  dict,
  range,
  iterator,  // the result of a filter such as map, or a view of a dict
  name_space,
  loop,
  macro,
  function,
  method,
  cycler,
  joiner,
};

struct Object {
  virtual ~Object() = default;
  int depth = 0;          // 1 + the depth of the deepest value inside; 0 if there is none
  bool stateful = false;  // whether it is or holds a namespace or a loop
};

class Value {
 public:
  Value() = default;  // undefined
  static Value undefined(std::string message);
  static Value none() { return Value(Kind::none); }
  static Value boolean(bool b);
  static Value integer(int64_t i);
  static Value real(double d);
  static Value string(Text text);
  static Value string(std::string_view trusted) { return string(Text(trusted, true)); }
  static Value list(std::vector<Value> items);
  static Value tuple(std::vector<Value> items);
  static Value object(Kind kind, std::shared_ptr<Object> object);

  Kind kind() const { return kind_; }
  bool is(Kind kind) const { return kind_ == kind; }
  bool is_number() const { return is(Kind::boolean) || is(Kind::integer) || is(Kind::real); }
  bool is_integral() const { return is(Kind::boolean) || is(Kind::integer); }
  bool is_sequence() const { return is(Kind::list) || is(Kind::tuple); }

  int64_t as_integer() const { return integer_; }  // boolean and integer
  double as_real() const { return is(Kind::real) ? real_ : static_cast<double>(integer_); }
  const Text& text() const;                 // string
  const std::vector<Value>& items() const;  // list and tuple
  template <typename T>
  T& as() const {
    return static_cast<T&>(*object_);
  }
  bool same_object(const Value& other) const;  // Python's `is`
  int depth() const { return object_ ? object_->depth : 0; }
  bool stateful() const { return object_ && object_->stateful; }

 private:
  explicit Value(Kind kind) : kind_(kind) {}

  Kind kind_ = Kind::undefined;
  union {
    int64_t integer_ = 0;
    double real_;
  };
  std::shared_ptr<Object> object_;
};

struct UndefinedObject : Object {
  std::string message;
};
struct StringObject : Object {
  Text text;
};
struct SequenceObject : Object {
  std::vector<Value> items;
};

struct DictObject : Object {
  std::vector<std::pair<Value, Value>> items;  // in the order of insertion
  std::map<std::string, size_t> index;         // ordered: no choice of keys makes it slow

  const Value* find(const Value& key, Budget& budget) const;
  const Value* find(std::string_view key) const;
  void set(const Value& key, Value value, Budget& budget);
};

struct RangeObject : Object {
  int64_t start, stop, step, length;
  int64_t at(int64_t i) const { return start + i * step; }
};

struct IteratorObject : Object {
  const char* name;  // the type, such as "generator" or "dict_keys"
  bool once;         // iterating uses it up: true of a generator, false of a view
  std::vector<Value> items;
  size_t next = 0;
};

struct NamespaceObject : Object {
  DictObject attributes;
};
struct FunctionObject : Object {
  std::string name;
};
struct MethodObject : Object {
  Value self;
  std::string name;
};
struct CyclerObject : Object {
  std::vector<Value> items;
  size_t at = 0;
};
struct JoinerObject : Object {
  Text separator;
  bool used = false;
};

// Sets depth and stateful of an object that is about to hold `inner`. Fails past Budget::kMaxValueDepth.
void hold(Object& outer, const Value& inner);

Value make_dict(std::shared_ptr<DictObject> dict);
Value make_iterator(const char* name, bool once, std::vector<Value> items);

const char* type_name(const Value& v);             // Python's name of the type: "str", "int", "NoneType"
[[noreturn]] void fail_undefined(const Value& v);  // the error of using an undefined value
bool truthy(const Value& v);
Text to_text(const Value& v, Budget& budget);  // str(v)
void append_repr(Text& out, const Value& v, Budget& budget);
std::string real_repr(double d);
bool equal(const Value& a, const Value& b, Budget& budget);
// Returns -1, 0 or 1, or 2 if the two are unordered (NaN). `op` is the operator in the message of a failure.
int order(const Value& a, const Value& b, const char* op, Budget& budget);
// Equal values have equal keys. Fails for a list or a dict.
std::string hash_key(const Value& v, Budget& budget);
std::optional<int64_t> length_of(const Value& v, Budget& budget);  // len(v), or nothing
std::vector<Value> items_of(const Value& v, Budget& budget);       // iter(v); uses a generator up

}  // namespace bitnet::jinja
