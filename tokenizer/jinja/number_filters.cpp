#include "number_filters.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "string_ops.h"

namespace bitnet::jinja {
namespace {

// Returns the text of a number without the white space around it and the underscores in it; nothing if an
// underscore stands in the wrong place.
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

}  // namespace

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

Value round_filter(Runtime& rt, const Value& v, const Args& args) {
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
  rt.budget.step(steps_of_digits(d, precision));
  // Like Python's round, printing rounds the exact binary value half to even.
  if (precision >= 0) return Value::real(std::strtod(fmt::format("{:.{}f}", d, precision).c_str(), nullptr));
  const double rounded = std::nearbyint(d * scale) / scale;
  return v.is_integral() ? to_integer(rounded) : Value::real(rounded);
}

}  // namespace bitnet::jinja
