#include "model_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "app/base/places.h"
#include "app/pull/pulled.h"
#include "app/text/text_file.h"
#include "engine/error.h"
#include "engine/lower.h"
#include "models.h"

namespace bitnet {
namespace {

std::string special_text(const Tokenizer& tokenizer, int32_t id) {
  return id < 0 ? std::string() : std::string(tokenizer.token_bytes(id));
}

int32_t find_id(const Checkpoint& file, const char* key) {
  const auto value = file.find_u32(key);
  if (!value) return -1;
  // Some converters write 2^32-1 for "none".
  if (*value == UINT32_MAX) return -1;
  if (*value > INT32_MAX) {
    throw Error(ErrorKind::model,
                fmt::format("{}: {}: wanted a token id, found {}", printable(file.path()), key, *value));
  }
  return static_cast<int32_t>(*value);
}

// Tokenizer and template know of no file, so this puts its name before their errors.
template <typename Work>
auto naming(const Checkpoint& file, Work work) {
  try {
    return work();
  } catch (const Error& error) {
    const std::string path = printable(file.path());
    if (error.kind() != ErrorKind::model || std::string_view(error.what()).starts_with(path)) throw;
    throw Error(ErrorKind::model, fmt::format("{}: {}", path, error.what()));
  }
}

[[noreturn]] void fail_key(const Checkpoint& file, const char* key, const std::string& what) {
  throw Error(ErrorKind::model, fmt::format("{}: {}: {}", printable(file.path()), key, what));
}

// How long lists are is compared with the rows of the embedding before they are read, so that a small file
// costs little memory, whatever it says.
std::vector<std::string> read_tokens(const Checkpoint& file) {
  constexpr const char* kKey = "tokenizer.ggml.tokens";
  const GgufValue* list = file.find(kKey);
  const GgufTensor* embedding = file.find_tensor("token_embd.weight");
  const uint64_t n = list == nullptr ? 0 : list->count;
  if (embedding != nullptr && embedding->shape.back() != n && (n == 0 || list->type == GgufType::array))
    fail_key(file, kKey,
             fmt::format("wanted {}, as token_embd.weight has rows, got {}", embedding->shape.back(), n));
  return file.find_strings(kKey);
}

void check_lengths(const Checkpoint& file, size_t n_tokens) {
  constexpr size_t kMergesOfAToken = 8;  // LLaMA-3 and GPT-4o have 2.2
  const std::pair<const char*, uint64_t> lists[] = {
      {"tokenizer.ggml.token_type", n_tokens},
      {"tokenizer.ggml.scores", n_tokens},
      {"tokenizer.ggml.suppress_tokens", n_tokens},
      {"tokenizer.ggml.eos_token_ids", n_tokens},
      {"tokenizer.ggml.merges", n_tokens * kMergesOfAToken},
  };
  for (const auto& [key, most] : lists) {
    const GgufValue* list = file.find(key);
    if (list != nullptr && list->count > most && list->type == GgufType::array)
      fail_key(file, key,
               fmt::format("wanted at most {} for {} tokens, got {}", most, n_tokens, list->count));
  }
}

// A pipe of the shell can be read only once, and the template is wanted each time that the model is opened.
std::string read_template(const std::string& file) {
  std::error_code unknown;
  if (!std::filesystem::is_fifo(file, unknown)) return read_file(file);
  static std::mutex mutex;
  static std::map<std::string, std::string> piped;
  const std::lock_guard lock(mutex);
  const auto known = piped.find(file);
  if (known != piped.end()) return known->second;
  return piped[file] = read_file(file, kMostNamedBytes, Pipes::of_the_shell);
}

// Keys that the tokenizer does not read or does not check must still be what the format says: a file that has
// a list of another length was cut, or put together wrongly.
void check_other_keys(const Checkpoint& file, size_t n_tokens) {
  if (file.find("tokenizer.ggml.scores") != nullptr) {
    const size_t n = file.find_floats("tokenizer.ggml.scores").size();
    if (n != n_tokens)
      fail_key(file, "tokenizer.ggml.scores",
               fmt::format("wanted a score for each of {} tokens, got {}", n_tokens, n));
  }
  file.find_bool("tokenizer.ggml.add_eos_token");
  if (file.find("tokenizer.ggml.token_type") != nullptr && n_tokens != 0 &&
      file.find_ints("tokenizer.ggml.token_type").empty())
    fail_key(file, "tokenizer.ggml.token_type",
             fmt::format("wanted a type for each of {} tokens, got none", n_tokens));
  for (const char* key : {"tokenizer.ggml.unknown_token_id", "tokenizer.ggml.padding_token_id",
                          "tokenizer.ggml.seperator_token_id", "tokenizer.ggml.separator_token_id",
                          "tokenizer.ggml.cls_token_id", "tokenizer.ggml.mask_token_id",
                          "tokenizer.ggml.eom_token_id", "tokenizer.ggml.fim_pad_token_id",
                          "tokenizer.ggml.fim_rep_token_id", "tokenizer.ggml.fim_sep_token_id"}) {
    const int32_t id = find_id(file, key);
    if (id >= 0 && static_cast<size_t>(id) >= n_tokens)
      fail_key(file, key, fmt::format("wanted an id of the {} tokens, got {}", n_tokens, id));
  }
}

// Some faults of a template show only when it runs: a macro without an end, a filter that nobody knows.
// Running it on the shortest conversation there is finds them. What the template itself refuses, or cannot do
// with this conversation, is left to the turn that comes to it.
void try_template(const ModelText& text) {
  ChatTemplateOptions options;
  options.bos_token = text.bos_text;
  options.eos_token = text.eos_text;
  const ChatMessage message{"user", "Hello"};
  try {
    text.chat_template.render({&message, 1}, options);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::model) throw;
  }
}

// Attributes of tokens are not in GGUF files. llama.cpp knows Phi-3's by the model's name: its marks take the
// white space after them, but for those that begin and end a text. So the kind of the file tells us.
std::vector<int32_t> marks_of_phi3(const Checkpoint& file, const Vocabulary& v) {
  constexpr int32_t kControl = 3, kUserDefined = 4;
  const std::string name = lower(file.find_string("general.name").value_or(""));
  const bool phi3 = v.model == "llama" &&
                    (file.find_string("general.architecture") == "phi3" ||
                     name.find("phi-3") != std::string::npos || name.find("phi3") != std::string::npos);
  std::vector<int32_t> marks;
  for (size_t i = 0; phi3 && i < std::min(v.types.size(), v.tokens.size()); ++i) {
    const bool special = v.types[i] == kControl || v.types[i] == kUserDefined;
    if (special && v.tokens[i] != "<s>" && v.tokens[i] != "<|endoftext|>")
      marks.push_back(static_cast<int32_t>(i));
  }
  return marks;
}

}  // namespace

