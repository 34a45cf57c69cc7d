#include "string_ops.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "builtins.h"

namespace bitnet::jinja {
namespace {

constexpr size_t kNone = std::string_view::npos;

// Maps each character. The result of a character is trusted if the character was.
template <typename Map>
Text map_chars(const Text& s, Budget& budget, Map map) {
  budget.walk(s.size());
  budget.make_text(s);
  Text out;
  Writers writers(s);
  for (size_t at = 0; at < s.size();) {
    const Char c = char_at(s.bytes(), at);
    out.append(map(c.code), writers.trusted_at(at));
    at += c.length;
  }
  return out;
}

// Before a part of a string is cut off, which becomes a string of its own.
void make_part(Budget& budget) {
  budget.step();
  budget.make(2 * Budget::kPerObject);
}

std::vector<Text> split_at_space(const Text& s, int64_t max, bool from_right, Budget& budget) {
  struct Word {
    size_t from, to;
  };
  std::vector<Word> words;
  for (size_t at = 0; at < s.size();) {
    const Char c = char_at(s.bytes(), at);
    const bool begins = words.empty() || words.back().to != at;
    if (!is_space(c.code)) {
      if (begins) {
        make_part(budget);
        words.push_back({at, at});
      }
      words.back().to = at + c.length;
    }
    at += c.length;
  }
  std::vector<Text> parts;
  const size_t cuts = max < 0 ? words.size() : static_cast<size_t>(max);
  if (words.size() <= cuts + (cuts < words.size() ? 1 : 0)) {
    for (const Word& w : words) parts.push_back(s.substr(w.from, w.to - w.from));
  } else if (from_right) {  // what is not split keeps its white space
    const size_t kept = words.size() - cuts;
    parts.push_back(s.substr(0, words[kept - 1].to));
    for (size_t i = kept; i < words.size(); ++i)
      parts.push_back(s.substr(words[i].from, words[i].to - words[i].from));
  } else {
    for (size_t i = 0; i < cuts; ++i) parts.push_back(s.substr(words[i].from, words[i].to - words[i].from));
    parts.push_back(s.substr(words[cuts].from, s.size()));
  }
  return parts;
}

}  // namespace

Text upper(const Text& s, Budget& budget) { return map_chars(s, budget, to_upper); }
Text lower(const Text& s, Budget& budget) { return map_chars(s, budget, to_lower); }

Text capitalize(const Text& s, Budget& budget) {
  bool first = true;
  return map_chars(s, budget,
                   [&](uint32_t c) { return std::exchange(first, false) ? to_upper(c) : to_lower(c); });
}

Text title(const Text& s, Budget& budget) {
  bool inside = false;
  return map_chars(s, budget, [&](uint32_t c) {
    const bool was_inside = std::exchange(inside, is_upper(c) || is_lower(c));
    return was_inside ? to_lower(c) : to_upper(c);
  });
}

Text title_filter(const Text& s, Budget& budget) {
  bool inside = false;
  return map_chars(s, budget, [&](uint32_t c) {
    const bool was_inside = inside;
    inside = !(c == '-' || c == '(' || c == '{' || c == '[' || c == '<' || is_space(c));
    return was_inside ? to_lower(c) : to_upper(c);
  });
}

Text strip(const Text& s, const Text* chars, bool left, bool right, Budget& budget) {
  budget.scan(s.size());
  std::vector<uint32_t> set;
  if (chars) {
    budget.step(chars->size());
    budget.make(chars->size() * sizeof(uint32_t));
    for (size_t at = 0; at < chars->size(); at += char_at(chars->bytes(), at).length) {
      set.push_back(char_at(chars->bytes(), at).code);
    }
    std::sort(set.begin(), set.end());
  }
  const auto goes = [&](uint32_t c) {
    return chars ? std::binary_search(set.begin(), set.end(), c) : is_space(c);
  };
  size_t first = 0, last = s.size();
  while (left && first < last) {
    const Char c = char_at(s.bytes(), first);
    if (!goes(c.code)) break;
    first += c.length;
  }
  while (right && last > first) {
    const Char c = char_before(s.bytes(), last);
    if (!goes(c.code)) break;
    last -= c.length;
  }
  budget.walk(s.size() - (last - first));
  budget.make_text(last - first, s.runs().size());
  return s.substr(first, last - first);
}

Text replace(const Text& s, const Text& old, const Text& by, int64_t count, Budget& budget) {
  budget.scan(s.size() + old.size());
  Text out;
  const bool trusted = s.all_trusted();
  size_t at = 0, made = 0;
  const auto put = [&](const Text& text, size_t from, size_t n) {
    out.append(text, from, n);
    budget.check_text(out.size());
  };
  for (; count < 0 || static_cast<int64_t>(made) < count; ++made) {
    budget.step();
    size_t hit = at;
    if (old.empty()) {  // an empty string is found before every character and at the end
      if (made > 0) {
        if (at >= s.size()) break;
        hit = at + char_at(s.bytes(), at).length;
      }
    } else {
      hit = find_bytes(s.bytes(), old.bytes(), at);
      if (hit == kNone) break;
    }
    put(s, at, hit - at);
    if (s.substr(hit, old.size()).all_trusted() && (!old.empty() || trusted)) {
      put(by, 0, by.size());
    } else {  // what replaces a part of a message is not trusted either
      put(Text(by.bytes(), false), 0, by.size());
    }
    at = hit + old.size();
  }
  put(s, at, s.size() - at);
  budget.make_text(out);
  return out;
}

Text join(const Text& separator, const std::vector<Value>& items, bool strict, Budget& budget) {
  Text out;
  for (size_t i = 0; i < items.size(); ++i) {
    if (strict && !items[i].is(Kind::string)) {
      fail(fmt::format("sequence item {}: expected str instance, {} found", i, type_name(items[i])));
    }
    if (i > 0) out.append(separator);
    const Text text = to_text(items[i], budget);
    budget.make(text.size() + separator.size());
    out.append(text);
    budget.check_text(out.size());
  }
  budget.make_text(out);
  return out;
}

Text repeat(const Text& s, int64_t times, Budget& budget) {
  Text out;
  if (times <= 0 || s.empty()) return out;
  const auto n = static_cast<size_t>(times);
  budget.check_text(n);
  budget.make_text(s.size() * n, s.runs().size() * n);
  if (s.runs().size() == 1) {
    std::string bytes = s.bytes();
    bytes.reserve(s.size() * n);
    while (bytes.size() < s.size() * n) bytes.append(bytes, 0, s.size() * n - bytes.size());
    return {bytes, s.all_trusted()};
  }
  for (size_t i = 0; i < n; ++i) out.append(s);
  return out;
}

Text pad(const Text& s, int64_t width, int align, Budget& budget) {
  budget.make_text(s);
  budget.scan(s.size());
  const int64_t missing = width <= 0 ? 0 : width - static_cast<int64_t>(char_count(s.bytes()));
  if (missing <= 0) return s;
  const int64_t left = align < 0 ? 0 : align > 0 ? missing : missing / 2 + (missing & width & 1);
  const Text blank(" ", true);
  Text out = repeat(blank, left, budget);
  out.append(s);
  out.append(repeat(blank, missing - left, budget));
  budget.make_text(out);
  return out;
}

Text reversed(const Text& s, Budget& budget) {
  budget.walk(s.size());
  budget.make_text(s);
  const std::vector<size_t> starts = char_starts(s.bytes());
  Text out;
  for (size_t i = starts.size() - 1; i > 0; --i) out.append(s, starts[i - 1], starts[i] - starts[i - 1]);
  return out;
}

size_t rfind_bytes(std::string_view s, std::string_view needle, size_t end, Budget& budget) {
  if (needle.size() > end) return kNone;
  // Each place is compared anew.
  const size_t cost = 1 + needle.size() / 64;
  if (cost > 1) budget.step(end / 16 * cost);
  const size_t hit = s.rfind(needle, end - needle.size());
  budget.step(1 + (end - (hit == kNone ? 0 : hit)) / 16);
  return hit;
}

Value split(const Text& s, const Text* separator, int64_t max, bool from_right, Budget& budget) {
  budget.make_text(s);
  budget.scan(s.size());
  std::vector<Text> parts;
  if (!separator) {
    budget.walk(s.size());
    parts = split_at_space(s, max, from_right, budget);
  } else {
    if (separator->empty()) fail("empty separator");
    const auto more = [&] { return max < 0 || static_cast<int64_t>(parts.size()) < max; };
    if (from_right) {
      size_t end = s.size();
      while (more()) {
        const size_t hit = rfind_bytes(s.bytes(), separator->bytes(), end, budget);
        if (hit == kNone) break;
        make_part(budget);
        parts.push_back(s.substr(hit + separator->size(), end - hit - separator->size()));
        end = hit;
      }
      parts.push_back(s.substr(0, end));
      std::reverse(parts.begin(), parts.end());
    } else {
      size_t at = 0;
      while (more()) {
        const size_t hit = find_bytes(s.bytes(), separator->bytes(), at);
        if (hit == kNone) break;
        make_part(budget);
        parts.push_back(s.substr(at, hit - at));
        at = hit + separator->size();
      }
      parts.push_back(s.substr(at, s.size()));
    }
  }
  std::vector<Value> items;
  items.reserve(parts.size());
  for (Text& part : parts) items.push_back(Value::string(std::move(part)));
  return Value::list(std::move(items));
}

Value split_lines(const Text& s, bool keep_ends, Budget& budget) {
  budget.walk(s.size());
  budget.make_text(s);
  std::vector<Value> lines;
  size_t start = 0;
  for (size_t at = 0; at < s.size();) {
    const Char c = char_at(s.bytes(), at);
    size_t after = at + c.length;
    if (is_line_break(c.code)) {
      if (c.code == '\r' && after < s.size() && s.bytes()[after] == '\n') ++after;
      make_part(budget);
      lines.push_back(Value::string(s.substr(start, (keep_ends ? after : at) - start)));
      start = after;
    }
    at = after;
  }
  if (start < s.size()) lines.push_back(Value::string(s.substr(start, s.size())));
  return Value::list(std::move(lines));
}

}  // namespace bitnet::jinja
