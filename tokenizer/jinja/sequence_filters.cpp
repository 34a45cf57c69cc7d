#include "sequence_filters.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "string_ops.h"

namespace bitnet::jinja {
namespace {

// Follows an attribute path such as "a.b.0" from `item`. Without a path the result is `item` itself.
Value path_value(Runtime& rt, const Value& item, const Value* path, const Value* fallback = nullptr) {
  if (!path || path->is(Kind::none)) return item;
  if (!path->is(Kind::string)) {
    const Value found = subscript(item, *path, rt.budget);
    return found.is(Kind::undefined) && fallback ? *fallback : found;
  }
  Value value = item;
  const std::string& s = path->text().bytes();
  for (size_t at = 0; at <= s.size();) {
    const size_t dot = std::min(s.find('.', at), s.size());
    rt.budget.scan(dot - at);
    rt.budget.make(dot - at);
    const std::string part = s.substr(at, dot - at);
    int64_t index = 0;
    const bool number = !part.empty() && part.find_first_not_of("0123456789") == std::string::npos &&
                        std::from_chars(part.data(), part.data() + part.size(), index).ec == std::errc();
    value = subscript(value, number ? Value::integer(index) : Value::string(part), rt.budget);
    if (value.is(Kind::undefined) && fallback) value = *fallback;
    at = dot + 1;
  }
  return value;
}

Value fold_case(Runtime& rt, Value v, bool case_sensitive) {
  return !case_sensitive && v.is(Kind::string) ? Value::string(lower(v.text(), rt.budget)) : v;
}

// Sorts items by keys[i]. Equal items keep their order, with `reverse` too, as in Python.
std::vector<Value> sorted(Runtime& rt, std::vector<Value> items, const std::vector<Value>& keys,
                          bool reverse) {
  std::vector<size_t> index(items.size());
  for (size_t i = 0; i < index.size(); ++i) index[i] = i;
  std::stable_sort(index.begin(), index.end(), [&](size_t a, size_t b) {
    return reverse ? order(keys[b], keys[a], "<", rt.budget) == -1
                   : order(keys[a], keys[b], "<", rt.budget) == -1;
  });
  std::vector<Value> out;
  out.reserve(items.size());
  for (const size_t i : index) out.push_back(std::move(items[i]));
  return out;
}

Value extreme(Runtime& rt, const Value& v, const Args& args, bool largest) {
  const Bound bound(args, largest ? "max" : "min", {"case_sensitive", "attribute"});
  const auto key = [&](const Value& item) {
    return fold_case(rt, path_value(rt, item, bound[1]), bound.flag(0, false));
  };
  const std::vector<Value> items = items_of(v, rt.budget);
  if (items.empty()) return Value::undefined("No aggregated item, sequence was empty.");
  size_t best = 0;
  Value best_key = key(items[0]);
  for (size_t i = 1; i < items.size(); ++i) {
    Value candidate = key(items[i]);
    if (order(candidate, best_key, largest ? ">" : "<", rt.budget) == (largest ? 1 : -1)) {
      best = i;
      best_key = std::move(candidate);
    }
  }
  return items[best];
}

// select, reject, selectattr and rejectattr. The arguments are [attribute,] [test, arguments of the test...].
Value selected(Runtime& rt, const Value& v, const Args& args, bool by_attribute, bool wanted) {
  std::vector<Value> kept;
  if (!truthy(v)) return make_iterator("generator", true, {});
  Args rest = args;
  Value path = Value::none();
  if (by_attribute) {
    if (rest.positional.empty()) fail("Missing parameter for attribute name");
    path = rest.positional[0];
    rest.positional.erase(rest.positional.begin());
  }
  Test test = nullptr;
  if (!rest.positional.empty()) {
    if (!rest.positional[0].is(Kind::string)) fail("the name of a test must be a string");
    const std::string name = rest.positional[0].text().bytes();
    test = find_test(name);
    if (!test) throw Fault{ErrorKind::model, unknown("test", name)};
    rest.positional.erase(rest.positional.begin());
  }
  for (const Value& item : items_of(v, rt.budget)) {
    const Value subject = path_value(rt, item, &path);
    if ((test ? test(rt, subject, rest) : truthy(subject)) == wanted) kept.push_back(item);
  }
  return make_iterator("generator", true, std::move(kept));
}

}  // namespace

Value length_filter(Runtime& rt, const Value& v, const Args& args) {
  const Bound none(args, "length", {});
  const std::optional<int64_t> length = length_of(v, rt.budget);
  if (!length) fail(fmt::format("object of type '{}' has no len()", type_name(v)));
  return Value::integer(*length);
}

Value list_filter(Runtime& rt, const Value& v, const Args& args) {
  const Bound none(args, "list", {});
  return Value::list(items_of(v, rt.budget));
}

Value first_filter(Runtime& rt, const Value& v, const Args& args) {
  const Bound none(args, "first", {});
  if (v.is(Kind::string) && !v.text().empty()) return subscript(v, Value::integer(0), rt.budget);
  const std::vector<Value> items = items_of(v, rt.budget);
  return items.empty() ? Value::undefined("No first item, sequence was empty.") : items[0];
}

Value last_filter(Runtime& rt, const Value& v, const Args& args) {
  const Bound none(args, "last", {});
  if (v.is(Kind::iterator) && v.as<IteratorObject>().once) fail("'generator' object is not reversible");
  if (v.is(Kind::string) && !v.text().empty()) return subscript(v, Value::integer(-1), rt.budget);
  const std::vector<Value> items = items_of(v, rt.budget);
  return items.empty() ? Value::undefined("No last item, sequence was empty.") : items.back();
}

Value reverse_filter(Runtime& rt, const Value& v, const Args& args) {
  const Bound none(args, "reverse", {});
  if (v.is(Kind::string)) return Value::string(reversed(v.text(), rt.budget));
  std::vector<Value> items = items_of(v, rt.budget);
  std::reverse(items.begin(), items.end());
  if (v.is(Kind::iterator) && v.as<IteratorObject>().once) return Value::list(std::move(items));
  return make_iterator("list_reverseiterator", true, std::move(items));
}

Value join_filter(Runtime& rt, const Value& v, const Args& args) {
  const Bound bound(args, "join", {"d", "attribute"});
  std::vector<Value> items = items_of(v, rt.budget);
  for (Value& item : items) item = path_value(rt, item, bound[1]);
  return Value::string(join(bound[0] ? to_text(*bound[0], rt.budget) : Text(), items, false, rt.budget));
}

Value items_filter(Runtime& rt, const Value& v, const Args& args) {
  const Bound none(args, "items", {});
  if (v.is(Kind::undefined)) return make_iterator("generator", true, {});
  if (!v.is(Kind::dict)) fail("Can only get item pairs from a mapping.");
  return make_iterator("generator", true, items_of(call_method(rt, v, "items", {}), rt.budget));
}

Value dictsort_filter(Runtime& rt, const Value& v, const Args& args) {
  const Bound bound(args, "dictsort", {"case_sensitive", "by", "reverse"});
  const std::string by = bound[1] ? bound.text(1).bytes() : "key";
  if (by != "key" && by != "value") fail("You can only sort by either \"key\" or \"value\"");
  if (!v.is(Kind::dict)) fail(fmt::format("dictsort needs a mapping, not {}", type_name(v)));
  std::vector<Value> items = items_of(call_method(rt, v, "items", {}), rt.budget), keys;
  for (const Value& item : items)
    keys.push_back(fold_case(rt, item.items()[by == "value"], bound.flag(0, false)));
  return Value::list(sorted(rt, std::move(items), keys, bound.flag(2, false)));
}

Value sort_filter(Runtime& rt, const Value& v, const Args& args) {
  const Bound bound(args, "sort", {"reverse", "case_sensitive", "attribute"});
  std::vector<Value> paths;
  if (bound[2] && bound[2]->is(Kind::string)) {
    const Text comma(",", true);
    paths = split(bound.text(2), &comma, -1, false, rt.budget).items();
  } else {
    paths.push_back(bound[2] ? *bound[2] : Value::none());
  }
  std::vector<Value> items = items_of(v, rt.budget), keys;
  for (const Value& item : items) {
    rt.budget.make(Budget::kPerObject + 2 * paths.size() * sizeof(Value));
    std::vector<Value> key;
    for (const Value& path : paths)
      key.push_back(fold_case(rt, path_value(rt, item, &path), bound.flag(1, false)));
    keys.push_back(Value::list(std::move(key)));
  }
  return Value::list(sorted(rt, std::move(items), keys, bound.flag(0, false)));
}

Value unique_filter(Runtime& rt, const Value& v, const Args& args) {
  const Bound bound(args, "unique", {"case_sensitive", "attribute"});
  std::set<std::string> seen;
  std::vector<Value> kept;
  for (const Value& item : items_of(v, rt.budget)) {
    const Value key = fold_case(rt, path_value(rt, item, bound[1]), bound.flag(0, false));
    std::string hashed = hash_key(key, rt.budget);
    rt.budget.make(hashed.size() + Budget::kPerObject);
    if (seen.insert(std::move(hashed)).second) kept.push_back(item);
  }
  return make_iterator("generator", true, std::move(kept));
}

Value min_filter(Runtime& rt, const Value& v, const Args& args) { return extreme(rt, v, args, false); }
Value max_filter(Runtime& rt, const Value& v, const Args& args) { return extreme(rt, v, args, true); }

Value sum_filter(Runtime& rt, const Value& v, const Args& args) {
  const Bound bound(args, "sum", {"attribute", "start"});
  Value sum = bound[1] ? *bound[1] : Value::integer(0);
  if (sum.is(Kind::string)) fail("sum() can't sum strings [use ''.join(seq) instead]");
  for (const Value& item : items_of(v, rt.budget)) {
    sum = binary("+", sum, path_value(rt, item, bound[0]), rt.budget);
  }
  return sum;
}

Value map_filter(Runtime& rt, const Value& v, const Args& args) {
  std::vector<Value> out;
  if (!truthy(v)) return make_iterator("generator", true, {});
  if (args.positional.empty()) {
    const Bound bound(args, "map", {"attribute", "default"});
    if (!bound[0]) fail("map requires a filter argument");
    const Value* fallback = bound[1] && !bound[1]->is(Kind::none) ? bound[1] : nullptr;
    for (const Value& item : items_of(v, rt.budget)) out.push_back(path_value(rt, item, bound[0], fallback));
    return make_iterator("generator", true, std::move(out));
  }
  if (!args.positional[0].is(Kind::string)) fail("the name of a filter must be a string");
  const std::string name = args.positional[0].text().bytes();
  const Filter filter = find_filter(name);
  if (!filter) throw Fault{ErrorKind::model, unknown("filter", name)};
  Args rest = args;
  rest.positional.erase(rest.positional.begin());
  if (filter == map_filter && !rest.positional.empty()) fail("map of map is not supported");
  for (const Value& item : items_of(v, rt.budget)) {
    rt.budget.step();
    out.push_back(filter(rt, item, rest));
  }
  return make_iterator("generator", true, std::move(out));
}

Value select_filter(Runtime& rt, const Value& v, const Args& args) {
  return selected(rt, v, args, false, true);
}
Value reject_filter(Runtime& rt, const Value& v, const Args& args) {
  return selected(rt, v, args, false, false);
}
Value selectattr_filter(Runtime& rt, const Value& v, const Args& args) {
  return selected(rt, v, args, true, true);
}
Value rejectattr_filter(Runtime& rt, const Value& v, const Args& args) {
  return selected(rt, v, args, true, false);
}

Value batch_filter(Runtime& rt, const Value& v, const Args& args) {
  const Bound bound(args, "batch", {"linecount", "fill_with"});
  const int64_t size = bound.integer(0, 0);
  std::vector<Value> rows, row;
  for (const Value& item : items_of(v, rt.budget)) {
    if (static_cast<int64_t>(row.size()) == size) {
      rt.budget.make(2 * Budget::kPerObject);
      rows.push_back(Value::list(std::exchange(row, {})));
    }
    row.push_back(item);
  }
  if (!row.empty()) {
    if (bound[1] && !bound[1]->is(Kind::none) && size > static_cast<int64_t>(row.size())) {
      rt.budget.step(static_cast<size_t>(size));
      rt.budget.make(static_cast<size_t>(size) * sizeof(Value));
      row.resize(static_cast<size_t>(size), *bound[1]);
    }
    rows.push_back(Value::list(std::move(row)));
  }
  return make_iterator("generator", true, std::move(rows));
}

Value slice_filter(Runtime& rt, const Value& v, const Args& args) {
  const Bound bound(args, "slice", {"slices", "fill_with"});
  const std::vector<Value> items = items_of(v, rt.budget);
  const int64_t slices = bound.integer(0, 0);
  if (slices == 0) fail("integer division or modulo by zero");
  if (slices > static_cast<int64_t>(Budget::kMaxRange)) fail("slice: too many slices");
  std::vector<Value> columns;
  size_t at = 0;
  for (int64_t i = 0; i < slices; ++i) {
    rt.budget.step();
    rt.budget.make(2 * Budget::kPerObject);
    const size_t n = items.size() / static_cast<size_t>(slices),
                 extra = items.size() % static_cast<size_t>(slices);
    const bool longer = static_cast<size_t>(i) < extra;
    const auto begin = items.begin() + static_cast<std::ptrdiff_t>(at);
    std::vector<Value> column(begin, begin + static_cast<std::ptrdiff_t>(n + longer));
    at += column.size();
    if (bound[1] && !bound[1]->is(Kind::none) && !longer) column.push_back(*bound[1]);
    columns.push_back(Value::list(std::move(column)));
  }
  return make_iterator("generator", true, std::move(columns));
}

}  // namespace bitnet::jinja
