#include "replay_player.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "answer_pieces.h"
#include "app/text/thinking.h"

namespace bitnet {
namespace {

// What each token added to an answer that follows the token `after`, with what the template wrote of the
// thought before the first. Empty where the tokens do not spell the text. A stop text may have cut off its
// end. Earlier versions ended each turn's text with U+FFFD where it ended inside a character, and not only
// the whole.
std::vector<std::string> spelled_after(int32_t after, bool each_ended, const std::vector<WholeTurn>& turns,
                                       const std::string& text, const Tokenizer& tokenizer) {
  std::vector<std::string> pieces;
  std::string all;
  StreamDecoder decoder(tokenizer, after);
  for (const WholeTurn& turn : turns) {
    for (const StoredToken& token : turn.tokens) {
      pieces.push_back(decoder.push(token.id));
      all += pieces.back();
    }
    if (!each_ended && &turn != &turns.back()) continue;
    const std::string rest =
        StreamDecoder(decoder).finish();  // an answer that was continued went on from there
    if (!pieces.empty()) pieces.back() += rest;
    all += rest;
  }
  const size_t mark = opening_mark(text).size();
  if (!all.starts_with(text) && mark != 0) {
    const std::string opened = text.substr(0, text.find_first_not_of(" \t\r\n", mark));
    pieces.front().insert(0, opened);
    all.insert(0, opened);
  }
  if (!all.starts_with(text)) return {};
  size_t surplus = all.size() - text.size();
  for (size_t i = pieces.size(); i-- > 0 && surplus > 0;) {
    const size_t cut = std::min(surplus, pieces[i].size());
    pieces[i].resize(pieces[i].size() - cut);
    surplus -= cut;
  }
  return pieces;
}

std::vector<std::string> spelled(const std::vector<WholeTurn>& turns, const std::string& text,
                                 const Tokenizer& tokenizer) {
  int32_t first = -1;
  for (const WholeTurn& turn : turns) {
    for (const StoredToken& token : turn.tokens) {
      if (token.id < 0 || token.id >= tokenizer.n_vocab()) return {};
      if (first < 0) first = token.id;
    }
  }
  // The prompt is not known here: the answer began a text, or went on with one as the first token does after
  // itself.
  for (const bool each_ended : {false, true}) {
    for (const int32_t after : {-1, first}) {
      std::vector<std::string> pieces = spelled_after(after, each_ended, turns, text, tokenizer);
      if (!pieces.empty()) return pieces;
    }
  }
  return {};
}

// The text in n pieces, cut between characters.
std::vector<std::string> dealt(std::string_view text, size_t n) {
  std::vector<std::string> pieces;
  size_t begin = 0;
  for (size_t i = 1; i <= n; ++i) {
    size_t end = std::max(begin, text.size() * i / n);
    while (end < text.size() && (static_cast<uint8_t>(text[end]) & 0xC0) == 0x80) ++end;
    pieces.emplace_back(text.substr(begin, end - begin));
    begin = end;
  }
  return pieces;
}

}  // namespace

ReplayPlayer::ReplayPlayer(std::vector<Message> branch, double speed, const Tokenizer* tokenizer,
                           FrontEnd& front_end)
    : front_(front_end), speed_(speed) {
  steps_.push_back({0, [this] { front_.transcript({}); }});
  for (Message& message : branch) add(std::move(message), tokenizer);
}

void ReplayPlayer::add(Message&& message, const Tokenizer* tokenizer) {
  ShownMessage empty = message.shown;
  size_t count = 0;
  for (const WholeTurn& turn : message.turns) count += turn.tokens.size();
  std::vector<std::string> pieces;
  if (count != 0 && tokenizer != nullptr) pieces = spelled(message.turns, message.shown.text, *tokenizer);
  if (pieces.empty()) pieces = dealt(message.shown.text, count);
  if (message.shown.role == Role::assistant) split_thought(message.shown);
  for (const WholeTurn& turn : message.turns) message.shown.thought_tokens += turn.stored.thought_tokens;
  if (count == 0) {
    steps_.push_back({time_, [this, shown = std::move(message.shown)] { front_.message(shown); }});
    return;
  }
  empty.text.clear();
  empty.finish.clear();
  const auto parts = std::make_shared<AnswerPieces>(front_);
  steps_.push_back({time_, [this, empty] { front_.message(empty); }});

  size_t next = 0;
  Usage usage;
  for (const WholeTurn& turn : message.turns) {
    const StoredTurn& t = turn.stored;
    // An import may have times that make no sense; they count as 0.
    const auto sane = [](double seconds) { return seconds > 0 && seconds < 86400 ? seconds : 0; };
    time_ += sane(t.prefill_seconds);
    double last = 0;
    for (const StoredToken& token : turn.tokens) {
      last = std::max(last, sane(token.seconds));
      steps_.push_back({time_ + last, [parts, text = std::move(pieces[next++]), token] {
                          parts->add(text, token.id, token.logprob);
                        }});
    }
    time_ += std::max(last, sane(t.decode_seconds));
    usage = {t.prompt_tokens, t.reused_tokens, usage.answer_tokens + t.answer_tokens,
             usage.prefill_seconds + t.prefill_seconds, usage.decode_seconds + t.decode_seconds};
  }
  steps_.push_back({time_, [this, parts, shown = std::move(message.shown), usage] {
                      parts->finish();
                      front_.answer_end(shown, usage);
                    }});
}

std::optional<ReplayPlayer::Clock::time_point> ReplayPlayer::advance(Clock::time_point now) {
  if (!begun_) begun_ = now;
  for (; next_ < steps_.size(); ++next_) {
    const double at = speed_ > 0 ? steps_[next_].at / speed_ : 0;
    const auto due = *begun_ + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(at));
    if (due > now) return due;
    steps_[next_].show();
  }
  return std::nullopt;
}

std::vector<ReplayPlayer::Message> replay_branch(Store& store, std::vector<ShownMessage> messages) {
  std::vector<ReplayPlayer::Message> branch;
  for (ShownMessage& shown : messages) {
    ReplayPlayer::Message message{std::move(shown), {}};
    if (message.shown.role == Role::assistant) {
      for (StoredTurn& turn : store.turns(message.shown.id)) {
        std::vector<StoredToken> tokens = store.tokens(turn.id);
        message.turns.push_back({std::move(turn), std::move(tokens)});
      }
    }
    branch.push_back(std::move(message));
  }
  return branch;
}

}  // namespace bitnet
