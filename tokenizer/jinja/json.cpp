// The filter tojson as Hugging Face defines it: json.dumps without escapes for HTML.
#include <fmt/format.h>

#include <algorithm>

#include "builtins.h"
#include "string_ops.h"

namespace bitnet::jinja {
namespace {

struct JsonWriter {
  explicit JsonWriter(Budget& b) : budget(b) {}

  Budget& budget;
  bool ensure_ascii = false, sort_keys = false;
  bool pretty = false;
  Text indent;
  Text item_separator, key_separator;
  Text out;

  void newline(int level) {
    if (!pretty) return;
    out.append("\n", true);
    const size_t added = static_cast<size_t>(level) * indent.size();
    budget.check_text(out.size() + added);
    for (int i = 0; i < level; ++i) out.append(indent);
  }

  void write_string(const Text& text) {
    budget.walk(text.size());
    budget.make_text(text);
    const std::string& s = text.bytes();
    out.append("\"", true);
    Writers writers(text);
    for (size_t at = 0; at < s.size();) {
      const Char c = char_at(s, at);
      const bool trusted = writers.trusted_at(at);
      static constexpr std::string_view kSpecial = "\"\\\n\r\t\f\b", kNames = "\"\\nrtfb";
      const size_t special =
          c.code < 0x80 ? kSpecial.find(static_cast<char>(c.code)) : std::string_view::npos;
      if (special != std::string_view::npos) {
        out.append(fmt::format("\\{}", kNames[special]), trusted);
      } else if (c.code < 0x20 || (ensure_ascii && c.code > 0x7E && c.code < 0x10000 && c.code != 0x7F)) {
        out.append(fmt::format("\\u{:04x}", c.code), trusted);
      } else if (ensure_ascii && c.code >= 0x10000) {
        const uint32_t v = c.code - 0x10000;
        out.append(fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (v >> 10), 0xDC00 + (v & 0x3FF)), trusted);
      } else {
        out.append(std::string_view(s).substr(at, c.length), trusted);
      }
      at += c.length;
    }
    out.append("\"", true);
    budget.check_text(out.size());
  }

  void write_key(const Value& key) {
    if (key.is(Kind::string)) return write_string(key.text());
    if (!key.is_number() && !key.is(Kind::none)) {
      fail(fmt::format("keys must be str, int, float, bool or None, not {}", type_name(key)));
    }
    out.append("\"", true);
    write(key, 0);
    out.append("\"", true);
  }

  void write_items(const std::vector<Value>& items, int level) {
    if (items.empty()) return out.append("[]", true);
    out.append("[", true);
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out.append(item_separator);
      newline(level + 1);
      write(items[i], level + 1);
    }
    newline(level);
    out.append("]", true);
  }

  void write_dict(const DictObject& dict, int level) {
    if (dict.items.empty()) return out.append("{}", true);
    budget.make(dict.items.size() * 2 * sizeof(Value));
    std::vector<std::pair<Value, Value>> items = dict.items;
    if (sort_keys) {
      std::stable_sort(items.begin(), items.end(), [&](const auto& a, const auto& b) {
        return order(a.first, b.first, "<", budget) == -1;
      });
    }
    out.append("{", true);
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out.append(item_separator);
      newline(level + 1);
      write_key(items[i].first);
      out.append(key_separator);
      write(items[i].second, level + 1);
    }
    newline(level);
    out.append("}", true);
  }

  void write(const Value& v, int level) {
    budget.step();
    budget.make(8);
    budget.check_text(out.size());
    switch (v.kind()) {
      case Kind::none:
        out.append("null", true);
        break;
      case Kind::boolean:
        out.append(v.as_integer() ? "true" : "false", true);
        break;
      case Kind::integer:
        out.append(fmt::format("{}", v.as_integer()), true);
        break;
      case Kind::real: {
        const std::string repr = real_repr(v.as_real());
        out.append(repr == "nan"    ? "NaN"
                   : repr == "inf"  ? "Infinity"
                   : repr == "-inf" ? "-Infinity"
                                    : repr,
                   true);
        break;
      }
      case Kind::string:
        write_string(v.text());
        break;
      case Kind::list:
      case Kind::tuple:
        write_items(v.items(), level);
        break;
      case Kind::dict:
        write_dict(v.as<DictObject>(), level);
        break;
      default:
        fail(fmt::format("Object of type {} is not JSON serializable", type_name(v)));
    }
  }
};

}  // namespace

Text to_json(Runtime& rt, const Value& v, const Args& options) {
  const Bound bound(options, "tojson", {"ensure_ascii", "indent", "separators", "sort_keys"});
  JsonWriter writer(rt.budget);
  writer.ensure_ascii = bound.flag(0, false);
  writer.sort_keys = bound.flag(3, false);
  writer.pretty = bound[1] && !bound[1]->is(Kind::none);
  if (writer.pretty) {
    writer.indent = bound[1]->is(Kind::string)
                        ? bound.text(1)
                        : repeat(Text(" ", true), std::min<int64_t>(bound.integer(1, 0), 1000), rt.budget);
  }
  writer.item_separator = Text(writer.pretty ? "," : ", ", true);
  writer.key_separator = Text(": ", true);
  if (bound[2] && !bound[2]->is(Kind::none)) {
    if (!bound[2]->is_sequence() || bound[2]->items().size() != 2)
      fail("tojson: separators must be a pair of str");
    writer.item_separator = to_text(bound[2]->items()[0], rt.budget);
    writer.key_separator = to_text(bound[2]->items()[1], rt.budget);
  }
  writer.write(v, 0);
  rt.budget.make_text(writer.out);
  return std::move(writer.out);
}

}  // namespace bitnet::jinja
