#include "script.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <functional>
#include <map>

#include "app/base/blank.h"
#include "app/base/pattern.h"
#include "app/chat/chat.h"
#include "app/text/key_decoder.h"
#include "engine/error.h"

namespace bitnet {
namespace {

using Verb = ScriptStep::Verb;
constexpr auto kDefaultWait = std::chrono::seconds(60);
constexpr size_t kMostShown = 2000;  // bytes of what was visible, in a failure's message

// Takes "/re/" off the front of `rest`.
std::string take_pattern(std::string_view& rest) {
  if (rest.empty() || rest.front() != '/') throw Error(ErrorKind::usage, "wanted /pattern/");
  std::string pattern;
  for (size_t i = 1; i < rest.size(); ++i) {
    if (rest[i] == '\\' && i + 1 < rest.size()) {
      if (rest[i + 1] != '/') pattern += '\\';
      pattern += rest[++i];
    } else if (rest[i] == '/') {
      rest = trim(rest.substr(i + 1));
      Pattern check(pattern);
      return pattern;
    } else {
      pattern += rest[i];
    }
  }
  throw Error(ErrorKind::usage, "the pattern has no closing '/'");
}

uint32_t count(std::string_view text, const char* what) {
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value == 0 || value > 1'000'000) {
    throw Error(ErrorKind::usage, fmt::format("wanted {}, found '{}'", what, printable(text, 40)));
  }
  return value;
}

void parse_wait(std::string_view rest, ScriptStep& step) {
  step.limit = kDefaultWait;
  if (rest.starts_with('/')) {
    step.verb = Verb::wait_text;
    step.text = take_pattern(rest);
  } else if (rest == "idle" || rest.starts_with("idle ")) {
    step.verb = Verb::wait_idle;
    rest = trim(rest.substr(4));
  } else {
    throw Error(ErrorKind::usage, "wanted '@wait idle' or '@wait /pattern/', then the most seconds");
  }
  if (rest.empty()) return;
  double seconds = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), seconds);
  if (error != std::errc() || end != rest.data() + rest.size() || !(seconds >= 0 && seconds <= 86400)) {
    throw Error(ErrorKind::usage, fmt::format("wanted seconds, found '{}'", printable(rest, 40)));
  }
  step.limit = std::chrono::milliseconds(static_cast<int64_t>(std::ceil(seconds * 1000)));
}

void parse_expect(Verb verb, std::string_view rest, ScriptStep& step) {
  step.verb = verb;
  step.limit = kDefaultWait;
  step.text = take_pattern(rest);
  if (!rest.empty())
    throw Error(ErrorKind::usage, fmt::format("'{}' after the pattern", printable(rest, 40)));
}

void parse_verb(std::string_view line, ScriptStep& step) {
  const size_t space = line.find_first_of(" \t");
  const std::string_view name = line.substr(0, space);
  std::string_view rest = space == std::string_view::npos ? std::string_view() : trim(line.substr(space));
  const auto need_argument = [&](const char* what) {
    if (rest.empty()) throw Error(ErrorKind::usage, fmt::format("{} wants {}", name, what));
    step.text = rest;
  };
  if (name == "@wait") {
    parse_wait(rest, step);
  } else if (name == "@expect") {
    parse_expect(Verb::expect, rest, step);
  } else if (name == "@expect-not") {
    parse_expect(Verb::expect_not, rest, step);
  } else if (name == "@key") {
    step.verb = Verb::key;
    need_argument("the name of a key");
    if (bytes_of_key(rest).empty()) {
      throw Error(ErrorKind::usage, fmt::format("there is no key '{}' (Enter, Esc, Tab, Up, PgUp, F1, C-c, "
                                                "M-Enter, a character, ...)",
                                                printable(rest, 40)));
    }
  } else if (name == "@screenshot") {
    step.verb = Verb::screenshot;
    need_argument("a file");
  } else if (name == "@allow-errors") {
    step.verb = Verb::allow_errors;
    step.number = rest == "off" ? 0 : 1;
    if (!rest.empty() && rest != "off") throw Error(ErrorKind::usage, "@allow-errors wants off or nothing");
  } else if (name == "@interrupt") {
    step.verb = Verb::interrupt;
    if (!rest.starts_with("after=")) throw Error(ErrorKind::usage, "@interrupt wants after=N");
    step.number = count(rest.substr(6), "after=N with N tokens");
  } else if (name == "@resize") {
    step.verb = Verb::resize;
    const size_t x = rest.find('x');
    if (x == std::string_view::npos) throw Error(ErrorKind::usage, "@resize wants COLSxROWS");
    step.number = count(rest.substr(0, x), "COLSxROWS");
    step.number2 = count(rest.substr(x + 1), "COLSxROWS");
  } else {
    throw Error(ErrorKind::usage,
                fmt::format("unknown verb {} (known: @wait @expect @expect-not @key @resize "
                            "@interrupt @screenshot @allow-errors; '@@' begins a line that begins with '@')",
                            printable(name, 40)));
  }
}

}  // namespace

