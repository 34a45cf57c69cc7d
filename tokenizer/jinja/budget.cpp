#include "budget.h"

#include <fmt/format.h>

#include <utility>

namespace bitnet::jinja {

void fail(std::string message) { throw Fault{ErrorKind::runtime, std::move(message)}; }

namespace {
[[noreturn]] void over(std::string message) { throw Fault{ErrorKind::model, std::move(message)}; }
}  // namespace

void Budget::step(size_t n) {
  steps_ += n;
  if (steps_ > kMaxSteps) over(fmt::format("the template takes more than {} steps", kMaxSteps));
}

void Budget::make(size_t bytes) {
  bytes_ += bytes;
  if (bytes > kMaxBytes || bytes_ > kMaxBytes) {
    over(fmt::format("the template makes more than {} MB of values", kMaxBytes >> 20));
  }
}

void Budget::make_text(size_t bytes, size_t n_runs) {
  if (bytes > kMaxText) over(fmt::format("the template makes a text of more than {} MB", kMaxText >> 20));
  make(bytes + n_runs * sizeof(Text::Run) + kPerObject);
}

}  // namespace bitnet::jinja
