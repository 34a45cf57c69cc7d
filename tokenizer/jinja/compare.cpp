// Equality, order and hashing of values by Python's rules.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "value.h"

namespace bitnet::jinja {

bool equal(const Value& a, const Value& b, Budget& budget) {
  budget.step();
  if (a.is_number() && b.is_number()) {
    if (a.is_integral() && b.is_integral()) return a.as_integer() == b.as_integer();
    return a.as_real() == b.as_real();
  }
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::undefined:
    case Kind::none:
      return true;
    case Kind::string:
      if (a.text().size() != b.text().size()) return false;
      budget.scan(a.text().size());
      return a.text().bytes() == b.text().bytes();
    case Kind::list:
    case Kind::tuple: {
      if (a.items().size() != b.items().size()) return false;
      for (size_t i = 0; i < a.items().size(); ++i) {
        if (!equal(a.items()[i], b.items()[i], budget)) return false;
      }
      return true;
    }
    case Kind::dict: {
      const DictObject &x = a.as<DictObject>(), &y = b.as<DictObject>();
      if (x.items.size() != y.items.size()) return false;
      for (const auto& [key, value] : x.items) {
        const Value* other = y.find(key, budget);
        if (!other || !equal(value, *other, budget)) return false;
      }
      return true;
    }
    case Kind::range: {
      const RangeObject &x = a.as<RangeObject>(), &y = b.as<RangeObject>();
      if (x.length != y.length || x.length == 0) return x.length == y.length;
      return x.start == y.start && (x.length == 1 || x.step == y.step);
    }
    default:
      return a.same_object(b);
  }
}

int order(const Value& a, const Value& b, const char* op, Budget& budget) {
  budget.step();
  const auto sign = [](auto x, auto y) { return x < y ? -1 : x > y ? 1 : x == y ? 0 : 2; };
  if (a.is(Kind::undefined)) fail_undefined(a);
  if (b.is(Kind::undefined)) fail_undefined(b);
  if (a.is_integral() && b.is_integral()) return sign(a.as_integer(), b.as_integer());
  if (a.is_number() && b.is_number()) return sign(a.as_real(), b.as_real());
  if (a.is(Kind::string) && b.is(Kind::string)) {
    budget.scan(std::min(a.text().size(), b.text().size()));
    // UTF-8 sorts in the order of its code points.
    return sign(a.text().bytes().compare(b.text().bytes()), 0);
  }
  if (a.is_sequence() && a.kind() == b.kind()) {
    const size_t n = std::min(a.items().size(), b.items().size());
    for (size_t i = 0; i < n; ++i) {
      if (!equal(a.items()[i], b.items()[i], budget)) return order(a.items()[i], b.items()[i], op, budget);
    }
    return sign(a.items().size(), b.items().size());
  }
  fail(fmt::format("'{}' not supported between instances of '{}' and '{}'", op, type_name(a), type_name(b)));
}

std::string hash_key(const Value& v, Budget& budget) {
  budget.step();
  switch (v.kind()) {
    case Kind::string:
      budget.scan(v.text().size());
      return fmt::format("s{}", v.text().bytes());
    case Kind::boolean:
    case Kind::integer:
      return fmt::format("n{}", v.as_integer());
    case Kind::real: {
      const double d = v.as_real();
      if (std::abs(d) < 9e18 && d == std::floor(d)) return fmt::format("n{}", static_cast<int64_t>(d));
      return fmt::format("f{}", real_repr(d));
    }
    case Kind::none:
      return "0";
    case Kind::undefined:
      return "u";
    case Kind::tuple: {
      std::string key = "t";
      for (const Value& item : v.items()) {
        const std::string inner = hash_key(item, budget);
        budget.make_text(key.size() + inner.size());
        key += fmt::format("{}:{}", inner.size(), inner);
      }
      return key;
    }
    case Kind::list:
    case Kind::dict:
      fail(fmt::format("unhashable type: '{}'", type_name(v)));
    default:
      return fmt::format("o{}", static_cast<const void*>(&v.as<Object>()));
  }
}

}  // namespace bitnet::jinja
