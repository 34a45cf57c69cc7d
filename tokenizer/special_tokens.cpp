#include "special_tokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "engine/error.h"

namespace bitnet {
namespace {

// The names that vocabularies use for a token that ends a turn; the first one that is there is "the" one.
constexpr std::string_view kEndOfTurn[] = {"<|eot_id|>",
                                           "<|im_end|>",
                                           "<|end|>",
                                           "<end_of_turn>",
                                           "<|end_of_turn|>",
                                           "<|END_OF_TURN_TOKEN|>",
                                           "<turn|>",
                                           "<|eot|>",
                                           "<|endoftext|>",
                                           "<|end_of_text|>",
                                           "<EOT>",
                                           "_<EOT>",
                                           "[EOT]",
                                           "<｜end▁of▁sentence｜>",
                                           "<|end_of_sentence|>",
                                           "<end_of_utterance>"};

// The names of other tokens after which nothing is generated: the end of a message, of a call, of a text, and
// what stands between the files of a repository in the training data of models that fill in code.
constexpr std::string_view kOtherEnds[] = {
    "<|eom_id|>",    "<|return|>",   "<|call|>",         "<|flush|>",   "<|calls|>", "</s>",
    "[EOS]",         "<eos>",        "<|eos|>",          "<|fim_pad|>", "<fim-pad>", "<fim_pad>",
    "<PAD>",         "[PAD]",        "<|fim_repo|>",     "<fim-repo>",  "<REPO>",    "<reponame>",
    "<|repo_name|>", "<|file_sep|>", "<|tool_response>", "[e~["};

}  // namespace

void SpecialTokens::add(int32_t id, std::string_view text, bool anywhere) {
  if (const int32_t first = by_text_.insert(text, id); first >= 0) {
    throw Error(ErrorKind::model, fmt::format("tokenizer.ggml.tokens[{}]: \"{}\" is there already, as token "
                                              "{}; wanted each once",
                                              id, printable(text), first));
  }
  if (anywhere) anywhere_.insert(id);
  std::vector<size_t>& lengths = lengths_[static_cast<unsigned char>(text[0])];
  const auto place = std::ranges::lower_bound(lengths, text.size(), std::greater<>());
  if (place == lengths.end() || *place != text.size()) lengths.insert(place, text.size());
}

int32_t SpecialTokens::at(std::string_view text, size_t at, size_t trusted_end) const {
  for (const size_t length : lengths_[static_cast<unsigned char>(text[at])]) {
    if (length > text.size() - at) continue;
    const bool trusted = at + length <= trusted_end;
    if (!trusted && anywhere_.empty()) continue;
    const int32_t id = by_text_.find(text.substr(at, length));
    if (id >= 0 && (trusted || anywhere_.contains(id))) return id;
  }
  return -1;
}

bool is_end_name(std::string_view text) {
  return std::ranges::find(kEndOfTurn, text) != std::end(kEndOfTurn) ||
         std::ranges::find(kOtherEnds, text) != std::end(kOtherEnds);
}

int32_t find_end_of_turn(const SpecialTokens& tokens) {
  for (const std::string_view name : kEndOfTurn) {
    if (const int32_t id = tokens.find(name); id >= 0) return id;
  }
  return -1;
}

std::vector<int32_t> find_ends(const SpecialTokens& tokens, std::span<const int32_t> named, bool html) {
  const auto has = [&](std::string_view name) { return tokens.find(name) >= 0; };
  // In the Harmony format of gpt-oss, and in that of Solar, <|end|> ends one of several messages of an
  // answer; in Gemma's vocabularies </s> is an HTML tag.
  const bool harmony = (has("<|return|>") || has("<|flush|>")) && (has("<|call|>") || has("<|calls|>"));
  const bool is_tag = html || has("<|tool_response>");
  std::vector<int32_t> ends;
  const auto add = [&](std::string_view name) {
    if ((harmony && name == "<|end|>") || (is_tag && name == "</s>")) return;
    if (const int32_t id = tokens.find(name); id >= 0) ends.push_back(id);
  };
  std::ranges::for_each(kEndOfTurn, add);
  std::ranges::for_each(kOtherEnds, add);
  std::ranges::copy_if(named, std::back_inserter(ends), [](int32_t id) { return id >= 0; });
  std::ranges::sort(ends);
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  return ends;
}

}  // namespace bitnet
