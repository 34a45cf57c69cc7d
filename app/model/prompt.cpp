#include "prompt.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <span>
#include <utility>

namespace bitnet {
namespace {

// Segments that a template puts between one message and the next: headers, roles, marks, a date.
constexpr size_t kNear = 32;

std::vector<Segment> render(const ModelText& text, std::span<const ChatMessage> messages, int64_t now) {
  ChatTemplateOptions options;
  options.bos_token = text.bos_text;
  options.eos_token = text.eos_text;
  options.now = now;
  return text.chat_template.render(messages, options);
}

// True where an answer's text is what its tokens gave when they came. A control token has no place in the
// text, so an answer with one is encoded anew.
bool spells(const Tokenizer& tokenizer, const std::vector<int32_t>& ids, const std::string& text) {
  StreamDecoder decoder(tokenizer);
  std::string spelled;
  for (const int32_t id : ids) {
    if (id < 0 || id >= tokenizer.n_vocab() || tokenizer.is_control(id)) return false;
    spelled += decoder.push(id);
  }
  return spelled + decoder.finish() == text;
}

// The first segment from `from` on that is a message's text and nothing else; the number of segments where
// there is none near. A template may leave a message out or change it; then the next message is looked for.
size_t find_text(const std::vector<Segment>& segments, size_t from, const std::string& text) {
  const size_t end = std::min(segments.size(), from + kNear);
  for (size_t i = from; i < end; ++i) {
    if (!segments[i].parse_special && segments[i].text == text) return i;
  }
  return segments.size();
}

// An answer that was stopped before its first token says nothing: the model would take it for one and learn
// to be silent.
bool is_unsaid(const PromptMessage& message) {
  return message.role == Role::assistant && message.text.empty() && message.tokens.empty();
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

std::vector<ChatMessage> with_system(const std::string& system, const std::vector<PromptMessage>& messages) {
  std::vector<ChatMessage> chat;
  if (!system.empty()) chat.push_back({"system", system});
  for (const PromptMessage& message : messages) chat.push_back({name_of(message.role), message.text});
  return chat;
}

std::string hex(XXH128_hash_t hash) { return fmt::format("{:016x}{:016x}", hash.high64, hash.low64); }

}  // namespace

std::vector<int32_t> build_prompt(const ModelText& text, const std::string& system,
                                  const std::vector<PromptMessage>& all, int64_t now) {
  std::vector<PromptMessage> messages = all;
  std::erase_if(messages, is_unsaid);
  std::vector<Segment> whole;
  try {
    whole = render(text, with_system(system, messages), now);
  } catch (const Error&) {
    // Many templates want user and assistant in turn.
    if (!join_user_turns(messages)) throw;
    whole = render(text, with_system(system, messages), now);
  }

  const Tokenizer& tokenizer = text.tokenizer;
  std::vector<int32_t> ids;
  size_t done = 0;  // segments of `whole` that `ids` spells
  const auto encode_up_to = [&](size_t end) {
    const int32_t after = ids.empty() ? -1 : ids.back();
    const std::vector<int32_t> encoded = tokenizer.encode(std::span(whole).subspan(done, end - done), after);
    ids.insert(ids.end(), encoded.begin(), encoded.end());
    done = end;
  };
  size_t from = 0;  // the next message's text is not before this segment
  for (const PromptMessage& message : messages) {
    const size_t at = find_text(whole, from, message.text);
    if (at == whole.size()) continue;
    from = at + 1;
    if (message.role != Role::assistant || message.tokens.empty()) continue;
    if (!spells(tokenizer, message.tokens, message.text)) continue;
    encode_up_to(at);
    ids.insert(ids.end(), message.tokens.begin(), message.tokens.end());
    done = at + 1;
  }
  encode_up_to(whole.size());

  const int32_t bos = tokenizer.bos();
  if (bos >= 0) {
    const auto other = std::find_if(ids.begin(), ids.end(), [bos](int32_t id) { return id != bos; });
    const bool printed = other != ids.begin();
    ids.erase(ids.begin(), other);
    if (printed || tokenizer.add_bos()) ids.insert(ids.begin(), bos);
  }
  return ids;
}

std::string hash_text(std::string_view text) { return hex(XXH3_128bits(text.data(), text.size())); }

std::string hash_tokens(const std::vector<int32_t>& tokens) {
  return hex(XXH3_128bits(tokens.data(), tokens.size() * sizeof(int32_t)));
}

}  // namespace bitnet
