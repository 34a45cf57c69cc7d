#include "special_tokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "engine/error.h"

namespace bitnet {
namespace {

// The names that vocabularies use for a token that ends a turn.
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

size_t SpecialTokens::slot_of(uint64_t edge) const {
  const size_t mask = slots_.size() - 1;
  // Multiply-shift hashing (Dietzfelbinger et al. 1997), by a factor that nobody knows.
  size_t i = edge * factor_ >> (std::countl_zero(slots_.size()) + 1);
  while (slots_[i].to != 0 && slots_[i].edge != edge) i = (i + 1) & mask;
  return i;
}

uint32_t SpecialTokens::make_child(uint32_t node, char byte) {
  if (const uint32_t known = child(node, byte); known != 0) return known;
  if (nodes_.size() * 2 > slots_.size()) {
    const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(slots_.size() * 2));
    for (const Slot& slot : old) {
      if (slot.to != 0) slots_[slot_of(slot.edge)] = slot;
    }
  }
  const auto made = static_cast<uint32_t>(nodes_.size());
  nodes_.emplace_back();
  const uint64_t edge = edge_of(node, byte);
  slots_[slot_of(edge)] = {edge, made};
  return made;
}

void SpecialTokens::add(int32_t id, std::string_view text, bool anywhere) {
  if (text.size() > kLongest) {
    throw Error(
        ErrorKind::model,
        fmt::format("tokenizer.ggml.tokens[{}]: the special token \"{}\" has {} bytes; wanted at most {}", id,
                    printable(text), text.size(), kLongest));
  }
  if (nodes_.size() + text.size() > kMostNodes) {
    throw Error(ErrorKind::model,
                fmt::format("tokenizer.ggml.tokens[{}]: the special tokens up to this one have {} different "
                            "beginnings; wanted at most {}",
                            id, nodes_.size() + text.size() - 1, kMostNodes - 1));
  }
  uint32_t node = 0;
  for (const char byte : text) {
    node = make_child(node, byte);
    nodes_[node].leads |= anywhere;
  }
  if (nodes_[node].id >= 0) {
    throw Error(ErrorKind::model, fmt::format("tokenizer.ggml.tokens[{}]: \"{}\" is there already, as token "
                                              "{}; wanted each once",
                                              id, printable(text), nodes_[node].id));
  }
  nodes_[node].id = id;
  nodes_[node].anywhere = anywhere;
  begins_[static_cast<uint8_t>(text[0])] = true;
}

int32_t SpecialTokens::find(std::string_view text) const {
  uint32_t node = 0;
  for (const char byte : text) {
    node = child(node, byte);
    if (node == 0) return -1;
  }
  return nodes_[node].id;
}

int32_t SpecialTokens::at(std::string_view text, size_t at, size_t trusted_end) const {
  if (!begins_[static_cast<uint8_t>(text[at])]) return -1;
  int32_t longest = -1;
  uint32_t node = 0;
  for (; at < text.size(); ++at) {
    const bool trusted = at < trusted_end;
    node = child(node, text[at]);
    if (node == 0 || (!trusted && !nodes_[node].leads)) break;
    if (nodes_[node].id >= 0 && (trusted || nodes_[node].anywhere)) longest = nodes_[node].id;
  }
  return longest;
}

bool is_end_name(std::string_view text) {
  return std::ranges::find(kEndOfTurn, text) != std::end(kEndOfTurn) ||
         std::ranges::find(kOtherEnds, text) != std::end(kOtherEnds);
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
