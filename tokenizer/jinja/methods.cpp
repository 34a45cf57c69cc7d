// The methods of strings, dicts, lists, loops and cyclers.
#include <fmt/format.h>

#include <algorithm>

#include "builtins.h"
#include "loop.h"
#include "string_ops.h"

namespace bitnet::jinja {
namespace {

bool listed(std::initializer_list<std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The bytes of s[start:end], in which find, count, startswith and others search.
struct Window {
  size_t from, to;
  size_t chars_before;
  bool valid;  // false if start lies after the end: then not even the empty string is found
};

Window window(const Text& s, const Value* start, const Value* end, Budget& budget) {
  budget.scan(s.size());
  if (!start && !end) return {0, s.size(), 0, true};
  budget.walk(s.size());
  const std::vector<size_t> starts = char_starts(s.bytes());
  const int64_t n = static_cast<int64_t>(starts.size()) - 1;
  const auto clip = [&](const Value* v, int64_t fallback) {
    if (!v || v->is(Kind::none)) return fallback;
    if (!v->is_integral()) fail("slice indices must be integers or None");
    const int64_t i = v->as_integer();
    return i < 0 ? std::max<int64_t>(0, std::max(i, -n) + n) : i;
  };
  const int64_t from = clip(start, 0), to = std::min(clip(end, n), n);
  if (from > to) return {0, 0, 0, false};
  return {starts[static_cast<size_t>(from)], starts[static_cast<size_t>(to)], static_cast<size_t>(from),
          true};
}

int64_t find_in(const Text& s, const Bound& args, bool last, Budget& budget) {
  const Window w = window(s, args[1], args[2], budget);
  const Text& needle = args.text(0);
  if (!w.valid) return -1;
  const std::string_view part = std::string_view(s.bytes()).substr(w.from, w.to - w.from);
  const size_t hit =
      last ? rfind_bytes(part, needle.bytes(), part.size(), budget) : find_bytes(part, needle.bytes(), 0);
  if (hit == std::string_view::npos) return -1;
  return static_cast<int64_t>(w.chars_before + char_count(part.substr(0, hit)));
}

int64_t count_in(const Text& s, const Bound& args, Budget& budget) {
  const Window w = window(s, args[1], args[2], budget);
  const Text& needle = args.text(0);
  if (!w.valid) return 0;
  const std::string_view part = std::string_view(s.bytes()).substr(w.from, w.to - w.from);
  if (needle.empty()) return static_cast<int64_t>(char_count(part)) + 1;
  int64_t count = 0;
  for (size_t at = 0; (at = find_bytes(part, needle.bytes(), at)) != std::string_view::npos;
       at += needle.size()) {
    budget.step();
    ++count;
  }
  return count;
}

bool affix(const Text& s, const Bound& args, bool at_end, Budget& budget) {
  const Window w = window(s, args[1], args[2], budget);
  const std::string_view part = std::string_view(s.bytes()).substr(w.from, w.to - w.from);
  const auto matches = [&](const Value& v) {
    budget.step();
    if (!v.is(Kind::string))
      fail(fmt::format("startswith and endswith need str or a tuple of str, not {}", type_name(v)));
    budget.scan(std::min(part.size(), v.text().size()));
    return w.valid && (at_end ? part.ends_with(v.text().bytes()) : part.starts_with(v.text().bytes()));
  };
  const Value& wanted = args.need(0);
  if (!wanted.is(Kind::tuple)) return matches(wanted);
  return std::any_of(wanted.items().begin(), wanted.items().end(), matches);
}

bool all_chars(const Text& s, bool (*test)(uint32_t), Budget& budget) {
  budget.walk(s.size());
  for (size_t at = 0; at < s.size();) {
    const Char c = char_at(s.bytes(), at);
    if (!test(c.code)) return false;
    at += c.length;
  }
  return !s.empty();
}

bool is_digit_char(uint32_t c) { return c >= '0' && c <= '9'; }
bool is_alpha_char(uint32_t c) { return is_word(c) && c != '_' && !is_digit_char(c); }
bool is_alnum_char(uint32_t c) { return is_word(c) && c != '_'; }

Value partition(const Text& s, const Text& separator, bool last, Budget& budget) {
  if (separator.empty()) fail("empty separator");
  budget.make_text(s);
  budget.make(3 * Budget::kPerObject);
  const size_t hit = last ? rfind_bytes(s.bytes(), separator.bytes(), s.size(), budget)
                          : find_bytes(s.bytes(), separator.bytes(), 0);
  const Value none = Value::string("");
  if (hit == std::string_view::npos) {
    return last ? Value::tuple({none, none, Value::string(s)}) : Value::tuple({Value::string(s), none, none});
  }
  return Value::tuple({Value::string(s.substr(0, hit)), Value::string(s.substr(hit, separator.size())),
                       Value::string(s.substr(hit + separator.size(), s.size()))});
}

Value string_method(Runtime& rt, const Text& s, std::string_view name, const Args& args) {
  Budget& budget = rt.budget;
  budget.scan(s.size());
  if (name == "format") return Value::string(brace_format(s, args.positional, args.named, budget));
  if (listed({"strip", "lstrip", "rstrip"}, name)) {
    const Bound bound(args, name, {"chars"});
    return Value::string(strip(s, bound.optional_text(0), name != "rstrip", name != "lstrip", budget));
  }
  if (name == "split" || name == "rsplit") {
    const Bound bound(args, name, {"sep", "maxsplit"});
    return split(s, bound.optional_text(0), bound.integer(1, -1), name == "rsplit", budget);
  }
  if (name == "splitlines") return split_lines(s, Bound(args, name, {"keepends"}).flag(0, false), budget);
  if (name == "replace") {
    const Bound bound(args, name, {"old", "new", "count"});
    return Value::string(replace(s, bound.text(0), bound.text(1), bound.integer(2, -1), budget));
  }
  if (name == "startswith" || name == "endswith") {
    return Value::boolean(
        affix(s, Bound(args, name, {"prefix", "start", "end"}), name == "endswith", budget));
  }
  if (listed({"find", "rfind", "index", "rindex"}, name)) {
    const int64_t at = find_in(s, Bound(args, name, {"sub", "start", "end"}), name[0] == 'r', budget);
    if (at < 0 && name.ends_with("index")) fail("substring not found");
    return Value::integer(at);
  }
  if (name == "count") return Value::integer(count_in(s, Bound(args, name, {"sub", "start", "end"}), budget));
  if (name == "join")
    return Value::string(join(s, items_of(Bound(args, name, {"iterable"}).need(0), budget), true, budget));
  if (name == "partition" || name == "rpartition") {
    return partition(s, Bound(args, name, {"sep"}).text(0), name == "rpartition", budget);
  }
  if (name == "removeprefix" || name == "removesuffix") {
    const Text& affix = Bound(args, name, {"affix"}).text(0);
    const bool prefix = name == "removeprefix";
    budget.make_text(s);
    if (!(prefix ? s.bytes().starts_with(affix.bytes()) : s.bytes().ends_with(affix.bytes())))
      return Value::string(s);
    return Value::string(s.substr(prefix ? affix.size() : 0, s.size() - affix.size()));
  }
  if (listed({"ljust", "rjust", "center"}, name)) {
    const int64_t width = Bound(args, name, {"width"}).integer(0, 0);
    return Value::string(pad(s, width, name == "ljust" ? -1 : name == "rjust" ? 1 : 0, budget));
  }
  const Bound none(args, name, {});
  if (name == "upper") return Value::string(upper(s, budget));
  if (name == "lower") return Value::string(lower(s, budget));
  if (name == "title") return Value::string(title(s, budget));
  if (name == "capitalize") return Value::string(capitalize(s, budget));
  if (name == "isdigit") return Value::boolean(all_chars(s, is_digit_char, budget));
  if (name == "isalpha") return Value::boolean(all_chars(s, is_alpha_char, budget));
  if (name == "isalnum") return Value::boolean(all_chars(s, is_alnum_char, budget));
  if (name == "isspace") return Value::boolean(all_chars(s, is_space, budget));
  budget.make_text(s);
  const Test cased = find_test(name == "isupper" ? "upper" : "lower");
  return Value::boolean(cased(rt, Value::string(s), {}));
}

Value dict_method(Runtime& rt, const DictObject& dict, std::string_view name, const Args& args) {
  if (name == "get") {
    const Bound bound(args, name, {"key", "default"});
    if (const Value* found = dict.find(bound.need(0), rt.budget)) return *found;
    return bound[1] ? *bound[1] : Value::none();
  }
  const Bound none(args, name, {});
  rt.budget.step(dict.items.size());
  rt.budget.make(Budget::kPerObject + dict.items.size() * (2 * sizeof(Value) + Budget::kPerObject));
  if (name == "copy") {
    for (const auto& [key, at] : dict.index) rt.budget.make(key.size());
    return make_dict(std::make_shared<DictObject>(dict));
  }
  std::vector<Value> items;
  for (const auto& [key, value] : dict.items) {
    items.push_back(name == "keys" ? key : name == "values" ? value : Value::tuple({key, value}));
  }
  return make_iterator(name == "keys"     ? "dict_keys"
                       : name == "values" ? "dict_values"
                                          : "dict_items",
                       false, std::move(items));
}

Value sequence_method(Runtime& rt, const std::vector<Value>& items, std::string_view name, const Args& args) {
  const Value& wanted = Bound(args, name, {"value"}).need(0);
  int64_t count = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    if (!equal(items[i], wanted, rt.budget)) continue;
    if (name == "index") return Value::integer(static_cast<int64_t>(i));
    ++count;
  }
  if (name == "index") fail("the value is not in the list");
  return Value::integer(count);
}

Value loop_method(Runtime& rt, LoopObject& loop, std::string_view name, const Args& args) {
  if (!args.named.empty()) fail(fmt::format("loop.{} takes no keyword arguments", name));
  if (name == "cycle") {
    if (args.positional.empty()) fail("no items for cycling given");
    return args.positional[static_cast<size_t>(loop.index0) % args.positional.size()];
  }
  bool same = loop.last_changed && loop.last_changed->size() == args.positional.size();
  for (size_t i = 0; same && i < args.positional.size(); ++i) {
    same = equal((*loop.last_changed)[i], args.positional[i], rt.budget);
  }
  for (const Value& value : args.positional) {
    if (value.stateful()) fail("loop.changed of a namespace or loop is not supported");
    hold(loop, value);
  }
  loop.last_changed = args.positional;
  return Value::boolean(!same);
}

}  // namespace

bool has_method(const Value& self, std::string_view name) {
  switch (self.kind()) {
    case Kind::string:
      return listed(
          {"strip",      "lstrip",    "rstrip",     "split",        "rsplit",       "splitlines", "replace",
           "startswith", "endswith",  "find",       "rfind",        "index",        "rindex",     "count",
           "join",       "partition", "rpartition", "removeprefix", "removesuffix", "ljust",      "rjust",
           "center",     "upper",     "lower",      "title",        "capitalize",   "isdigit",    "isalpha",
           "isalnum",    "isspace",   "isupper",    "islower",      "format"},
          name);
    case Kind::dict:
      return listed({"items", "keys", "values", "get", "copy"}, name);
    case Kind::list:
    case Kind::tuple:
      return listed({"index", "count"}, name);
    case Kind::loop:
      return listed({"cycle", "changed"}, name);
    case Kind::cycler:
      return listed({"next", "reset"}, name);
    default:
      return false;
  }
}

Value call_method(Runtime& rt, const Value& self, std::string_view name, const Args& args) {
  switch (self.kind()) {
    case Kind::string:
      return string_method(rt, self.text(), name, args);
    case Kind::dict:
      return dict_method(rt, self.as<DictObject>(), name, args);
    case Kind::list:
    case Kind::tuple:
      return sequence_method(rt, self.items(), name, args);
    case Kind::loop:
      return loop_method(rt, self.as<LoopObject>(), name, args);
    default:
      break;
  }
  CyclerObject& cycler = self.as<CyclerObject>();
  const Bound none(args, name, {});
  if (name == "reset") {
    cycler.at = 0;
    return Value::none();
  }
  const size_t at = cycler.at;
  cycler.at = (at + 1) % cycler.items.size();
  return cycler.items[at];
}

}  // namespace bitnet::jinja
