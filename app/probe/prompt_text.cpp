#include "prompt_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "engine/error.h"

namespace bitnet {
namespace {

constexpr std::string_view kNames[] = {"last", "root", "pattern", "prompt_mean", "mean"};

// The characters of the text that begin in its first n bytes.
std::vector<size_t> characters_before(const std::string& text) {
  std::vector<size_t> before(text.size() + 1);
  for (size_t i = 0; i < text.size(); ++i)
    before[i + 1] = before[i] + ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80 ? 1 : 0);
  return before;
}

std::optional<long> index_of(std::string_view word) {
  long value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

std::vector<size_t> tokens_of_text(const PromptText& prompt) {
  std::vector<size_t> tokens;
  for (size_t i = 0; i < prompt.ids.size(); ++i)
    if (prompt.offsets[i].second > prompt.offsets[i].first) tokens.push_back(i);
  return tokens;
}

std::vector<size_t> tokens_of_label(const PromptText& prompt, const char* what, const std::string& label) {
  const size_t at = label.empty() ? std::string::npos : prompt.text.find(label);
  if (at == std::string::npos || prompt.text.find(label, at + 1) != std::string::npos)
    throw Error(ErrorKind::usage,
                fmt::format("the {} '{}' is {} in the prompt '{}'", what, printable(label, 40),
                            at == std::string::npos ? "not" : "more than once", printable(prompt.text, 100)));
  const std::vector<size_t> before = characters_before(prompt.text);
  const size_t first = before[at], end = before[at + label.size()];
  std::vector<size_t> tokens;
  for (size_t i = 0; i < prompt.ids.size(); ++i)
    if (prompt.offsets[i].first < end && prompt.offsets[i].second > first) tokens.push_back(i);
  return tokens;
}

}  // namespace

PromptText read_prompt(const Tokenizer& tokenizer, const std::string& text, bool special) {
  PromptText prompt{text, {}, {}, true};
  if (tokenizer.add_bos() && tokenizer.bos() >= 0) prompt.ids.push_back(tokenizer.bos());
  const size_t n_before = prompt.ids.size();
  const Segment whole{text, special};
  const std::vector<int32_t> ids = tokenizer.encode(std::span(&whole, 1), n_before ? tokenizer.bos() : -1);
  if (ids.empty()) throw Error(ErrorKind::usage, "wanted a prompt, found an empty text");
  prompt.ids.insert(prompt.ids.end(), ids.begin(), ids.end());
  prompt.offsets.resize(n_before);
  // A vocabulary may put a space in front of the text, which is none of its characters.
  size_t spelled = 0;
  for (const int32_t id : ids) spelled += tokenizer.token_bytes(id).size();
  const size_t added = spelled > text.size() ? spelled - text.size() : 0;
  const std::vector<size_t> before = characters_before(text);
  const auto place = [&](size_t byte) { return std::min(byte - std::min(byte, added), text.size()); };
  size_t at = 0;
  for (const int32_t id : ids) {
    const size_t begin = place(at), end = place(at += tokenizer.token_bytes(id).size());
    // A token that begins or ends inside a character has that character too.
    const size_t first =
        before[begin] - (begin < text.size() && begin > 0 && before[begin + 1] == before[begin] ? 1 : 0);
    prompt.offsets.emplace_back(first, before[end]);
  }
  prompt.spelled = tokenizer.decode(ids, /*show_special=*/true) == text;
  return prompt;
}

ProbePosition ProbePosition::read(std::string_view word) {
  if (std::ranges::find(kNames, word) == std::end(kNames) && !index_of(word))
    throw Error(ErrorKind::usage,
                fmt::format("position: wanted last, root, pattern, prompt_mean, mean or an index, found '{}'",
                            printable(std::string(word), 40)));
  return {std::string(word)};
}

std::vector<size_t> ProbePosition::tokens_of(const PromptText& prompt, const std::string& root,
                                             const std::string& pattern) const {
  if (name == "root") return tokens_of_label(prompt, "root", root);
  if (name == "pattern") return tokens_of_label(prompt, "pattern", pattern);
  std::vector<size_t> tokens;
  if (name == "mean")
    for (size_t i = 0; i < prompt.ids.size(); ++i) tokens.push_back(i);
  else if (const auto index = index_of(name)) {
    const long n = static_cast<long>(prompt.ids.size()), at = *index < 0 ? n + *index : *index;
    if (at < 0 || at >= n)
      throw Error(ErrorKind::usage, fmt::format("position: {} is past the {} tokens of the prompt '{}'", name,
                                                n, printable(prompt.text, 100)));
    tokens.push_back(static_cast<size_t>(at));
  } else {
    tokens = tokens_of_text(prompt);
    if (tokens.empty()) throw Error(ErrorKind::usage, "position: the prompt has no token of its text");
    if (name == "last") tokens = {tokens.back()};
  }
  return tokens;
}

}  // namespace bitnet
