// Tools that look at a model file without running it: info, devices, tokenize, detokenize, render. And print.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>

#include "app/base/sizes.h"
#include "app/model/gguf_number.h"
#include "app/model/model_file.h"
#include "app/model/model_open.h"
#include "app/text/text_file.h"
#include "cli_help.h"
#include "engine/engine.h"
#include "engine/error.h"
#include "engine/json_reader.h"
#include "engine/open_model.h"
#include "safe_output.h"
#include "tools.h"

namespace bitnet {
namespace {

using nlohmann::json;

constexpr size_t kMostPiped = size_t{1} << 30;  // bytes of a text that only the tokenizer reads

std::string value_text(const Checkpoint& file, const std::string& key, const GgufValue& value) {
  std::string found;
  if (take_number(value, [&](auto number) { found = fmt::format("{}", number); })) return found;
  if (value.type == GgufType::boolean) return *file.find_bool(key) ? "true" : "false";
  if (value.type == GgufType::string) return '"' + printable(file.get_string(key), 60) + '"';
  return fmt::format("[{} x {}]", value.count, name_of(value.element_type));
}

std::string memory_text(const MemoryPlan& plan) {
  return fmt::format("{}: weights {}, {} {}, room to compute {}", size_text(plan.total()),
                     size_text(plan.projections + plan.embedding + plan.norms),
                     plan.state != 0 ? "KV cache and states" : "KV cache",
                     size_text(plan.kv_cache + plan.state), size_text(plan.activations));
}

std::string head_text(const ModelInfo& m) {
  return m.tied_head ? "tied to the token embedding" : m.head_type + ", of its own";
}

// The token ids of a text, with white space or commas between them.
std::vector<int32_t> separated_ids(const std::string& text) {
  std::vector<int32_t> ids;
  for (size_t at = 0; at < text.size();) {
    if (std::isspace(static_cast<unsigned char>(text[at])) != 0 || text[at] == ',') {
      ++at;
      continue;
    }
    int32_t id = 0;
    const auto [next, error] = std::from_chars(text.data() + at, text.data() + text.size(), id);
    if (error != std::errc()) {
      const std::string word = text.substr(at, text.find_first_of(" \t\r\n,", at) - at);
      throw Error(ErrorKind::usage,
                  fmt::format("detokenize: wanted token ids with spaces or commas between, found '{}'",
                              printable(word.substr(0, 20))));
    }
    ids.push_back(id);
    at = static_cast<size_t>(next - text.data());
  }
  return ids;
}

[[noreturn]] void refuse_messages(const std::string& why) {
  throw Error(ErrorKind::usage,
              fmt::format("render: wanted a JSON list of {{\"role\": TEXT, \"content\": TEXT}}: {}", why));
}

std::string text_of(const json& message, size_t number, const char* key) {
  const auto text = message.find(key);
  if (text == message.end()) refuse_messages(fmt::format("message {} has no {}", number, key));
  if (!text->is_string()) refuse_messages(fmt::format("the {} of message {} is no text", key, number));
  return text->get<std::string>();
}

std::vector<ChatMessage> read_messages(const std::string& text) {
  json list;
  try {
    list = read_json(text);
  } catch (const Error& error) {
    refuse_messages(error.what());
  }
  if (!list.is_array()) refuse_messages(fmt::format("found {}", printable(list.dump(), 40)));
  std::vector<ChatMessage> messages;
  for (const json& message : list) {
    const size_t number = messages.size() + 1;
    if (!message.is_object()) refuse_messages(fmt::format("message {} is no object", number));
    messages.push_back({text_of(message, number, "role"), text_of(message, number, "content")});
    if (message.contains("reasoning_content"))
      messages.back().reasoning_content = text_of(message, number, "reasoning_content");
  }
  return messages;
}

std::string cpu_rows(const DeviceInfo& d, const std::optional<MemoryPlan>& plan, const Options& options) {
  std::string s = fmt::format("   kind    the processor itself, {}\n", d.driver);
  s += fmt::format("   memory  {}\n", size_text(d.memory_bytes));
  if (!plan) return s;
  Placement p;
  try {
    p = place_model(*plan, d, {.ram = options.ram});
  } catch (const Error&) {
    return s + "   model   does not fit\n";
  }
  s += p.on_device + p.for_reading > d.memory_bytes ? "   model   does not fit\n"
       : p.in_file == 0                             ? "   model   fits\n"
                        : fmt::format("   model   fits, with {} left in its file\n", size_text(p.in_file));
  if (p.head_copy != 0)
    s += fmt::format("           here it takes {} more, to answer faster\n", size_text(p.head_copy));
  return s;
}

std::string fit_text(const MemoryPlan& plan, const VramBudget& vram, const DeviceInfo& d) {
  const uint64_t budget = std::min(vram_budget(vram, d), d.memory_bytes);
  const Placement p = place(plan.fixed(), plan.pieces, {.vram = budget});
  const bool other_memory = !d.unified || vram.kind != VramBudget::Kind::automatic;
  if (p.on_device > budget || (p.in_host != 0 && !other_memory)) return "does not fit";
  return p.in_host == 0 ? "fits"
                        : fmt::format("fits, with {} in the computer's own memory", size_text(p.in_host));
}

std::string vulkan_rows(const DeviceInfo& d, const std::optional<MemoryPlan>& plan, const Options& options) {
  std::string s = fmt::format("   kind    {}; {}, Vulkan {}\n",
                              d.software ? "the processor, by a driver that plays a GPU" : "GPU",
                              printable(d.driver), d.api);
  s += fmt::format("   memory  {}\n", size_text(d.memory_bytes));
  if (options.verbose)
    s += fmt::format("   detail  {} lanes in a subgroup, 8-bit dot product {}, {} at most in one buffer\n",
                     d.subgroup_size, d.integer_dot ? "there" : "emulated", size_text(d.max_buffer_bytes));
  if (!d.unusable.empty()) s += fmt::format("   unused  {}\n", printable(d.unusable, 300));
  if (plan) s += fmt::format("   model   {}\n", fit_text(*plan, options.vram, d));
  return s;
}

}  // namespace

void tool_info(const Options& options, Output& out) {
  const auto file = open_model(find_model(options.model, options.model_folders));
  const ModelInfo m = read_model_info(*file, options.activation);
  const auto text = read_model_text(*file, options.chat_template);
  std::string s;
  s += fmt::format("file          {}, {} bytes, {}\n", printable(file->path(), 4096), file->size(),
                   file->format());
  s += fmt::format("name          {}\n", printable(m.name));
  s += fmt::format("architecture  {}\n", m.architecture);
  s += fmt::format("layers        {}\n", m.n_layer);
  s += fmt::format("width         {}, feed-forward {}\n", m.n_embd, m.n_ff);
  if (m.n_expert != 0)
    s += fmt::format("experts       {} a layer, of which a token uses {}\n", m.n_expert, m.n_expert_used);
  s += fmt::format("heads         {} of {}, {} for keys and values\n", m.n_head, m.head_dim, m.n_head_kv);
  s += fmt::format("vocabulary    {} tokens, pre-tokenizer {}\n", m.n_vocab, text->tokenizer.pre());
  s += fmt::format("context       {} tokens\n", m.n_ctx_train);
  s += fmt::format("rope          {}\n", printable(m.rope));
  s += fmt::format("projections   {}, {} weights; inputs {}\n", m.projection_types, count_weights(m),
                   m.inputs);
  s += fmt::format("activation    {} ({})\n", name_of(m.activation), printable(m.activation_reason));
  s += fmt::format("embedding     {}\n", m.embedding_type);
  s += fmt::format("head          {}\n", head_text(m));
  s += fmt::format("template      {}\n", describe_template(*text));
  s += fmt::format("fingerprint   {}\n", fingerprint_of(*file, engine_options(options)));
  for (const std::string& warning : {warning_about(m), warning_about(text->tokenizer)}) {
    if (!warning.empty()) s += fmt::format("warning       {}\n", warning);
  }
  const MemoryPlan plan = plan_memory(*file, options.ctx);
  s += fmt::format("needs         {}\n", memory_text(plan));
  if (options.vram.kind == VramBudget::Kind::bytes) {
    const Placement p = place(plan.fixed(), plan.pieces, {.vram = options.vram.value});
    s += fmt::format("with --vram   {} on the device{}, {} in the computer's own memory\n",
                     size_text(p.on_device), p.on_device > options.vram.value ? " at least" : "",
                     size_text(p.in_host));
  }
  s += fmt::format("\nmetadata ({})\n", file->metadata().size());
  for (const auto& [key, value] : file->metadata()) {
    s += fmt::format("  {:<44} {}\n", printable(key), value_text(*file, key, value));
  }
  s += fmt::format("\ntensors ({})\n", file->tensors().size());
  for (const GgufTensor& tensor : file->tensors()) {
    s += fmt::format("  {:<32} {:<6} [{}] at {}\n", printable(tensor.name), name_of(tensor.type),
                     fmt::join(tensor.shape, ", "), tensor.offset);
  }
  print_safe(out, s);
}

void tool_devices(const Options& options, Output& out) {
  std::optional<MemoryPlan> plan;
  if (!options.model.empty()) {
    const auto file = open_model(find_model(options.model, options.model_folders));
    const ModelInfo info = read_model_info(*file, options.activation);
    plan = plan_memory(*file, options.ctx);
  }
  const std::vector<DeviceInfo> devices = list_devices();
  std::string s;
  for (const DeviceInfo& d : devices) {
    s += fmt::format("{}  {}\n", d.index, printable(d.name));
    s += d.cpu ? cpu_rows(d, plan, options) : vulkan_rows(d, plan, options);
  }
  if (plan) s += fmt::format("The model takes {}.\n", memory_text(*plan));
  if (std::none_of(devices.begin(), devices.end(),
                   [](const DeviceInfo& d) { return !d.cpu && !d.software && d.unusable.empty(); }))
    s += "There is no GPU, so the CPU answers unless --device says otherwise.\n";
  print_safe(out, s);
}

void tool_tokenize(const Options& options, Output& out) {
  const auto file = open_model(find_model(options.model, options.model_folders));
  const auto tokenizer = read_tokenizer(*file);
  out.write(fmt::format("{}\n", fmt::join(tokenizer->encode(read_standard_input(kMostPiped), options.special),
                                          options.csv ? "," : " ")));
}

void tool_detokenize(const Options& options, Output& out) {
  const auto file = open_model(find_model(options.model, options.model_folders));
  const auto tokenizer = read_tokenizer(*file);
  const std::vector<int32_t> ids = separated_ids(read_standard_input(kMostPiped));
  print_safe(out, tokenizer->decode(ids, /*show_special=*/true));
}

void tool_render(const Options& options, Output& out) {
  const auto file = open_model(find_model(options.model, options.model_folders));
  const auto text = read_model_text(*file, options.chat_template);
  const std::vector<ChatMessage> messages = read_messages(read_standard_input());
  ChatTemplateOptions how;
  how.bos_token = text->bos_text;
  how.eos_token = text->eos_text;
  how.enable_thinking = settings_from(options, interactive_settings()).think;
  std::string prompt;
  for (const Segment& segment : text->chat_template.render(messages, how)) prompt += segment.text;
  print_safe(out, prompt);
}

void tool_print(const std::string& what, Output& out) {
  out.write(what == "config" ? example_config()
            : what == "man"  ? manual_page()
            : what == "bash" ? bash_completion()
            : what == "zsh"  ? zsh_completion()
                             : fish_completion());
}

}  // namespace bitnet
