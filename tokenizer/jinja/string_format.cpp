// Python's two ways to format: format % values, and format.format(values).
#include <fmt/format.h>

#include <algorithm>

#include "number_filters.h"
#include "string_ops.h"

namespace bitnet::jinja {
namespace {

// A directive such as "%(name)-08.3f".
struct Directive {
  const Value* named = nullptr;  // the value of (name), or null
  bool left = false, zero = false;
  int64_t width = 0, precision = -1;
  char type = ' ';
};

class PercentFormat {
 public:
  PercentFormat(const Text& format, const Value& values, Budget& budget)
      : format_(format), values_(values), budget_(budget), many_(values.is(Kind::tuple)) {}
  Text run();

 private:
  Directive directive();
  const Value& value_for(const Directive& d);
  Text printed(const Directive& d, const Value& value);
  Text with_zeros(const Text& number, int64_t width);
  int64_t digits();
  bool at_char(char c) const { return at_ < format_.size() && format_.bytes()[at_] == c; }

  const Text& format_;
  const Value& values_;
  Budget& budget_;
  const bool many_;  // the values are a tuple, of which each directive takes one
  size_t at_ = 0;
  size_t used_ = 0;
};

Text PercentFormat::run() {
  const std::string& f = format_.bytes();
  Text out;
  while (at_ < f.size()) {
    const size_t percent = std::min(f.find('%', at_), f.size());
    out.append(format_, at_, percent - at_);
    if (percent == f.size()) break;
    at_ = percent + 1;
    budget_.step();
    const Directive d = directive();
    if (d.type == '%') {
      out.append("%", format_.trusted_at(at_ - 1));
      continue;
    }
    Text piece = printed(d, value_for(d));
    if (d.zero && !d.left && d.type != 's' && d.type != 'r') piece = with_zeros(piece, d.width);
    out.append(pad(piece, d.width, d.left ? -1 : 1, budget_));
    budget_.check_text(out.size());
  }
  if (used_ < (many_ ? values_.items().size() : used_))
    fail("not all arguments converted during string formatting");
  if (used_ == 0 && !many_ && !values_.is(Kind::dict))
    fail("not all arguments converted during string formatting");
  budget_.make_text(out);
  return out;
}

// Reads a directive whose '%' was just taken, up to the letter of its type, which it takes.
Directive PercentFormat::directive() {
  const std::string& f = format_.bytes();
  Directive d;
  if (at_char('(')) {
    const size_t close = f.find(')', at_);
    if (close == std::string::npos || !values_.is(Kind::dict)) fail("format requires a mapping");
    const std::string_view name = std::string_view(f).substr(at_ + 1, close - at_ - 1);
    d.named = values_.as<DictObject>().find(name);
    if (!d.named) fail(fmt::format("the format names the key '{}', which is not there", printable(name)));
    at_ = close + 1;
  }
  d.left = at_char('-');
  if (d.left) ++at_;
  d.zero = at_char('0');
  d.width = digits();
  if (at_char('.')) {
    ++at_;
    d.precision = digits();
  }
  if (at_ < f.size()) d.type = f[at_++];
  return d;
}

// Takes the number that stands here. Returns 0 if there is none.
int64_t PercentFormat::digits() {
  const std::string& f = format_.bytes();
  int64_t n = 0;
  for (; at_ < f.size() && f[at_] >= '0' && f[at_] <= '9'; ++at_)
    n = std::min<int64_t>(n * 10 + (f[at_] - '0'), 1 << 30);
  return n;
}

const Value& PercentFormat::value_for(const Directive& d) {
  if (!d.named && used_ >= (many_ ? values_.items().size() : 1))
    fail("not enough arguments for format string");
  const Value& value = d.named ? *d.named : many_ ? values_.items()[used_] : values_;
  ++used_;
  return value;
}

// Formats a value by the type and the precision of the directive, without padding it.
Text PercentFormat::printed(const Directive& d, const Value& value) {
  Text out;
  if (d.type == 's') {
    out = to_text(value, budget_);
    if (d.precision >= 0) {
      budget_.walk(out.size());
      const std::vector<size_t> starts = char_starts(out.bytes());
      if (d.precision < static_cast<int64_t>(starts.size()))
        out = out.substr(0, starts[static_cast<size_t>(d.precision)]);
    }
  } else if (d.type == 'r') {
    append_repr(out, value, budget_);
  } else if ((d.type == 'd' || d.type == 'i' || d.type == 'x') && value.is_number()) {
    const int64_t n = value.is_integral() ? value.as_integer()
                                          : static_cast<int64_t>(std::clamp(value.as_real(), -9e18, 9e18));
    out.append(d.type == 'x' ? fmt::format("{:x}", n) : fmt::format("{}", n), true);
  } else if ((d.type == 'f' || d.type == 'e' || d.type == 'g') && value.is_number()) {
    const double real = value.as_real();
    const int decimals = static_cast<int>(std::min<int64_t>(d.precision < 0 ? 6 : d.precision, 100));
    budget_.step(steps_of_digits(real, decimals));
    out.append(d.type == 'f'   ? fmt::format("{:.{}f}", real, decimals)
               : d.type == 'e' ? fmt::format("{:.{}e}", real, decimals)
                               : fmt::format("{:.{}g}", real, decimals),
               true);
  } else {
    fail(fmt::format("the format '%{}' is not supported for a value of type {}",
                     printable(std::string(1, d.type)), type_name(value)));
  }
  return out;
}

// Puts zeros between the sign and the digits to fill `width` characters.
Text PercentFormat::with_zeros(const Text& number, int64_t width) {
  const bool minus = number.bytes().starts_with('-');
  const Text digits = number.substr(minus, number.size());
  Text padded(minus ? "-" : "", true);
  padded.append(repeat(Text("0", true), width - static_cast<int64_t>(number.size()), budget_));
  padded.append(digits);
  return padded;
}

}  // namespace

Text percent_format(const Text& format, const Value& values, Budget& budget) {
  return PercentFormat(format, values, budget).run();
}

Text brace_format(const Text& format, const std::vector<Value>& positional,
                  const std::vector<std::pair<std::string, Value>>& named, Budget& budget) {
  const std::string& f = format.bytes();
  Text out;
  size_t automatic = 0;
  for (size_t at = 0; at < f.size();) {
    const size_t brace = std::min(f.find_first_of("{}", at), f.size());
    out.append(format, at, brace - at);
    if (brace == f.size()) break;
    budget.step();
    if (brace + 1 < f.size() && f[brace + 1] == f[brace]) {
      out.append(format, brace, 1);
      at = brace + 2;
      continue;
    }
    const size_t close = f.find('}', brace);
    if (f[brace] == '}' || close == std::string::npos) fail("a single brace in a format string");
    const std::string field = f.substr(brace + 1, close - brace - 1);
    const Value* value = nullptr;
    const bool index = field.find_first_not_of("0123456789") == std::string::npos && field.size() < 6;
    if (index) {
      const size_t i = field.empty() ? automatic++ : static_cast<size_t>(std::stoul(field));
      if (i < positional.size()) value = &positional[i];
    } else {
      budget.search(named.size(), field.size());
      for (const auto& [name, candidate] : named) {
        if (name == field) value = &candidate;
      }
    }
    if (!value)
      fail(fmt::format("the format field '{{{}}}' names no argument or is not supported", printable(field)));
    out.append(to_text(*value, budget));
    budget.check_text(out.size());
    at = close + 1;
  }
  budget.make_text(out);
  return out;
}

}  // namespace bitnet::jinja
