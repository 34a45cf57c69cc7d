// A piece of a prompt that knows where it came from. Thread rule: this is a plain value.
#pragma once

#include <string>

namespace bitnet {

struct Segment {
  std::string text;
  bool parse_special = false;  // whether special tokens are recognised; never so in what a user typed

  bool operator==(const Segment&) const = default;
};

}  // namespace bitnet
