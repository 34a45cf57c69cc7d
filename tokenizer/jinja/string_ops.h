// Python's string methods over Text. Thread rule: these are free functions; a Budget belongs to one render.
#pragma once

#include "value.h"

namespace bitnet::jinja {

Text upper(const Text& s, Budget& budget);
Text lower(const Text& s, Budget& budget);
Text capitalize(const Text& s, Budget& budget);
Text title(const Text& s, Budget& budget);  // str.title
// The filter `title` of jinja2, for which a word begins after white space, '-' or an opening bracket.
Text title_filter(const Text& s, Budget& budget);
// Strips the characters in `chars`, or white space if it is null.
Text strip(const Text& s, const Text* chars, bool left, bool right, Budget& budget);
// Replaces the first `count` occurrences, or all if it is negative.
Text replace(const Text& s, const Text& old, const Text& by, int64_t count, Budget& budget);
// Fails for an item that is not a string if `strict`; otherwise joins what str() gives.
Text join(const Text& separator, const std::vector<Value>& items, bool strict, Budget& budget);
Text repeat(const Text& s, int64_t times, Budget& budget);
Text pad(const Text& s, int64_t width, int align, Budget& budget);  // align -1 left, 0 centre, 1 right
Text reversed(const Text& s, Budget& budget);
// Splits at `separator`, or at runs of white space if it is null. At most `max` cuts unless it is negative.
Value split(const Text& s, const Text* separator, int64_t max, bool from_right, Budget& budget);
Value split_lines(const Text& s, bool keep_ends, Budget& budget);
// format % values, and format.format(values); both are in string_format.cpp.
Text percent_format(const Text& format, const Value& values, Budget& budget);
Text brace_format(const Text& format, const std::vector<Value>& positional,
                  const std::vector<std::pair<std::string, Value>>& named, Budget& budget);

// Returns the last occurrence that ends at or before `end`, or npos.
size_t rfind_bytes(std::string_view s, std::string_view needle, size_t end, Budget& budget);

}  // namespace bitnet::jinja
