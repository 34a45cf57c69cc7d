#include "prompt.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <span>
#include <utility>

namespace bitnet {
namespace {

std::vector<Segment> render(const ModelText& text, std::span<const ChatMessage> messages, int64_t now) {
  ChatTemplateOptions options;
  options.bos_token = text.bos_text;
  options.eos_token = text.eos_text;
  options.now = now;
  return text.chat_template.render(messages, options);
}

std::string joined(const std::vector<Segment>& segments) {
  std::string all;
  for (const Segment& segment : segments) all += segment.text;
  return all;
}

// The part [begin, end) of the text that the segments spell, as segments.
std::vector<Segment> slice(const std::vector<Segment>& segments, size_t begin, size_t end) {
  std::vector<Segment> part;
  size_t at = 0;
  for (const Segment& segment : segments) {
    const size_t from = std::max(begin, at);
    const size_t to = std::min(end, at + segment.text.size());
    if (from < to) part.push_back({segment.text.substr(from - at, to - from), segment.parse_special});
    at += segment.text.size();
  }
  return part;
}

// Whether an answer's text is what its tokens gave when they came. A control token has no place in the text,
// so an answer with one is encoded anew.
bool spells(const Tokenizer& tokenizer, const std::vector<int32_t>& ids, const std::string& text) {
  StreamDecoder decoder(tokenizer);
  std::string spelled;
  for (const int32_t id : ids) {
    if (id < 0 || id >= tokenizer.n_vocab() || tokenizer.is_control(id)) return false;
    spelled += decoder.push(id);
  }
  return spelled + decoder.finish() == text;
}

std::string hex(XXH128_hash_t hash) { return fmt::format("{:016x}{:016x}", hash.high64, hash.low64); }

}  // namespace

std::vector<int32_t> build_prompt(const ModelText& text, const std::string& system,
                                  const std::vector<PromptMessage>& messages, int64_t now) {
  std::vector<ChatMessage> chat;
  if (!system.empty()) chat.push_back({"system", system});
  const size_t first = chat.size();
  for (const PromptMessage& message : messages) chat.push_back({name_of(message.role), message.text});

  const Tokenizer& tokenizer = text.tokenizer;
  const std::vector<Segment> whole = render(text, chat, now);
  const std::string whole_text = joined(whole);
  std::vector<int32_t> ids;
  size_t done = 0;  // bytes of whole_text that `ids` spells
  const auto encode_up_to = [&](size_t end) {
    const std::vector<int32_t> part = tokenizer.encode(slice(whole, done, end));
    ids.insert(ids.end(), part.begin(), part.end());
    done = end;
  };
  for (size_t i = 0; i < messages.size(); ++i) {
    const PromptMessage& answer = messages[i];
    if (answer.role != Role::assistant || answer.tokens.empty()) continue;
    if (!spells(tokenizer, answer.tokens, answer.text)) continue;
    const std::string before = joined(render(text, std::span(chat).first(first + i), now));
    if (before.size() < done || whole_text.compare(0, before.size(), before) != 0 ||
        whole_text.compare(before.size(), answer.text.size(), answer.text) != 0) {
      continue;
    }
    encode_up_to(before.size());
    ids.insert(ids.end(), answer.tokens.begin(), answer.tokens.end());
    done += answer.text.size();
  }
  encode_up_to(whole_text.size());

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
