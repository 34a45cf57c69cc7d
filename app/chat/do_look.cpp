// /tokens and /alt: the worker evaluates the last answer's tokens once more and names the likeliest in each
// place. The probabilities are the model's own, before temperature and the other settings.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "app/base/counted.h"
#include "app/text/bar.h"
#include "app/text/text_safe.h"
#include "app/text/text_width.h"
#include "chat_core.h"

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

[[noreturn]] void refuse(const std::string& why) { throw Error(ErrorKind::usage, why); }

std::string percent_and_bar(float logprob) {
  const double p = std::exp(double{logprob});
  return fmt::format("{:>5.1f} % {}", 100 * p, bar(p, kBarCells));
}

std::string padded(std::string text, int columns) {
  return text + std::string(static_cast<size_t>(std::max(columns - columns_of(text), 0)), ' ');
}

bool is_utf8(std::string_view text) { return make_safe(text).find("\uFFFD") == std::string::npos; }

}  // namespace

// In quotes, so that spaces show; bytes that are no character by themselves as <E4>.
std::string ChatCore::token_text(int32_t id) const {
  const std::string_view bytes = model_->text->tokenizer.token_bytes(id);
  std::string text;
  if (is_utf8(bytes)) {
    for (const char c : make_safe(bytes)) text += c == '\n' ? "\\n" : c == '\t' ? "\\t" : std::string(1, c);
    return fmt::format("\"{}\"", text);
  }
  for (const char byte : bytes) text += fmt::format("<{:02X}>", static_cast<uint8_t>(byte));
  return text;
}

void ChatCore::with_look(std::function<void()> then) {
  if (!model_) refuse("the model is not loaded");
  if (branch_.empty() || branch_.back().stored.role != Role::assistant)
    refuse("there is no answer to look at");
  const BranchMessage& answer = branch_.back();
  LookJob job;
  job.tokens = prompt_for(branch_.size() - 1);
  job.first = static_cast<uint32_t>(job.tokens.size());
  job.candidates = kCandidates;
  const std::vector<int32_t> said =
      answer.tokens.empty() ? model_->text->tokenizer.encode(answer.stored.text, false) : answer.tokens;
  if (said.empty() || job.first == 0) refuse("the answer has no tokens");
  if (looked_.message == answer.stored.id && looked_.tokens == said && looked_.looked.size() == said.size()) {
    return then();
  }
  job.tokens.insert(job.tokens.end(), said.begin(), said.end());
  if (job.tokens.size() > model_->n_ctx) {
    refuse(
        fmt::format("the answer ends at token {}, past the context of {}", job.tokens.size(), model_->n_ctx));
  }
  looked_ = {answer.stored.id, said, {}};
  ModelTask task;
  task.on_finish = [this, then = std::move(then)](const Finished& finished) {
    if (finished.reason == "failed") throw Error(ErrorKind::runtime, finished.message);
    if (looked_.looked.size() == looked_.tokens.size()) {
      then();
    } else {
      front_.notice("Stopped.");
    }
  };
  start_task(std::move(job), std::move(task));
}

void ChatCore::show_tokens(size_t from) {
  with_look([this, from] {
    const std::vector<Looked>& looked = looked_.looked;
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
                          padded(token_text(token.id), kTokenColumns), token.id);
    }
    if (end < looked.size()) text += fmt::format("({} more: /tokens {})\n", looked.size() - end, end + 1);
    front_.command_output("tokens", text);
  });
}

void ChatCore::show_alternatives() {
  with_look([this] {
    std::string text;
    size_t rows = 0;
    size_t certain = 0;
    size_t unlisted = 0;
    for (size_t i = 0; i < looked_.looked.size(); ++i) {
      const Looked& look = looked_.looked[i];
      if (std::exp(look.token.logprob) >= kCertain) {
        ++certain;
        continue;
      }
      if (++rows > kRows) {
        ++unlisted;
        continue;
      }
      std::string others;
      size_t named = 0;
      for (size_t k = 0; k < look.best.size() && named < kBesides; ++k) {
        const double p = std::exp(look.best[k].logprob);
        if (look.best[k].id == look.token.id || p < kWorthNaming) continue;
        others += fmt::format("{}{}: {} {:.0f} %", named == 0 ? "  " : ", ", k + 1,
                              token_text(look.best[k].id), 100 * p);
        ++named;
      }
      text += fmt::format("{:>5}  {}  {}{}\n", i + 1, percent_and_bar(look.token.logprob),
                          padded(token_text(look.token.id), kTokenColumns), others);
    }
    if (unlisted > 0) text += fmt::format("({} more such tokens; /tokens lists all)\n", unlisted);
    if (certain > 0)
      text +=
          fmt::format("({} {:.0f} % likely or more)\n",
                      certain == 1 ? "1 token was" : fmt::format("{} tokens were", certain), 100 * kCertain);
    front_.command_output("alt", text + "/alt N shows all candidates of token N, /alt N K goes on from one.");
  });
}

