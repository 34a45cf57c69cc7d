#include "budget.h"

#include <fmt/format.h>

#include <utility>

namespace bitnet::jinja {

void fail(std::string message) { throw Fault{ErrorKind::runtime, std::move(message)}; }

namespace {
[[noreturn]] void over(std::string message) { throw Fault{ErrorKind::model, std::move(message)}; }
}  // namespace

void Budget::step(size_t n) {
  if (n > limits_.steps - steps_) over(fmt::format("the template takes more than {} steps", limits_.steps));
  steps_ += n;
}

void Budget::make(size_t bytes) {
  if (bytes > limits_.bytes - bytes_) {
    over(fmt::format("the template makes more than {} MB of values", limits_.bytes >> 20));
  }
  bytes_ += bytes;
}

void Budget::check_text(size_t bytes) const {
  if (bytes > limits_.text)
    over(fmt::format("the template makes a text of more than {} MB", limits_.text >> 20));
}

void Budget::make_text(size_t bytes, size_t n_runs) {
  check_text(bytes);
  make(bytes + n_runs * sizeof(Text::Run) + kPerObject);
}

}  // namespace bitnet::jinja
