// /compact: the model sums up the older turns; a new branch from the root has the summary in their place and
// the last turns word for word. Nothing is taken away: the old branch stays where it is.
//
//   before   1 2 3 4 5 6 7 8                     after   a request, the summary, copies of 7 and 8
//   prompt   1 2 3 4 5 6, the request            (the cached prefix is reused as far as it goes)
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "chat_core.h"

namespace bitnet {
namespace {

constexpr const char* kRequest =
    "Please sum up our conversation so far in a few sentences, with the names, numbers and decisions in it. "
    "Write "
    "only the summary.";
constexpr uint32_t kMostSummary = 512;  // tokens

[[noreturn]] void refuse(const std::string& why) { throw Error(ErrorKind::usage, why); }

struct Summary {
  explicit Summary(const Tokenizer& tokenizer) : decoder(tokenizer) {}
  StreamDecoder decoder;
  std::string text;
  std::vector<StoredToken> tokens;
};

std::string numbers_of(int64_t first, int64_t last) {
  return first == last ? fmt::format("Message {}", first) : fmt::format("Messages {} to {}", first, last);
}

}  // namespace

void ChatCore::compact() {
  if (!model_) refuse("the model is not loaded");
  const uint32_t limit = model_->n_ctx;
  const uint32_t room = std::min(limit / 4, kMostSummary);
  const auto size_of = [this](size_t count) { return prompt_for(count).size(); };
  const auto turn_before = [this](size_t at) {
    while (at > 0 && branch_[--at].stored.role != Role::user) {
    }
    return at;
  };
  // branch_[0, cut) is summed up, the rest is kept: the last turn, and turns before it while they are short.
  size_t cut = turn_before(branch_.size());
  if (cut == 0) refuse("there is only one turn, and the last turn is kept as it is; /undo or /new make room");
  const size_t whole = size_of(branch_.size());
  for (size_t next = turn_before(cut); next > 0 && whole - std::min(whole, size_of(next)) <= limit / 8;
       next = turn_before(next)) {
    cut = next;
  }
  const auto request = [this](size_t count) {
    std::vector<PromptMessage> messages = prompt_messages(count);
    messages.push_back({Role::user, kRequest, {}});
    return build_prompt(*model_->text, settings_.system, messages, created_ / 1000);
  };
  Job job;
  job.tokens = request(cut);
  while (job.tokens.size() + room > limit) {
    cut = turn_before(cut);
    if (cut == 0) refuse("the first turn alone leaves no room for a summary; /undo or /new make room");
    job.tokens = request(cut);
  }
  // A conversation of many times the context, imported or made with a larger one.
  if (const size_t kept = whole - std::min(whole, size_of(cut)); kept >= limit) {
    refuse(fmt::format(
        "what one summary can take in leaves {} tokens, more than a context of {}; /goto N steps back, or "
        "/set ctx makes the context larger",
        kept, limit));
  }
  job.sampler.repeat_penalty = settings_.sampler.repeat_penalty;
  job.sampler.repeat_last = settings_.sampler.repeat_last;
  job.decode.max_tokens = room;
  const auto ends = model_->text->tokenizer.end_of_turn();
  job.decode.stop_tokens.assign(ends.begin(), ends.end());

  const auto summary = std::make_shared<Summary>(model_->text->tokenizer);
  ModelTask task;
  task.on_token = [summary](const SampledToken& token) {
    summary->text += summary->decoder.push(token.id);
    summary->tokens.push_back({token.id, token.logprob, 0});
  };
  task.on_finish = [this, summary, cut, whole](const Finished& finished) {
    if (finished.reason == name_of(Finish::interrupted)) {
      front_.notice("Stopped: the conversation is as it was.");
      return;
    }
    if (finished.reason != name_of(Finish::stop) && finished.reason != name_of(Finish::length)) {
      throw Error(ErrorKind::runtime,
                  fmt::format("no summary ({}); the conversation is as it was",
                              finished.message.empty() ? finished.reason : finished.message));
    }
    summary->text += summary->decoder.finish();
    if (summary->text.find_first_not_of(" \t\n") == std::string::npos) {
      throw Error(ErrorKind::runtime, "the model gave an empty summary; the conversation is as it was");
    }
    std::vector<PromptMessage> shorter = {{Role::user, kRequest, {}}, {Role::assistant, summary->text, {}}};
    const std::vector<PromptMessage> all = prompt_messages(branch_.size());
    shorter.insert(shorter.end(), all.begin() + static_cast<std::ptrdiff_t>(cut), all.end());
    const size_t now = build_prompt(*model_->text, settings_.system, shorter, created_ / 1000).size();
    if (now >= std::min<size_t>(whole, model_->n_ctx)) {
      throw Error(ErrorKind::runtime,
                  fmt::format("with the summary the conversation would take {} tokens and not {}; "
                              "it is as it was",
                              now, whole));
    }
    const int64_t old_end = branch_.back().number;
    const std::string said = fmt::format(
        "{} became the summary above; {} kept word for word. The context holds {} of {} tokens instead of "
        "{}. The "
        "whole conversation is still there: /goto {} goes back to it.",
        numbers_of(branch_.front().number, branch_[cut - 1].number),
        cut + 1 == branch_.size() ? fmt::format("message {} is", old_end)
                                  : fmt::format("{} to {} are", branch_[cut].number, old_end),
        now, model_->n_ctx, whole, old_end);
    put_summary(summary->text, summary->tokens, cut);
    front_.command_output("compact", said);
  };
  start_task(std::move(job), std::move(task));
  front_.notice("Summing up the older turns; Esc stops that.");
}

void ChatCore::put_summary(const std::string& text, const std::vector<StoredToken>& tokens, size_t cut) {
  std::optional<int64_t> end;
  keep([&] {
    end = store().add_message(conversation_, {}, Role::user, kRequest);
    end = store().add_answer(conversation_, end, text, name_of(Finish::stop), tokens);
    for (size_t i = cut; i < branch_.size(); ++i) {
      const StoredMessage& message = branch_[i].stored;
      if (message.role == Role::assistant) {
        end = store().add_answer(conversation_, end, message.text, message.finish,
                                 store().message_tokens(message.id));
      } else {
        end = store().add_message(conversation_, end, message.role, message.text);
      }
    }
  });
  undone_.clear();
  move_to(end);
}

}  // namespace bitnet