void ChatCore::show_alternatives(size_t token) {
  with_look([this, token] {
    if (token < 1 || token > looked_.looked.size()) {
      refuse(fmt::format("the answer has tokens 1 to {}, found {}", looked_.looked.size(), token));
    }
    const Looked& look = looked_.looked[token - 1];
    const std::vector<int32_t> before(looked_.tokens.begin(),
                                      looked_.tokens.begin() + static_cast<std::ptrdiff_t>(token - 1));
    // The last few words before it.
    std::string context = make_safe(model_->text->tokenizer.decode(before, true));
    std::replace(context.begin(), context.end(), '\n', ' ');
    if (context.size() > kContextBytes) {
      const size_t word = context.find(' ', context.size() - kContextBytes);
      context = "…" + context.substr(word == std::string::npos ? context.size() : word);
    }
    std::string text = token == 1 ? std::string("Token 1, where the answer begins:\n")
                                  : fmt::format("Token {}, after \"{}\":\n", token, context);
    bool among = false;
    for (size_t k = 0; k < look.best.size(); ++k) {
      const bool chosen = look.best[k].id == look.token.id;
      among = among || chosen;
      text += fmt::format("{:>5}  {}  {}\n", k + 1, percent_and_bar(look.best[k].logprob),
                          chosen ? padded(token_text(look.best[k].id), kTokenColumns) + "  (this one)"
                                 : token_text(look.best[k].id));
    }
    if (!among) {
      text += fmt::format("       {}  {}  (this one)\n", percent_and_bar(look.token.logprob),
                          padded(token_text(look.token.id), kTokenColumns));
    }
    front_.command_output(
        "alt", text + fmt::format("/alt {} K goes on from candidate K, as another answer.", token));
  });
}

void ChatCore::go_on_from(size_t token, size_t candidate) {
  with_look([this, token, candidate] {
    if (token < 1 || token > looked_.looked.size()) {
      refuse(fmt::format("the answer has tokens 1 to {}, found {}", looked_.looked.size(), token));
    }
    const Looked& look = looked_.looked[token - 1];
    if (candidate < 1 || candidate > look.best.size()) {
      refuse(fmt::format("token {} has candidates 1 to {}, found {}", token, look.best.size(), candidate));
    }
    std::vector<StoredToken> kept;
    for (size_t i = 0; i + 1 < token; ++i)
      kept.push_back({looked_.tokens[i], looked_.looked[i].token.logprob, 0});
    const Candidate& other = look.best[candidate - 1];
    const auto ends = model_->text->tokenizer.end_of_turn();
    const bool is_end = std::find(ends.begin(), ends.end(), other.id) != ends.end();
    if (!is_end) kept.push_back({other.id, other.logprob, 0});

    StoredMessage answer;
    StreamDecoder decoder(model_->text->tokenizer);
    std::vector<int32_t> ids;
    for (const StoredToken& one : kept) {
      answer.text += decoder.push(one.id);
      ids.push_back(one.id);
    }
    answer.role = Role::assistant;
    if (is_end) answer.finish = name_of(Finish::stop);
    step_back_to(branch_.back().stored.parent);
    keep([&] {
      answer.parent = leaf();
      answer.id = store().add_answer(conversation_, answer.parent, answer.text,
                                     is_end ? name_of(Finish::stop) : name_of(Finish::interrupted), kept);
    });
    push_message(answer);
    branch_.back().tokens = ids;
    if (is_end) {
      update_context();
      send_status();
    } else {
      start_answer();
    }
  });
}

}  // namespace bitnet
