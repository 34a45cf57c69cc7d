// /tokens and /alt: the worker evaluates the last answer's tokens once more and names the likeliest in each
// place. The probabilities are the model's own, before temperature and the other settings.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <utility>

#include "app/base/counted.h"
#include "app/text/bar.h"
#include "app/text/text_safe.h"
#include "app/text/text_width.h"
#include "arguments.h"
#include "do.h"
#include "refuse.h"

namespace bitnet {
namespace {

constexpr uint32_t kCandidates = 8;
constexpr size_t kRows = 100;  // of one listing
constexpr int kBarCells = 8;
constexpr int kTokenColumns = 16;
constexpr size_t kContextBytes = 40;
constexpr double kCertain = 0.95;  // from here on /alt leaves a token out
constexpr size_t kBesides = 2;     // other candidates in a row of /alt: so many fit 80 columns
constexpr double kWorthNaming = 0.01;

std::string percent_and_bar(float logprob) {
  const double p = std::exp(double{logprob});
  return fmt::format("{:>5.1f} % {}", 100 * p, bar(p, kBarCells));
}

std::string padded(std::string text, int columns) {
  return text + std::string(static_cast<size_t>(std::max(columns - columns_of(text), 0)), ' ');
}

bool is_utf8(std::string_view text) { return make_safe(text).find("\uFFFD") == std::string::npos; }

// In quotes, so that spaces show; bytes that are no character by themselves as <E4>.
std::string token_text(const ModelState& model, int32_t id) {
  const std::string_view bytes = model->text->tokenizer.token_bytes(id);
  std::string text;
  if (is_utf8(bytes)) {
    for (const char c : make_safe(bytes)) text += c == '\n' ? "\\n" : c == '\t' ? "\\t" : std::string(1, c);
    return fmt::format("\"{}\"", text);
  }
  for (const char byte : bytes) text += fmt::format("<{:02X}>", static_cast<uint8_t>(byte));
  return text;
}

// Looks at the last answer, unless it was looked at already, and then calls `then`.
void with_look(ChatParts& chat, std::function<void()> then) {
  chat.model.require();
  const std::vector<BranchMessage>& branch = chat.conversation.branch();
  if (branch.empty() || branch.back().stored.role != Role::assistant) refuse("there is no answer to look at");
  const BranchMessage& answer = branch.back();
  LookedAnswer wanted;
  wanted.prompt = chat.conversation.prompt_of(branch.size() - 1);
  wanted.tokens = tokens_behind(chat.model->text->tokenizer, wanted.prompt,
                                {Role::assistant, answer.stored.text, answer.tokens});
  if (wanted.tokens.empty() || wanted.prompt.empty()) refuse("the answer has no tokens");
  if (chat.looked.prompt == wanted.prompt && chat.looked.tokens == wanted.tokens &&
      chat.looked.looked.size() == wanted.tokens.size()) {
    return then();
  }
  LookJob job;
  job.tokens = wanted.prompt;
  job.tokens.insert(job.tokens.end(), wanted.tokens.begin(), wanted.tokens.end());
  job.first = static_cast<uint32_t>(wanted.prompt.size());
  job.candidates = kCandidates;
  job.keep = !chat.storage.store().is_private();
  if (job.tokens.size() > chat.model->n_ctx) {
    refuse(fmt::format("the answer ends at token {}, past the context of {}", job.tokens.size(),
                       chat.model->n_ctx));
  }
  chat.looked = std::move(wanted);
  Task task;
  task.on_looked = [&chat](const Looked& looked) { chat.looked.looked.push_back(looked); };
  task.on_finish = [&chat, then = std::move(then)](const Finished& finished) {
    if (finished.reason == "failed") throw Error(ErrorKind::runtime, finished.message);
    if (chat.looked.looked.size() == chat.looked.tokens.size()) {
      then();
    } else {
      chat.front_end().notice("Stopped.");
    }
  };
  chat.tasks.start(std::move(job), std::move(task));
}

const Looked& looked_at(const LookedAnswer& answer, size_t token) {
  if (token < 1 || token > answer.looked.size())
    refuse(fmt::format("the answer has tokens 1 to {}, found {}", answer.looked.size(), token));
  return answer.looked[token - 1];
}

std::string tokens_text(const ModelState& model, const LookedAnswer& answer, size_t from) {
  const std::vector<Looked>& looked = answer.looked;
  if (from < 1 || from > looked.size()) refuse(fmt::format("the answer has tokens 1 to {}", looked.size()));
  double sum = 0;
  for (const Looked& token : looked) sum += token.token.logprob;
  const double mean = sum / static_cast<double>(looked.size());
  std::string text = fmt::format("{}, {:.1f} % likely on average (perplexity {:.2f})\n",
                                 counted(looked.size(), "token"), 100 * std::exp(mean), std::exp(-mean));
  const size_t end = std::min(from - 1 + kRows, looked.size());
  for (size_t i = from - 1; i < end; ++i) {
    const Candidate& token = looked[i].token;
    text += fmt::format("{:>5}  {}  {}  {}\n", i + 1, percent_and_bar(token.logprob),
                        padded(token_text(model, token.id), kTokenColumns), token.id);
  }
  if (end < looked.size()) text += fmt::format("({} more: /tokens {})\n", looked.size() - end, end + 1);
  return text;
}

// The likeliest other candidates, with the numbers that /alt N K takes.
std::string others_text(const ModelState& model, const Looked& look) {
  std::string others;
  size_t named = 0;
  for (size_t k = 0; k < look.best.size() && named < kBesides; ++k) {
    const double p = std::exp(look.best[k].logprob);
    if (look.best[k].id == look.token.id || p < kWorthNaming) continue;
    others += fmt::format("{}{}: {} {:.0f} %", named == 0 ? "  " : ", ", k + 1,
                          token_text(model, look.best[k].id), 100 * p);
    ++named;
  }
  return others;
}

// The tokens that were not certain.
std::string alternatives_text(const ModelState& model, const LookedAnswer& answer) {
  std::string text;
  size_t rows = 0;
  size_t certain = 0;
  size_t unlisted = 0;
  for (size_t i = 0; i < answer.looked.size(); ++i) {
    const Looked& look = answer.looked[i];
    if (std::exp(look.token.logprob) >= kCertain) {
      ++certain;
      continue;
    }
    if (++rows > kRows) {
      ++unlisted;
      continue;
    }
    text += fmt::format("{:>5}  {}  {}{}\n", i + 1, percent_and_bar(look.token.logprob),
                        padded(token_text(model, look.token.id), kTokenColumns), others_text(model, look));
  }
  if (unlisted > 0) text += fmt::format("({} more such tokens; /tokens lists all)\n", unlisted);
  if (certain > 0)
    text +=
        fmt::format("({} {:.0f} % likely or more)\n",
                    certain == 1 ? "1 token was" : fmt::format("{} tokens were", certain), 100 * kCertain);
  return text + "/alt N shows all candidates of token N, /alt N K goes on from one.";
}

std::string words_before(const ModelState& model, const LookedAnswer& answer, size_t token) {
  const std::vector<int32_t> before(answer.tokens.begin(),
                                    answer.tokens.begin() + static_cast<std::ptrdiff_t>(token - 1));
  std::string context = make_safe(model->text->tokenizer.decode(before, true));
  std::replace(context.begin(), context.end(), '\n', ' ');
  if (context.size() > kContextBytes) {
    const size_t word = context.find(' ', context.size() - kContextBytes);
    context = "…" + context.substr(word == std::string::npos ? context.size() : word);
  }
  return context;
}

std::string candidates_text(const ModelState& model, const LookedAnswer& answer, size_t token) {
  const Looked& look = looked_at(answer, token);
  std::string text =
      token == 1 ? std::string("Token 1, where the answer begins:\n")
                 : fmt::format("Token {}, after \"{}\":\n", token, words_before(model, answer, token));
  bool among = false;
  for (size_t k = 0; k < look.best.size(); ++k) {
    const bool chosen = look.best[k].id == look.token.id;
    among = among || chosen;
    text += fmt::format("{:>5}  {}  {}\n", k + 1, percent_and_bar(look.best[k].logprob),
                        chosen ? padded(token_text(model, look.best[k].id), kTokenColumns) + "  (this one)"
                               : token_text(model, look.best[k].id));
  }
  if (!among) {
    text += fmt::format("       {}  {}  (this one)\n", percent_and_bar(look.token.logprob),
                        padded(token_text(model, look.token.id), kTokenColumns));
  }
  return text + fmt::format("/alt {} K goes on from candidate K, as another answer.", token);
}

// Another answer, which begins as the last one does up to `token` and has `candidate` in its place.
void go_on_from(ChatParts& chat, size_t token, size_t candidate) {
  const LookedAnswer& answer = chat.looked;
  const Tokenizer& tokenizer = chat.model->text->tokenizer;
  const Looked& look = looked_at(answer, token);
  if (candidate < 1 || candidate > look.best.size()) {
    refuse(fmt::format("token {} has candidates 1 to {}, found {}", token, look.best.size(), candidate));
  }
  std::vector<StoredToken> kept;
  for (size_t i = 0; i + 1 < token; ++i)
    kept.push_back({answer.tokens[i], answer.looked[i].token.logprob, 0});
  const Candidate& other = look.best[candidate - 1];
  const auto ends = tokenizer.end_of_turn();
  const bool is_end = std::find(ends.begin(), ends.end(), other.id) != ends.end();
  if (!is_end) kept.push_back({other.id, other.logprob, 0});

  StoredMessage begun;
  begun.text = opened_thought(tokenizer, answer.prompt);
  StreamDecoder decoder(tokenizer, answer.prompt.back());
  for (const StoredToken& one : kept) begun.text += decoder.push(one.id);
  // The thought was the beginning of the answer, and so it is now.
  begun.thought_tokens = std::min(chat.conversation.thought_tokens(), static_cast<uint32_t>(kept.size()));
  if (is_end) begun.finish = name_of(Finish::stop);
  chat.conversation.step_back_to(chat.conversation.branch().size() - 1);
  chat.conversation.add_answer(std::move(begun), kept);
  if (is_end) {
    chat.conversation.update_context();
    chat.reporter.send_status();
  } else {
    chat.answer.begin();
  }
}

}  // namespace

void do_tokens(ChatParts& chat, std::string_view arguments) {
  const size_t from = arguments.empty() ? 1 : token_number(arguments);
  with_look(chat, [&chat, from] {
    chat.front_end().command_output("tokens", tokens_text(chat.model, chat.looked, from));
  });
}

void do_alt(ChatParts& chat, std::string_view arguments) {
  const auto [first, second] = split(arguments);
  if (first.empty()) {
    return with_look(chat, [&chat] {
      chat.front_end().command_output("alt", alternatives_text(chat.model, chat.looked));
    });
  }
  const size_t token = token_number(first);
  if (second.empty()) {
    return with_look(chat, [&chat, token] {
      chat.front_end().command_output("alt", candidates_text(chat.model, chat.looked, token));
    });
  }
  const size_t candidate = token_number(second);
  with_look(chat, [&chat, token, candidate] { go_on_from(chat, token, candidate); });
}

}  // namespace bitnet