std::vector<ScriptStep> parse_script(std::string_view text, const std::string& name) {
  std::vector<ScriptStep> steps;
  int number = 0;
  bool in_block = false;
  ScriptStep block;
  const auto refuse = [&](int line, const std::string& why) {
    throw Error(ErrorKind::usage, fmt::format("{}:{}: {}", printable(name), line, why));
  };
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  while (!text.empty()) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (trim(line) == "\"\"\"") {
      if (in_block) steps.push_back(block);
      in_block = !in_block;
      block = {};
      block.line = number;
      continue;
    }
    if (in_block) {
      if (block.line != number - 1 || !block.text.empty()) block.text += '\n';
      block.text += line;
      continue;
    }
    if (trim(line).empty() || line.front() == '#') continue;
    ScriptStep step;
    step.line = number;
    if (line.starts_with("@@")) {
      step.text = line.substr(1);
    } else if (line.front() == '@') {
      try {
        parse_verb(trim(line), step);
      } catch (const Error& error) {
        refuse(number, error.what());
      }
    } else {
      step.text = line;
    }
    steps.push_back(step);
  }
  if (in_block) refuse(block.line, "the block has no closing \"\"\"");
  return steps;
}

ScriptDriver::ScriptDriver(std::vector<ScriptStep> steps, std::string name, WriteRules rules)
    : steps_(std::move(steps)), name_(std::move(name)), rules_(std::move(rules)) {
  ScriptStep end;
  end.verb = Verb::finish;
  steps_.push_back(end);
}

void ScriptDriver::fail(const ScriptStep& step, const std::string& what, ScriptTarget& target) const {
  std::string visible = target.visible_text();
  if (visible.size() > kMostShown) visible = "..." + visible.substr(visible.size() - kMostShown);
  std::string shown;
  for (size_t at = 0; at <= visible.size();) {
    const size_t end = std::min(visible.find('\n', at), visible.size());
    shown += "\n  | " + printable(std::string_view(visible).substr(at, end - at), kMostShown);
    at = end + 1;
  }
  throw Error(ErrorKind::mismatch,
              fmt::format("{}:{}: {}; visible was:{}", printable(name_), step.line, what, shown));
}

void ScriptDriver::check_for_errors(Chat& chat, ScriptTarget& target) const {
  const auto problem = chat.take_error();
  if (!problem || allow_errors_) return;
  std::string_view why = *problem;
  if (why.ends_with('.')) why.remove_suffix(1);
  fail(steps_[typed_],
       fmt::format("'{}' failed: {}. @allow-errors lets a script go on after that",
                   printable(steps_[typed_].text, 60), why),
       target);
}

void ScriptDriver::take_screenshot(const ScriptStep& step, ScriptTarget& target) const {
  try {
    write_file(step.text, target.screenshot(), rules_);
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("{}:{}: {}", printable(name_), step.line, error.what()));
  }
}

bool ScriptDriver::step(const ScriptStep& step, Chat& chat, ScriptTarget& target) {
  // Idle means that a turn could begin and be answered at once, so the script waits for a model that loads.
  const bool idle = !chat.busy() && !chat.loading();
  switch (step.verb) {
    case Verb::type:
      if (!idle) return false;
      typed_ = at_;
      target.type_line(step.text);
      return true;
    case Verb::wait_idle:
    case Verb::finish:
      return idle;
    case Verb::wait_text:
      return Pattern(step.text).found_in(target.visible_text());
    case Verb::expect:
      if (Pattern(step.text).found_in(target.visible_text())) return true;
      if (idle) fail(step, fmt::format("expected /{}/", printable(step.text)), target);
      return false;
    case Verb::expect_not:
      if (!idle) return false;
      if (Pattern(step.text).found_in(target.visible_text())) {
        fail(step, fmt::format("did not expect /{}/", printable(step.text)), target);
      }
      return true;
    case Verb::key:
      typed_ = at_;
      target.press_key(step.text);
      return true;
    case Verb::resize:
      target.resize(static_cast<int>(step.number), static_cast<int>(step.number2));
      return true;
    case Verb::interrupt:
      chat.interrupt_after(step.number);
      return true;
    case Verb::screenshot:
      take_screenshot(step, target);
      return true;
    case Verb::allow_errors:
      allow_errors_ = step.number != 0;
      return true;
  }
  return true;
}

void ScriptDriver::advance(Chat& chat, ScriptTarget& target) {
  while (!done() && !chat.quit_requested()) {
    const ScriptStep& next = steps_[at_];
    if (chat.failure()) throw *chat.failure();
    check_for_errors(chat, target);
    if (step(next, chat, target)) {
      deadline_.reset();
      ++at_;
      continue;
    }
    // Only @wait has a time of its own; a typed line or an expectation waits for the answer, however long.
    if (next.verb != Verb::wait_idle && next.verb != Verb::wait_text) return;
    if (!deadline_) deadline_ = Clock::now() + next.limit;
    if (Clock::now() < *deadline_) return;
    const std::string what =
        next.verb == Verb::wait_idle ? "idle" : fmt::format("/{}/", printable(next.text));
    fail(next, fmt::format("waited {} s for {}", std::chrono::duration<double>(next.limit).count(), what),
         target);
  }
}

}  // namespace bitnet
