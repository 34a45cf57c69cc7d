#include "thinking.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/base/counted.h"

namespace bitnet {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::string_view kLineEnds = "\r\n";

struct Marks {
  std::string_view open, close;
};
constexpr Marks kThinkMarks[] = {{kThinkOpen, kThinkClose}, {"<|channel>thought", "<channel|>"}};

// Null where `text` begins with no mark.
const Marks* marks_of(std::string_view text) {
  const auto* found =
      std::ranges::find_if(kThinkMarks, [&](const Marks& marks) { return text.starts_with(marks.open); });
  return found == std::end(kThinkMarks) ? nullptr : found;
}

std::string_view without_leading(std::string_view text, std::string_view unwanted) {
  return text.substr(std::min(text.find_first_not_of(unwanted), text.size()));
}

std::string_view trimmed(std::string_view text) {
  text = without_leading(text, kBlanks);
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

// How many bytes at the end of a thought may belong to its end: white space, and a part of the mark `close`.
size_t open_end(std::string_view text, std::string_view close) {
  size_t part = std::min(text.size(), close.size() - 1);
  while (!text.ends_with(close.substr(0, part))) --part;
  const std::string_view before = text.substr(0, text.size() - part);
  return text.size() - (before.find_last_not_of(kBlanks) + 1);
}

}  // namespace

std::string_view opening_mark(std::string_view text) {
  const Marks* marks = marks_of(text);
  return marks == nullptr ? std::string_view() : marks->open;
}

size_t find_last_opening(std::string_view text) {
  const std::string_view end = text.substr(0, text.find_last_not_of(kBlanks) + 1);
  for (const Marks& marks : kThinkMarks) {
    if (end.ends_with(marks.open)) return end.size() - marks.open.size();
  }
  return std::string_view::npos;
}

SplitAnswer split_answer(std::string_view text) {
  const std::string_view begun = without_leading(text, kBlanks);
  const Marks* marks = marks_of(begun);
  if (marks == nullptr) return {{}, text};
  const std::string_view inside = begun.substr(marks->open.size());
  const size_t end = inside.find(marks->close);
  if (end == std::string_view::npos) return {trimmed(inside), {}, true, true};
  return {trimmed(inside.substr(0, end)),
          without_leading(inside.substr(end + marks->close.size()), kLineEnds), true, false};
}

std::string join_answer(std::string_view thought, std::string_view answer) {
  if (thought.empty()) return std::string(answer);
  return fmt::format("{}\n{}\n{}\n\n{}", kThinkOpen, thought, kThinkClose, answer);
}

bool AnswerSplitter::advance(Step& step) {
  switch (state_) {
    case State::start: {
      const std::string_view begun = without_leading(held_, kBlanks);
      const Marks* marks = marks_of(begun);
      const auto may_begin = [&](const Marks& m) { return m.open.starts_with(begun); };
      if (marks == nullptr && std::ranges::any_of(kThinkMarks, may_begin)) return false;
      state_ = marks == nullptr ? State::answer : State::before_thought;
      if (marks != nullptr) {
        close_ = marks->close;
        held_.erase(0, held_.size() - begun.size() + marks->open.size());
      }
      return true;
    }
    case State::before_thought:
      held_ = without_leading(held_, kBlanks);
      if (held_.empty()) return false;
      state_ = State::thought;
      return true;
    case State::thought: {
      const size_t end = held_.find(close_);
      if (end != std::string::npos) {
        const std::string_view rest = std::string_view(held_).substr(0, end);
        step.thought += rest.substr(0, rest.find_last_not_of(kBlanks) + 1);
        held_.erase(0, end + close_.size());
        state_ = State::before_answer;
        return true;
      }
      const size_t sure = held_.size() - open_end(held_, close_);
      step.thought += held_.substr(0, sure);
      held_.erase(0, sure);
      return false;
    }
    case State::before_answer:
      held_ = without_leading(held_, kLineEnds);
      if (held_.empty()) return false;
      state_ = State::answer;
      return true;
    case State::answer:
      break;
  }
  step.answer += held_;
  held_.clear();
  return false;
}

AnswerSplitter::Step AnswerSplitter::push(std::string_view text) {
  held_ += text;
  Step step;
  while (advance(step)) {
  }
  return step;
}

AnswerSplitter::Step AnswerSplitter::finish() {
  Step step;
  if (state_ == State::start) step.answer = held_;
  if (state_ == State::thought) step.thought = held_.substr(0, held_.find_last_not_of(kBlanks) + 1);
  held_.clear();
  return step;
}

std::string thought_label(size_t tokens) {
  return tokens == 0 ? "thought" : fmt::format("thought for {}", counted(tokens, "token"));
}

}  // namespace bitnet
