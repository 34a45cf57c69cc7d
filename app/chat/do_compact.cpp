// /compact: the model sums up the older turns; a new branch from the root has the summary in their place and
// the last turns word for word. Nothing is taken away: the old branch stays where it is.
//
//   before   1 2 3 4 5 6 7 8                     after   a request, the summary, copies of 7 and 8
//   prompt   1 2 3 4 5 6, the request            (the cached prefix is reused as far as it goes)
//
// Where the context does not take in all of them at once, this goes in steps: 1 2 3 become a summary, that
// and 4 5 6 the next one. A summary that speaks of something else is thrown away (shared_words.h), and
// nothing changes.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "app/text/thinking.h"
#include "do.h"
#include "refuse.h"
#include "shared_words.h"

namespace bitnet {
namespace {

constexpr const char* kSummaryRequest =
    "Please sum up our conversation so far in a few sentences, with the names, numbers and decisions in it. "
    "Write only the summary.";
constexpr uint32_t kMostSummary = 512;  // tokens

// A summary says in other words what was said, but names, numbers and things stay: with fewer than one word
// in this many that the turns have too, it speaks of something else.
constexpr size_t kOneWordIn = 5;

bool speaks_of(std::string_view summary, std::string_view turns) {
  const SharedWords words = shared_words(summary, turns, kSummaryRequest);
  return words.shared > 0 && words.shared * kOneWordIn >= words.of;
}

// Behind an M or an m.
std::string numbers_of(int64_t first, int64_t last) {
  return first == last ? fmt::format("essage {}", first) : fmt::format("essages {} to {}", first, last);
}

// What the model writes in one step.
struct Summary {
  Summary(const Tokenizer& tokenizer, const std::vector<int32_t>& prompt)
      : decoder(tokenizer, prompt.back()), text(opened_thought(tokenizer, prompt)) {}
  StreamDecoder decoder;
  std::string text;
  std::vector<StoredToken> tokens;
};

// One call of /compact. Each step's task holds it until the next step, or the end.
class Compaction : public std::enable_shared_from_this<Compaction> {
 public:
  // Decides what is summed up; throws Error(usage) where there is nothing.
  explicit Compaction(ChatParts& chat);
  // One summary, of what the summary before it holds and as many of the turns after it as the context takes
  // in. Throws Error(usage) where that is none.
  void step();

 private:
  using Messages = std::vector<PromptMessage>;

  const std::vector<BranchMessage>& branch() const { return chat_.conversation.branch(); }
  uint32_t room() const { return std::min(chat_.model->n_ctx / 4, kMostSummary); }  // tokens of a summary
  size_t turn_before(size_t at) const;  // where the turn begins that ends before message `at`
  size_t turn_after(size_t at) const;
  size_t tokens_of(size_t begin, size_t end) const;  // of a prompt of these messages alone
  Messages with_summary(size_t begin, size_t end) const;
  std::vector<int32_t> prompt_of(const Messages& messages) const;
  std::vector<int32_t> request(size_t end) const;
  size_t likely_end() const;
  void end_early();
  void start(std::vector<int32_t> prompt, size_t end);
  void finish_step(const Finished& finished, Summary& summary, size_t end);
  void finish(size_t tokens_now);
  void store_branch();

