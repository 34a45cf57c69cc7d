// Makes the token list of a turn.
//
// Thread rule: free functions; any thread.
//
// Its text is the chat template, rendered over the system prompt and every message of the branch. Encoding
// all of that anew would cut past answers into other tokens than the model produced, and the KV cache could
// be reused only up to there. So wherever an answer's own tokens spell exactly the text that stands at its
// place in the rendered prompt, those tokens are used, and only the text between is encoded. The text of the
// prompt is the same either way.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/store/message.h"
#include "model_file.h"

namespace bitnet {

struct PromptMessage {
  Role role = Role::user;
  std::string text;
  std::vector<int32_t> tokens;  // of an answer, as produced; empty where not known
};

// `now` is what strftime_now gives, in seconds of a local clock (ChatTemplateOptions::now), so that a prompt
// does not change from turn to turn.
// `think` is the template's enable_thinking, undefined where it is empty.
// An answer without a word is left out; where the template then refuses turns of the user that follow one
// another, they become one; where it refuses a system prompt or passes over it, that becomes the beginning of
// the first turn.
// What an answer thought is left to the template, as reasoning_content if that knows it. Only text of the
// template may become special tokens. BOS stands exactly once at the beginning where the template prints it
// or the vocabulary asks for it. A base model, which has no template, gets the texts one after another as
// they are. Throws what ChatTemplate::render throws.
std::vector<int32_t> build_prompt(const ModelText& text, const std::string& system,
                                  const std::vector<PromptMessage>& messages, int64_t now,
                                  std::optional<bool> think = {});

// Whether this tokenizer spells the answer's text with the answer's tokens: those of another model do not.
bool has_own_tokens(const Tokenizer& tokenizer, const PromptMessage& answer);

// The end of a prompt in which the template has begun the model's thought for it: "<think>" and white space.
// Empty where it has not. The answer's text begins with it, so that this is stored as any other thought.
std::string opened_thought(const Tokenizer& tokenizer, std::span<const int32_t> prompt);

// The tokens of an answer behind this prompt: its own, or its text encoded anew, without the thought that the
// template has opened for it.
std::vector<int32_t> tokens_behind(const Tokenizer& tokenizer, std::span<const int32_t> prompt,
                                   const PromptMessage& answer);

// 32 hex digits of XXH3-128.
std::string hash_text(std::string_view text);
std::string hash_tokens(const std::vector<int32_t>& tokens);  // as int32, little-endian

}  // namespace bitnet
