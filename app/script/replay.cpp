#include "replay.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "app/base/clock.h"
#include "app/base/counted.h"
#include "app/chat/listing.h"
#include "app/chat/replay_player.h"
#include "app/chat/settings.h"
#include "app/model/prompt.h"
#include "app/model/worker.h"
#include "engine/error.h"

namespace bitnet {
namespace {

// Waits until a time, unless a signal comes.
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

void refuse_nothing(const StoredConversation& row) {
  const std::string before = before_first_turn(fmt::format("conversation {}", row.id), row);
  if (!before.empty()) throw Error(ErrorKind::runtime, before);
}

Error difference_in(int turn, const std::string& what) {
  return Error(ErrorKind::mismatch, fmt::format("replay differs in turn {}: {}", turn, what));
}

// The log probability of `id` by the model's own logits, before any setting.
double logprob_of(std::span<const float> logits, int32_t id) {
  const float top = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(double{logit} - top);
  return double{logits[static_cast<size_t>(id)]} - top - std::log(sum);
}

struct Divergence {
  size_t position;
  int32_t then;
  SampledToken now;
};

// Says how far apart the two tokens are for the model as it is now: hardly at all where rounding tipped a
// tie.
std::string describe(LoadedModel& model, const std::vector<int32_t>& prompt,
                     const std::vector<StoredToken>& tokens, const Divergence& d) {
  std::vector<int32_t> before = prompt;
  for (size_t i = 0; i < d.position; ++i) before.push_back(tokens[i].id);
  model.session->sync(before);
  const std::span<const float> logits = model.session->logits();
  double then = tokens[d.position].logprob;
  double now = d.now.logprob;
  if (d.then >= 0 && static_cast<size_t>(d.then) < logits.size()) {
    then = logprob_of(logits, d.then);
    now = logprob_of(logits, d.now.id);
  }
  const auto text = [&](int32_t id) {
    if (id < 0 || id >= static_cast<int32_t>(model.text->tokenizer.n_vocab())) return std::string("no token");
    return printable(std::string(model.text->tokenizer.token_bytes(id)), 40);
  };
  return fmt::format(
      "position {}: then {} ('{}'), now {} ('{}'); log probabilities {:.4f} and {:.4f}, gap {:.4f}",
      d.position, d.then, text(d.then), d.now.id, text(d.now.id), then, now, std::abs(now - then));
}

ChatSettings settings_of(const StoredTurn& turn, const StoredConversation& row) {
  ChatSettings settings;
  settings.utc_offset = utc_offset(row.created);  // earlier versions did not store it
  from_json(turn.sampler, settings);
  return settings;
}

std::string describe_prompt(const ModelText& text, const StoredTurn& turn, size_t now) {
  const bool same_template = turn.template_hash == hash_text(text.chat_template.source());
  return fmt::format("the prompt has other tokens (then {}, now {}){}", turn.prompt_tokens, now,
                     same_template ? "" : ": the chat template is another one; --chat-template chooses it");
}

// The context may have been a larger one then, or one that computes other numbers. `then`: 0 = not known.
void make_room(LoadedModel& model, size_t tokens, uint32_t then) {
  const size_t n_ctx = model.session->n_ctx();
  const size_t most = model.engine->model().n_ctx_train, brief = model.engine->model().brief_context;
  size_t wanted = tokens <= n_ctx || n_ctx >= most ? n_ctx : std::min(most, std::max(tokens, 2 * n_ctx));
  const bool is_like_then = brief == 0 || then == 0 || (wanted > brief) == (then > brief);
  if (!is_like_then) wanted = std::min<size_t>(most, then);
  if (wanted == n_ctx) return;
  model.session.reset();  // so that both need not have memory
  model.session = model.create_session(static_cast<uint32_t>(wanted));
}

// Computes one answer again; `prompt` is what the model saw. Returns the largest difference of a log
// probability; nothing where the answer has neither a token nor an end to compare.
std::optional<double> verify_turn(LoadedModel& model, const StoredTurn& turn, const ChatSettings& settings,
                                  const std::vector<StoredToken>& tokens, const std::vector<int32_t>& prompt,
                                  int number) {
  if (hash_tokens(prompt) != turn.prompt_hash)
    throw difference_in(number, describe_prompt(*model.text, turn, prompt.size()));
  Sampler sampler(sampler_for_turn(settings, turn.seed));
  DecodeOptions how;
  how.max_tokens = settings.max_tokens;
  const auto ends = model.text->tokenizer.end_of_turn();
  how.stop_tokens.assign(ends.begin(), ends.end());
  size_t at = 0;
  double largest = 0;
  std::optional<Divergence> divergence;
  std::optional<int32_t> surplus;
  // Only an answer that the model itself ended must end at the same place again.
  const bool must_end = turn.finish == "stop" && settings.stop.empty();
  if (tokens.empty() && !must_end) return std::nullopt;
  make_room(model, prompt.size() + tokens.size() + (must_end ? 1 : 0), settings.ctx);
  model.session->sync(prompt);
  model.session->decode(sampler, how, [&](const SampledToken& token) {
    if (at == tokens.size()) {
      surplus = token.id;
      return false;
    }
    if (token.id != tokens[at].id) {
      divergence = Divergence{at, tokens[at].id, token};
      return false;
    }
    const double difference = std::abs(double{token.logprob} - tokens[at].logprob);
    if (difference > largest) largest = difference;
    ++at;
    return at < tokens.size() || must_end;
  });
  std::string difference;
  if (divergence) {
    difference = describe(model, prompt, tokens, *divergence);
  } else if (surplus) {
    difference = fmt::format("position {}: then the answer ended, now comes {}", at, *surplus);
  } else if (at < tokens.size()) {
    difference = fmt::format("position {}: then {}, now the answer ends", at, tokens[at].id);
  }
  if (difference.empty()) return largest;
  if (model.engine->model().brief_context != 0 && settings.ctx == 0)
    difference +=
        "; an earlier version did not store how large its context was, on which numbers of this "
        "model depend: --ctx chooses it";
  const DeviceInfo& device = model.engine->device();
  if (turn.device != device.name || turn.driver != device.driver) {
    difference += fmt::format(" (then on {}, {}; now on {}, {})", printable(turn.device),
                              printable(turn.driver), device.name, device.driver);
  }
  throw difference_in(number, difference);
}

Error another_model(const StoredTurn& turn, int number) {
  return difference_in(
      number, fmt::format("it was answered by another model ({}, fingerprint {}){}", printable(turn.model),
                          printable(turn.model_hash, 40),
                          turn.imported ? "; the answer was imported, so --model has to name that" : ""));
}

struct Compared {
  uint64_t turns = 0;
  uint64_t tokens = 0;
  uint64_t by_old_fingerprint = 0;
  double largest = 0;  // difference of a log probability
  // These were not compared.
  uint64_t given = 0;
  uint64_t by_another_model = 0;
  uint64_t after_another_model = 0;
};

std::string turns_were(uint64_t turns, const char* which) {
  return fmt::format("{}{} {}", counted(turns, "turn"), which, turns == 1 ? "was" : "were");
}

std::string describe(const Compared& compared) {
  std::string text =
      fmt::format("{}, {}: the same; log probabilities differ by {:.4f} at most",
                  counted(compared.turns, "turn"), counted(compared.tokens, "token"), compared.largest);
  if (compared.given != 0)
    text += fmt::format("; {} from elsewhere not compared", counted(compared.given, "answer"));
  if (compared.after_another_model != 0) {
    text += fmt::format("; {} not compared",
                        turns_were(compared.after_another_model, " that went on with another model's words"));
  }
  if (compared.by_another_model != 0) {
    text += fmt::format("; {} not compared; --model FILE compares those",
                        turns_were(compared.by_another_model, " by another model"));
  }
  text += '\n';
  if (compared.by_old_fingerprint != 0) {
    text += fmt::format(
        "{} stored by an earlier version, which knew a model by parts of its file: those parts and the "
        "tokens agree.\n",
        turns_were(compared.by_old_fingerprint, ""));
  }
  return text;
}

}  // namespace

int replay(Store& store, int64_t conversation, double speed, const Tokenizer* tokenizer, EventLoop& loop,
           FrontEnd& front_end, const std::function<bool()>& closed) {
  const StoredConversation row = find_conversation(store, conversation);
  refuse_nothing(row);
  std::vector<ShownMessage> messages;
  for (const StoredMessage& message : store.branch(row.leaf)) {
    messages.push_back({message.id, message.role, message.text, message.finish});
  }
  ReplayPlayer player(replay_branch(store, std::move(messages)), speed, tokenizer, front_end);
  Pace pace(loop);
  while (const auto due = player.advance(EventLoop::Clock::now())) {
    pace.until(*due);
    if (pace.signal != 0) return 128 + pace.signal;
    if (closed()) return 0;
  }
  return 0;
}

std::string verify_replay(Store& store, int64_t conversation, LoadedModel& model) {
  const StoredConversation row = find_conversation(store, conversation);
  refuse_nothing(row);
  std::vector<PromptMessage> messages;
  int number = 0;
  Compared compared;
  std::optional<Error> first_by_another;
  const ModelInfo& info = model.engine->model();
  for (const StoredMessage& message : store.branch(row.leaf)) {
    PromptMessage said{message.role, message.text, {}};
    bool begun_by_another = false;
    const std::vector<StoredTurn> turns =
        message.role == Role::assistant ? store.turns(message.id) : std::vector<StoredTurn>();
    for (const StoredTurn& turn : turns) {
      ++number;
      const std::vector<StoredToken> tokens = store.tokens(turn.id);
      const bool by_old_fingerprint = turn.model_hash == info.old_fingerprint;
      // These tokens were not made here (Store::add_answer), so there is nothing to compare. They may be a
      // copy of another model's, which goes on with its own reading of the text.
      if (turn.finish == "given") {
        ++compared.given;
        begun_by_another = true;
      } else if (!by_old_fingerprint && turn.model_hash != info.fingerprint) {
        ++compared.by_another_model;
        begun_by_another = true;
        if (!first_by_another) first_by_another = another_model(turn, number);
      } else {
        const ChatSettings then = settings_of(turn, row);
        // A continued answer's prompt ends with what was said before.
        std::vector<int32_t> prompt = build_prompt(*model.text, turn.system, messages,
                                                   row.created / 1000 + then.utc_offset, then.think);
        prompt.insert(prompt.end(), said.tokens.begin(), said.tokens.end());
        // The words of a model with another tokenizer were encoded anew, and how long they were then is not
        // known any more.
        if (begun_by_another && hash_tokens(prompt) != turn.prompt_hash) {
          ++compared.after_another_model;
        } else if (const auto largest = verify_turn(model, turn, then, tokens, prompt, number)) {
          ++compared.turns;
          compared.tokens += tokens.size();
          compared.largest = std::max(compared.largest, *largest);
          if (by_old_fingerprint) ++compared.by_old_fingerprint;
        }
      }
      for (const StoredToken& token : tokens) said.tokens.push_back(token.id);
    }
    messages.push_back(std::move(said));
  }
  if (compared.turns == 0 && first_by_another) throw *first_by_another;
  if (compared.turns == 0) {
    throw Error(
        ErrorKind::runtime,
        fmt::format("conversation {} has no answer that a model of this program made, so there is nothing "
                    "to verify",
                    conversation));
  }
  return describe(compared);
}

}  // namespace bitnet
