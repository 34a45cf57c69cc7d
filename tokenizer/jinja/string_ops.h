// Python's string methods over Text. Thread rule: pure functions, but for the Budget they draw on.
#pragma once

#include "value.h"

namespace bitnet::jinja {

Text upper(const Text& s, Budget& budget);
Text lower(const Text& s, Budget& budget);
Text capitalize(const Text& s, Budget& budget);
Text title(const Text& s, Budget& budget);         // str.title
Text title_filter(const Text& s, Budget& budget);  // jinja2's, which looks for blanks and brackets
Text strip(const Text& s, const Text* chars, bool left, bool right,
           Budget& budget);  // null chars: white space
Text replace(const Text& s, const Text& old, const Text& by, int64_t count,
             Budget& budget);  // count < 0: all
Text join(const Text& separator, const std::vector<Value>& items, bool strict, Budget& budget);
Text repeat(const Text& s, int64_t times, Budget& budget);
Text pad(const Text& s, int64_t width, int align, Budget& budget);  // align -1 left, 0 centre, 1 right
Text reversed(const Text& s, Budget& budget);
Value split(const Text& s, const Text* separator, int64_t max, bool from_right, Budget& budget);
Value split_lines(const Text& s, bool keep_ends, Budget& budget);
Text percent_format(const Text& format, const Value& values, Budget& budget);  // format % values
Text brace_format(const Text& format, const std::vector<Value>& positional,
                  const std::vector<std::pair<std::string, Value>>& named, Budget& budget);

// Last occurrence that ends at or before `end`, npos where there is none.
size_t rfind_bytes(std::string_view s, std::string_view needle, size_t end, Budget& budget);

}  // namespace bitnet::jinja
