#include "tokenizer/chat_template.h"

#include <algorithm>
#include <array>

#include "tokenizer/jinja/template.h"

namespace bitnet {

struct ChatTemplate::Impl {
  std::string source;
  jinja::Template parsed;
};

ChatTemplate::ChatTemplate(std::string_view source, std::string name)
    : impl_(new Impl{std::string(source), jinja::Template(source, std::move(name))}) {}

ChatTemplate::~ChatTemplate() = default;
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;

const std::string& ChatTemplate::source() const { return impl_->source; }

bool ChatTemplate::knows_enable_thinking() const {
  return impl_->source.find("enable_thinking") != std::string::npos;
}

bool ChatTemplate::knows_reasoning_content() const {
  return impl_->source.find("reasoning_content") != std::string::npos;
}

namespace {

// Some templates make their marks of the role ('<|' + role + '|>'), so that these names are the program's own
// words. Any other role is somebody's text.
bool is_own_role(std::string_view role) {
  static constexpr std::array<std::string_view, 3> kRoles = {"system", "user", "assistant"};
  return std::find(kRoles.begin(), kRoles.end(), role) != kRoles.end();
}

}  // namespace

std::vector<Segment> ChatTemplate::render(std::span<const ChatMessage> messages,
                                          const ChatTemplateOptions& options) const {
  using jinja::Input;
  const auto trusted = [](const std::string& text) { return Input{Input::String{text, true}}; };
  const auto untrusted = [](const std::string& text) { return Input{Input::String{text, false}}; };
  Input::List list;
  list.reserve(messages.size());
  for (const ChatMessage& message : messages) {
    const Input::String role{message.role, is_own_role(message.role)};
    Input::Dict dict = {{"role", {role}}, {"content", untrusted(message.content)}};
    if (message.reasoning_content)
      dict.push_back({"reasoning_content", untrusted(*message.reasoning_content)});
    list.push_back({std::move(dict)});
  }
  Input::Dict variables = {
      {"messages", {std::move(list)}},
      {"tools", {}},
      {"documents", {}},
      {"bos_token", trusted(options.bos_token)},
      {"eos_token", trusted(options.eos_token)},
      {"add_generation_prompt", {options.add_generation_prompt}},
  };
  if (options.enable_thinking) variables.push_back({"enable_thinking", {*options.enable_thinking}});
  std::vector<Segment> segments;
  for (jinja::Piece& piece : impl_->parsed.render(variables, options.now)) {
    segments.push_back({std::move(piece.text), piece.trusted});
  }
  return segments;
}

namespace {

// BitNet b1.58 2B-4T was trained with this: "Role: content<|eot_id|>" for every message, with nothing in
// between.
constexpr std::string_view kBitNetTemplate =
    "{{ bos_token }}"
    "{% for message in messages %}"
    "{{ message['role'] | capitalize ~ ': ' ~ message['content'] | trim ~ '<|eot_id|>' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ 'Assistant: ' }}{% endif %}";

// A base model gets the text of the conversation as it is.
constexpr std::string_view kContents = "{% for message in messages %}{{ message['content'] }}{% endfor %}";

bool is_bitnet(std::string_view architecture) {
  static constexpr std::array<std::string_view, 4> kNames = {"bitnet-b1.58", "bitnet-25", "bitnet-1.58",
                                                             "bitnet"};
  return std::find(kNames.begin(), kNames.end(), architecture) != kNames.end();
}

bool has(std::string_view source, std::string_view words) {
  return source.find(words) != std::string_view::npos;
}

// The converter's text has "Human: " and "BITNETAssistant: ", a name that no other template has. We look for
// the names alone, because a file that was written again may have other white space, quotes or escapes around
// them.
bool is_placeholder(std::string_view source) {
  return has(source, "BITNETAssistant:") && has(source, "Human:");
}

bool is_blank(std::string_view source) {
  return source.find_first_not_of(" \t\r\n\v\f") == std::string_view::npos;
}

}  // namespace

ChosenTemplate chat_template_for(std::string_view architecture, std::string_view from_file, bool has_eot_id) {
  const bool bitnet = is_bitnet(architecture);
  if (is_blank(from_file) || (bitnet && is_placeholder(from_file))) {
    if (bitnet && has_eot_id)
      return {ChatTemplate(kBitNetTemplate, "BitNet's chat template"), TemplateOrigin::trained_form};
    return {ChatTemplate(kContents, "plain text"), TemplateOrigin::none};
  }
  return {ChatTemplate(from_file, "chat template"), TemplateOrigin::file};
}

std::string_view template_form(std::string_view source) {
  if (has(source, "<|im_start|>")) return "ChatML";
  if (has(source, "<|start_header_id|>")) return "Llama-3";
  if (has(source, "<start_of_turn>")) return "Gemma";
  if (has(source, "<|turn>")) return "Gemma 4";
  if (has(source, "<<SYS>>")) return "Llama-2";
  if (has(source, "<|end|>") && has(source, "<|assistant|>")) return "Phi-3";
  if (has(source, "<|user|>") && has(source, "<|assistant|>")) return "Falcon3";
  return "";
}

}  // namespace bitnet
