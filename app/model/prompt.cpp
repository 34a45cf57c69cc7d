#include "prompt.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <utility>

#include "app/base/blank.h"
#include "app/text/thinking.h"
#include "engine/hash_text.h"

namespace bitnet {
namespace {

// Segments that a template puts between one message and the next: headers, roles, marks, a date.
constexpr size_t kNear = 32;
constexpr size_t kOpeningTokens = 8;  // at the end of a prompt in which <think> stands

bool is_opening(std::string_view text) { return find_last_opening(text) == 0; }

// If an answer's text is what its tokens gave when they came, returns what stands before that in the text: ""
// or what opened_thought() gave. A control token has no place in the text, so an answer with one is encoded
// anew.
std::optional<std::string> before_own_tokens(const Tokenizer& tokenizer, const PromptMessage& message) {
  for (const int32_t id : message.tokens) {
    if (id < 0 || id >= tokenizer.n_vocab() || tokenizer.is_control(id)) return std::nullopt;
  }
  if (message.tokens.empty()) return std::nullopt;
  // It began a text or went on with one.
  for (const int32_t after : {-1, message.tokens.front()}) {
    StreamDecoder decoder(tokenizer, after);
    std::string spelled;
    for (const int32_t id : message.tokens) spelled += decoder.push(id);
    spelled += decoder.finish();
    if (!message.text.ends_with(spelled)) continue;
    const std::string before = message.text.substr(0, message.text.size() - spelled.size());
    if (before.empty() || is_opening(before)) return before;
  }
  return std::nullopt;
}

// The token ids of a prompt, as they are put together.
struct Ids {
  const Tokenizer& tokenizer;
  std::vector<int32_t> ids;

  int32_t last() const { return ids.empty() ? -1 : ids.back(); }
  void add(std::span<const int32_t> more) { ids.insert(ids.end(), more.begin(), more.end()); }
  void add(std::span<const Segment> segments) { add(tokenizer.encode(segments, last())); }
  void add(std::string_view text, bool parse_special) {
    const Segment segment{std::string(text), parse_special};
    add(std::span(&segment, 1));
  }
};

// The first segment from `from` on that is a message's text and nothing else; the number of segments where
// there is none near. A template may leave a message out or change it; then the next message is looked for.
size_t find_text(const std::vector<Segment>& segments, size_t from, const std::string& text) {
  const size_t end = std::min(segments.size(), from + kNear);
  for (size_t i = from; i < end; ++i) {
    if (!segments[i].parse_special && segments[i].text == text) return i;
  }
  return segments.size();
}

// An answer that was stopped before its first token, or before the end of its thought where the template
// leaves that out, says nothing: the model would take it for one and learn to be silent.
bool is_unsaid(const ModelText& text, const PromptMessage& message) {
  if (message.role != Role::assistant) return false;
  if (message.text.empty()) return message.tokens.empty();
  const SplitAnswer split = split_answer(message.text);
  return split.thinks && split.answer.empty() &&
         (split.thought.empty() || text.chat_template.knows_reasoning_content());
}

// Some templates know no system prompt (Gemma's and Gemma 2's, and Phi-3's first): it becomes the beginning
// of the first turn, as Gemma 3's template has it. Returns whether it could.
bool move_into_first_turn(std::string& system, std::vector<PromptMessage>& messages) {
  if (system.empty() || messages.empty() || messages.front().role != Role::user) return false;
  messages.front().text = system + "\n\n" + messages.front().text;
  system.clear();
  return true;
}

// Joins turns of the user that follow one another into one. Returns whether there were any.
bool join_user_turns(std::vector<PromptMessage>& messages) {
  std::vector<PromptMessage> joined;
  for (PromptMessage& message : messages) {
    const bool follows = message.role == Role::user && !joined.empty() && joined.back().role == Role::user;
    if (follows) {
      joined.back().text += "\n\n" + message.text;
    } else {
      joined.push_back(std::move(message));
    }
  }
  const bool any = joined.size() < messages.size();
  messages = std::move(joined);
  return any;
}

ChatMessage chat_message(const ModelText& text, const PromptMessage& message) {
  const SplitAnswer split = split_answer(message.text);
  if (message.role != Role::assistant || !split.thinks || !text.chat_template.knows_reasoning_content())
    return {name_of(message.role), message.text};
  return {name_of(message.role), std::string(split.answer), std::string(split.thought)};
}

std::vector<Segment> render(const ModelText& text, const std::string& system,
                            const std::vector<PromptMessage>& messages, int64_t now,
                            std::optional<bool> think) {
  ChatTemplateOptions options;
  options.bos_token = text.bos_text;
  options.eos_token = text.eos_text;
  options.now = now;
  options.enable_thinking = think;
  std::vector<ChatMessage> chat;
  if (!system.empty()) chat.push_back({"system", system});
  for (const PromptMessage& message : messages) chat.push_back(chat_message(text, message));
  return text.chat_template.render(chat, options);
}

// Some templates pass over a system prompt (Phi-3's of April 2024, Alpaca's): the prompt is the same whatever
// it says. One that is changed on its way, or stands elsewhere, is there. A refusal is render_somehow's.
bool passes_over_system(const ModelText& text, std::optional<bool> think) {
  const std::vector<PromptMessage> question = {{Role::user, "a", {}}};
  try {
    return render(text, "b", question, 0, think) == render(text, "c", question, 0, think);
  } catch (const Error&) {
    return false;
  }
}

// What a template refuses at first it may take in another form: many want user and assistant in turn, and
// some know no system prompt. Error(model) is no refusal: a limit that was passed would be passed again.
std::vector<Segment> render_somehow(const ModelText& text, std::string system,
                                    std::vector<PromptMessage>& messages, int64_t now,
                                    std::optional<bool> think) {
  try {
    return render(text, system, messages, now, think);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::model) throw;
    if (!join_user_turns(messages)) {
      if (!move_into_first_turn(system, messages)) throw;
      return render(text, system, messages, now, think);
    }
  }
  try {
    return render(text, system, messages, now, think);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::model || !move_into_first_turn(system, messages)) throw;
    return render(text, system, messages, now, think);
  }
}

