// From a GGUF file to what the chat needs of it: tokenizer, template, and which file to take.
//
// Thread rule: free functions and immutable values; any thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "engine/engine.h"
#include "engine/gguf.h"
#include "model_settings.h"
#include "tokenizer/chat_template.h"
#include "tokenizer/tokenizer.h"

namespace bitnet {

// All that a model file says about text, and how it wants answers to be chosen. Immutable; shared by the
// loop's thread and the worker's.
struct ModelText {
  ModelText(std::string path, Vocabulary vocabulary, ChatTemplate chat_template);

  std::string path;  // of the model file
  Tokenizer tokenizer;
  ChatTemplate chat_template;
  bool template_replaced = false;  // the file's own was a converter's placeholder
  std::string bos_text;            // empty where the vocabulary has none
  std::string eos_text;
  ModelSettings wishes;
};

// Throws Error(model) that names file and key for what is missing, of the wrong type or of a length that does
// not fit the rest.
Vocabulary read_vocabulary(const GgufFile& file);

// Of what read_vocabulary gives; its errors too name the file.
std::unique_ptr<const Tokenizer> read_tokenizer(const GgufFile& file);

// What the file holds and nothing here reads, as a sentence; empty where there is nothing.
std::string warning_about(const ModelInfo& model);

// Likewise, where the file's pre-tokenizer is none that we know.
std::string warning_about(const Tokenizer& tokenizer);

// `template_file` (--chat-template) wins over the file's template; empty = the file's.
std::shared_ptr<const ModelText> read_model_text(const GgufFile& file, const std::string& template_file);

// `given`, else $BITNET_CHAT_MODEL; empty: the bundled model.
std::string named_model(const std::string& given);

// named_model() as a file or the name of a pulled model (pulled.h); where both are empty
// the bundled model, ../share/bitnet-chat/bitnet-chat.gguf from the program. Throws Error(model) that says
// where it looked.
std::string find_model(const std::string& given);

}  // namespace bitnet