  ChatParts& chat_;
  size_t cut_ = 0;    // messages [0, cut_) of the branch are summed up, the rest is kept
  size_t whole_ = 0;  // tokens of the conversation as it was
  size_t taken_ = 0;  // messages [0, taken_) are in `text_`
  std::string text_;  // of the summary
  std::vector<StoredToken> tokens_;
};

Compaction::Compaction(ChatParts& chat) : chat_(chat) {
  // The last turn is kept, and turns before it while they are short.
  if (branch().empty()) refuse("there is no turn to sum up yet");
  cut_ = turn_before(branch().size());
  if (cut_ == 0) {
    refuse("there is only one turn, and the last turn is kept as it is; /undo or /new make room");
  }
  whole_ = chat_.conversation.prompt_of(branch().size()).size();
  for (size_t next = turn_before(cut_);
       next > 0 && tokens_of(next, branch().size()) <= chat_.model->n_ctx / 8; next = turn_before(next)) {
    cut_ = next;
  }
}

size_t Compaction::turn_before(size_t at) const {
  while (at > 0 && branch()[--at].stored.role != Role::user) {
  }
  return at;
}

size_t Compaction::turn_after(size_t at) const {
  do {
    ++at;
  } while (at < branch().size() && branch()[at].stored.role != Role::user);
  return at;
}

size_t Compaction::tokens_of(size_t begin, size_t end) const {
  return build_prompt(*chat_.model->text, "",
                      prompt_messages(std::span(branch()).subspan(begin, end - begin)),
                      chat_.conversation.template_now())
      .size();
}

// Messages [begin, end), with the summary before them where there is one.
Compaction::Messages Compaction::with_summary(size_t begin, size_t end) const {
  Messages messages;
  if (!text_.empty()) messages = {{Role::user, kSummaryRequest, {}}, {Role::assistant, text_, {}}};
  const Messages rest = prompt_messages(std::span(branch()).subspan(begin, end - begin));
  messages.insert(messages.end(), rest.begin(), rest.end());
  return messages;
}

std::vector<int32_t> Compaction::prompt_of(const Messages& messages) const {
  return build_prompt(*chat_.model->text, chat_.settings.now.system, messages,
                      chat_.conversation.template_now(), /*think=*/false);
}

std::vector<int32_t> Compaction::request(size_t end) const {
  Messages messages = with_summary(taken_, end);
  messages.push_back({Role::user, kSummaryRequest, {}});
  return prompt_of(messages);
}

// Up to where a step takes turns in, by the size of each turn, which adds up to about that of all of them.
size_t Compaction::likely_end() const {
  size_t end = turn_after(taken_);
  for (size_t size = tokens_of(taken_, end); end < cut_;) {
    const size_t next = turn_after(end);
    size += tokens_of(end, next);
    if (size + room() > chat_.model->n_ctx) break;
    end = next;
  }
  return end;
}

void Compaction::step() {
  size_t end = likely_end();
  std::vector<int32_t> prompt = request(end);
  while (prompt.size() + room() > chat_.model->n_ctx) {
    const size_t before = turn_before(end);
    if (before <= taken_) return end_early();
    end = before;
    prompt = request(end);
  }
  start(std::move(prompt), end);
}

// No turn fits beside the summary; but what that holds so far may be enough.
void Compaction::end_early() {
  const size_t now = prompt_of(with_summary(taken_, branch().size())).size();
  if (taken_ > 0 && now < chat_.model->n_ctx) {
    cut_ = taken_;
    return finish(now);
  }
  refuse(fmt::format(
      "the turn of message {} alone leaves no room for a summary; /goto N steps back, or /set ctx "
      "makes the context larger",
      branch()[taken_].number));
}

void Compaction::start(std::vector<int32_t> prompt, size_t end) {
  const Tokenizer& tokenizer = chat_.model->text->tokenizer;
  const auto summary = std::make_shared<Summary>(tokenizer, prompt);
  DecodeJob job;
  job.tokens = std::move(prompt);
  job.sampler.repeat_penalty = chat_.settings.now.sampler.repeat_penalty;
  job.sampler.repeat_last = chat_.settings.now.sampler.repeat_last;
  job.decode.max_tokens = room();
  const auto ends = tokenizer.end_of_turn();
  job.decode.stop_tokens.assign(ends.begin(), ends.end());

  Task task;
  task.on_token = [summary](const SampledToken& token) {
    summary->text += summary->decoder.push(token.id);
    summary->tokens.push_back({token.id, token.logprob, 0});
  };
  task.on_finish = [self = shared_from_this(), summary, end](const Finished& finished) {
    self->finish_step(finished, *summary, end);
  };
  const bool in_one = taken_ == 0 && end == cut_;
  chat_.tasks.start(std::move(job), std::move(task));
  chat_.front_end().notice(in_one ? "Summing up the older turns; Esc stops that."
                                  : fmt::format("Summing up m{}, of {} in all; Esc stops that.",
                                                numbers_of(branch()[taken_].number, branch()[end - 1].number),
                                                cut_));
}

void Compaction::finish_step(const Finished& finished, Summary& summary, size_t end) {
  if (finished.reason == name_of(Finish::interrupted)) {
    chat_.front_end().notice("Stopped: the conversation is as it was.");
    return;
  }
  if (finished.reason != name_of(Finish::stop) && finished.reason != name_of(Finish::length)) {
    throw Error(ErrorKind::runtime,
                fmt::format("no summary ({}); the conversation is as it was",
                            finished.message.empty() ? finished.reason : finished.message));
  }
  summary.text += summary.decoder.finish();
  if (const SplitAnswer split = split_answer(summary.text); split.thinks) {
    summary.text = std::string(split.answer);
    summary.tokens.clear();
  }
  if (summary.text.find_first_not_of(" \t\n") == std::string::npos) {
    throw Error(ErrorKind::runtime, "the model gave an empty summary; the conversation is as it was");
  }
  std::string turns = text_;
  for (size_t i = taken_; i < end; ++i) turns += "\n" + branch()[i].stored.text;
  if (!speaks_of(summary.text, turns)) {
    throw Error(
        ErrorKind::runtime,
        fmt::format(
            "the model's summary has hardly a word in common with the conversation and was thrown away; "
            "it is as it was, with all {} messages kept. /undo steps back and /new begins anew; a "
            "larger model may be able to sum up",
            branch().size()));
  }
  text_ = std::move(summary.text);
  tokens_ = std::move(summary.tokens);
  taken_ = end;
  if (taken_ < cut_) return step();
  finish(prompt_of(with_summary(cut_, branch().size())).size());
}

void Compaction::finish(size_t tokens_now) {
  if (tokens_now >= std::min<size_t>(whole_, chat_.model->n_ctx)) {
    throw Error(
        ErrorKind::runtime,
        fmt::format("with the summary the conversation would take {} tokens and not {}; it is as it was",
                    tokens_now, whole_));
  }
  const int64_t old_end = branch().back().number;
  const std::string kept = cut_ + 1 == branch().size()
                               ? fmt::format("message {} is", old_end)
                               : fmt::format("{} to {} are", branch()[cut_].number, old_end);
  const std::string said = fmt::format(
      "M{} became the summary above; {} kept word for word. The context holds {} of {} tokens instead of {}. "
      "The whole conversation is still there: /goto {} goes back to it.",
      numbers_of(branch().front().number, branch()[cut_ - 1].number), kept, tokens_now, chat_.model->n_ctx,
      whole_, old_end);
  store_branch();
  chat_.front_end().command_output("compact", said);
}

void Compaction::store_branch() {
  std::optional<int64_t> end;
  chat_.storage.keep([&] {
    Store& store = chat_.storage.store();
    const int64_t number = chat_.storage.number();
    end = store.add_message(number, {}, Role::user, kSummaryRequest);
    const std::string sampler = to_json(chat_.settings.now, 0);
    end = store.add_answer(number, end, text_, name_of(Finish::stop), tokens_, sampler);
    for (size_t i = cut_; i < branch().size(); ++i) {
      const StoredMessage& message = branch()[i].stored;
      if (message.role == Role::assistant) {
        end = store.add_answer(number, end, message.text, message.finish, store.message_tokens(message.id),
                               sampler, message.thought_tokens);
      } else {
        end = store.add_message(number, end, message.role, message.text);
      }
    }
  });
  chat_.conversation.move_to(end);
}

}  // namespace

void do_compact(ChatParts& chat, std::string_view) {
  chat.model.require();
  if (chat.model->text->template_origin == TemplateOrigin::none)
    refuse("a base model cannot sum up; /undo or /new make room");
  std::make_shared<Compaction>(chat)->step();
}

}  // namespace bitnet
