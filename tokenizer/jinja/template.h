// The language of chat templates: a template is parsed once and rendered with variables.
//
// Thread rule: a Template is immutable once constructed; render may be called from any thread.
//
// This is the only header that the room exports. tokenizer/README.md describes the rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace bitnet::jinja {

// The value of a variable: None (monostate), a boolean, a string, a list or a dict. It holds views; their
// bytes must outlive the call of render.
struct Input {
  struct String {
    std::string_view bytes;  // any bytes
    bool trusted;            // false for text of a message
  };
  struct Entry;
  using List = std::vector<Input>;
  using Dict = std::vector<Entry>;  // in order; no key comes twice

  std::variant<std::monostate, bool, String, List, Dict> value;
};

struct Input::Entry {
  std::string_view key;
  Input value;
};

// A stretch of the rendered text that is trusted (it stems from the template or a trusted variable) or not
// (it stems from an untrusted variable, whatever filters that went through).
struct Piece {
  std::string text;
  bool trusted;
};

// What one render may use up. budget.h says what a step is. The defaults are far from what any chat takes,
// and tests of these limits take less.
struct Limits {
  size_t steps = 10'000'000;
  size_t bytes = size_t{256} << 20;  // made in total, freed or not
  size_t text = size_t{8} << 20;     // bytes of one string, and of the prompt
};

class Template {
 public:
  // `name` is used in messages only. Throws Error(model) with line and column for what does not parse and for
  // a statement, filter or test that does not exist. A filter or test inside an if is looked up only when it
  // is used, so there it is render that throws.
  Template(std::string_view source, std::string name);
  ~Template();
  Template(Template&&) noexcept;
  Template& operator=(Template&&) noexcept;

  // Returns the text in order. No piece is empty, and neighbours differ in `trusted`. `now` is the Unix time
  // that strftime_now formats in the time zone of the process; -1 is the clock. Throws Error(runtime) for
  // raise_exception and for a type error, and Error(model) past a limit.
  std::vector<Piece> render(const Input::Dict& variables, int64_t now, const Limits& limits = {}) const;

 private:
  struct Parsed;
  std::unique_ptr<const Parsed> parsed_;
};

}  // namespace bitnet::jinja
