// A model's own chat template (Jinja, GGUF key tokenizer.chat_template), evaluated.
//
// Thread rule: a ChatTemplate is immutable once constructed; render may be called from any thread.
//
// The language is the subset of Jinja 3.1 that chat templates use, with the semantics that Hugging Face's
// apply_chat_template gives it (trim_blocks and lstrip_blocks on, raise_exception, strftime_now, tojson
// without HTML escapes).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/segment.h"

namespace bitnet {

struct ChatMessage {
  std::string role;  // "system", "user", "assistant"
  std::string content;
};

struct ChatTemplateOptions {
  std::string bos_token;  // text of the special tokens, empty where the vocabulary has none
  std::string eos_token;
  bool add_generation_prompt = true;
  int64_t now = -1;  // Unix time for strftime_now; -1 = the clock
};

class ChatTemplate {
 public:
  // `name` is used in messages only. Throws Error(model) with line and column for what does not parse and
  // for a statement, filter or test that is not known. As in jinja2, a filter or test inside an if is looked
  // up only when the template gets there, and a function always: render then throws the same.
  ChatTemplate(std::string_view source, std::string name);
  ~ChatTemplate();
  ChatTemplate(ChatTemplate&&) noexcept;
  ChatTemplate& operator=(ChatTemplate&&) noexcept;

  // The prompt in order. Characters that stem from a message's content or role are in segments without
  // parse_special, whatever filters they went through; neighbours of one kind are joined.
  // Throws Error(runtime) for raise_exception and for a type error, Error(model) past the limits on
  // loop iterations, depth and output size that keep a hostile template from hanging the program.
  std::vector<Segment> render(std::span<const ChatMessage> messages,
                              const ChatTemplateOptions& options) const;

  const std::string& source() const;

 private:
  struct Impl;
  std::unique_ptr<const Impl> impl_;
};

// The template for a model: `from_file` as it stands, unless it is the placeholder that the converter of the
// published BitNet files wrote and the model was never trained with; then the trained form. An empty
// `from_file` gives the trained form for BitNet architectures. `replaced` (optional) is set where that
// happened.
ChatTemplate chat_template_for(std::string_view architecture, std::string_view from_file,
                               bool* replaced = nullptr);

}  // namespace bitnet
