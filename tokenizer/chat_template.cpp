#include "tokenizer/chat_template.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/error.h"
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

std::vector<Segment> ChatTemplate::render(std::span<const ChatMessage> messages,
                                          const ChatTemplateOptions& options) const {
  using jinja::Input;
  const auto trusted = [](const std::string& text) { return Input{Input::String{text, true}}; };
  const auto untrusted = [](const std::string& text) { return Input{Input::String{text, false}}; };
  Input::List list;
  list.reserve(messages.size());
  for (const ChatMessage& message : messages) {
    list.push_back({Input::Dict{{"role", untrusted(message.role)}, {"content", untrusted(message.content)}}});
  }
  const Input::Dict variables = {
      {"messages", {std::move(list)}},
      {"tools", {}},
      {"documents", {}},
      {"bos_token", trusted(options.bos_token)},
      {"eos_token", trusted(options.eos_token)},
      {"add_generation_prompt", {options.add_generation_prompt}},
  };
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

bool is_bitnet(std::string_view architecture) {
  static constexpr std::array<std::string_view, 4> kNames = {"bitnet-b1.58", "bitnet-25", "bitnet-1.58",
                                                             "bitnet"};
  return std::find(kNames.begin(), kNames.end(), architecture) != kNames.end();
}

// The converter's text has "Human: " and "BITNETAssistant: ", a name that no other template has. We look for
// the names alone, because a file that was written again may have other white space, quotes or escapes around
// them.
bool is_placeholder(std::string_view source) {
  return source.find("BITNETAssistant:") != std::string_view::npos &&
         source.find("Human:") != std::string_view::npos;
}

bool is_blank(std::string_view source) {
  return source.find_first_not_of(" \t\r\n\v\f") == std::string_view::npos;
}

}  // namespace

ChatTemplate chat_template_for(std::string_view architecture, std::string_view from_file, bool* replaced) {
  const bool replace = is_bitnet(architecture) && (is_blank(from_file) || is_placeholder(from_file));
  if (replaced) *replaced = replace;
  if (replace) return ChatTemplate(kBitNetTemplate, "BitNet's chat template");
  if (is_blank(from_file)) {
    throw Error(ErrorKind::model,
                fmt::format("the model has no chat template (tokenizer.chat_template) and none is known for "
                            "the architecture '{}'; give one with --chat-template FILE",
                            printable(architecture)));
  }
  return ChatTemplate(from_file, "chat template");
}

}  // namespace bitnet
