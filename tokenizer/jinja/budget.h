// The limits on what a template may use up, and the error that ends a template which fails.
//
// Thread rule: a Budget belongs to one render.
#pragma once

#include <cstddef>
#include <string>

#include "engine/error.h"
#include "text.h"
#include "tokenizer/jinja/template.h"

namespace bitnet::jinja {

// An error that does not know its place yet: the evaluator adds line and column.
struct Fault {
  ErrorKind kind;
  std::string message;
};
[[noreturn]] void fail(std::string message);  // throws Fault(runtime)

// Counts what one render uses. Code whose cost a template can choose must ask here before it does the work.
// Each function throws Fault(model) if a limit is passed.
//
// A step is work of about 100 ns: a node of the tree, 64 bytes that are searched or copied, or 8 characters
// that are taken one by one. So a render takes about 10,000,000 * 100 ns = 1 s at the most. Vectors and
// strings that grow may take twice what they hold, so it takes 2 * 256 MB at most. A prompt of 2,000 messages
// and 4 MB takes 200,000 steps and 28 MB.
class Budget {
 public:
  static constexpr size_t kMaxSource = size_t{1} << 20;  // bytes of a template
  static constexpr size_t kPerObject = 128;              // bytes of a string, list, ... beside what it holds
  static constexpr size_t kMaxRange = 100'000;           // the limit of jinja2's sandbox
  static constexpr int kMaxValueDepth = 100;
  static constexpr int kMaxSyntaxDepth = 200;  // of the syntax tree
  static constexpr int kMaxEvalDepth = 600;    // of nested evaluation, including calls of macros

  explicit Budget(const Limits& limits) : limits_(limits) {}

  void step(size_t n = 1);
  void scan(size_t bytes) { step(1 + bytes / 64); }  // before reading or comparing so many bytes
  void walk(size_t bytes) { step(1 + bytes / 8); }   // before taking so many bytes character by character
  // Before comparing a name of so many bytes with others, which may be as long and differ in the last byte.
  void search(size_t n_names, size_t bytes) { step(1 + n_names / 8 + n_names * bytes / 64); }
  void make(size_t bytes);  // before making a value of that size
  // The same for one string of so many bytes and runs, which has a limit of its own.
  void make_text(size_t bytes, size_t n_runs = 1);
  void make_text(const Text& like) { make_text(like.size(), like.runs().size()); }
  // While one string grows to so many bytes, which are counted elsewhere.
  void check_text(size_t bytes) const;

 private:
  Limits limits_;
  size_t steps_ = 0;
  size_t bytes_ = 0;
};

}  // namespace bitnet::jinja
