// Filters over one value: strings, numbers, defaults. Those over sequences are in sequence_filters.cpp.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <map>

#include "builtins.h"
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
  return Value::string(as_text(rt, v));
}

Value escape_filter(Runtime& rt, const Value& v, const Args& args) {
  const Bound none(args, "escape", {});
  const Text text = as_text(rt, v);
  rt.budget.make_text(text.size());
  Text out;
  for (size_t at = 0; at < text.size(); ++at) {
    const bool trusted = text.trusted_at(at);
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
        out.append(text, at, 1);
    }
  }
  rt.budget.make_text(out.size());
  return Value::string(std::move(out));
}

Value indent_filter(Runtime& rt, const Value& v, const Args& args) {
  const Bound bound(args, "indent", {"width", "first", "blank"});
  const Text text = as_text(rt, v);
  const Text indent = bound[0] && bound[0]->is(Kind::string)
                          ? bound.text(0)
                          : repeat(Text(" ", true), bound.integer(0, 4), rt.budget);
  const bool blank = bound.flag(2, false);
  Text ended = text;
  ended.append("\n", true);  // so that a last line is kept even where it is empty
  const std::vector<Value> lines = split_lines(ended, false, rt.budget).items();
  Text out;
  for (size_t i = 0; i < lines.size(); ++i) {
    const Text& line = lines[i].text();
    if (i > 0) out.append("\n", true);
    if (i == 0 ? bound.flag(1, false) : blank || !line.empty()) out.append(indent);
    rt.budget.make(line.size() + indent.size());
    out.append(line);
    if (out.size() > Budget::kMaxText) rt.budget.make_text(out.size());
  }
  return Value::string(std::move(out));
}

Value wordcount_filter(Runtime& rt, const Value& v, const Args& args) {
  const Bound none(args, "wordcount", {});
  const Text text = as_text(rt, v);
  rt.budget.scan(text.size());
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
  const Text text = as_text(rt, v), end = bound[2] ? bound.text(2) : Text("...", true);
  const std::vector<size_t> starts = char_starts(text.bytes());
  rt.budget.scan(text.size());
  const int64_t length = bound.integer(0, 255), n = static_cast<int64_t>(starts.size()) - 1;
  const int64_t cut = length - static_cast<int64_t>(char_count(end.bytes()));
  if (cut < 0) fail("truncate: the length is smaller than that of the end");
  if (n - length <= bound.integer(3, 5)) return Value::string(text);
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
  const std::string name = Bound(args, "attr", {"name"}).text(0).bytes();
  if (v.is(Kind::dict) && !has_method(v, name)) {
    return Value::undefined(fmt::format("'dict object' has no attribute '{}'", printable(name)));
  }
  return attribute(v, name, rt.budget);
}

// The digits of a number without the blanks around and the underscores within; nothing where it has bad ones.
std::optional<std::string> number_text(const Text& text, Budget& budget) {
  const std::string s = strip(text, nullptr, true, true, budget).bytes();
  std::string out;
  for (size_t i = 0; i < s.size(); ++i) {
    if (s[i] != '_') {
      out += s[i];
    } else if (i == 0 || i + 1 == s.size() || !isalnum(static_cast<uint8_t>(s[i - 1])) ||
               !isalnum(static_cast<uint8_t>(s[i + 1]))) {
      return std::nullopt;
    }
  }
  return out;
}

std::optional<double> parse_real(const Text& text, Budget& budget) {
  const std::optional<std::string> digits = number_text(text, budget);
  if (!digits || digits->empty() || digits->find_first_of("xXpP(") != std::string::npos) return std::nullopt;
  const char* begin =
      digits->c_str() + (digits->starts_with('+') && digits->size() > 1 && (*digits)[1] != '-');
  const char* end = digits->c_str() + digits->size();
  double value = 0;
  const auto [stop, error] = std::from_chars(begin, end, value);
  if (stop != end || error == std::errc::invalid_argument) return std::nullopt;
  if (error == std::errc::result_out_of_range) return std::strtod(begin, nullptr);
  return value;
}

