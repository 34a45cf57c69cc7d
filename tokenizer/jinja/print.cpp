// Python's str() and repr() of values.
#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "macro.h"
#include "value.h"

namespace bitnet::jinja {
namespace {

void append_string_repr(Text& out, const Text& text) {
  const std::string& s = text.bytes();
  const char quote = s.find('\'') != std::string::npos && s.find('"') == std::string::npos ? '"' : '\'';
  out.append(std::string_view(&quote, 1), true);
  Writers writers(text);
  for (size_t at = 0; at < s.size();) {
    const Char c = char_at(s, at);
    const bool trusted = writers.trusted_at(at);
    if (c.code == static_cast<uint32_t>(quote) || c.code == '\\') {
      out.append(fmt::format("\\{}", static_cast<char>(c.code)), trusted);
    } else if (c.code == '\n' || c.code == '\r' || c.code == '\t') {
      out.append(c.code == '\n' ? "\\n" : c.code == '\r' ? "\\r" : "\\t", trusted);
    } else if (is_printable(c.code)) {
      out.append(std::string_view(s).substr(at, c.length), trusted);
    } else if (c.code < 0x100) {
      out.append(fmt::format("\\x{:02x}", c.code), trusted);
    } else if (c.code < 0x10000) {
      out.append(fmt::format("\\u{:04x}", c.code), trusted);
    } else {
      out.append(fmt::format("\\U{:08x}", c.code), trusted);
    }
    at += c.length;
  }
  out.append(std::string_view(&quote, 1), true);
}

void append_items(Text& out, const std::vector<Value>& items, Budget& budget) {
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out.append(", ", true);
    append_repr(out, items[i], budget);
  }
}

void append_dict(Text& out, const DictObject& dict, Budget& budget) {
  out.append("{", true);
  for (size_t i = 0; i < dict.items.size(); ++i) {
    if (i > 0) out.append(", ", true);
    append_repr(out, dict.items[i].first, budget);
    out.append(": ", true);
    append_repr(out, dict.items[i].second, budget);
  }
  out.append("}", true);
}

std::string plain_repr(const Value& v) {
  switch (v.kind()) {
    case Kind::undefined:
      return "Undefined";
    case Kind::none:
      return "None";
    case Kind::boolean:
      return v.as_integer() ? "True" : "False";
    case Kind::integer:
      return fmt::format("{}", v.as_integer());
    case Kind::real:
      return real_repr(v.as_real());
    case Kind::range: {
      const RangeObject& range = v.as<RangeObject>();
      if (range.step == 1) return fmt::format("range({}, {})", range.start, range.stop);
      return fmt::format("range({}, {}, {})", range.start, range.stop, range.step);
    }
    case Kind::macro:
      return fmt::format("<Macro '{}'>", v.as<MacroObject>().name);
    default:
      return fmt::format("<{}>", type_name(v));
  }
}

}  // namespace

void append_repr(Text& out, const Value& v, Budget& budget) {
  budget.step();
  const size_t before = out.size();
  switch (v.kind()) {
    case Kind::string:
      budget.walk(v.text().size());
      budget.make_text(v.text());
      append_string_repr(out, v.text());
      break;
    case Kind::list:
      out.append("[", true);
      append_items(out, v.items(), budget);
      out.append("]", true);
      break;
    case Kind::tuple:
      out.append("(", true);
      append_items(out, v.items(), budget);
      out.append(v.items().size() == 1 ? ",)" : ")", true);
      break;
    case Kind::dict:
      append_dict(out, v.as<DictObject>(), budget);
      break;
    case Kind::name_space:
      out.append("<Namespace ", true);
      append_dict(out, v.as<NamespaceObject>().attributes, budget);
      out.append(">", true);
      break;
    case Kind::iterator:
      if (!v.as<IteratorObject>().once) {
        out.append(fmt::format("{}([", type_name(v)), true);
        append_items(out, v.as<IteratorObject>().items, budget);
        out.append("])", true);
        break;
      }
      [[fallthrough]];
    default:
      out.append(plain_repr(v), true);
  }
  budget.make(out.size() - before);
  budget.check_text(out.size());
}

Text to_text(const Value& v, Budget& budget) {
  if (v.is(Kind::string)) {
    budget.make_text(v.text());
    return v.text();
  }
  if (v.is(Kind::undefined)) return {};
  Text out;
  append_repr(out, v, budget);
  return out;
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