ModelText::ModelText(std::string path_in, Vocabulary vocabulary, ChatTemplate chat_template_in)
    : path(std::move(path_in)),
      tokenizer(std::move(vocabulary)),
      chat_template(std::move(chat_template_in)),
      bos_text(special_text(tokenizer, tokenizer.bos())),
      eos_text(special_text(tokenizer, tokenizer.eos())) {}

Vocabulary read_vocabulary(const Checkpoint& file) {
  Vocabulary v;
  v.model = file.get_string("tokenizer.ggml.model");
  v.pre = file.find_string("tokenizer.ggml.pre").value_or("");
  v.tokens = read_tokens(file);
  check_lengths(file, v.tokens.size());
  v.types = file.find_ints("tokenizer.ggml.token_type");
  v.merges = file.find_strings("tokenizer.ggml.merges");
  v.bos = find_id(file, "tokenizer.ggml.bos_token_id");
  v.eos = find_id(file, "tokenizer.ggml.eos_token_id");
  v.eot = find_id(file, "tokenizer.ggml.eot_token_id");
  v.unknown = find_id(file, "tokenizer.ggml.unknown_token_id");
  for (const char* key : {"tokenizer.ggml.eom_token_id", "tokenizer.ggml.fim_pad_token_id",
                          "tokenizer.ggml.fim_rep_token_id", "tokenizer.ggml.fim_sep_token_id"}) {
    v.other_ends.push_back(find_id(file, key));
  }
  v.suppressed = file.find_ints("tokenizer.ggml.suppress_tokens");
  v.rstrip = marks_of_phi3(file, v);
  constexpr const char* kEnds = "tokenizer.ggml.eos_token_ids";
  for (const int32_t id : file.find_ints(kEnds)) {
    if (id < -1 || id >= static_cast<int64_t>(v.tokens.size()))
      fail_key(file, kEnds, fmt::format("wanted ids of the {} tokens, got {}", v.tokens.size(), id));
    v.other_ends.push_back(id);
  }
  v.scores = file.find_floats("tokenizer.ggml.scores");
  v.add_bos = file.find_bool("tokenizer.ggml.add_bos_token");
  v.add_space_prefix = file.find_bool("tokenizer.ggml.add_space_prefix");
  check_other_keys(file, v.tokens.size());
  return v;
}

std::unique_ptr<const Tokenizer> read_tokenizer(const Checkpoint& file) {
  return naming(file, [&] { return std::make_unique<const Tokenizer>(read_vocabulary(file)); });
}

