#include "replay.h"

#include <fmt/format.h>
#include <signal.h>

#include <cmath>

#include "chat_settings.h"
#include "engine/error.h"
#include "prompt.h"

namespace bitnet {
namespace {

StoredConversation find(Store& store, int64_t id) {
  const auto row = store.conversation(id);
  if (!row)
    throw Error(ErrorKind::runtime,
                fmt::format("there is no conversation {}; 'bitnet-chat list' shows them", id));
  return *row;
}

// Waits, unless a signal ends it.
struct Pace {
  EventLoop& loop;
  int signal = 0;

  explicit Pace(EventLoop& loop_in) : loop(loop_in) {
    for (const int s : {SIGINT, SIGTERM, SIGHUP}) loop.on_signal(s, [this, s] { signal = s; });
  }
  ~Pace() {
    for (const int s : {SIGINT, SIGTERM, SIGHUP}) loop.default_signal(s);
  }
  Pace(const Pace&) = delete;
  Pace& operator=(const Pace&) = delete;

  void until(EventLoop::Clock::time_point when) {
    bool due = false;
    const uint64_t timer = loop.call_at(when, [&due] { due = true; });
    while (!due && signal == 0) loop.run_once();
    loop.cancel_timer(timer);
  }
};

// The i-th of n pieces of a text, cut between characters.
std::string_view piece(std::string_view text, size_t i, size_t n) {
  const auto border = [&](size_t k) {
    size_t at = text.size() * k / n;
    while (at < text.size() && (static_cast<uint8_t>(text[at]) & 0xC0) == 0x80) ++at;
    return at;
  };
  const size_t begin = border(i);
  return text.substr(begin, border(i + 1) - begin);
}

[[noreturn]] void differ(int turn, const std::string& what) {
  throw Error(ErrorKind::mismatch, fmt::format("replay differs in turn {}: {}", turn, what));
}

// One answer again; `prompt` is what the model saw.
void verify_turn(LoadedModel& model, const StoredTurn& turn, const std::vector<StoredToken>& tokens,
                 const std::vector<int32_t>& prompt, int number) {
  if (hash_tokens(prompt) != turn.prompt_hash) {
    differ(number,
           fmt::format("the prompt has other tokens (then {}, now {})", turn.prompt_tokens, prompt.size()));
  }
  ChatSettings settings;
  from_json(turn.sampler, settings);
  Sampler sampler(sampler_for_turn(settings, turn.seed));
  model.session->sync(prompt);
  DecodeOptions how;
  how.max_tokens = settings.max_tokens;
  const auto ends = model.text->tokenizer.end_of_turn();
  how.stop_tokens.assign(ends.begin(), ends.end());
  size_t at = 0;
  std::string difference;
  // Only an answer that the model itself ended must end at the same place again.
  const bool must_end = turn.finish == "stop" && settings.stop.empty();
  if (tokens.empty() && !must_end) return;
  model.session->decode(sampler, how, [&](const SampledToken& token) {
    if (at == tokens.size()) {
      difference = fmt::format("position {}: then the answer ended, now comes {}", at, token.id);
      return false;
    }
    if (token.id != tokens[at].id) {
      difference = fmt::format(
          "position {}: then {}, now {}; log probabilities {:.4f} and {:.4f}, gap {:.4f}", at, tokens[at].id,
          token.id, tokens[at].logprob, token.logprob, std::abs(token.logprob - tokens[at].logprob));
      return false;
    }
    ++at;
    return at < tokens.size() || must_end;
  });
  if (difference.empty() && at < tokens.size()) {
    difference = fmt::format("position {}: then {}, now the answer ends", at, tokens[at].id);
  }
  if (!difference.empty()) differ(number, difference);
}

}  // namespace

int replay(Store& store, int64_t conversation, double speed, EventLoop& loop, FrontEnd& front_end) {
  const StoredConversation row = find(store, conversation);
  Pace pace(loop);
  front_end.transcript({});
  for (const StoredMessage& message : store.branch(row.leaf)) {
    ShownMessage shown{message.id, message.role, message.text, message.finish};
    const std::vector<StoredToken> tokens = store.message_tokens(message.id);
    if (message.role != Role::assistant || tokens.empty()) {
      front_end.message(shown);
      continue;
    }
    shown.text.clear();
    shown.finish.clear();
    front_end.message(shown);
    Usage usage;
    const auto start = EventLoop::Clock::now();
    for (size_t i = 0; i < tokens.size(); ++i) {
      if (speed > 0) {
        const auto offset = std::chrono::duration<double>(tokens[i].seconds / speed);
        pace.until(start + std::chrono::duration_cast<EventLoop::Clock::duration>(offset));
      }
      if (pace.signal != 0) return 128 + pace.signal;
      front_end.answer_text(piece(message.text, i, tokens.size()), tokens[i].id, tokens[i].logprob);
    }
    for (const StoredTurn& turn : store.turns(message.id)) {
      usage = {turn.prompt_tokens, turn.reused_tokens, usage.answer_tokens + turn.answer_tokens,
               usage.prefill_seconds + turn.prefill_seconds, usage.decode_seconds + turn.decode_seconds};
    }
    shown.text = message.text;
    shown.finish = message.finish;
    front_end.answer_end(shown, usage);
  }
  return 0;
}

std::string verify_replay(Store& store, int64_t conversation, LoadedModel& model) {
  const StoredConversation row = find(store, conversation);
  std::vector<PromptMessage> messages;
  int number = 0;
  size_t compared = 0;
  for (const StoredMessage& message : store.branch(row.leaf)) {
    PromptMessage said{message.role, message.text, {}};
    if (message.role == Role::assistant) {
      for (const StoredTurn& turn : store.turns(message.id)) {
        ++number;
        // Nothing to compare: these tokens were not made here (Store::add_answer).
        if (turn.finish == "given") {
          for (const StoredToken& token : store.tokens(turn.id)) said.tokens.push_back(token.id);
          continue;
        }
        if (turn.model_hash != model.engine->model().fingerprint) {
          differ(number, fmt::format("it was answered by another model ({}, fingerprint {})",
                                     printable(turn.model), turn.model_hash));
        }
        // A continued answer's prompt ends with what was said before.
        std::vector<int32_t> prompt = build_prompt(*model.text, turn.system, messages, row.created / 1000);
        prompt.insert(prompt.end(), said.tokens.begin(), said.tokens.end());
        const std::vector<StoredToken> tokens = store.tokens(turn.id);
        verify_turn(model, turn, tokens, prompt, number);
        compared += tokens.size();
        for (const StoredToken& token : tokens) said.tokens.push_back(token.id);
      }
    }
    messages.push_back(std::move(said));
  }
  return fmt::format("{} turns, {} tokens: the same\n", number, compared);
}

}  // namespace bitnet
