// What a template may use up: the time, memory and stack that a hostile one takes end at a limit, whatever it
// does. The limits are smaller here than those of a chat, so that sanitized builds need not be patient.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "engine/error.h"
#include "tokenizer/jinja/template.h"

namespace bitnet::jinja {
namespace {

using ::testing::HasSubstr;

constexpr Limits kSmall = {.steps = 500'000, .bytes = size_t{32} << 20, .text = size_t{1} << 20};

std::vector<Piece> render(const std::string& source) {
  const Input::Dict message = {{"content", {Input::String{"hi", false}}}};
  return Template(source, "t").render({{"message", {message}}}, 0, kSmall);
}

void expect_limit(const std::string& source, const std::string& part) {
  try {
    const auto pieces = render(source);
    ADD_FAILURE() << "no error but " << pieces.size() << " pieces from " << source.substr(0, 200);
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::model) << e.what();
    EXPECT_THAT(e.what(), HasSubstr(part)) << source.substr(0, 200);
  }
}

std::string times(const std::string& s, size_t n) {
  std::string out;
  for (size_t i = 0; i < n; ++i) out += s;
  return out;
}

TEST(JinjaLimits, LoopsTextsAndValuesEndAtOne) {
  const char* const steps = "more than 500000 steps";
  const char* const memory = "more than 32 MB of values";
  const char* const text = "a text of more than 1 MB";
  expect_limit("{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}", steps);
  expect_limit("{{ range(100001)|list }}", "Range too big");
  expect_limit("{{ 'x' * 1000000000000 }}", text);
  expect_limit("{{ ('x' * 2000000) ~ ('x' * 2000000) }}", text);
  expect_limit("{{ ('x' * 1000000) ~ ('x' * 100000) }}", text);
  expect_limit("{% for a in range(100) %}{{ 'x' * 100000 }}{% endfor %}", text);
  expect_limit(
      "{% set ns = namespace(l=[]) %}{% for a in range(10000) %}{% set ns.l = ns.l + [('x' * 1000) * 100] "
      "%}{% endfor %}",
      memory);
  expect_limit("{{ [0] * 1000000000 }}", steps);
  expect_limit("{{ [0, 0] * 9223372036854775807 }}", steps);
  expect_limit("{% set s = 'a' * 1000000 %}{% for i in range(100000) %}{{ (s ~ 'b') in s }}{% endfor %}",
               memory);
  expect_limit("{% set s = 'a' * 1000000 %}{{ s.rfind('b' ~ s[:500000]) }}", steps);
  expect_limit("{% set s = 'a' * 1000000 %}{{ s.replace('a', s) }}", text);
  expect_limit("{{ ('a' * 1000000)|list|length }}", memory);
  expect_limit("{{ '%1000000000d' % 1 }}", text);
  expect_limit("{{ 'a'.ljust(1000000000) }}", text);
  expect_limit("{{ ('a\n' * 100000)|indent(1000) }}", text);
  expect_limit("{{ [1]|batch(1000000000, 1)|list }}", steps);
}

TEST(JinjaLimits, DeepAndDoubledValuesEndAtOne) {
  expect_limit("{% set ns = namespace(l=[]) %}{% for a in range(1000) %}{% set ns.l = [ns.l] %}{% endfor %}",
               "deep");
  expect_limit(
      "{% set ns = namespace(l=['x']) %}{% for a in range(90) %}{% set ns.l = [ns.l, ns.l] %}{% endfor %}{{ "
      "ns.l }}",
      "more than");
  expect_limit(
      "{% set ns = namespace(a=['x'], b=['x']) %}{% for a in range(90) %}{% set ns.a = [ns.a, ns.a] %}"
      "{% set ns.b = [ns.b, ns.b] %}{% endfor %}{{ ns.a == ns.b }}",
      "steps");
  expect_limit(
      "{% set ns = namespace(a=('x',)) %}{% for a in range(90) %}{% set ns.a = (ns.a, ns.a) %}{% endfor %}{{ "
      "{ns.a: 1} }}",
      "more than");
}

TEST(JinjaLimits, RecursionAndNestingEndAtOne) {
  expect_limit("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "recurses");
  expect_limit("{% for a in [1] recursive %}{{ loop([1]) }}{% endfor %}", "recurses");
  expect_limit(std::string((1 << 20) + 1, 'x'), "more than the 1 MB");
  expect_limit("{{ (" + times("(", 100000) + "1", "is not closed");
  expect_limit("{{ " + times("(", 100000) + "1" + times(")", 100000) + " }}", "nested");
  expect_limit("{{ " + times("[", 100000) + times("]", 100000) + " }}", "nested");
  expect_limit("{{ " + times("not ", 100000) + "1 }}", "nested");
  expect_limit("{{ " + times("-", 100000) + "1 }}", "nested");
  expect_limit("{{ 1" + times("+1", 100000) + " }}", "nested");
  expect_limit("{{ 1" + times("|string", 100000) + " }}", "nested");
  expect_limit("{{ a" + times(".a", 100000) + " }}", "nested");
  expect_limit("{{ 1" + times(" if 1 else 1", 50000) + " }}", "nested");
  expect_limit(times("{% if 1 %}", 30000) + times("{% endif %}", 30000), "nested");
  expect_limit(times("{% for a in b %}", 20000), "nested");
  expect_limit("{% set " + times("(", 50000) + "a" + times(")", 50000) + " = 1 %}", "nested");
}

// Each of these reads, copies or makes much for a few nodes of the tree.
TEST(JinjaLimits, NoWorkIsFree) {
  for (const char* expression : {"x|length",
                                 "x[5]",
                                 "x[-1]",
                                 "x ~ ''",
                                 "x|truncate(10)",
                                 "x|center(3)",
                                 "x.ljust(3)",
                                 "x.removeprefix('a')",
                                 "x.strip(x)",
                                 "x.rfind('b')",
                                 "x.isalpha()",
                                 "x.isupper()",
                                 "x|wordcount",
                                 "x.startswith((x ~ 'b', x))",
                                 "x|attr(x)",
                                 "[1]|map(attribute=x)|list",
                                 "joiner(x)()",
                                 "{x: 1}",
                                 "'%.1s' % x",
                                 "('%(a).0s' * 10) % {'a': x}",
                                 "('{z}' * 2000).format(z='', **d)",
                                 "('{{' * 2000).format()",
                                 "m(**d)",
                                 "strftime_now('%c' * 400)",
                                 "1e308|round(100)",
                                 "'%.100f' % 1e308",
                                 "('a b ' * 10000).split()"}) {
    SCOPED_TRACE(expression);
    const std::string once =
        "{% macro m() %}{{ kwargs.z }}{% endmacro %}{% set x = 'a' * 100000 %}"
        "{% set d = dict(range(2000)|map('string')|batch(2)) %}{% for i in range(1) %}{% set y = " +
        std::string(expression) + " %}{% endfor %}";
    EXPECT_NO_THROW(render(once));
    std::string often = once;
    often.replace(often.find("range(1)"), 8, "range(2000)");
    expect_limit(often, "the template ");
  }
}

// 180 scopes, each with 7 names that differ from the wanted one in their last bytes alone, which stands
// outside of them all and is looked up so often.
std::string deep_lookups(size_t name_bytes, size_t n_lookups) {
  const std::string prefix(name_bytes - 4, 'a');
  const std::string wanted = prefix + "zzzz";
  std::string opened;
  for (size_t scope = 0; scope < 180; ++scope) {
    opened += "{% with ";
    for (size_t i = 0; i < 7; ++i)
      opened += (i == 0 ? "" : ", ") + prefix + std::to_string(1000 + 7 * scope + i) + "=1";
    opened += " %}";
  }
  return "{% set " + wanted + " = 1 %}" + opened + "{% for i in range(" + std::to_string(n_lookups) +
         ") %}{% if " + wanted + " %}{% endif %}{% endfor %}" + times("{% endwith %}", 180);
}

TEST(JinjaLimits, EachScopeAndTheBytesOfNamesAreCounted) {
  EXPECT_NO_THROW(render(deep_lookups(5, 500)));
  expect_limit(deep_lookups(5, 5000), "more than 500000 steps");
  EXPECT_NO_THROW(render(deep_lookups(256, 50)));
  expect_limit(deep_lookups(256, 500), "more than 500000 steps");

  // Arguments of a macro and of a format by name.
  const std::string prefix(250, 'a');
  std::string params, args, fields;
  for (size_t i = 0; i < 7; ++i) {
    const std::string name = prefix + std::to_string(i);
    params += (i == 0 ? "" : ", ") + name;
    args += (i == 0 ? "" : ", ") + prefix + std::to_string(6 - i) + "=1";
    fields += "{" + name + "}";
  }
  const std::string macro = "{% macro m(" + params + ") %}{% endmacro %}{% for i in range(";
  EXPECT_NO_THROW(render(macro + "300) %}{{ m(" + args + ") }}{% endfor %}"));
  expect_limit(macro + "3000) %}{{ m(" + args + ") }}{% endfor %}", "more than 500000 steps");
  const std::string format = "{% for i in range(";
  EXPECT_NO_THROW(render(format + "300) %}{% set x = '" + fields + "'.format(" + args + ") %}{% endfor %}"));
  expect_limit(format + "3000) %}{% set x = '" + fields + "'.format(" + args + ") %}{% endfor %}",
               "more than 500000 steps");
}

TEST(JinjaLimits, WhatIsKeptIsCounted) {
  expect_limit("{% set l = ['a' * 1000000] * 5000 %}{% set m = l|map('upper')|list %}", "more than");
  expect_limit("{{ ('a' * 1000000).split('a')|length }}", "32 MB");
  expect_limit("{{ ('a\n' * 400000).splitlines()|length }}", "more than");
  expect_limit("{% set l = range(50000)|list %}{{ (l * 2)|batch(1)|list|length }}", "32 MB");
  expect_limit("{{ [[[1]]]|tojson(indent='a' * 1000000) }}", "1 MB");
  // A text whose writers alternate takes more than its bytes.
  expect_limit(
      "{% set x = ('a' ~ message.content) * 340000 %}{% set l = [x + '', x + '', x + '', x + '', x + ''] %}",
      "32 MB");
  expect_limit("{{ " + times("a", 257) + " }}", "a name of more than 256 bytes");
}

}  // namespace
}  // namespace bitnet::jinja
