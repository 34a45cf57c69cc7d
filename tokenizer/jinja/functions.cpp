// The functions that a template can call by name: range, namespace, strftime_now, ...
#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "builtins.h"

namespace bitnet::jinja {
namespace {

Value function_range(Runtime& rt, const Args& args) {
  rt.budget.make(Budget::kPerObject);
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
  rt.budget.make(Budget::kPerObject);
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
        if (items.size() != 2) fail(fmt::format("{} needs pairs of key and value", callee));
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
  rt.budget.make(Budget::kPerObject + args.positional.size() * sizeof(Value));
  cycler->items = args.positional;
  return Value::object(Kind::cycler, std::move(cycler));
}

Value function_strftime(Runtime& rt, const Args& args) {
  const Bound bound(args, "strftime_now", {"format"});
  const Text& format = bound.text(0);
  if (format.size() > 1000) fail("strftime_now: the format is longer than 1000 bytes");
  rt.budget.step(1 + 10 * format.size());  // a directive of two bytes may be a microsecond's work
  std::tm local{};
  if (rt.now >= 0) {
    const auto now = static_cast<std::time_t>(rt.now);
    gmtime_r(&now, &local);
    local.tm_zone = "";  // of a time that is local somewhere, as Python's has none
  } else {
    const std::time_t now = std::time(nullptr);
    localtime_r(&now, &local);
  }
  const std::string with_end = format.bytes() + "\x01";  // strftime returns 0 for an empty result too
  char buffer[16384];
  const size_t n = std::strftime(buffer, sizeof buffer, with_end.c_str(), &local);
  if (n == 0) fail("strftime_now: the result does not fit");
  rt.budget.make_text(n);
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

bool has_function(std::string_view name) {
  static constexpr std::string_view kNames[] = {
      "range", "dict", "namespace", "cycler", "joiner", "raise_exception", "strftime_now"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

Value call_function(Runtime& rt, std::string_view name, const Args& args) {
  if (name == "range") return function_range(rt, args);
  if (name == "dict") return make_dict(dict_from(rt, args, "dict"));
  if (name == "namespace") return function_namespace(rt, args);
  if (name == "cycler") return function_cycler(rt, args);
  if (name == "strftime_now") return function_strftime(rt, args);
  if (name == "joiner") {
    const Bound bound(args, "joiner", {"sep"});
    auto joiner = std::make_shared<JoinerObject>();
    rt.budget.make(Budget::kPerObject);
    joiner->separator = bound[0] ? to_text(*bound[0], rt.budget) : Text(", ", true);
    return Value::object(Kind::joiner, std::move(joiner));
  }
  const Bound bound(args, "raise_exception", {"message"});
  fail(fmt::format("the template refuses: {}", printable(to_text(bound.need(0), rt.budget).bytes(), 1000)));
}

}  // namespace bitnet::jinja
