#include "model_file.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>
#include <vector>

#include "engine/error.h"
#include "nearest.h"
#include "option_table.h"
#include "pulled.h"

namespace bitnet {
namespace {

std::string special_text(const Tokenizer& tokenizer, int32_t id) {
  return id < 0 ? std::string() : std::string(tokenizer.token_bytes(id));
}

int32_t find_id(const GgufFile& file, const char* key) {
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

// "lst" is a file's name to the parser, and a command's to a person.
void refuse_mistyped_command(const std::string& word) {
  std::vector<std::string> commands;
  for (const ToolRow& tool : tool_table()) commands.emplace_back(tool.name);
  const std::string meant = nearest(word, commands);
  if (meant.empty()) return;
  throw Error(ErrorKind::model,
              fmt::format("{}: no such model file; did you mean the command '{}'?", printable(word), meant));
}

}  // namespace

ModelText::ModelText(std::string path_in, Vocabulary vocabulary, ChatTemplate chat_template_in)
    : path(std::move(path_in)),
      tokenizer(std::move(vocabulary)),
      chat_template(std::move(chat_template_in)),
      bos_text(special_text(tokenizer, tokenizer.bos())),
      eos_text(special_text(tokenizer, tokenizer.eos())) {}

Vocabulary read_vocabulary(const GgufFile& file) {
  Vocabulary v;
  v.model = file.get_string("tokenizer.ggml.model");
  v.pre = file.find_string("tokenizer.ggml.pre").value_or("");
  v.tokens = file.find_strings("tokenizer.ggml.tokens");
  v.types = file.find_ints("tokenizer.ggml.token_type");
  v.merges = file.find_strings("tokenizer.ggml.merges");
  v.bos = find_id(file, "tokenizer.ggml.bos_token_id");
  v.eos = find_id(file, "tokenizer.ggml.eos_token_id");
  v.eot = find_id(file, "tokenizer.ggml.eot_token_id");
  v.add_bos = file.find_bool("tokenizer.ggml.add_bos_token").value_or(false);
  return v;
}

std::shared_ptr<const ModelText> read_model_text(const GgufFile& file, const std::string& template_file) {
  bool replaced = false;
  ChatTemplate chat_template =
      template_file.empty()
          ? chat_template_for(file.get_string("general.architecture"),
                              file.find_string("tokenizer.chat_template").value_or(""), &replaced)
          : ChatTemplate(read_whole_file(template_file), template_file);
  auto text = std::make_shared<ModelText>(file.path(), read_vocabulary(file), std::move(chat_template));
  text->template_replaced = replaced;
  return text;
}

std::string read_whole_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (in.bad() || (!in.is_open())) {
    throw Error(ErrorKind::usage, fmt::format("{}: cannot be read", printable(path)));
  }
  return text;
}

std::string find_model(const std::string& given) {
  const char* from_environment = std::getenv("BITNET_CHAT_MODEL");
  const std::string named = !given.empty() ? given : from_environment != nullptr ? from_environment : "";
  std::error_code ignored;
  if (!named.empty()) {
    if (std::filesystem::exists(named, ignored)) return named;
    const auto name = parse_model_name(named);
    if (!name) {
      refuse_mistyped_command(named);
      return named;
    }
    if (std::string pulled = find_pulled(named); !pulled.empty()) return pulled;
    throw Error(ErrorKind::model,
                fmt::format("{0}: no such file, and nothing pulled has that name; 'bitnet-chat pull "
                            "{0}' fetches a model of that name",
                            printable(named)));
  }
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  const std::filesystem::path bundled =
      (program.parent_path() / ".." / "share" / "bitnet-chat" / "bitnet-chat.gguf").lexically_normal();
  if (std::filesystem::exists(bundled, ignored)) return bundled;
  throw Error(ErrorKind::model, fmt::format("no model given and no bundled one found (looked for {}); "
                                            "name a GGUF file: bitnet-chat MODEL.gguf",
                                            printable(bundled.string())));
}

}  // namespace bitnet
