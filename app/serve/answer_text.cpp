#include "answer_text.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "app/model/prompt.h"
#include "app/text/stop_text.h"

namespace bitnet {
namespace {

// Each has one byte that goes on with none before it.
size_t characters_in(std::string_view utf8) {
  return static_cast<size_t>(
      std::count_if(utf8.begin(), utf8.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

AnswerText::AnswerText(const ServedModel& model, const AnswerRequest& request)
    : request_(request), decoder_(model.text->tokenizer, request.asked.prompt.back()) {
  if (request.kind == AnswerKind::completion) return;
  splitter_.emplace();
  if (model.text->template_origin != TemplateOrigin::none)
    splitter_->push(opened_thought(model.text->tokenizer, request.asked.prompt));
}

AnswerText::Piece AnswerText::split(std::string text, std::vector<MadeToken> tokens) {
  if (!splitter_) return {"", std::move(text), std::move(tokens)};
  AnswerSplitter::Step step = splitter_->push(text);
  return {std::move(step.thought), std::move(step.answer), std::move(tokens)};
}

AnswerText::Piece AnswerText::add(MadeToken token) {
  if (stopped_) return {};
  ++tokens_;
  const int32_t id = token.token.id;
  token.at = given_ + characters_in(held_);
  held_tokens_.emplace_back(held_.size(), std::move(token));
  held_ += decoder_.push(id);
  const size_t stop = first_stop(held_, request_.stop);
  size_t ready = held_.size() - open_stop(held_, request_.stop);
  if (stop != std::string::npos) {
    stopped_ = true;
    ready = stop;
  }
  std::vector<MadeToken> tokens;
  auto it = held_tokens_.begin();
  for (; it != held_tokens_.end() && (it->first < ready || ready == held_.size()); ++it)
    tokens.push_back(std::move(it->second));
  held_tokens_.erase(held_tokens_.begin(), it);
  for (auto& [at, held] : held_tokens_) at -= ready;
  std::string text = held_.substr(0, ready);
  held_.erase(0, ready);
  given_ += characters_in(text);
  if (stopped_) {
    held_.clear();
    held_tokens_.clear();
  }
  return split(std::move(text), std::move(tokens));
}

AnswerText::Piece AnswerText::finish() {
  Piece piece;
  if (!stopped_) {
    std::vector<MadeToken> tokens;
    for (auto& [at, held] : held_tokens_) tokens.push_back(std::move(held));
    held_tokens_.clear();
    piece = split(std::exchange(held_, {}) + decoder_.finish(), std::move(tokens));
  }
  if (splitter_) {
    AnswerSplitter::Step step = splitter_->finish();
    piece.thought += step.thought;
    piece.text += step.answer;
  }
  return piece;
}

}  // namespace bitnet
