// Evaluates the chat template of a model (Jinja; the GGUF key is tokenizer.chat_template).
//
// Thread rule: a ChatTemplate is immutable once constructed; render may be called from any thread.
//
// The language is the subset of Jinja 3.1 that chat templates use, as Hugging Face's apply_chat_template sets
// it up: with trim_blocks, lstrip_blocks, raise_exception, strftime_now and a tojson that writes no HTML
// escapes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/segment.h"

namespace bitnet {

struct ChatMessage {
  std::string role;  // "system", "user", "assistant"
  std::string content;
  std::optional<std::string> reasoning_content = {};  // the template sees it as undefined where it is empty
};

struct ChatTemplateOptions {
  std::string bos_token;  // the text of the special token, empty if there is none
  std::string eos_token;
  bool add_generation_prompt = true;
  // What strftime_now shows: seconds of a local clock since its midnight of 1970-01-01; -1 is the clock now.
  int64_t now = -1;
  std::optional<bool> enable_thinking = {};  // undefined where it is empty
};

class ChatTemplate {
 public:
  // `name` is used in messages only. Throws Error(model) with line and column for what does not parse and for
  // an unknown statement, filter or test. As in jinja2, a filter or test inside an if, and any function, is
  // looked up only when it is used: for these it is render that throws.
  ChatTemplate(std::string_view source, std::string name);
  ~ChatTemplate();
  ChatTemplate(ChatTemplate&&) noexcept;
  ChatTemplate& operator=(ChatTemplate&&) noexcept;

  // Returns the prompt in order. Characters that stem from the content of a message, or from a role other
  // than the three, are in segments without parse_special, whatever filters they went through; neighbouring
  // segments differ in parse_special.
  // Throws Error(runtime) for raise_exception, for a type error and for an unknown function. Throws
  // Error(model) for an unknown filter or test, and past the limits on steps, depth and size, which keep a
  // hostile template from hanging the program.
  std::vector<Segment> render(std::span<const ChatMessage> messages,
                              const ChatTemplateOptions& options) const;

  const std::string& source() const;
  // Which of these variables the template mentions.
  bool knows_enable_thinking() const;
  bool knows_reasoning_content() const;

 private:
  struct Impl;
  std::unique_ptr<const Impl> impl_;
};

// Where the template of a model comes from.
enum class TemplateOrigin {
  file,          // it is the file's own, or one that the person named
  trained_form,  // it is the form with which the model was trained, in place of what the file says
  none,          // there is none: a base model, which goes on with the conversation's text as it is
};

struct ChosenTemplate {
  ChatTemplate chat_template;  // of a base model: one that prints the contents of the messages, and no more
  TemplateOrigin origin = TemplateOrigin::file;
};

// Returns the template for a model, which is usually `from_file`. The published BitNet files hold a
// placeholder instead, which their converter wrote and with which the model was never trained: for a BitNet
// architecture, that placeholder or a blank `from_file` gives the form with which the model was trained if
// the vocabulary has the token <|eot_id|> (`has_eot_id`), and otherwise none. Throws what the constructor
// throws.
ChosenTemplate chat_template_for(std::string_view architecture, std::string_view from_file, bool has_eot_id);

// The name of a template's form, for people: "ChatML", "Falcon3", "Llama-3", "Llama-2", "Gemma", "Gemma 4" or
// "Phi-3", by the marks that it prints; empty for any other.
std::string_view template_form(std::string_view source);

}  // namespace bitnet
