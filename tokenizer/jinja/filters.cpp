// Filters over strings and over any value, and the table of all filters.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "builtins.h"
#include "number_filters.h"
#include "sequence_filters.h"
#include "string_ops.h"

namespace bitnet::jinja {
namespace {

Text as_text(Runtime& rt, const Value& v) { return to_text(v, rt.budget); }

template <Text (*function)(const Text&, Budget&)>
Value text_filter(Runtime& rt, const Value& v, const Args& args) {
  const Bound none(args, "this filter", {});
  return Value::string(function(as_text(rt, v), rt.budget));
}

Value trim_filter(Runtime& rt, const Value& v, const Args& args) {
  const Bound bound(args, "trim", {"chars"});
  return Value::string(strip(as_text(rt, v), bound.optional_text(0), true, true, rt.budget));
}

Value replace_filter(Runtime& rt, const Value& v, const Args& args) {
  const Bound bound(args, "replace", {"old", "new", "count"});
  const Text old = as_text(rt, bound.need(0)), by = as_text(rt, bound.need(1));
  return Value::string(replace(as_text(rt, v), old, by, bound.integer(2, -1), rt.budget));
}

Value default_filter(Runtime&, const Value& v, const Args& args) {
  const Bound bound(args, "default", {"default_value", "boolean"});
  if (v.is(Kind::undefined) || (bound.flag(1, false) && !truthy(v)))
    return bound[0] ? *bound[0] : Value::string("");
  return v;
}

Value string_filter(Runtime& rt, const Value& v, const Args& args) {
  const Bound none(args, "string", {});
  if (v.is(Kind::string)) return v;
  return Value::string(as_text(rt, v));
}

Value escape_filter(Runtime& rt, const Value& v, const Args& args) {
  const Bound none(args, "escape", {});
  const Text text = as_text(rt, v);
  rt.budget.walk(text.size());
  Text out;
  Writers writers(text);
  for (size_t at = 0; at < text.size(); ++at) {
    const bool trusted = writers.trusted_at(at);
    switch (text.bytes()[at]) {
      case '&':
        out.append("&amp;", trusted);
        break;
      case '<':
        out.append("&lt;", trusted);
        break;
      case '>':
        out.append("&gt;", trusted);
        break;
      case '"':
        out.append("&#34;", trusted);
        break;
      case '\'':
        out.append("&#39;", trusted);
        break;
      default:
        out.append(std::string_view(text.bytes()).substr(at, 1), trusted);
    }
  }
  rt.budget.make_text(out);
  return Value::string(std::move(out));
}

Value indent_filter(Runtime& rt, const Value& v, const Args& args) {
  const Bound bound(args, "indent", {"width", "first", "blank"});
  const Text text = as_text(rt, v);
  const Text indent = bound[0] && bound[0]->is(Kind::string)
                          ? bound.text(0)
                          : repeat(Text(" ", true), bound.integer(0, 4), rt.budget);
  const bool blank = bound.flag(2, false);
  rt.budget.make_text(text);
  Text ended = text;
  ended.append("\n", true);  // so that split_lines also gives a last line that is empty
  const std::vector<Value> lines = split_lines(ended, false, rt.budget).items();
  Text out;
  for (size_t i = 0; i < lines.size(); ++i) {
    const Text& line = lines[i].text();
    if (i > 0) out.append("\n", true);
    if (i == 0 ? bound.flag(1, false) : blank || !line.empty()) out.append(indent);
    rt.budget.make(line.size() + indent.size());
    out.append(line);
    rt.budget.check_text(out.size());
  }
  rt.budget.make_text(out);
  return Value::string(std::move(out));
}

Value wordcount_filter(Runtime& rt, const Value& v, const Args& args) {
  const Bound none(args, "wordcount", {});
  const Text text = as_text(rt, v);
  rt.budget.walk(text.size());
  int64_t words = 0;
  bool inside = false;
  for (size_t at = 0; at < text.size();) {
    const Char c = char_at(text.bytes(), at);
    if (is_word(c.code) && !inside) ++words;
    inside = is_word(c.code);
    at += c.length;
  }
  return Value::integer(words);
}

Value truncate_filter(Runtime& rt, const Value& v, const Args& args) {
  const Bound bound(args, "truncate", {"length", "killwords", "end", "leeway"});
  const Text text = as_text(rt, v), dots("...", true);
  const Text& end = bound[2] ? bound.text(2) : dots;
  rt.budget.walk(text.size());
  rt.budget.scan(end.size());
  rt.budget.make_text(end);
  const std::vector<size_t> starts = char_starts(text.bytes());
  const int64_t length = std::max<int64_t>(bound.integer(0, 255), -1);
  const int64_t n = static_cast<int64_t>(starts.size()) - 1;
  const int64_t cut = length - static_cast<int64_t>(char_count(end.bytes()));
  if (cut < 0) fail("truncate: the length is smaller than that of the end");
  const int64_t leeway = bound.integer(3, 5);
  if (leeway < 0) fail("truncate: the leeway is negative");
  if (n - length <= leeway) return Value::string(text);
  Text out = text.substr(0, starts[static_cast<size_t>(cut)]);
  if (!bound.flag(1, false)) {
    const size_t blank = out.bytes().rfind(' ');
    if (blank != std::string::npos) out = out.substr(0, blank);
  }
  out.append(end);
  return Value::string(std::move(out));
}

Value center_filter(Runtime& rt, const Value& v, const Args& args) {
  return Value::string(pad(as_text(rt, v), Bound(args, "center", {"width"}).integer(0, 80), 0, rt.budget));
}

Value format_filter(Runtime& rt, const Value& v, const Args& args) {
  if (!args.positional.empty() && !args.named.empty())
    fail("format takes positional or keyword arguments, not both");
  Value values = Value::tuple(args.positional);
  if (!args.named.empty()) {
    auto dict = std::make_shared<DictObject>();
    for (const auto& [key, value] : args.named) dict->set(Value::string(key), value, rt.budget);
    values = make_dict(std::move(dict));
  }
  return Value::string(percent_format(as_text(rt, v), values, rt.budget));
}

Value attr_filter(Runtime& rt, const Value& v, const Args& args) {
  const std::string& name = Bound(args, "attr", {"name"}).text(0).bytes();
  if (v.is(Kind::dict) && !has_method(v, name)) {
    return Value::undefined(fmt::format("'dict object' has no attribute '{}'", printable(name)));
  }
  return attribute(v, name, rt.budget);
}

Value json_filter(Runtime& rt, const Value& v, const Args& args) {
  return Value::string(to_json(rt, v, args));
}

}  // namespace

Filter find_filter(std::string_view name) {
  static const std::map<std::string_view, Filter> kFilters = {
      {"abs", abs_filter},
      {"attr", attr_filter},
      {"batch", batch_filter},
      {"capitalize", text_filter<capitalize>},
      {"center", center_filter},
      {"count", length_filter},
      {"d", default_filter},
      {"default", default_filter},
      {"dictsort", dictsort_filter},
      {"e", escape_filter},
      {"escape", escape_filter},
      {"first", first_filter},
      {"float", float_filter},
      {"forceescape", escape_filter},
      {"format", format_filter},
      {"indent", indent_filter},
      {"int", int_filter},
      {"items", items_filter},
      {"join", join_filter},
      {"last", last_filter},
      {"length", length_filter},
      {"list", list_filter},
      {"lower", text_filter<lower>},
      {"map", map_filter},
      {"max", max_filter},
      {"min", min_filter},
      {"reject", reject_filter},
      {"rejectattr", rejectattr_filter},
      {"replace", replace_filter},
      {"reverse", reverse_filter},
      {"round", round_filter},
      {"safe", string_filter},
      {"select", select_filter},
      {"selectattr", selectattr_filter},
      {"slice", slice_filter},
      {"sort", sort_filter},
      {"string", string_filter},
      {"sum", sum_filter},
      {"title", text_filter<title_filter>},
      {"tojson", json_filter},
      {"trim", trim_filter},
      {"truncate", truncate_filter},
      {"unique", unique_filter},
      {"upper", text_filter<upper>},
      {"wordcount", wordcount_filter},
  };
  const auto it = kFilters.find(name);
  return it == kFilters.end() ? nullptr : it->second;
}

std::string unknown(std::string_view what, std::string_view name) {
  return fmt::format("unknown {} '{}'", what, printable(name));
}

}  // namespace bitnet::jinja
