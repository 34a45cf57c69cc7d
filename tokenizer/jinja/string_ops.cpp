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
  budget.make_text(s.size());
  Text out;
  for (size_t at = 0; at < s.size();) {
    const Char c = char_at(s.bytes(), at);
    out.append(map(c.code), s.trusted_at(at));
    at += c.length;
  }
  return out;
}

std::vector<Text> split_at_space(const Text& s, int64_t max, bool from_right) {
  struct Word {
    size_t from, to;
  };
  std::vector<Word> words;
  for (size_t at = 0; at < s.size();) {
    const Char c = char_at(s.bytes(), at);
    const bool begins = words.empty() || words.back().to != at;
    if (!is_space(c.code)) {
      if (begins) words.push_back({at, at});
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
    for (size_t at = 0; at < chars->size(); at += char_at(chars->bytes(), at).length) {
      set.push_back(char_at(chars->bytes(), at).code);
    }
    std::sort(set.begin(), set.end());
  }
  const auto goes = [&](uint32_t c) {
    return chars ? std::binary_search(set.begin(), set.end(), c) : is_space(c);
  };
  const std::vector<size_t> starts = char_starts(s.bytes());
  size_t first = 0, last = starts.size() - 1;
  while (left && first < last && goes(char_at(s.bytes(), starts[first]).code)) ++first;
  while (right && last > first && goes(char_at(s.bytes(), starts[last - 1]).code)) --last;
  budget.make_text(starts[last] - starts[first]);
  return s.substr(starts[first], starts[last] - starts[first]);
}

Text replace(const Text& s, const Text& old, const Text& by, int64_t count, Budget& budget) {
  budget.scan(s.size() + old.size());
  Text out;
  const bool trusted = s.all_trusted();
  size_t at = 0, made = 0;
  const auto put = [&](const Text& text, size_t from, size_t n) {
    out.append(text, from, n);
    if (out.size() > Budget::kMaxText) budget.make_text(out.size());
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
  budget.make_text(out.size());
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
    if (out.size() > Budget::kMaxText) budget.make_text(out.size());
  }
  return out;
}

Text repeat(const Text& s, int64_t times, Budget& budget) {
  Text out;
  if (times <= 0 || s.empty()) return out;
  if (static_cast<uint64_t>(times) > Budget::kMaxText) budget.make_text(Budget::kMaxText + 1);
  budget.make_text(s.size() * static_cast<size_t>(times));
  budget.step(static_cast<size_t>(times) / 16);
  for (int64_t i = 0; i < times; ++i) out.append(s);
  return out;
}

Text pad(const Text& s, int64_t width, int align, Budget& budget) {
  const int64_t missing = width - static_cast<int64_t>(char_count(s.bytes()));
  if (missing <= 0) return s;
  const int64_t left = align < 0 ? 0 : align > 0 ? missing : missing / 2 + (missing & width & 1);
  const Text blank(" ", true);
  Text out = repeat(blank, left, budget);
  out.append(s);
  out.append(repeat(blank, missing - left, budget));
  return out;
}

Text reversed(const Text& s, Budget& budget) {
  budget.make_text(s.size());
  const std::vector<size_t> starts = char_starts(s.bytes());
  Text out;
  for (size_t i = starts.size() - 1; i > 0; --i) out.append(s, starts[i - 1], starts[i] - starts[i - 1]);
  return out;
}

size_t rfind_bytes(std::string_view s, std::string_view needle, size_t end, Budget& budget) {
  if (needle.size() > end) return kNone;
  budget.step(1 + end / 64 * (1 + needle.size() / 16));
  return s.rfind(needle, end - needle.size());
}

Value split(const Text& s, const Text* separator, int64_t max, bool from_right, Budget& budget) {
  budget.make(s.size());
  budget.scan(s.size());
  std::vector<Text> parts;
  if (!separator) {
    parts = split_at_space(s, max, from_right);
  } else {
    if (separator->empty()) fail("empty separator");
    const auto more = [&] { return max < 0 || static_cast<int64_t>(parts.size()) < max; };
    if (from_right) {
      size_t end = s.size();
      while (more()) {
        const size_t hit = rfind_bytes(s.bytes(), separator->bytes(), end, budget);
        if (hit == kNone) break;
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
        budget.step();
        parts.push_back(s.substr(at, hit - at));
        at = hit + separator->size();
      }
      parts.push_back(s.substr(at, s.size()));
    }
  }
  budget.make(parts.size() * 4 * sizeof(Value));
  std::vector<Value> items;
  items.reserve(parts.size());
  for (Text& part : parts) items.push_back(Value::string(std::move(part)));
  return Value::list(std::move(items));
}

Value split_lines(const Text& s, bool keep_ends, Budget& budget) {
  budget.make(s.size() * 4);
  std::vector<Value> lines;
  size_t start = 0;
  for (size_t at = 0; at < s.size();) {
    const Char c = char_at(s.bytes(), at);
    size_t after = at + c.length;
    if (is_line_break(c.code)) {
      if (c.code == '\r' && after < s.size() && s.bytes()[after] == '\n') ++after;
      budget.make(4 * sizeof(Value));
      lines.push_back(Value::string(s.substr(start, (keep_ends ? after : at) - start)));
      start = after;
    }
    at = after;
  }
  if (start < s.size()) lines.push_back(Value::string(s.substr(start, s.size())));
  return Value::list(std::move(lines));
}

}  // namespace bitnet::jinja
