#include "arguments.h"

#include <fmt/format.h>

#include <algorithm>

namespace bitnet::jinja {

Bound::Bound(const Args& args, std::string_view callee, std::initializer_list<const char*> names)
    : callee_(callee), names_(names), values_(names.size(), nullptr) {
  if (args.positional.size() > names.size()) {
    fail(fmt::format("{} takes at most {} argument(s), {} are given", callee_, names.size(),
                     args.positional.size()));
  }
  for (size_t i = 0; i < args.positional.size(); ++i) values_[i] = &args.positional[i];
  for (const auto& [key, value] : args.named) {
    const auto it = std::find(names_.begin(), names_.end(), key);
    if (it == names_.end()) fail(fmt::format("{} has no argument '{}'", callee_, printable(key)));
    const Value*& slot = values_[static_cast<size_t>(it - names_.begin())];
    if (slot) fail(fmt::format("{} gets its argument '{}' twice", callee_, key));
    slot = &value;
  }
}

const Value& Bound::need(size_t i) const {
  if (!values_[i]) fail(fmt::format("{} needs the argument '{}'", callee_, names_[i]));
  return *values_[i];
}

int64_t Bound::integer(size_t i, int64_t fallback) const {
  if (!values_[i] || values_[i]->is(Kind::none)) return fallback;
  if (values_[i]->is(Kind::undefined)) fail_undefined(*values_[i]);
  if (!values_[i]->is_integral()) {
    fail(fmt::format("{}: the argument '{}' must be an integer, not {}", callee_, names_[i],
                     type_name(*values_[i])));
  }
  return values_[i]->as_integer();
}

const Text& Bound::text(size_t i) const {
  if (need(i).is(Kind::undefined)) fail_undefined(need(i));
  if (!need(i).is(Kind::string)) {
    fail(fmt::format("{}: the argument '{}' must be str, not {}", callee_, names_[i], type_name(need(i))));
  }
  return values_[i]->text();
}

const Text* Bound::optional_text(size_t i) const {
  return values_[i] && !values_[i]->is(Kind::none) ? &text(i) : nullptr;
}

}  // namespace bitnet::jinja