std::optional<int64_t> parse_integer(const Text& text, int64_t base, Budget& budget) {
  const std::optional<std::string> digits = number_text(text, budget);
  if (!digits || base < 2 || base > 36) return std::nullopt;
  std::string_view s = *digits;
  const bool minus = s.starts_with('-');
  if (minus || s.starts_with('+')) s.remove_prefix(1);
  if (s.starts_with('-')) return std::nullopt;
  if (s.size() > 2 && s[0] == '0') {
    const char prefix = static_cast<char>(s[1] | 0x20);
    if ((base == 16 && prefix == 'x') || (base == 8 && prefix == 'o') || (base == 2 && prefix == 'b'))
      s.remove_prefix(2);
  }
  const std::string signed_digits = fmt::format("{}{}", minus ? "-" : "", s);
  const char* end = signed_digits.data() + signed_digits.size();
  int64_t value = 0;
  const auto [stop, error] = std::from_chars(signed_digits.data(), end, value, static_cast<int>(base));
  if (stop != end || error == std::errc::invalid_argument || s.empty()) return std::nullopt;
  if (error != std::errc()) fail("an integer does not fit into 64 bits");
  return value;
}

Value to_integer(double d) {
  if (!(std::abs(d) < 9.2e18)) fail("a float does not fit into an integer of 64 bits");
  return Value::integer(static_cast<int64_t>(d));
}

Value int_filter(Runtime& rt, const Value& v, const Args& args) {
  const Bound bound(args, "int", {"default", "base"});
  if (v.is(Kind::undefined)) fail_undefined(v);
  if (v.is_integral()) return Value::integer(v.as_integer());
  std::optional<double> real;
  if (v.is(Kind::real)) real = v.as_real();
  if (v.is(Kind::string)) {
    if (const auto value = parse_integer(v.text(), bound.integer(1, 10), rt.budget))
      return Value::integer(*value);
    real = parse_real(v.text(), rt.budget);
  }
  if (!real || std::isnan(*real)) return bound[0] ? *bound[0] : Value::integer(0);
  return to_integer(*real);
}

Value float_filter(Runtime& rt, const Value& v, const Args& args) {
  const Bound bound(args, "float", {"default"});
  if (v.is(Kind::undefined)) fail_undefined(v);
  if (v.is_number()) return Value::real(v.as_real());
  if (v.is(Kind::string)) {
    if (const auto value = parse_real(v.text(), rt.budget)) return Value::real(*value);
  }
  return bound[0] ? *bound[0] : Value::real(0);
}

Value abs_filter(Runtime&, const Value& v, const Args& args) {
  const Bound none(args, "abs", {});
  if (v.is(Kind::undefined)) fail_undefined(v);
  if (v.is(Kind::real)) return Value::real(std::abs(v.as_real()));
  if (!v.is_integral()) fail(fmt::format("bad operand type for abs(): '{}'", type_name(v)));
  return v.as_integer() < 0 ? negate(v) : Value::integer(v.as_integer());
}

Value round_filter(Runtime&, const Value& v, const Args& args) {
  const Bound bound(args, "round", {"precision", "method"});
  const std::string method = bound[1] ? bound.text(1).bytes() : "common";
  const int64_t precision = std::clamp<int64_t>(bound.integer(0, 0), -400, 400);
  if (v.is(Kind::undefined)) fail_undefined(v);
  if (method != "common" && method != "ceil" && method != "floor")
    fail("method must be common, ceil or floor");
  if (!v.is_number()) fail(fmt::format("type {} doesn't define __round__ method", type_name(v)));
  const double d = v.as_real(), scale = std::pow(10.0, static_cast<double>(precision));
  if (method != "common")
    return Value::real((method == "ceil" ? std::ceil(d * scale) : std::floor(d * scale)) / scale);
  if (v.is_integral() && precision >= 0) return Value::integer(v.as_integer());
  if (!std::isfinite(d)) return v;
  // Printing rounds the exact binary value half to even, as Python's round does.
  if (precision >= 0) return Value::real(std::strtod(fmt::format("{:.{}f}", d, precision).c_str(), nullptr));
  const double rounded = std::nearbyint(d * scale) / scale;
  return v.is_integral() ? to_integer(rounded) : Value::real(rounded);
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