std::string warning_about(const ModelInfo& model) {
  const std::vector<std::string>& extra = model.extra_tensors;
  if (extra.empty()) return {};
  return fmt::format("The file has {} tensor{} that this program does not use: {}{}.", extra.size(),
                     extra.size() == 1 ? "" : "s", printable(extra[0]), extra.size() == 1 ? "" : ", ...");
}

std::string warning_about(const Tokenizer& tokenizer) {
  if (tokenizer.unknown_pre().empty()) return {};
  return fmt::format(
      "The file's pre-tokenizer \"{}\" is not known here; {} is used, so that some words may be "
      "cut otherwise than the model learned.",
      printable(tokenizer.unknown_pre()), tokenizer.pre());
}

const char* name_of(Activation activation) {
  return activation == Activation::relu2  ? "relu2"
         : activation == Activation::silu ? "silu"
         : activation == Activation::gelu ? "gelu"
                                          : "as the file says";
}

std::string count_weights(const ModelInfo& m) {
  if (m.n_dense == 0) return fmt::format("{} ternary", m.n_ternary);
  return m.n_ternary == 0 ? fmt::format("{} dense", m.n_dense)
                          : fmt::format("{} ternary and {} dense", m.n_ternary, m.n_dense);
}

std::string describe_template(const ModelText& text) {
  switch (text.template_origin) {
    case TemplateOrigin::trained_form:
      return "the form the model was trained with, in place of the file's";
    case TemplateOrigin::none:
      return "none: a base model, which goes on with the text";
    case TemplateOrigin::file:
      break;
  }
  std::string about(template_form(text.chat_template.source()));
  if (text.chat_template.knows_enable_thinking())
    about += fmt::format("{}knows --think", about.empty() ? "" : ", ");
  if (!about.empty()) about = fmt::format(" ({})", about);
  return (text.template_file.empty() ? "the file's own" : printable(text.template_file)) + about;
}

std::shared_ptr<const ModelText> read_model_text(const Checkpoint& file, const std::string& template_file) {
  if (!template_file.empty()) {
    ChatTemplate chat_template(read_template(template_file), template_file);
    auto text = naming(file, [&] {
      return std::make_shared<ModelText>(file.path(), read_vocabulary(file), std::move(chat_template));
    });
    text->template_file = template_file;
    text->wishes = read_model_settings(file);
    try_template(*text);
    return text;
  }
  return naming(file, [&] {
    constexpr const char* kKey = "tokenizer.chat_template";
    const auto source = file.find_string(kKey);
    if (source && source->find_first_not_of(" \t\r\n\v\f") == std::string::npos) {
      throw Error(ErrorKind::model,
                  fmt::format("{}: wanted a chat template, got an empty one; give one with --chat-template "
                              "FILE",
                              kKey));
    }
    Vocabulary vocabulary = read_vocabulary(file);
    const bool has_eot_id = std::find(vocabulary.tokens.begin(), vocabulary.tokens.end(), "<|eot_id|>") !=
                            vocabulary.tokens.end();
    ChosenTemplate chosen =
        chat_template_for(file.get_string("general.architecture"), source.value_or(""), has_eot_id);
    auto text =
        std::make_shared<ModelText>(file.path(), std::move(vocabulary), std::move(chosen.chat_template));
    text->template_origin = chosen.origin;
    text->wishes = read_model_settings(file);
    try_template(*text);
    return text;
  });
}

std::string named_model(const std::string& given) {
  const char* from_environment = std::getenv("BITNET_CHAT_MODEL");
  return !given.empty() ? given : from_environment != nullptr ? from_environment : "";
}

std::string bundled_model() { return shared_folder() / "bitnet-chat.gguf"; }

std::string find_model(const std::string& given, std::span<const std::string> folders) {
  const std::string named = named_model(given);
  std::error_code ignored;
  if (!named.empty()) {
    if (std::filesystem::exists(named, ignored)) return named;
    if (const auto here = find_here(named, folders)) return here->path;
    const CatalogueRow* row = find_in_catalogue(named);
    if (row == nullptr && !parse_model_name(named)) return named;
    if (std::string pulled = row == nullptr ? find_pulled(named) : ""; !pulled.empty()) return pulled;
    throw Error(ErrorKind::model,
                fmt::format("{0}: no such file, and nothing pulled has that name; 'bitnet-chat pull "
                            "{0}' fetches a model of that name",
                            printable(named)));
  }
  const std::string bundled = bundled_model();
  if (std::filesystem::exists(bundled, ignored)) return bundled;
  throw Error(ErrorKind::model, fmt::format("no model given and no bundled one found (looked for {}); "
                                            "name a GGUF file: bitnet-chat MODEL.gguf",
                                            printable(bundled)));
}

}  // namespace bitnet
