// Tests, functions, and how arguments are bound to parameters.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <map>

#include "builtins.h"
#include "string_ops.h"

namespace bitnet::jinja {

Bound::Bound(const Args& args, std::string_view callee, std::initializer_list<const char*> names)
    : callee_(callee), names_(names), values_(names.size(), nullptr) {
  if (args.positional.size() > names.size()) {
    fail(fmt::format("{} takes at most {} argument(s), {} are given", callee_, names.size(),
                     args.positional.size()));
  }
  for (size_t i = 0; i < args.positional.size(); ++i) values_[i] = &args.positional[i];
  for (const auto& [key, value] : args.named) {
    const auto it = std::find(names_.begin(), names_.end(), key);
    if (it == names_.end()) fail(fmt::format("{} has no argument '{}'", callee_, printable(key)));
    const Value*& slot = values_[static_cast<size_t>(it - names_.begin())];
    if (slot) fail(fmt::format("{} gets its argument '{}' twice", callee_, key));
    slot = &value;
  }
}

const Value& Bound::need(size_t i) const {
  if (!values_[i]) fail(fmt::format("{} wants its argument '{}'", callee_, names_[i]));
  return *values_[i];
}

int64_t Bound::integer(size_t i, int64_t fallback) const {
  if (!values_[i] || values_[i]->is(Kind::none)) return fallback;
  if (values_[i]->is(Kind::undefined)) fail_undefined(*values_[i]);
  if (!values_[i]->is_integral()) {
    fail(fmt::format("{}: the argument '{}' must be an integer, not {}", callee_, names_[i],
                     type_name(*values_[i])));
  }
  return values_[i]->as_integer();
}

const Text& Bound::text(size_t i) const {
  if (need(i).is(Kind::undefined)) fail_undefined(need(i));
  if (!need(i).is(Kind::string)) {
    fail(fmt::format("{}: the argument '{}' must be str, not {}", callee_, names_[i], type_name(need(i))));
  }
  return values_[i]->text();
}

const Text* Bound::optional_text(size_t i) const {
  return values_[i] && !values_[i]->is(Kind::none) ? &text(i) : nullptr;
}

std::string unknown(std::string_view what, std::string_view name) {
  return fmt::format("unknown {} '{}'", what, printable(name));
}

namespace {

template <Kind kind>
bool is_kind(Runtime&, const Value& v, const Args& args) {
  const Bound none(args, "this test", {});
  return v.is(kind);
}

template <int64_t remainder>
bool test_parity(Runtime& rt, const Value& v, const Args& args) {
  const Bound none(args, "this test", {});
  return equal(binary("%", v, Value::integer(2), rt.budget), Value::integer(remainder), rt.budget);
}

// Whether there are letters with case, and all of them are upper (or lower).
template <bool upper_wanted>
bool test_case(Runtime& rt, const Value& v, const Args&) {
  const Text text = to_text(v, rt.budget);
  rt.budget.scan(text.size());
  bool some = false;
  for (size_t at = 0; at < text.size();) {
    const Char c = char_at(text.bytes(), at);
    if (upper_wanted ? is_lower(c.code) : is_upper(c.code)) return false;
    some = some || (upper_wanted ? is_upper(c.code) : is_lower(c.code));
    at += c.length;
  }
  return some;
}

template <bool wanted>
bool test_equal(Runtime& rt, const Value& v, const Args& args) {
  return equal(v, Bound(args, "this test", {"other"}).need(0), rt.budget) == wanted;
}

template <int sign, bool or_equal>
bool test_order(Runtime& rt, const Value& v, const Args& args) {
  const char* op = sign < 0 ? (or_equal ? "<=" : "<") : (or_equal ? ">=" : ">");
  const int result = order(v, Bound(args, "this test", {"other"}).need(0), op, rt.budget);
  return result == sign || (or_equal && result == 0);
}

using Plain = bool (*)(const Value&);

template <Plain function>
bool plain(Runtime&, const Value& v, const Args& args) {
  const Bound none(args, "this test", {});
  return function(v);
}

bool is_iterable(const Value& v) {
  return v.is(Kind::string) || v.is_sequence() || v.is(Kind::dict) || v.is(Kind::range) ||
         v.is(Kind::iterator) || v.is(Kind::undefined) || v.is(Kind::loop);
}
bool is_sequence(const Value& v) {
  return v.is(Kind::string) || v.is_sequence() || v.is(Kind::dict) || v.is(Kind::range) ||
         v.is(Kind::undefined);
}
bool is_callable(const Value& v) {
  return v.is(Kind::macro) || v.is(Kind::function) || v.is(Kind::method) || v.is(Kind::loop) ||
         v.is(Kind::joiner) || v.is(Kind::undefined);
}
bool is_defined(const Value& v) { return !v.is(Kind::undefined); }
bool is_number(const Value& v) { return v.is_number(); }
bool is_true(const Value& v) { return v.is(Kind::boolean) && v.as_integer() != 0; }
bool is_false(const Value& v) { return v.is(Kind::boolean) && v.as_integer() == 0; }
bool is_filter_name(const Value& v) { return v.is(Kind::string) && find_filter(v.text().bytes()); }
bool is_test_name(const Value& v) { return v.is(Kind::string) && find_test(v.text().bytes()); }
bool is_escaped(const Value&) { return false; }

bool test_in(Runtime& rt, const Value& v, const Args& args) {
  return contains(Bound(args, "in", {"seq"}).need(0), v, rt.budget);
}
bool test_sameas(Runtime&, const Value& v, const Args& args) {
  return v.same_object(Bound(args, "sameas", {"other"}).need(0));
}
bool test_divisible(Runtime& rt, const Value& v, const Args& args) {
  return equal(binary("%", v, Bound(args, "divisibleby", {"num"}).need(0), rt.budget), Value::integer(0),
               rt.budget);
}

Value function_range(const Args& args) {
  const Bound bound(args, "range", {"start", "stop", "step"});
  for (size_t i = 0; i < args.positional.size(); ++i) {
    if (!args.positional[i].is_integral()) {
      if (args.positional[i].is(Kind::undefined)) fail_undefined(args.positional[i]);
      fail(fmt::format("'{}' object cannot be interpreted as an integer", type_name(args.positional[i])));
    }
  }
  bound.need(0);
  if (!bound[1]) return make_range(0, bound.integer(0, 0), 1);
  return make_range(bound.integer(0, 0), bound.integer(1, 0), bound.integer(2, 1));
}

std::shared_ptr<DictObject> dict_from(Runtime& rt, const Args& args, std::string_view callee) {
  auto dict = std::make_shared<DictObject>();
  if (args.positional.size() > 1)
    fail(fmt::format("{} expected at most 1 argument, got {}", callee, args.positional.size()));
  if (!args.positional.empty()) {
    const Value& source = args.positional[0];
    if (source.is(Kind::dict)) {
      for (const auto& [key, value] : source.as<DictObject>().items) dict->set(key, value, rt.budget);
    } else {
      for (const Value& pair : items_of(source, rt.budget)) {
        const std::vector<Value> items = items_of(pair, rt.budget);
        if (items.size() != 2) fail(fmt::format("{} wants pairs of key and value", callee));
        dict->set(items[0], items[1], rt.budget);
      }
    }
  }
  for (const auto& [key, value] : args.named) dict->set(Value::string(key), value, rt.budget);
  return dict;
}

Value function_namespace(Runtime& rt, const Args& args) {
  auto space = std::make_shared<NamespaceObject>();
  space->attributes = *dict_from(rt, args, "namespace");
  if (space->attributes.stateful) fail("a namespace or loop inside a namespace is not supported");
  space->depth = space->attributes.depth + 1;
  space->stateful = true;
  return Value::object(Kind::name_space, std::move(space));
}

Value function_cycler(Runtime& rt, const Args& args) {
  if (args.positional.empty()) fail("at least one item has to be provided");
  auto cycler = std::make_shared<CyclerObject>();
  for (const Value& item : args.positional) hold(*cycler, item);
  rt.budget.make(args.positional.size() * sizeof(Value));
  cycler->items = args.positional;
  return Value::object(Kind::cycler, std::move(cycler));
}

Value function_strftime(Runtime& rt, const Args& args) {
  const Bound bound(args, "strftime_now", {"format"});
  const Text& format = bound.text(0);
  if (format.size() > 1000) fail("strftime_now: the format is longer than 1000 bytes");
  const std::time_t now = rt.now >= 0 ? static_cast<std::time_t>(rt.now) : std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  const std::string with_end = format.bytes() + "\x01";  // tells an empty result from one that does not fit
  char buffer[16384];
  const size_t n = std::strftime(buffer, sizeof buffer, with_end.c_str(), &local);
  if (n == 0) fail("strftime_now: the result does not fit");
  return Value::string(Text(std::string_view(buffer, n - 1), format.all_trusted()));
}

}  // namespace

Value make_range(int64_t start, int64_t stop, int64_t step) {
  if (step == 0) fail("range() arg 3 must not be zero");
  const bool empty = step > 0 ? start >= stop : start <= stop;
  const uint64_t span = step > 0 ? static_cast<uint64_t>(stop) - static_cast<uint64_t>(start)
                                 : static_cast<uint64_t>(start) - static_cast<uint64_t>(stop);
  const uint64_t stride = step > 0 ? static_cast<uint64_t>(step) : 0 - static_cast<uint64_t>(step);
  const uint64_t length = empty ? 0 : (span - 1) / stride + 1;
  if (length > Budget::kMaxRange) {
    throw Fault{ErrorKind::model, fmt::format("Range too big. The limit is {} items.", Budget::kMaxRange)};
  }
  auto range = std::make_shared<RangeObject>();
  range->start = start;
  range->stop = stop;
  range->step = step;
  range->length = static_cast<int64_t>(length);
  return Value::object(Kind::range, std::move(range));
}

Test find_test(std::string_view name) {
  static const std::map<std::string_view, Test> kTests = {
      {"!=", test_equal<false>},
      {"<", test_order<-1, false>},
      {"<=", test_order<-1, true>},
      {"==", test_equal<true>},
      {">", test_order<1, false>},
      {">=", test_order<1, true>},
      {"boolean", is_kind<Kind::boolean>},
      {"callable", plain<is_callable>},
      {"defined", plain<is_defined>},
      {"divisibleby", test_divisible},
      {"eq", test_equal<true>},
      {"equalto", test_equal<true>},
      {"escaped", plain<is_escaped>},
      {"even", test_parity<0>},
      {"false", plain<is_false>},
      {"filter", plain<is_filter_name>},
      {"float", is_kind<Kind::real>},
      {"ge", test_order<1, true>},
      {"greaterthan", test_order<1, false>},
      {"gt", test_order<1, false>},
      {"in", test_in},
      {"integer", is_kind<Kind::integer>},
      {"iterable", plain<is_iterable>},
      {"le", test_order<-1, true>},
      {"lessthan", test_order<-1, false>},
      {"lower", test_case<false>},
      {"lt", test_order<-1, false>},
      {"mapping", is_kind<Kind::dict>},
      {"ne", test_equal<false>},
      {"none", is_kind<Kind::none>},
      {"number", plain<is_number>},
      {"odd", test_parity<1>},
      {"sameas", test_sameas},
      {"sequence", plain<is_sequence>},
      {"string", is_kind<Kind::string>},
      {"test", plain<is_test_name>},
      {"true", plain<is_true>},
      {"undefined", is_kind<Kind::undefined>},
      {"upper", test_case<true>},
  };
  const auto it = kTests.find(name);
  return it == kTests.end() ? nullptr : it->second;
}

bool has_function(std::string_view name) {
  static constexpr std::string_view kNames[] = {
      "range", "dict", "namespace", "cycler", "joiner", "raise_exception", "strftime_now"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

Value call_function(Runtime& rt, std::string_view name, const Args& args) {
  if (name == "range") return function_range(args);
  if (name == "dict") return make_dict(dict_from(rt, args, "dict"));
  if (name == "namespace") return function_namespace(rt, args);
  if (name == "cycler") return function_cycler(rt, args);
  if (name == "strftime_now") return function_strftime(rt, args);
  if (name == "joiner") {
    const Bound bound(args, "joiner", {"sep"});
    auto joiner = std::make_shared<JoinerObject>();
    joiner->separator = bound[0] ? to_text(*bound[0], rt.budget) : Text(", ", true);
    return Value::object(Kind::joiner, std::move(joiner));
  }
  const Bound bound(args, "raise_exception", {"message"});
  fail(fmt::format("the template refuses: {}", printable(to_text(bound.need(0), rt.budget).bytes(), 1000)));
}

}  // namespace bitnet::jinja
