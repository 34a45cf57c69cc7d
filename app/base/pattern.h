// A regular expression of a script: PCRE2, UTF-8, multi-line.
// Thread rule: belongs to one thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace bitnet {

class Pattern {
 public:
  explicit Pattern(const std::string& expression);  // throws Error(usage) that says where it is wrong
  ~Pattern();
  Pattern(Pattern&&) noexcept;

  // Invalid UTF-8 in `text` matches nothing and does no harm. Throws Error(runtime) instead of searching for
  // ever.
  bool found_in(std::string_view text) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace bitnet