// BOS stands once at the beginning, if it is there or the vocabulary asks for it.
void settle_bos(const Tokenizer& tokenizer, std::vector<int32_t>& ids) {
  const int32_t bos = tokenizer.bos();
  if (bos < 0) return;
  const auto other = std::find_if(ids.begin(), ids.end(), [bos](int32_t id) { return id != bos; });
  const bool printed = other != ids.begin();
  ids.erase(ids.begin(), other);
  if (printed || tokenizer.add_bos()) ids.insert(ids.begin(), bos);
}

// The text so far, with nothing in between.
std::vector<int32_t> completion_prompt(const Tokenizer& tokenizer, const std::string& system,
                                       const std::vector<PromptMessage>& messages) {
  Ids prompt{tokenizer, {}};
  if (tokenizer.bos() >= 0 && tokenizer.add_bos()) prompt.ids.push_back(tokenizer.bos());
  if (!system.empty()) prompt.add(system, false);
  for (const PromptMessage& message : messages) {
    if (before_own_tokens(tokenizer, message) == "") {
      prompt.add(message.tokens);
    } else {
      prompt.add(message.text, false);
    }
  }
  return std::move(prompt.ids);
}

}  // namespace

std::vector<int32_t> build_prompt(const ModelText& text, const std::string& system,
                                  const std::vector<PromptMessage>& all, int64_t now,
                                  std::optional<bool> think) {
  const Tokenizer& tokenizer = text.tokenizer;
  if (text.template_origin == TemplateOrigin::none) return completion_prompt(tokenizer, system, all);
  std::vector<PromptMessage> messages = all;
  std::erase_if(messages, [&](const PromptMessage& message) { return is_unsaid(text, message); });
  std::string first = system;
  if (!is_blank(first) && passes_over_system(text, think)) move_into_first_turn(first, messages);
  const std::vector<Segment> whole = render_somehow(text, first, messages, now, think);

  Ids prompt{tokenizer, {}};
  size_t done = 0;  // segments of `whole` that `prompt` spells
  const auto encode_up_to = [&](size_t end) {
    prompt.add(std::span(whole).subspan(done, end - done));
    done = end;
  };
  size_t from = 0;  // the next message's text is not before this segment
  for (const PromptMessage& message : messages) {
    const size_t at = find_text(whole, from, message.text);
    if (at == whole.size()) continue;
    from = at + 1;
    if (message.role != Role::assistant || message.tokens.empty()) continue;
    const auto before = before_own_tokens(tokenizer, message);
    if (!before) continue;
    encode_up_to(at);
    if (!before->empty()) prompt.add(*before, true);
    prompt.add(message.tokens);
    done = at + 1;
  }
  encode_up_to(whole.size());
  settle_bos(tokenizer, prompt.ids);
  return std::move(prompt.ids);
}

bool has_own_tokens(const Tokenizer& tokenizer, const PromptMessage& answer) {
  for (const int32_t id : answer.tokens) {
    if (id < 0 || id >= tokenizer.n_vocab()) return false;
  }
  if (answer.tokens.empty()) return false;
  for (const int32_t after : {-1, answer.tokens.front()}) {
    StreamDecoder decoder(tokenizer, after);
    std::string spelled;
    for (const int32_t id : answer.tokens) spelled += decoder.push(id);
    spelled += decoder.finish();
    // A thought that the template opened stands before it in the text, and a stop text behind it is cut off.
    const bool is_end = answer.text.ends_with(spelled) && spelled.empty() == answer.text.empty();
    if (is_end || spelled.starts_with(answer.text)) return true;
  }
  return false;
}

std::string opened_thought(const Tokenizer& tokenizer, std::span<const int32_t> prompt) {
  const std::string end =
      tokenizer.decode(prompt.last(std::min(prompt.size(), kOpeningTokens)), /*show_special=*/true);
  const size_t opening = find_last_opening(end);
  return opening == std::string::npos ? std::string() : end.substr(opening);
}

std::vector<int32_t> tokens_behind(const Tokenizer& tokenizer, std::span<const int32_t> prompt,
                                   const PromptMessage& answer) {
  if (has_own_tokens(tokenizer, answer)) return answer.tokens;
  std::string_view text = answer.text;
  if (const std::string opened = opened_thought(tokenizer, prompt); text.starts_with(opened))
    text.remove_prefix(opened.size());
  const Segment segment{std::string(text), false};
  return tokenizer.encode(std::span(&segment, 1), prompt.empty() ? -1 : prompt.back());
}

std::string hash_text(std::string_view text) { return text_of_hash(XXH3_128bits(text.data(), text.size())); }

std::string hash_tokens(const std::vector<int32_t>& tokens) {
  return text_of_hash(XXH3_128bits(tokens.data(), tokens.size() * sizeof(int32_t)));
}

}  // namespace bitnet
