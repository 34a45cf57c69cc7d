// /compact: the model sums up the older turns; a new branch from the root has the summary in their place and
// the last turns word for word. Nothing is taken away: the old branch stays where it is.
//
//   before   1 2 3 4 5 6 7 8                     after   a request, the summary, copies of 7 and 8
//   prompt   1 2 3 4 5 6, the request            (the cached prefix is reused as far as it goes)
//
// Where the context does not take in all of them at once, in parts: 1 2 3 become a summary, that and 4 5 6
// the next one. A summary that speaks of something else is thrown away (shared_words.h), and nothing changes.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "chat_core.h"
#include "shared_words.h"

namespace bitnet {
namespace {

constexpr const char* kRequest =
    "Please sum up our conversation so far in a few sentences, with the names, numbers and decisions in it. "
    "Write "
    "only the summary.";
constexpr uint32_t kMostSummary = 512;  // tokens

// A summary says in other words what was said, but names, numbers and things stay: fewer than one word in
// this many that the turns have too, and it speaks of something else.
constexpr size_t kOneWordIn = 5;

bool speaks_of(std::string_view summary, std::string_view turns) {
  const SharedWords words = shared_words(summary, turns, kRequest);
  return words.shared > 0 && words.shared * kOneWordIn >= words.of;
}

[[noreturn]] void refuse(const std::string& why) { throw Error(ErrorKind::usage, why); }

struct Summary {
  explicit Summary(const Tokenizer& tokenizer) : decoder(tokenizer) {}
  StreamDecoder decoder;
  std::string text;
  std::vector<StoredToken> tokens;
};

// Behind an M or an m.
std::string numbers_of(int64_t first, int64_t last) {
  return first == last ? fmt::format("essage {}", first) : fmt::format("essages {} to {}", first, last);
}

}  // namespace

// What one call of /compact has come to.
struct Compaction {
  size_t cut = 0;    // branch_[0, cut) is summed up, the rest is kept
  size_t whole = 0;  // tokens of the conversation as it was
  size_t taken = 0;  // branch_[0, taken) is in `text`
  std::string text;  // of the summary
  std::vector<StoredToken> tokens;
};

void ChatCore::compact() {
  if (!model_) refuse("the model is not loaded");
  auto work = std::make_shared<Compaction>();
  // The last turn is kept, and turns before it while they are short.
  work->cut = turn_before(branch_.size());
  if (work->cut == 0) {
    refuse("there is only one turn, and the last turn is kept as it is; /undo or /new make room");
  }
  work->whole = prompt_for(branch_.size()).size();
  for (size_t next = turn_before(work->cut); next > 0 && tokens_of(next, branch_.size()) <= model_->n_ctx / 8;
       next = turn_before(next)) {
    work->cut = next;
  }
  sum_up(std::move(work));
}

size_t ChatCore::turn_before(size_t at) const {
  while (at > 0 && branch_[--at].stored.role != Role::user) {
  }
  return at;
}

size_t ChatCore::tokens_of(size_t begin, size_t end) const {
  const std::vector<PromptMessage> all = prompt_messages(end);
  return build_prompt(*model_->text, "", {all.begin() + static_cast<std::ptrdiff_t>(begin), all.end()},
                      created_ / 1000)
      .size();
}

// One summary, of what the summary before it holds and as many of the turns after it as the context takes in.
void ChatCore::sum_up(const std::shared_ptr<Compaction>& work) {
  const size_t limit = model_->n_ctx;
  const uint32_t room = std::min(model_->n_ctx / 4, kMostSummary);
  const auto with_summary = [this, work](size_t begin, size_t end) {
    std::vector<PromptMessage> messages;
    if (!work->text.empty()) {
      messages = {{Role::user, kRequest, {}}, {Role::assistant, work->text, {}}};
    }
    const std::vector<PromptMessage> all = prompt_messages(end);
    messages.insert(messages.end(), all.begin() + static_cast<std::ptrdiff_t>(begin), all.end());
    return messages;
  };
  const auto prompt_of = [this](const std::vector<PromptMessage>& messages) {
    return build_prompt(*model_->text, settings_.system, messages, created_ / 1000);
  };
  const auto request = [&](size_t end) {
    std::vector<PromptMessage> messages = with_summary(work->taken, end);
    messages.push_back({Role::user, kRequest, {}});
    return prompt_of(messages);
  };
  const auto turn_after = [this](size_t at) {
    do {
      ++at;
    } while (at < branch_.size() && branch_[at].stored.role != Role::user);
    return at;
  };
  // By the size of each turn, which is about that of all of them together.
  size_t end = turn_after(work->taken);
  for (size_t size = tokens_of(work->taken, end); end < work->cut;) {
    const size_t next = turn_after(end);
    size += tokens_of(end, next);
    if (size + room > limit) break;
    end = next;
  }
  Job job;
  job.tokens = request(end);
  while (job.tokens.size() + room > limit) {
    const size_t before = turn_before(end);
    if (before <= work->taken) {
      // What the summary holds so far may be enough.
      const auto rest = with_summary(work->taken, branch_.size());
      if (const size_t now = prompt_of(rest).size(); work->taken > 0 && now < limit) {
        work->cut = work->taken;
        return finish_compaction(*work, now);
      }
      refuse(fmt::format(
          "the turn of message {} alone leaves no room for a summary; /goto N steps back, or /set ctx "
          "makes the context larger",
          branch_[work->taken].number));
    }
    end = before;
    job.tokens = request(end);
  }
  job.sampler.repeat_penalty = settings_.sampler.repeat_penalty;
  job.sampler.repeat_last = settings_.sampler.repeat_last;
  job.decode.max_tokens = room;
  const auto ends = model_->text->tokenizer.end_of_turn();
  job.decode.stop_tokens.assign(ends.begin(), ends.end());

  const auto summary = std::make_shared<Summary>(model_->text->tokenizer);
  std::string turns = work->text;
  for (size_t i = work->taken; i < end; ++i) turns += "\n" + branch_[i].stored.text;
  ModelTask task;
  task.on_token = [summary](const SampledToken& token) {
    summary->text += summary->decoder.push(token.id);
    summary->tokens.push_back({token.id, token.logprob, 0});
  };
  task.on_finish = [this, work, summary, end, turns, with_summary, prompt_of](const Finished& finished) {
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
    if (!speaks_of(summary->text, turns)) {
      throw Error(
          ErrorKind::runtime,
          fmt::format(
              "the model's summary has hardly a word in common with the conversation and was thrown away; "
              "it is as it was, with all {} messages kept. /undo steps back and /new begins anew; a "
              "larger model may be able to sum up",
              branch_.size()));
    }
    work->text = std::move(summary->text);
    work->tokens = std::move(summary->tokens);
    work->taken = end;
    if (work->taken < work->cut) return sum_up(work);
    finish_compaction(*work, prompt_of(with_summary(work->cut, branch_.size())).size());
  };
  const bool in_one = work->taken == 0 && end == work->cut;
  start_task(std::move(job), std::move(task));
  front_.notice(in_one ? "Summing up the older turns; Esc stops that."
                       : fmt::format("Summing up m{}, of {} in all; Esc stops that.",
                                     numbers_of(branch_[work->taken].number, branch_[end - 1].number),
                                     work->cut));
}

void ChatCore::finish_compaction(const Compaction& work, size_t tokens_now) {
  if (tokens_now >= std::min<size_t>(work.whole, model_->n_ctx)) {
    throw Error(ErrorKind::runtime,
                fmt::format("with the summary the conversation would take {} tokens and not {}; "
                            "it is as it was",
                            tokens_now, work.whole));
  }
  const int64_t old_end = branch_.back().number;
  const std::string said = fmt::format(
      "M{} became the summary above; {} kept word for word. The context holds {} of {} tokens instead of {}. "
      "The "
      "whole conversation is still there: /goto {} goes back to it.",
      numbers_of(branch_.front().number, branch_[work.cut - 1].number),
      work.cut + 1 == branch_.size() ? fmt::format("message {} is", old_end)
                                     : fmt::format("{} to {} are", branch_[work.cut].number, old_end),
      tokens_now, model_->n_ctx, work.whole, old_end);
  put_summary(work.text, work.tokens, work.cut);
  front_.command_output("compact", said);
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
