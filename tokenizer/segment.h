// A piece of a prompt that remembers where it came from. Thread rule: a plain value.
#pragma once

#include <string>

namespace bitnet {

struct Segment {
  std::string text;
  bool parse_special = false;  // true only for text of the template itself, never for what a user typed

  bool operator==(const Segment&) const = default;
};

}  // namespace bitnet
