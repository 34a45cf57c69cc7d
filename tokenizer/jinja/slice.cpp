// Slices by Python's rules: subject[start:stop:step].
#include <fmt/format.h>

#include <algorithm>

#include "builtins.h"

namespace bitnet::jinja {
namespace {

// Names `count` elements of a sequence: from, from + by, from + 2 * by, ... None lies outside it.
struct Stride {
  int64_t from, to, by;
  size_t count;

  size_t index(size_t i) const { return static_cast<size_t>(from + static_cast<int64_t>(i) * by); }
};

bool given(const Value* bound) { return bound && !bound->is(Kind::none); }

Stride stride(int64_t length, const Value* start, const Value* stop, const Value* step) {
  const int64_t by = given(step) ? std::max(step->as_integer(), -INT64_MAX) : 1;
  if (by == 0) fail("slice step cannot be zero");
  const auto clip = [&](int64_t i) {
    if (i < 0) i = std::max(i, -length - 1) + length;
    return by > 0 ? std::clamp<int64_t>(i, 0, length) : std::clamp<int64_t>(i, -1, length - 1);
  };
  const int64_t from = given(start) ? clip(start->as_integer()) : by > 0 ? 0 : length - 1;
  const int64_t to = given(stop) ? clip(stop->as_integer()) : by > 0 ? length : -1;
  const uint64_t size = static_cast<uint64_t>(by > 0 ? by : -by);
  const int64_t span = by > 0 ? to - from : from - to;
  const size_t count = span <= 0 ? 0 : static_cast<size_t>((static_cast<uint64_t>(span) + size - 1) / size);
  return {from, to, by, count};
}

Value slice_text(const Text& text, const Stride& s, Budget& budget) {
  budget.walk(text.size());
  const std::vector<size_t> starts = char_starts(text.bytes());
  if (s.by == 1) {
    const size_t begin = starts[static_cast<size_t>(s.from)], end = starts[s.index(s.count)];
    budget.make_text(end - begin, text.runs().size());
    return Value::string(text.substr(begin, end - begin));
  }
  budget.make_text(text);
  Text out;
  for (size_t i = 0; i < s.count; ++i)
    out.append(text, starts[s.index(i)], starts[s.index(i) + 1] - starts[s.index(i)]);
  return Value::string(std::move(out));
}

Value slice_range(const RangeObject& range, const Stride& s) {
  const auto overflow = [] { fail("the result of 'slice of a range' does not fit into 64 bits"); };
  const auto at = [&](int64_t i) {
    int64_t value = 0;
    if (__builtin_mul_overflow(i, range.step, &value) || __builtin_add_overflow(range.start, value, &value))
      overflow();
    return value;
  };
  int64_t step = 0;
  if (__builtin_mul_overflow(s.by, range.step, &step)) overflow();
  return make_range(at(s.from), at(s.to), step);
}

}  // namespace

Value slice(const Value& subject, const Value* start, const Value* stop, const Value* step, Budget& budget) {
  if (subject.is(Kind::undefined)) fail_undefined(subject);
  if (!subject.is(Kind::string) && !subject.is_sequence() && !subject.is(Kind::range)) {
    return Value::undefined(fmt::format("{} cannot be sliced", subject_name(subject)));
  }
  for (const Value* bound : {start, stop, step}) {
    if (given(bound) && !bound->is_integral())
      return Value::undefined("slice indices must be integers or None");
  }
  const Stride s = stride(*length_of(subject, budget), start, stop, step);
  budget.step(s.count / 16 + 1);
  if (subject.is(Kind::string)) return slice_text(subject.text(), s, budget);
  if (subject.is(Kind::range)) return slice_range(subject.as<RangeObject>(), s);
  budget.make(Budget::kPerObject + s.count * sizeof(Value));
  std::vector<Value> items;
  items.reserve(s.count);
  for (size_t i = 0; i < s.count; ++i) items.push_back(subject.items()[s.index(i)]);
  return subject.is(Kind::list) ? Value::list(std::move(items)) : Value::tuple(std::move(items));
}

}  // namespace bitnet::jinja
