// Tests, as in `x is defined`. find_test lists them all.
#include <map>

#include "builtins.h"

namespace bitnet::jinja {
namespace {

template <Kind kind>
bool is_kind(Runtime&, const Value& v, const Args& args) {
  const Bound none(args, "this test", {});
  return v.is(kind);
}

template <int64_t remainder>
bool test_parity(Runtime& rt, const Value& v, const Args& args) {
  const Bound none(args, "this test", {});
  return equal(binary("%", v, Value::integer(2), rt.budget), Value::integer(remainder), rt.budget);
}

// True if there are letters with case and all of them are upper (or lower) case.
template <bool upper_wanted>
bool test_case(Runtime& rt, const Value& v, const Args&) {
  const Text text = to_text(v, rt.budget);
  rt.budget.walk(text.size());
  bool some = false;
  for (size_t at = 0; at < text.size();) {
    const Char c = char_at(text.bytes(), at);
    if (upper_wanted ? is_lower(c.code) : is_upper(c.code)) return false;
    some = some || (upper_wanted ? is_upper(c.code) : is_lower(c.code));
    at += c.length;
  }
  return some;
}

template <bool wanted>
bool test_equal(Runtime& rt, const Value& v, const Args& args) {
  return equal(v, Bound(args, "this test", {"other"}).need(0), rt.budget) == wanted;
}

template <int sign, bool or_equal>
bool test_order(Runtime& rt, const Value& v, const Args& args) {
  const char* op = sign < 0 ? (or_equal ? "<=" : "<") : (or_equal ? ">=" : ">");
  const int result = order(v, Bound(args, "this test", {"other"}).need(0), op, rt.budget);
  return result == sign || (or_equal && result == 0);
}

using Plain = bool (*)(const Value&);

template <Plain function>
bool plain(Runtime&, const Value& v, const Args& args) {
  const Bound none(args, "this test", {});
  return function(v);
}

bool is_iterable(const Value& v) {
  return v.is(Kind::string) || v.is_sequence() || v.is(Kind::dict) || v.is(Kind::range) ||
         v.is(Kind::iterator) || v.is(Kind::undefined) || v.is(Kind::loop);
}
bool is_sequence(const Value& v) {
  return v.is(Kind::string) || v.is_sequence() || v.is(Kind::dict) || v.is(Kind::range) ||
         v.is(Kind::undefined);
}
bool is_callable(const Value& v) {
  return v.is(Kind::macro) || v.is(Kind::function) || v.is(Kind::method) || v.is(Kind::loop) ||
         v.is(Kind::joiner) || v.is(Kind::undefined);
}
bool is_defined(const Value& v) { return !v.is(Kind::undefined); }
bool is_number(const Value& v) { return v.is_number(); }
bool is_true(const Value& v) { return v.is(Kind::boolean) && v.as_integer() != 0; }
bool is_false(const Value& v) { return v.is(Kind::boolean) && v.as_integer() == 0; }
bool is_filter_name(const Value& v) { return v.is(Kind::string) && find_filter(v.text().bytes()); }
bool is_test_name(const Value& v) { return v.is(Kind::string) && find_test(v.text().bytes()); }
bool is_escaped(const Value&) { return false; }

bool test_in(Runtime& rt, const Value& v, const Args& args) {
  return contains(Bound(args, "in", {"seq"}).need(0), v, rt.budget);
}
bool test_sameas(Runtime&, const Value& v, const Args& args) {
  return v.same_object(Bound(args, "sameas", {"other"}).need(0));
}
bool test_divisible(Runtime& rt, const Value& v, const Args& args) {
  return equal(binary("%", v, Bound(args, "divisibleby", {"num"}).need(0), rt.budget), Value::integer(0),
               rt.budget);
}

}  // namespace

Test find_test(std::string_view name) {
  static const std::map<std::string_view, Test> kTests = {
      {"!=", test_equal<false>},
      {"<", test_order<-1, false>},
      {"<=", test_order<-1, true>},
      {"==", test_equal<true>},
      {">", test_order<1, false>},
      {">=", test_order<1, true>},
      {"boolean", is_kind<Kind::boolean>},
      {"callable", plain<is_callable>},
      {"defined", plain<is_defined>},
      {"divisibleby", test_divisible},
      {"eq", test_equal<true>},
      {"equalto", test_equal<true>},
      {"escaped", plain<is_escaped>},
      {"even", test_parity<0>},
      {"false", plain<is_false>},
      {"filter", plain<is_filter_name>},
      {"float", is_kind<Kind::real>},
      {"ge", test_order<1, true>},
      {"greaterthan", test_order<1, false>},
      {"gt", test_order<1, false>},
      {"in", test_in},
      {"integer", is_kind<Kind::integer>},
      {"iterable", plain<is_iterable>},
      {"le", test_order<-1, true>},
      {"lessthan", test_order<-1, false>},
      {"lower", test_case<false>},
      {"lt", test_order<-1, false>},
      {"mapping", is_kind<Kind::dict>},
      {"ne", test_equal<false>},
      {"none", is_kind<Kind::none>},
      {"number", plain<is_number>},
      {"odd", test_parity<1>},
      {"sameas", test_sameas},
      {"sequence", plain<is_sequence>},
      {"string", is_kind<Kind::string>},
      {"test", plain<is_test_name>},
      {"true", plain<is_true>},
      {"undefined", is_kind<Kind::undefined>},
      {"upper", test_case<true>},
  };
  const auto it = kTests.find(name);
  return it == kTests.end() ? nullptr : it->second;
}

}  // namespace bitnet::jinja
