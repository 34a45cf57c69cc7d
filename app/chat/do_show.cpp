// /show: the model, the settings, the prompt, the context and the last answer in figures.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "app/base/counted.h"
#include "app/base/sizes.h"
#include "app/model/link_reads.h"
#include "do.h"
#include "refuse.h"

namespace bitnet {
namespace {

std::string rate(uint32_t tokens, double seconds) {
  return seconds > 0 ? fmt::format("{:.1f} tokens/s", tokens / seconds) : std::string("-");
}

std::string memory_text(const Placement& p) {
  if (p.in_file != 0)
    return fmt::format("{} on the device, {} in host memory, {} in the file, of which a token reads {}",
                       size_text(p.on_device), size_text(p.in_host), size_text(p.in_file),
                       size_text(p.read_in_file));
  if (p.in_host == 0) return size_text(p.on_device);
  return fmt::format("{} on the device, {} in host memory, of which a token reads {}", size_text(p.on_device),
                     size_text(p.in_host), size_text(p.read_in_host));
}

std::string model_text(const ModelState& model) {
  if (!model) return model.failure() ? model.failure()->what() : "The model is still loading.";
  const ModelInfo& m = model->model;
  return fmt::format(
      "{}\n"
      "file          {}\n"
      "architecture  {}, {} layers, {} wide, feed-forward {}, {} heads of {} over {} KV heads\n"
      "weights       {} ({}, inputs {}), {} bytes in all\n"
      "activation    {} ({})\n"
      "vocabulary    {} tokens, pre-tokenizer {}\n"
      "context       {} tokens here, {} in training\n"
      "template      {}\n"
      "fingerprint   {}\n"
      "device        {} ({}{}{})\n"
      "memory        {}",
      m.name.empty() ? "(no name)" : m.name, model->text->path, m.architecture, m.n_layer, m.n_embd, m.n_ff,
      m.n_head, m.head_dim, m.n_head_kv, count_weights(m), m.projection_types, m.inputs, m.file_bytes,
      name_of(m.activation), m.activation_reason, m.n_vocab, model->text->tokenizer.pre(), model->n_ctx,
      m.n_ctx_train, describe_template(*model->text), m.fingerprint, model->device.name, model->device.driver,
      model->device.cpu ? "" : ", Vulkan ", model->device.api, memory_text(model->placement));
}

// What the model saw before the last answer, or will see next.
std::string prompt_text(const ChatParts& chat) {
  chat.model.require();
  const std::vector<BranchMessage>& branch = chat.conversation.branch();
  if (branch.empty()) return "Nothing was said yet.";
  const bool answered = branch.back().stored.role == Role::assistant;
  const std::vector<int32_t> ids = chat.conversation.prompt_of(answered ? branch.size() - 1 : branch.size());
  return fmt::format("{}\n({})", chat.model->text->tokenizer.decode(ids, /*show_special=*/true),
                     counted(ids.size(), "token"));
}

std::string context_text(const ChatParts& chat) {
  chat.model.require();
  const Status& status = chat.reporter.status();
  const uint32_t limit = status.context_limit;
  const uint32_t used = status.context_used;
  std::string text = fmt::format("{} of {} tokens used ({:.0f} %), {} left", used, limit,
                                 limit == 0 ? 0.0 : 100.0 * used / limit, limit - std::min(used, limit));
  if (status.prompt_tokens > 0)
    text += fmt::format("; last prompt: reused {} of {} tokens", status.reused, status.prompt_tokens);
  return text;
}

// How fast an answer read the weights that lie in host memory or in the file; empty where there are none.
std::string link_text(const Placement& p, const JobStats& s) {
  const uint64_t streamed = read_in_host(p, s.experts) + p.read_in_file;
  if (streamed == 0 || s.answer_tokens == 0 || s.decode_seconds <= 0) return "";
  const bool only_file = streamed == p.read_in_file;
  return fmt::format("\n{}    {} a token{}, {:.1f} GB/s", only_file ? "file" : "link", size_text(streamed),
                     only_file || p.read_in_file == 0
                         ? ""
                         : fmt::format(", of which {} from the file", size_text(p.read_in_file)),
                     static_cast<double>(streamed) * s.answer_tokens / s.decode_seconds / 1e9);
}

// How many of the experts that an answer used had a place on the device; empty where all of them lie there.
std::string experts_text(const ExpertReads& e) {
  if (e.uses == 0) return "";
  return fmt::format("\nexperts {:.1f} % of those used were on the device, {} were copied there",
                     1e2 * static_cast<double>(e.hits) / static_cast<double>(e.uses), e.copies);
}

// How many tokens were guessed and how many of them came; empty where none were.
std::string guesses_text(const JobStats& s) {
  if (s.drafted_tokens == 0) return "";
  return fmt::format("guessed {}, {} of them right\n", counted(s.drafted_tokens, "token"),
                     s.right_tokens);
}

std::string stats_text(const ChatParts& chat) {
  const Answer& answer = chat.answer;
  const JobStats& s = answer.stats();
  if (s.prompt_tokens == 0) return "No answer was made since this conversation was opened.";
  const uint32_t computed = s.prompt_tokens - std::min(s.prompt_tokens, s.reused_tokens);
  const uint32_t thought_tokens = chat.conversation.thought_tokens();
  const std::string thought = thought_tokens == 0 ? "" : fmt::format(", {} of them thought,", thought_tokens);
  return fmt::format(
      "prompt  {}, reused {}, computed {} in {:.2f} s ({})\n"
      "answer  {}{} in {:.2f} s ({})\n"
      "{}seed    {}{}{}",
      counted(s.prompt_tokens, "token"), s.reused_tokens, computed, s.prefill_seconds,
      rate(computed, s.prefill_seconds), counted(s.answer_tokens, "token"), thought, s.decode_seconds,
      rate(s.answer_tokens, s.decode_seconds), guesses_text(s), answer.seed(),
      chat.model ? link_text(chat.model->placement, s) : "", experts_text(s.experts));
}

}  // namespace

void do_show(ChatParts& chat, std::string_view subject) {
  std::string text;
  if (subject == "model") {
    text = model_text(chat.model);
  } else if (subject == "params") {
    text = settings_text(chat, "");
  } else if (subject == "prompt") {
    text = prompt_text(chat);
  } else if (subject == "context") {
    text = context_text(chat);
  } else if (subject == "stats") {
    text = stats_text(chat);
  } else {
    refuse(fmt::format("/show wants model, params, prompt, context or stats, found {}",
                       subject.empty() ? "nothing" : fmt::format("'{}'", printable(subject, 40))));
  }
  chat.front_end().command_output(fmt::format("show {}", subject), text);
}

}  // namespace bitnet
