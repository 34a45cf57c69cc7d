// What a model thought before it answered: the text of an answer may begin with a block <think>...</think>,
// or with Gemma 4's <|channel>thought...<channel|>, which is stored with it, shown apart from it, and left
// out where the answer alone is wanted.
//
// Thread rule: values and free functions; any thread.
#pragma once

#include <string>
#include <string_view>

namespace bitnet {

constexpr std::string_view kThinkOpen = "<think>";
constexpr std::string_view kThinkClose = "</think>";

// The mark with which `text` begins a thought; empty where it begins none.
std::string_view opening_mark(std::string_view text);

// From where on the text is only a mark that begins a thought, and white space; npos where it does not end
// so.
size_t find_last_opening(std::string_view text);

struct SplitAnswer {
  std::string_view thought;  // without the marks, and without white space around it
  std::string_view answer;   // the rest, without the line ends after the block
  bool thinks = false;       // the text begins with a block
  bool open = false;         // which does not end
};
// The parts point into `text`.
SplitAnswer split_answer(std::string_view text);

// The text of which split_answer makes these two; an empty thought gives the answer alone.
std::string join_answer(std::string_view thought, std::string_view answer);

// Splits an answer while it comes. A mark may be cut anywhere: what may become one is held back.
class AnswerSplitter {
 public:
  struct Step {
    std::string thought;
    std::string answer;
  };
  Step push(std::string_view text);
  Step finish();  // what was held back; nothing may be pushed after it

  bool undecided() const { return state_ == State::start; }  // what came so far may begin with a block
  // Inside the block, or in the line ends after it.
  bool thinks() const { return state_ != State::start && state_ != State::answer; }

 private:
  enum class State { start, before_thought, thought, before_answer, answer };
  bool advance(Step& step);  // false where more text is needed

  State state_ = State::start;
  std::string_view close_;  // the mark that ends the block
  std::string held_;
};

// "thought for 312 tokens"; without a number where `tokens` is 0, which is "not known".
std::string thought_label(size_t tokens);

}  // namespace bitnet
