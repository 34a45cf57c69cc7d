// The template language of chat templates: parse a template once, render it with variables.
//
// Thread rule: a Template is immutable once constructed; render may be called from any thread.
//
// This is the only header that the room exports; README.md in tokenizer/ says how the rest hangs together.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace bitnet::jinja {

// A variable of a template: None, a boolean, a string, a list or a dict. It holds views, whose bytes must
// outlive the call of render.
struct Input {
  struct String {
    std::string_view bytes;  // any bytes
    bool trusted;            // false for what a message says
  };
  struct Entry;
  using List = std::vector<Input>;
  using Dict = std::vector<Entry>;  // in this order, each key once

  std::variant<std::monostate, bool, String, List, Dict> value;
};

struct Input::Entry {
  std::string_view key;
  Input value;
};

// A stretch of the rendered text that the same side wrote: the template and its trusted variables, or
// untrusted variables, whatever filters they went through.
struct Piece {
  std::string text;
  bool trusted;
};

class Template {
 public:
  // `name` is used in messages only. Throws Error(model) with line and column for what does not parse and for
  // a statement, filter or test that does not exist. A filter or test inside an if is looked up only when it
  // is used: render then throws the same.
  Template(std::string_view source, std::string name);
  ~Template();
  Template(Template&&) noexcept;
  Template& operator=(Template&&) noexcept;

  // The text in order; no piece is empty and neighbours differ in `trusted`. `now` is the Unix time that
  // strftime_now formats, in the process's time zone; -1 means the clock.
  // Throws Error(runtime) for raise_exception and for a type error, Error(model) past a limit of Budget
  // (value.h).
  std::vector<Piece> render(const Input::Dict& variables, int64_t now) const;

 private:
  struct Parsed;
  std::unique_ptr<const Parsed> parsed_;
};

}  // namespace bitnet::jinja
